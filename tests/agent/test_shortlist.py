"""The best of a catalogue, block by block, against plain scores of all."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import superarm
from superarm import Agent
from superarm.agent import shortlist
from superarm.simulation.round import round_keys

DIM = 6


def taught(policy, rounds=30):
    rng = np.random.default_rng(0)
    agent = Agent(policy, seed=4)
    for _ in range(rounds):
        contexts = rng.normal(size=(8, DIM))
        decision = agent.select(contexts)
        agent.update(decision, [float(contexts[item, 0] > 0) for item in decision.items])
    return agent


def scores(agent, catalogue):
    """Of the next decision, in double precision and all at once."""
    core = agent._session.state.learner
    with jax.enable_x64(True):
        beliefs = core.policy.model.beliefs(core.state, jnp.asarray(catalogue), core.policy.width)
        key = round_keys(core.keys, jnp.int64(core.decisions))[2]
        return np.asarray(
            core.policy.explorer.scores(jax.random.split(key)[0], beliefs, jnp.int64(core.decisions))
        )


POLICIES = {
    "full": lambda: superarm.lin_ucb(noise=0.5),
    "diagonal": lambda: superarm.comb_lin_ucb(superarm.top_k(2), width="diagonal"),
    "thompson": lambda: superarm.lin_ts(noise=0.5),
    "logistic": lambda: superarm.glm_ucb(radius=0.3),
    "neural": lambda: superarm.neural_ucb(
        superarm.neural(superarm.perceptron(width=8), learn_every=10, steps=5), radius=0.1, width="diagonal"
    ),
}


OTHERS = [pytest.param(name, 150, marks=pytest.mark.full) for name in ("full", "logistic", "neural")]


# Less than a block, a whole piece of blocks, and pieces with a rest that begins in the one before.
@pytest.mark.parametrize(
    ("name", "items"), [("full", 5), ("full", 64), ("diagonal", 150), ("thompson", 150), *OTHERS]
)
def test_the_best_are_found(name, items, monkeypatch):
    monkeypatch.setattr(shortlist, "BLOCK_ITEMS", 16)
    monkeypatch.setattr(shortlist, "PIECE_ITEMS", 64)
    shortlist._best_program.cache_clear()
    agent = taught(POLICIES[name]())
    catalogue = np.random.default_rng(1).normal(size=(items, DIM))
    before = agent.stats
    found = agent.shortlist(catalogue, 5)
    expected = scores(agent, catalogue)
    assert len(set(found.tolist())) == 5
    # The order may differ where scores are the same in single precision.
    np.testing.assert_allclose(expected[found], np.sort(expected)[::-1][:5], rtol=1e-5, atol=1e-6)
    assert agent.stats == before


def test_select_chooses_the_first_of_the_list():
    agent = taught(superarm.lin_ts(noise=0.5))
    catalogue = np.random.default_rng(2).normal(size=(9000, DIM))
    for form in (np.float64, np.float32, jnp.float32):
        rows = agent.shortlist(
            jnp.asarray(catalogue, form) if form is jnp.float32 else catalogue.astype(form), 20
        )
        decision = agent.select(catalogue[rows], ids=rows)
        assert decision.item == rows[0]  # the same draw of the parameters


def test_an_agent_that_has_not_begun_has_not_begun_after_it():
    agent = Agent(superarm.lin_ucb())
    agent.shortlist(np.eye(4), 2)
    agent.select(np.eye(3))  # another number of features


@pytest.mark.parametrize(
    ("policy", "contexts", "size", "message"),
    [
        (
            superarm.lin_ucb(),
            np.ones(3),
            1,
            r"contexts must be an array \(n, d\) of numbers, got float64 \(3,\)",
        ),
        (superarm.lin_ucb(), np.array([["a"]]), 1, "contexts must be an array"),
        (superarm.lin_ucb(), np.eye(3), 4, "size must be between 1 and 3, got 4"),
        (superarm.lin_ucb(), np.eye(3), 0, "size must be >= 1, got 0"),
        (superarm.epsilon_greedy(), np.eye(3), 1, "the policy must score items one by one"),
        (superarm.logistic_ts(width="diagonal"), np.eye(3), 1, "the policy must score items one by one"),
        (superarm.lin_ucb(), np.diag([1.0, np.nan, 1.0]), 1, "contexts must be finite and not too large"),
        (superarm.lin_ucb(), np.diag([1.0, 1e30, 1.0]), 1, "contexts must be finite and not too large"),
    ],
    ids=["vector", "words", "many", "none", "policy", "draws", "nan", "large"],
)
def test_bad_input_is_said(policy, contexts, size, message):
    with pytest.raises(ValueError, match=f"shortlist: {message}"):
        Agent(policy).shortlist(contexts, size)


def test_columns_are_known_by_their_names():
    agent = Agent(superarm.lin_ucb())
    table = pd.DataFrame(np.random.default_rng(3).normal(size=(20, 3)), columns=["a", "b", "c"])
    decision = agent.select(table)
    agent.update(decision, 1.0)
    assert np.array_equal(agent.shortlist(table[["c", "b", "a"]], 4), agent.shortlist(table, 4))


def test_the_number_of_features_stays():
    agent = taught(superarm.lin_ucb(), rounds=1)
    with pytest.raises(ValueError, match=f"contexts must have {DIM} features, as before, got 3"):
        agent.shortlist(np.eye(3), 1)


def test_a_catalogue_that_grows_compiles_nothing_anew():
    agent = taught(superarm.lin_ucb())
    catalogue = np.random.default_rng(5).normal(size=(700, DIM))
    agent.shortlist(catalogue[:513], 33)
    compiled = shortlist._best_program()._cache_size()
    for items, size in ((514, 33), (600, 40), (700, 64)):
        agent.shortlist(catalogue[:items], size)
    assert shortlist._best_program()._cache_size() == compiled


@pytest.mark.parametrize("size", [1, 20, 100, 150])
def test_the_list_may_be_longer_than_a_piece(size, monkeypatch):
    monkeypatch.setattr(shortlist, "BLOCK_ITEMS", 8)
    monkeypatch.setattr(shortlist, "PIECE_ITEMS", 32)
    shortlist._best_program.cache_clear()
    agent = taught(superarm.lin_ucb(), rounds=5)
    catalogue = np.random.default_rng(6).normal(size=(150, DIM))
    found = agent.shortlist(catalogue, size)
    assert len(set(found.tolist())) == size
    expected = scores(agent, catalogue)
    np.testing.assert_allclose(expected[found], np.sort(expected)[::-1][:size], rtol=1e-5, atol=1e-6)


def test_what_ties_comes_in_its_order():
    agent = Agent(superarm.lin_ucb())
    assert agent.shortlist(np.ones((11, 2)), 7).tolist() == list(range(7))
