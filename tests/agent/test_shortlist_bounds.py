"""Bounds of LinUCB's scores, and lists of the best that leave out what they rule out, against plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm import Agent
from superarm.agent import shortlist, shortlist_bounds
from superarm.contract import Explorer
from superarm.models.linear import LinearRecord
from superarm.pytree import pytree
from superarm.schedules import Constant, Logarithmic
from superarm.types import State
from superarm.widths.full import FullFactor

DIM, PIECE = 32, 256


@pytest.fixture(scope="module", autouse=True)
def small_pieces():
    """Catalogues of a thousand items have several pieces, and those that bounds leave several calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shortlist, "PIECE_ITEMS", PIECE)
        patch.setattr(shortlist, "CONTENDERS_PIECE", 64)
        patch.setattr(shortlist, "SAMPLE_ITEMS", 128)
        forget()
        yield
    forget()


def forget():
    shortlist._best_program.cache_clear()
    shortlist._bounds_program.cache_clear()


@pytest.fixture
def kept(monkeypatch):
    """How many items bounds left in each call, None where all were scored."""
    counts, contenders = [], shortlist._contenders

    def counted(*arguments):
        rows = contenders(*arguments)
        counts.append(None if rows is None else len(rows))
        return rows

    monkeypatch.setattr(shortlist, "_contenders", counted)
    return counts


def drawn(kind, num_items, rng):
    """Features (n, d): alike in all directions; few strong directions, turned; indicators in four groups."""
    normals = rng.normal(size=(num_items, DIM))
    if kind == "round":
        return normals
    if kind == "long":
        turn = np.linalg.qr(np.random.default_rng(7).normal(size=(DIM, DIM)))[0]
        return (normals / np.arange(1, DIM + 1)) @ turn
    places = np.minimum(rng.geometric(0.4, size=(num_items, 4)), 8) - 1
    return np.eye(8)[places].reshape(num_items, DIM)


def taught(kind, rounds, policy=None):
    rng = np.random.default_rng(rounds)
    truth = rng.normal(size=DIM) / 5.0
    agent = Agent(policy or superarm.lin_ucb(radius=0.7, noise=0.5))
    for _ in range(rounds):
        contexts = drawn(kind, 8, rng)
        decision = agent.select(contexts)
        agent.update(decision, contexts[decision.item] @ truth + 0.5 * rng.normal())
    if not rounds:
        agent.select(np.eye(DIM))
    return agent


def scores(agent, catalogue, radius=0.7):
    """In double precision, by the formula."""
    record = agent._session.state.learner.state.record
    widths = np.linalg.norm(catalogue.astype(float) @ np.asarray(record.factor.root), axis=1)
    return catalogue.astype(float) @ np.asarray(record.mean) + radius * widths


def check(found, expected):
    assert len(set(found.tolist())) == len(found)
    # The order may differ where scores are the same in single precision.
    best = np.sort(expected)[::-1][: len(found)]
    np.testing.assert_allclose(expected[found], best, rtol=3e-6, atol=3e-6)


KINDS = ("round", "long", "groups")


@pytest.mark.parametrize("rounds", [0, 20, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_are_found(kind, rounds, kept):
    agent = taught(kind, rounds)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        catalogue = drawn(kind, int(rng.integers(PIECE + 1, 6 * PIECE)), rng).astype(np.float32)
        expected = scores(agent, catalogue)
        if seed % 3 == 1:  # the first piece has none of the best
            catalogue = catalogue[np.argsort(expected)]
        if seed % 3 == 2:  # every item four times
            catalogue = catalogue[rng.permutation(len(catalogue)) // 4]
        size = int(rng.integers(1, 101)) if seed else 1
        check(agent.shortlist(catalogue, size), scores(agent, catalogue))
    assert len(kept) == 6


@pytest.mark.parametrize(("kind", "rounds"), [("round", 0), ("round", 200), ("long", 200), ("groups", 200)])
def test_few_are_scored(kind, rounds, kept):
    agent = taught(kind, rounds)
    catalogue = drawn(kind, 20 * PIECE, np.random.default_rng(1)).astype(np.float32)
    agent.shortlist(catalogue, 3)
    assert 3 <= kept[0] < len(catalogue) / 20


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("radius", "noise"), [(0.0, 0.5), (0.7, 0.5), (0.7, 1e-3)])
@pytest.mark.parametrize("kind", KINDS)
def test_no_score_is_above_its_bound(kind, radius, noise, scale):
    """Where nothing was learned bounds are scores but for rounding; without noise some widths are tiny."""
    for rounds in (0, 20, 100):
        agent = taught(kind, rounds, superarm.lin_ucb(radius=radius, noise=noise))
        core = agent._session.state.learner
        root = np.asarray(core.state.record.factor.root)
        directions = np.linalg.eigh(root @ root.T)[1].T
        rng = np.random.default_rng(rounds)
        narrow = rng.normal(size=(100, 5)) @ directions[:5]  # of which nearly all is subtracted
        rows = np.concatenate([np.zeros((1, DIM)), directions, narrow, drawn(kind, 100, rng)])
        rows = (scale * rows).astype(np.float32)
        with jax.enable_x64(True):
            policy, state, key = shortlist._ready(core.policy, core.state, core.keys, np.int64(0))
            for sample in (rows, narrow, directions[-3:]):
                bounds = shortlist_bounds.bounds_of(state, sample)
                uppers = shortlist_bounds.upper(policy, state, bounds, key, jnp.int64(0), jnp.asarray(rows))
                plain = shortlist._score(policy, state, key, jnp.int64(0), jnp.asarray(rows))
                assert np.all(np.asarray(uppers) >= np.asarray(plain))
        if rounds == 0:
            np.testing.assert_allclose(uppers, plain, rtol=1e-3, atol=1e-14)


def test_rounding_of_wide_directions_has_its_slack():
    """The mean is zero and has none, and what is left is too narrow for its own to cover the others."""
    policy = superarm.lin_ucb()
    rng = np.random.default_rng(0)
    turns = np.linalg.qr(rng.normal(size=(2, DIM, DIM)))[0]
    root = turns[0] * np.append(np.ones(3), np.full(DIM - 3, 1e-4)) @ turns[1]
    rows = jnp.asarray(rng.normal(size=(1000, 3)) @ turns[0][:, :3].T, jnp.float32)
    with jax.enable_x64(True):
        factor = FullFactor(root=jnp.asarray(root, jnp.float32), logdet=jnp.float32(0.0))
        state = State(record=LinearRecord(mean=jnp.zeros(DIM, jnp.float32), factor=factor), fit=())
        policy = jax.tree.map(shortlist._single, policy)
        bounds = shortlist_bounds.bounds_of(state, rows)
        uppers = shortlist_bounds.upper(policy, state, bounds, jax.random.key(0), jnp.int64(0), rows)
        plain = shortlist._score(policy, state, jax.random.key(0), jnp.int64(0), rows)
    assert np.all(np.asarray(uppers) >= np.asarray(plain))
    np.testing.assert_allclose(uppers, plain, rtol=1e-3)


def test_what_cannot_be_told_apart_is_scored(kept, monkeypatch):
    """An agent that has learned nothing, and rows of one length: all scores are the same but for rounding."""
    agent = taught("round", 0)
    catalogue = drawn("round", 1000, np.random.default_rng(0))
    catalogue = (catalogue / np.linalg.norm(catalogue, axis=1, keepdims=True)).astype(np.float32)
    calls, bounding = [], shortlist._bounds_program()
    monkeypatch.setattr(
        shortlist, "_bounds_program", lambda: lambda *a, **k: (calls.append(1), bounding(*a, **k))[1]
    )
    check(agent.shortlist(catalogue, 50), scores(agent, catalogue))
    assert agent.shortlist(np.ones((1000, DIM), np.float32), 70).tolist() == list(range(70))
    assert kept == [None, None]
    assert len(calls) == 2  # the bounds of the first pieces, and no more


def test_what_is_rare_in_the_first_piece_may_be_all_of_the_others(kept):
    agent = taught("round", 0)
    catalogue = np.ones((1000, DIM), np.float32)
    catalogue[:PIECE] = np.linspace(0.0, 0.9, PIECE)[:, None]
    catalogue[10] = 2.0
    assert agent.shortlist(catalogue, 5).tolist() == [10, *range(PIECE, PIECE + 4)]
    assert kept == [None]


def test_what_ties_comes_in_its_order(kept):
    catalogue = np.tile(drawn("round", 400, np.random.default_rng(0)).astype(np.float32), (5, 1))
    found = taught("round", 200).shortlist(catalogue, 30)
    assert found.reshape(6, 5).tolist() == [[row + 400 * copy for copy in range(5)] for row in found[::5]]
    assert kept[0] < 200


@pytest.mark.parametrize("place", [3, 300, 998])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_what_has_no_score_is_refused(place, value):
    catalogue = drawn("round", 1000, np.random.default_rng(0)).astype(np.float32)
    catalogue[place, 5] = value
    with pytest.raises(ValueError, match="shortlist: contexts must be finite and not too large"):
        taught("round", 20).shortlist(catalogue, 3)


def test_what_has_a_score_and_no_bound_is_scored(kept):
    """The square of the length is above the largest number, that of the width is not."""
    agent = taught("round", 0, superarm.lin_ucb(radius=0.7, prior_scale=1e-6))
    catalogue = drawn("round", 1000, np.random.default_rng(0)).astype(np.float32)
    catalogue[700] *= 1e20
    assert agent.shortlist(catalogue, 3)[0] == 700
    assert kept == [None]


def test_a_radius_that_grows_is_bounded(kept):
    """Its schedule is in double precision, and so are scores and bounds until they are compared."""
    agent = taught("round", 20, superarm.lin_ucb(radius=Logarithmic(scale=0.5), noise=0.5))
    catalogue = drawn("round", 1000, np.random.default_rng(1)).astype(np.float32)
    with jax.numpy_dtype_promotion("standard"):
        rows = agent.shortlist(catalogue, 20)
    with jax.enable_x64(True):
        radius = agent.policy.explorer.radius.at(
            jnp.asarray(20), agent._session.state.learner.state.record.factor.logdet
        )
    check(rows, scores(agent, catalogue, radius=float(radius)))
    assert len(kept) == 1


@pytree
@dataclass(frozen=True)
class MeanAndWidth(Explorer):
    """A user's explorer, which has no radius."""

    def scores(self, key, beliefs, count):
        return beliefs.mean + 0.7 * beliefs.norms()

    def pointwise(self, model):
        return True

    @property
    def monotone(self):
        return True


def test_an_explorer_of_a_user_is_bounded(kept):
    agent = taught("round", 20, superarm.combine("linear", explorer=MeanAndWidth(), noise=0.5))
    catalogue = drawn("round", 1000, np.random.default_rng(2)).astype(np.float32)
    check(agent.shortlist(catalogue, 20), scores(agent, catalogue))
    assert kept[0] is not None


def test_a_radius_below_zero_has_no_bound(kept):
    agent = taught("round", 20, superarm.lin_ucb(radius=Constant(value=np.float64(-2.0)), noise=0.5))
    catalogue = drawn("round", 1000, np.random.default_rng(0)).astype(np.float32)
    check(agent.shortlist(catalogue, 20), scores(agent, catalogue, radius=-2.0))
    assert kept == [None]


def test_a_catalogue_that_grows_compiles_nothing_anew(kept):
    agent = taught("round", 200)
    catalogue = drawn("round", 4000, np.random.default_rng(5)).astype(np.float32)
    programs = shortlist._best_program(), shortlist._bounds_program(), shortlist_bounds.bounds_of
    agent.shortlist(catalogue[:3000], 33)
    compiled = [program._cache_size() for program in programs]
    for items, size in ((3001, 33), (3500, 50), (4000, 64)):
        agent.shortlist(catalogue[:items], size)
    assert [program._cache_size() for program in programs] == compiled
    assert min(kept) <= shortlist.CONTENDERS_PIECE < max(kept)


@pytest.mark.parametrize(
    "policy",
    [
        superarm.lin_ts(),
        superarm.lin_ucb(width="diagonal"),
        superarm.comb_lin_ucb(superarm.top_k(2), width="sketched"),
        superarm.glm_ucb(),
    ],
    ids=lambda policy: policy.name,
)
def test_other_policies_are_not_bounded(policy):
    assert shortlist_bounds.bounded(superarm.lin_ucb(), DIM, 5)
    assert not shortlist_bounds.bounded(policy, DIM, 5)
