"""Runs: the same bits whatever the workers, the same noise for every policy, and clear refusals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import superarm
from superarm import compiler
from superarm.contract import Environment, Oracle
from superarm.environments import catalogue, duels, linear_scores, longest_path
from superarm.jobs import processes as workers
from superarm.pytree import pytree
from superarm.simulation import run as rollout
from superarm.types import Choice, Decision, Offer, Outcome, Spec

PLAIN = ["policy", "seed", "round", "regret", "realized_regret", "reward", "value", "best"]


def items_of(result) -> list[tuple[int, ...]]:
    return [tuple(row.tolist()) for row in result.table["items"]]


def test_same_bits_with_one_worker_and_two():
    world = longest_path(size=4, dim=6)
    policies = {
        "ts": superarm.comb_lin_ts(world.oracle, prior_scale=10.0),
        "chance": superarm.uniform(world.oracle),
    }
    one = superarm.compare(policies, world, rounds=70, seeds=3, workers=1, progress=False)
    two = superarm.compare(policies, world, rounds=70, seeds=3, workers=2, progress=False)
    pd.testing.assert_frame_equal(one.table[PLAIN], two.table[PLAIN], check_exact=True)
    assert items_of(one) == items_of(two)


def test_a_worker_has_one_thread_for_products():
    """With more, workers would compete for cores, and bits depend on how many cores there are."""
    assert list(workers.run_jobs(threads_of_xla, [None], workers=1)) == [(0, 1)]


def threads_of_xla(job, on_rounds) -> int:
    """The threads that XLA's CPU client shares work among, by the name that it gives them on Linux."""
    product = jax.numpy.ones((512, 512)) @ jax.numpy.ones((512, 512))
    product.block_until_ready()
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return names.count("tf_XLAEigen") if names else 1  # elsewhere they cannot be counted


def test_every_policy_meets_the_same_world_and_noise():
    """With one item there is nothing to choose, so two policies must earn the same in every round."""
    world = linear_scores(superarm.top_k(2), dim=3, num_arms=2, noise=1.0)
    policies = {"ucb": superarm.comb_lin_ucb(world.oracle), "chance": superarm.uniform(world.oracle)}
    table = superarm.compare(policies, world, rounds=50, seeds=2, workers=0).table
    wide = table.pivot_table(index=["seed", "round"], columns="policy", values="reward")
    np.testing.assert_allclose(wide["ucb"], wide["chance"], rtol=1e-12)
    assert table["reward"].std() > 0.5
    np.testing.assert_allclose(table["realized_regret"], 0.0, atol=1e-12)


def test_realized_and_expected_regret_are_kept_apart():
    world = catalogue(np.eye(6), np.linspace(0.1, 0.9, 6), superarm.top_k(2))
    table = superarm.simulate(superarm.uniform(world.oracle), world, rounds=3000, seeds=1, workers=0).table
    np.testing.assert_allclose(table["best"], 0.9 + 0.74)
    assert (table["regret"] >= 0).all()
    assert (table["realized_regret"] < 0).any()
    assert table["realized_regret"].mean() == pytest.approx(table["regret"].mean(), abs=0.06)
    assert table["reward"].mean() == pytest.approx(table["value"].mean(), abs=0.05)


def test_rows_sum_their_rounds_and_a_short_last_chunk_is_fine():
    world = linear_scores(dim=3, num_arms=5)
    fine = superarm.simulate(superarm.lin_ucb(), world, rounds=150, seeds=1, workers=0).table
    coarse = superarm.simulate(
        superarm.lin_ucb(), world, rounds=150, seeds=1, workers=0, record_every=40
    ).table
    assert coarse["round"].tolist() == [40, 80, 120, 150]
    np.testing.assert_allclose(coarse["regret"].sum(), fine["regret"].sum())
    np.testing.assert_allclose(coarse["reward"].iloc[3], fine["reward"].iloc[120:].sum())
    assert "items" in fine
    assert "items" not in coarse


def test_a_grid_of_hyperparameters_compiles_once():
    world = linear_scores(dim=5, num_arms=5)
    grid = {str(noise): superarm.lin_ts(noise=noise, scale=scale) for noise in (0.1, 1.0) for scale in (1, 2)}
    before = len(compiler._PROGRAMS)
    superarm.compare(grid, world, rounds=10, seeds=2, workers=0)
    assert len(compiler._PROGRAMS) == before + 1


def test_further_seeds_compile_nothing():
    """Neither the rounds nor the world: else time and memory would grow with the seeds."""
    world = longest_path(size=3, dim=5)
    policy = superarm.comb_lin_ts(world.oracle)
    rollout.run_seed(policy, world, rounds=70, seed=0)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
    )
    rollout.run_seed(policy, world, rounds=130, seed=1)
    assert not compiled
    rollout.run_seed(policy, longest_path(size=3, dim=6), rounds=1, seed=0)
    assert compiled


@pytest.mark.full
def test_host_oracles_give_what_native_ones_give():
    """The same problem through a native oracle and a user's NumPy function: same sets, same rewards."""

    def best_three(scores, mask):
        return np.argsort(np.where(mask, -scores, np.inf))[:3]

    host = superarm.oracles.function(best_three, size=3)
    tables = []
    for oracle in (superarm.top_k(3), host):
        world = linear_scores(oracle, dim=4, num_arms=12, availability=0.8)
        policy = superarm.comb_lin_ts(oracle, noise=0.1)
        tables.append(superarm.simulate(policy, world, rounds=60, seeds=2, workers=0).table)
    assert not host.native
    np.testing.assert_allclose(tables[0]["regret"], tables[1]["regret"], atol=1e-9)


@dataclass(frozen=True)
class Parity(Environment):
    """A world in plain Python: even arms pay 1."""

    native = False
    spec = Spec(dim=4, num_arms=4)

    def check(self) -> None:
        pass

    def init(self, key):
        return {"rng": np.random.default_rng(np.asarray(jax.random.key_data(key)))}

    def offer(self, world, key) -> Offer:
        return Offer(contexts=np.eye(4), mask=np.ones(4, bool))

    def respond(self, world, key, offer: Offer, decision: Decision) -> Outcome:
        value = float(int(decision.items[0]) % 2 == 0)
        reward = value + world["rng"].normal() * 0.1
        return Outcome(
            feedback=[reward], observed=[True], reward=reward, value=value, best=1.0, best_reward=1.0
        )


@pytest.mark.parametrize("workers", [0, 1])
def test_python_worlds_run_through_the_same_interface(workers):
    result = superarm.simulate(superarm.lin_ucb(noise=0.1), Parity(), rounds=80, seeds=2, workers=workers)
    by_round = result.table.groupby("round")["regret"].mean()
    assert by_round.iloc[-20:].mean() < 0.05
    assert len(result.table) == 160


def test_feedback_out_of_range_stops_the_run_and_says_where():
    world = catalogue(np.eye(3), np.array([2.0, 3.0, 4.0]), superarm.top_k(1), noise=0.1)
    with pytest.raises(superarm.SimulationError, match=r"comb_ts: round 2 of seed 5 gave no sound decision"):
        superarm.simulate(superarm.comb_ts(world.oracle), world, rounds=9, seeds=[5], workers=0)


def test_an_error_in_a_worker_reaches_the_caller():
    world = catalogue(np.eye(3), np.array([2.0, 3.0, 4.0]), superarm.top_k(1), noise=0.1)
    with pytest.raises(superarm.SimulationError, match=r"comb_ts: round 2 of seed 0"):
        superarm.simulate(superarm.comb_ts(world.oracle), world, rounds=9, seeds=2, workers=1)


def test_infeasible_rounds_are_told():
    world = linear_scores(superarm.top_k(4), dim=2, num_arms=4, availability=0.5)
    with pytest.raises(superarm.SimulationError, match="no feasible set was on offer"):
        superarm.simulate(superarm.uniform(world.oracle), world, rounds=20, seeds=1, workers=0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: catalogue([[1.0, np.nan]], [0.5], superarm.top_k(1)),
            "catalogue: features must be finite, got nan at (0, 1)",
        ),
        (
            lambda: catalogue(np.eye(3), [0.5, 0.5], superarm.top_k(1)),
            "catalogue: means must have shape (3,), got (2,)",
        ),
        (
            lambda: catalogue(np.eye(3), [0.5, 0.5, 1.5], superarm.top_k(1)),
            "catalogue: means must be between 0 and 1, got values from 0.5 to 1.5",
        ),
        (
            lambda: catalogue(np.eye(3), [0.5] * 3, superarm.top_k(4)),
            "top_k: k must be at most the number of arms, 3, got 4",
        ),
        (
            lambda: linear_scores(superarm.top_k(9), num_arms=5),
            "top_k: k must be at most the number of arms, 5, got 9",
        ),
        (lambda: longest_path(size=0), "longest_path: size must be >= 1, got 0"),
        (lambda: longest_path(dim=2.5), "longest_path: dim must be a whole number, got float"),
        (
            lambda: superarm.simulate(superarm.lin_ucb(), linear_scores(), rounds=0),
            "simulate: rounds must be >= 1, got 0",
        ),
        (
            lambda: superarm.simulate(superarm.lin_ucb(), linear_scores(), rounds=5, seeds=[-1]),
            "simulate: seeds must be >= 0, got -1",
        ),
        (
            lambda: superarm.simulate(superarm.lin_ucb(), linear_scores(), rounds=5, engine="ry"),
            "simulate: engine must be one of 'local', 'ray', got 'ry'; did you mean 'ray'?",
        ),
        (
            lambda: superarm.compare({"ucb": superarm.lin_ucb()}, linear_scores(), rounds=5, engine="ry"),
            "compare: engine must be one of 'local', 'ray', got 'ry'; did you mean 'ray'?",
        ),
        (
            lambda: superarm.simulate(superarm.lin_ucb(), duels(), rounds=5),
            "simulate: policy must choose two arms to compare in Duels, got Best()",
        ),
        (
            lambda: superarm.compare({}, linear_scores(), rounds=5),
            "compare: policies must name at least one policy, got none",
        ),
        (
            lambda: superarm.simulate(superarm.comb_lin_ts(superarm.top_k(30)), linear_scores(), rounds=5),
            "top_k: k must be at most the number of arms, 20, got 30",
        ),
        (
            lambda: superarm.simulate(superarm.lin_ucb, linear_scores(), rounds=5),
            "simulate: policy must have epochs, check, got function",
        ),
        (
            lambda: superarm.simulate(superarm.lin_ucb(), None, rounds=5),
            "simulate: environment must extend superarm.contract.Environment, got NoneType",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(build, message):
    with pytest.raises((ValueError, TypeError)) as error:
        build()
    assert str(error.value) == message


def test_scaled_regret_divides_the_value_by_the_factor():
    world = catalogue(np.eye(4), np.array([0.2, 0.4, 0.6, 0.8]), superarm.top_k(2))
    result = superarm.simulate(superarm.uniform(world.oracle), world, rounds=20, seeds=1, workers=0)
    np.testing.assert_allclose(result.scaled_regret(0.5), 1.4 - 2 * result.table["value"])


def test_an_environment_asks_for_an_exact_oracle():
    half = superarm.oracles.knapsack([1.0, 1.0, 1.0], 2.0, method="greedy")
    for build in (lambda: catalogue(np.eye(3), [0.5] * 3, half), lambda: linear_scores(half, num_arms=3)):
        with pytest.raises(ValueError, match="oracle must be exact, so that the optimum is known"):
            build()
    # The policy may use it: regret is then counted against the exact optimum.
    world = catalogue(np.eye(3), [0.2, 0.4, 0.6], superarm.oracles.knapsack([1.0, 1.0, 1.0], 2.0))
    result = superarm.simulate(superarm.comb_ts(half), world, rounds=10, seeds=1, workers=0)
    np.testing.assert_allclose(result.table["best"], 1.0)


def test_scales_of_environments_are_standard_deviations():
    world = longest_path(size=8, dim=300, theta_scale=3.0, noise=2.0)
    with jax.enable_x64(True):
        drawn = jax.tree.map(np.asarray, world.init(jax.random.key(0)))
    assert np.std(drawn.features) == pytest.approx(1.0, abs=0.02)
    assert np.std(drawn.means) == pytest.approx(3.0 * np.sqrt(300), rel=0.2)
    table = superarm.simulate(superarm.uniform(world.oracle), world, rounds=400, seeds=1, workers=0).table
    assert (table["reward"] - table["value"]).std() == pytest.approx(2.0 * np.sqrt(16), rel=0.1)


def test_importing_changes_no_setting():
    assert not jax.config.jax_enable_x64
    assert jax.numpy.zeros(2).dtype == np.float32


def test_user_choices_reach_the_policy_as_choices():
    """A custom oracle class works without registration in superarm."""

    @pytree
    @dataclass(frozen=True)
    class FirstTwo(Oracle):
        native = True
        size = 2
        factor = 0.0

        def check(self, num_arms):
            pass

        def solve(self, key, scores, mask):
            return Choice(jax.numpy.arange(2), mask[:2], mask[:2].all())

    world = linear_scores(superarm.top_k(2), num_arms=4)
    result = superarm.simulate(superarm.uniform(FirstTwo()), world, rounds=5, seeds=1, workers=0)
    assert items_of(result) == [(0, 1)] * 5


def test_programs_are_forgotten_before_there_is_no_room_for_more(monkeypatch):
    """A process that runs one experiment after another would be ended by Linux."""
    policy, world = superarm.lin_ucb(), linear_scores(dim=3, num_arms=4)
    before = superarm.simulate(policy, world, rounds=20, seeds=1, workers=0).table
    monkeypatch.setattr(compiler, "MAX_MEMORY_MAPS", 0)
    superarm.simulate(superarm.lin_ts(), world, rounds=20, seeds=1, workers=0)
    assert len(compiler._PROGRAMS) == 1
    again = superarm.simulate(policy, world, rounds=20, seeds=1, workers=0).table
    assert before["regret"].equals(again["regret"])
