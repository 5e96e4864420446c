"""Looking ahead: the same runs as round by round, in fewer passes over the triangle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm import compiler
from superarm.rows import cast, flat
from superarm.simulation import lookahead as ahead
from superarm.simulation import run as rollout
from superarm.simulation.lookahead import lookahead_rounds
from superarm.widths import Dual, dual
from superarm.widths.dual import DualAhead

TILE = 8


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(dual, "TILE", TILE)
    _forget()
    yield
    _forget()


def _forget():
    """What is compiled does not know of a constant that a test changes."""
    compiler._PROGRAMS.clear()
    jax.clear_caches()


@pytest.mark.parametrize("before", [0, 1, 7, 8, 15, 16, 29])
def test_rows_solved_before_others_came_are_as_good_as_new(small_tiles, before):
    rng = np.random.default_rng(before)
    with jax.enable_x64(True):
        rows, queries = (jnp.asarray(rng.normal(size=(count, 50))) for count in (30, 4))
        width = Dual()
        factor = width.init(queries, jnp.asarray(0.7), 40)
        for row in rows[:before]:
            factor, _ = width.absorb(factor, width.whiten(factor, row[None]), jnp.zeros(1))
        early = width.whiten(factor, queries)
        for row in rows[before:]:
            factor, _ = width.absorb(factor, width.whiten(factor, row[None]), jnp.zeros(1))
        late = DualAhead(early.rows, early.solved, early.count).whiten(factor, queries)
        matrix = np.eye(50) / 0.7**2 + np.asarray(rows).T @ np.asarray(rows)
        expected = np.asarray(queries) @ np.linalg.inv(matrix) @ np.asarray(queries).T
        assert int(late.count) == 30
        np.testing.assert_allclose(late.covariance(), expected, rtol=1e-9, atol=1e-12)


def test_the_triangle_is_that_of_the_rows_kept(small_tiles):
    """With a small ridge it would show if what was solved were another computation's rows."""
    world = superarm.environments.nonlinear_scores(superarm.top_k(2), dim=4, num_arms=6)
    model = superarm.neural(superarm.perceptron(width=6), learn_every=5, steps=1, ridge=1e-7)
    policy = superarm.cn_ucb(world.oracle, model, width="dual")
    with jax.enable_x64(True):
        keys = rollout.keys_of(0)
        run = rollout.Run(policy, world, world.init(keys.world), keys, 0, keep_events=False)
        first = run.begin(keys.init, 40)
        assert lookahead_rounds(policy, world, first) == 5
        state = list(run.rounds(first, 0, 40))[-1][0]
        factor, count = state.record.factor, int(state.record.factor.count)
        rows = np.asarray(flat(cast(factor.rows, jnp.float64)))[:count]
        blocks = factor.capacity // TILE
        upper = np.zeros((factor.capacity, factor.capacity))
        for i in range(blocks):
            for j in range(i + 1):
                tile = np.asarray(factor.upper[i * (i + 1) // 2 + j])
                upper[j * TILE : (j + 1) * TILE, i * TILE : (i + 1) * TILE] = tile
        gram = np.eye(count) + rows @ rows.T * float(factor.scale) ** 2
    found = upper[:count, :count].T @ upper[:count, :count]
    np.testing.assert_allclose(found, gram, atol=1e-12 * gram.max())


def _policy(world, width="dual", learn_every=5):
    model = superarm.neural(superarm.perceptron(width=6), learn_every=learn_every, steps=5)
    return superarm.cn_ucb(world.oracle, model, width=width)


@pytest.mark.parametrize("refresh", [False, True])
def test_a_run_that_looks_ahead_is_the_run_that_does_not(small_tiles, monkeypatch, refresh):
    world = superarm.environments.nonlinear_scores(superarm.top_k(2), dim=4, num_arms=6)
    model = superarm.neural(superarm.perceptron(width=6), learn_every=5, steps=5, refresh=refresh)
    policy = superarm.cn_ucb(world.oracle, model, width="dual")

    def run():
        _forget()
        return rollout.run_seed(policy, world, rounds=43, seed=3, keep_items=True)

    looked = run()
    monkeypatch.setattr(ahead, "MAX_ROWS", 0)
    plain = run()
    assert [list(one) for one in looked["items"]] == [list(one) for one in plain["items"]]
    np.testing.assert_array_equal(looked["regret"], plain["regret"])


def _ahead(policy, world):
    with jax.enable_x64(True):
        spec = superarm.Spec(dim=world.spec.dim, num_arms=world.spec.num_arms, capacity=100)
        return lookahead_rounds(policy, world, policy.init(jax.random.key(0), spec))


@pytest.mark.parametrize(
    ("width", "learn_every", "num_arms", "expected"),
    [("dual", 5, 6, 5), ("dual", 500, 6, 42), ("dual", 1, 6, 0), ("dual", 5, 85, 0), ("diagonal", 5, 6, 0)],
)
def test_it_looks_ahead_to_the_next_fit_as_far_as_there_is_room(width, learn_every, num_arms, expected):
    world = superarm.environments.nonlinear_scores(superarm.top_k(2), dim=4, num_arms=num_arms)
    assert _ahead(_policy(world, width, learn_every), world) == expected


def test_policies_that_only_observe_do_not_look_ahead():
    world = superarm.environments.nonlinear_scores(superarm.top_k(2), dim=4, num_arms=6)
    assert _ahead(superarm.comb_lin_ucb(world.oracle), world) == 0
