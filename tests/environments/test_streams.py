"""Rounds that are given are played in their order, compiled, stepped and by an agent alike."""

from __future__ import annotations

import numpy as np
import pytest

import superarm
from superarm.environments import alpha_regret, fixed_arms, stream
from superarm.simulation.run import run_seed

ROUNDS, ARMS, DIM = 300, 6, 3


@pytest.fixture(scope="module")
def rounds():
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(ROUNDS, ARMS, DIM))
    means = contexts @ rng.normal(size=DIM)
    return contexts, means + 0.1 * rng.normal(size=means.shape), means


def lin_ucb(contexts, rewards, radius, noise):
    """LinUCB with a ridge of 1 and noise^2 beside it, in plain NumPy."""
    gram, moment, chosen = np.eye(DIM), np.zeros(DIM), []
    for rows, paid in zip(contexts, rewards, strict=True):
        inverse = np.linalg.inv(gram)
        width = np.sqrt(np.einsum("ij,jk,ik->i", rows, inverse, rows))
        item = int(np.argmax(rows @ inverse @ moment + radius * width))
        gram += np.outer(rows[item], rows[item]) / noise**2
        moment += rows[item] * paid[item] / noise**2
        chosen.append(item)
    return chosen


def test_a_run_meets_the_rounds_in_their_order(rounds):
    contexts, rewards, means = rounds
    world = stream(contexts, rewards, means=means)
    policy = superarm.lin_ucb(radius=0.7, noise=0.5)
    table = run_seed(policy, world, rounds=ROUNDS, seed=3, keep_items=True)
    chosen = [int(items[0]) for items in table["items"]]
    assert chosen == lin_ucb(contexts, rewards, 0.7, 0.5)
    at = np.arange(ROUNDS)
    np.testing.assert_allclose(table["regret"], means.max(1) - means[at, chosen], atol=1e-12)
    np.testing.assert_allclose(table["reward"], rewards[at, chosen])
    agent = superarm.Agent(policy, seed=3)
    for step in range(40):
        decision = agent.select(contexts[step])
        assert decision.item == chosen[step]
        agent.update(decision, rewards[step, decision.item])


def test_after_the_last_round_comes_the_first(rounds):
    contexts, rewards, _ = rounds
    short, long = (stream(contexts[:length], rewards[:length]) for length in (50, 100))
    twice = stream(np.concatenate([contexts[:50]] * 2), np.concatenate([rewards[:50]] * 2))
    policy = superarm.lin_ts()
    found = [run_seed(policy, world, rounds=100, seed=1)["reward"] for world in (short, twice, long)]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_sets_pay_their_sum_and_masked_arms_are_not_chosen(rounds):
    contexts, rewards, _ = rounds
    mask = np.random.default_rng(1).random((ROUNDS, ARMS)) < 0.7
    mask[:, :2] = True
    world = stream(contexts, rewards, superarm.top_k(2), mask=mask)
    table = run_seed(superarm.comb_lin_ucb(world.oracle), world, rounds=ROUNDS, seed=0, keep_items=True)
    for step, items in enumerate(table["items"]):
        assert mask[step, items].all()
        assert table["reward"][step] == pytest.approx(rewards[step, items].sum())
        assert table["best"][step] == pytest.approx(np.sort(rewards[step, mask[step]])[-2:].sum())


def test_timed_rounds_are_the_same(rounds):
    contexts, rewards, _ = rounds
    world, policy = stream(contexts, rewards), superarm.lin_ucb()
    timed, compiled = (run_seed(policy, world, rounds=60, seed=0, timed=one) for one in (True, False))
    np.testing.assert_allclose(timed["reward"], compiled["reward"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.ones((3, 2))}, r"contexts must have shape \(any, any, any\), got \(3, 2\)"),
        ({"contexts": np.ones((0, 2, 1)), "rewards": np.ones((0, 2))}, "contexts must not be empty"),
        ({"rewards": np.ones((3, 2))}, r"rewards must have shape \(4, 2\), got \(3, 2\)"),
        ({"rewards": np.full((4, 2), np.nan)}, "rewards must be finite"),
        ({"means": np.ones(4)}, r"means must have shape \(4, 2\)"),
        ({"mask": [[1, 1], [0, 0], [1, 1], [1, 1]]}, "mask must leave an arm on offer, got none in round 1"),
        ({"oracle": superarm.top_k(3)}, "num_arms|k must"),
    ],
    ids=["matrix", "empty", "fewer", "nan", "means", "mask", "oracle"],
)
def test_bad_rounds_are_said(change, message):
    given = {"contexts": np.ones((4, 2, 3)), "rewards": np.ones((4, 2))} | change
    with pytest.raises(ValueError, match=message):
        stream(**given)


@pytest.mark.parametrize("wrap", [fixed_arms, lambda world: alpha_regret(world, alpha=0.5)])
def test_wrappers_that_know_no_order_refuse(wrap):
    with pytest.raises(ValueError, match="environment must not be one of given rounds, got Stream"):
        wrap(stream(np.ones((4, 2, 3)), np.ones((4, 2))))
