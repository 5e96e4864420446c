"""Chances of choices: exact against counting by hand, drawn against exact, and their floor."""

from __future__ import annotations

from itertools import pairwise, permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm
from superarm import Agent
from superarm.contract import Beliefs
from superarm.explorers.floor import Floor
from superarm.explorers.greedy import EpsilonGreedy
from superarm.precision import double
from superarm.propensity import drawn_propensity, exact_propensity, is_exact
from superarm.types import Offer

CONTEXTS = np.random.default_rng(0).normal(size=(6, 3))
ALL = np.ones(6, bool)


@double
def state_of(policy, seed=0):
    """A state after some observations."""
    agent_state = policy.init(jax.random.key(seed), superarm.Spec(dim=3, num_arms=6, capacity=60))
    rng = np.random.default_rng(seed)
    size = policy.chooser.size
    for _ in range(8):
        event = superarm.Event(
            items=jnp.zeros(size, jnp.int32),
            features=jnp.asarray(rng.normal(size=(size, 3))),
            feedback=jnp.asarray(rng.normal(size=size)),
            observed=jnp.ones(size, bool),
        )
        agent_state = policy.observe(agent_state, jax.random.key(1), event)
    return agent_state


@double
def frequencies(policy, state, mask, draws=4000):
    """(k, n) how often each arm stands at each position."""
    select = jax.jit(jax.vmap(lambda key: policy.select(state, key, Offer(CONTEXTS, mask), 3).items))
    items = np.asarray(select(jax.random.split(jax.random.key(5), draws)))
    return np.array([[np.mean(slot == arm) for arm in range(len(mask))] for slot in items.T])


MASK = np.array([True, True, False, True, True, True])
EXACT = {
    "ucb": superarm.lin_ucb,
    "epsilon": lambda: superarm.epsilon_greedy(epsilon=0.3),
    "epsilon-set": lambda: superarm.epsilon_greedy(superarm.top_k(2), epsilon=0.3),
    "uniform-set": lambda: superarm.uniform(superarm.top_k(3)),
    "ensemble": lambda: superarm.lin_es(size=4),
    "ensemble-set": lambda: superarm.lin_es(superarm.top_k(2), size=4),
}


ALIKE = ("epsilon", "uniform-set", "ensemble")  # the others have their parts, too


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] if name in ALIKE else []) for name in EXACT]
)
def test_exact_chances_are_frequencies(name):
    policy = EXACT[name]()
    state = state_of(policy)
    assert is_exact(policy)
    with jax.enable_x64(True):
        inside = np.asarray(policy.propensities(state, Offer(CONTEXTS, MASK), 3))
        placed = np.asarray(policy.propensities(state, Offer(CONTEXTS, MASK), 3, positions=True))
    found = frequencies(policy, state, MASK)
    for shares, chances in ((found, placed), (found.sum(axis=0), inside)):
        # 4.5 standard errors of 4,000 draws: one false alarm in some 10^5 arms
        assert np.all(np.abs(shares - chances) <= 4.5 * np.sqrt(chances * (1 - chances) / 4000) + 1e-12)
    np.testing.assert_allclose(placed.sum(axis=0), inside, atol=1e-12)
    np.testing.assert_allclose(placed.sum(axis=1), 1.0)
    assert inside[2] == 0.0


@settings(max_examples=40, deadline=None)
@given(scores=st.lists(st.integers(0, 3), min_size=3, max_size=6), size=st.integers(1, 3))
def test_ties_share_what_is_left(scores, size):
    """Against all orders of the arms in which none stands before one with a higher score."""
    count = len(scores)
    orders = [
        one for one in permutations(range(count)) if all(scores[a] >= scores[b] for a, b in pairwise(one))
    ]
    chances = np.zeros((size, count))
    for order in orders:
        chances[np.arange(size), order[:size]] += 1 / len(orders)
    policy = superarm.comb_ucb1(superarm.top_k(size))
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), superarm.Spec(dim=1, num_arms=count))
        record = state.record
        # Equal counts, so that bonuses are equal and scores are ordered as these means.
        ones = jnp.full(count, 100.0)
        record = type(record)(counts=ones, sums=ones * jnp.asarray(scores, jnp.float64))
        state = superarm.State(record=record, fit=())
        placed = policy.propensities(state, jnp.zeros((count, 1)), 1, positions=True)
        inside = policy.propensities(state, jnp.zeros((count, 1)), 1)
    np.testing.assert_allclose(placed, chances, atol=1e-12)
    np.testing.assert_allclose(inside, chances.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("ranking", [False, pytest.param(True, marks=[pytest.mark.full])])
def test_drawn_chances_are_within_their_error(ranking):
    policy = EXACT["ensemble-set"]()
    state = state_of(policy)
    with jax.enable_x64(True):
        items = policy.select(state, jax.random.key(1), Offer(CONTEXTS, MASK), 3).items
        given = Offer(CONTEXTS, MASK), 3, items
        exact = exact_propensity(policy, state, *given, ranking=ranking)
        drawn = drawn_propensity(policy, state, jax.random.key(2), *given, draws=2000, ranking=ranking)
    assert np.all(np.asarray(exact.error) == 0.0)
    gap = np.abs(np.asarray(drawn.chance) - np.asarray(exact.chance))
    assert np.all(gap <= 4.5 * np.asarray(drawn.error) + 1e-3)  # 1e-3: the decision itself is a draw
    assert np.all(np.asarray(drawn.error) < 0.02)


def test_positions_of_a_ranking():
    """Uniform rankings of 3 of 6: an arm stands at a given place with chance 1 / 6, in the set with 1 / 2."""
    policy = superarm.uniform(superarm.top_k(3))
    state = state_of(policy)
    with jax.enable_x64(True):
        items = policy.select(state, jax.random.key(1), Offer(CONTEXTS, ALL), 3).items
        exact = exact_propensity(policy, state, Offer.of(CONTEXTS), 3, items, ranking=True)
    np.testing.assert_allclose(exact.chance, 1 / 6, atol=1e-12)
    assert np.all(np.asarray(exact.error) == 0.0)


def test_rankings_of_an_agent_have_exact_chances():
    agent = Agent(superarm.comb_lin_ucb(superarm.top_k(3)), ranking=True)
    agent.update(agent.select(CONTEXTS), [1.0, 0.5, 0.2])
    decision = agent.select(CONTEXTS)
    assert decision.propensities.tolist() == [1.0] * 3  # nothing ties
    assert decision.errors.tolist() == [0.0] * 3
    floored = Agent(superarm.comb_lin_ucb(superarm.top_k(3)), ranking=True, min_propensity=0.1)
    floored.update(floored.select(CONTEXTS), [1.0, 0.5, 0.2])
    # By chance with share 0.1 * 6 / 3 = 0.2: 1 / 6 of that for every arm at every position.
    found = {round(float(one), 9) for _ in range(20) for one in floored.select(CONTEXTS).propensities}
    assert found == {round(0.8 + 0.2 / 6, 9), round(0.2 / 6, 9)}


def test_a_floor_under_every_chance():
    agent = Agent(superarm.lin_ucb(), min_propensity=0.05)
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(400):
        decision = agent.select(CONTEXTS, mask=MASK)
        chosen.append(decision.item)
        assert decision.errors[0] == 0.0
        # Five arms on offer: explored a quarter of the time, so that each has 0.05, and the best 0.8.
        assert decision.propensities[0] in (pytest.approx(0.05), pytest.approx(0.8))
    counts = np.bincount(chosen, minlength=6) / 400
    assert counts[2] == 0.0
    assert counts.max() == pytest.approx(0.8, abs=0.09)
    assert np.sort(counts)[1] >= 0.02
    with pytest.raises(ValueError, match=r"min_propensity must be at most 0\.01 with 100 arms on offer"):
        agent.select(rng.normal(size=(100, 3)))


def test_a_floor_under_sets():
    agent = Agent(superarm.comb_lin_ucb(superarm.top_k(2)), min_propensity=0.1)
    decision = agent.select(CONTEXTS)
    # Explored with share 0.1 * 6 / 2 = 0.3: 0.7 + 0.3 / 3 for the best two, 0.1 for the others.
    assert {round(float(one), 9) for one in decision.propensities} <= {0.8, 0.1}


def test_drawn_chances_are_not_below_the_floor():
    agent = Agent(superarm.lin_ts(scale=1e-6), min_propensity=0.1, draws=20, seed=1)
    for _ in range(10):
        agent.update(agent.select(CONTEXTS), 1.0)
    made = [agent.select(CONTEXTS) for _ in range(60)]
    chances = np.array([one.propensities[0] for one in made])
    assert chances.min() >= 0.1
    # By chance with share 0.6; of the rest one draw of 21 is the decision itself.
    rare = np.array([one.item for one in made]) != made[int(chances.argmax())].item
    np.testing.assert_allclose(chances[rare], 0.1 + 0.4 / 21)
    np.testing.assert_allclose(chances[~rare], 0.1 + 0.4)
    assert np.all(np.array([one.errors[0] for one in made]) > 0)


@pytest.mark.parametrize("policy", [superarm.max_inp(), superarm.comb_lin_ts(superarm.oracles.grid_path(3))])
def test_no_floor_under_structures(policy):
    arms = None if policy.name == "max_inp" else 12
    with pytest.raises(ValueError, match="min_propensity must be 0 unless one arm or the k best are chosen"):
        Agent(policy, arms=arms, min_propensity=0.1)


def test_a_floor_mixes_in_chance():
    explorer = Floor(EpsilonGreedy(np.float64(0.5)), np.float64(0.2))

    class Two(Beliefs):
        mean = jnp.array([0.0, 1.0])

    with jax.enable_x64(True):
        Two.mean = jnp.array([0.0, 1.0])
        chances, scores = explorer.options(Two(), jnp.int64(0))
    np.testing.assert_allclose(chances, [0.4, 0.4, 0.2])
    assert scores.tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


def test_chances_of_duels_are_drawn_when_asked_for():
    assert Agent(superarm.glm_duel(rule="ts")).select(CONTEXTS).propensities is None
    assert Agent(superarm.glm_duel(rule="ts"), draws=20).select(CONTEXTS).propensities is not None


def test_no_draws_no_chance():
    assert Agent(superarm.lin_ts(), draws=0).select(CONTEXTS).propensities is None
    assert Agent(superarm.lin_ucb(), draws=0).select(CONTEXTS).propensities.tolist() == [1.0]


# Oracles on the host


def pairs_on_host(scores, mask):
    """The two best, by NumPy."""
    return np.argsort(np.where(mask, -scores, np.inf))[:2]


def test_oracles_on_the_host_have_drawn_chances():
    """The scores of the compiled draws, and the same two best."""
    host = superarm.comb_lin_ts(superarm.oracles.function(pairs_on_host, size=2))
    native = superarm.comb_lin_ts(superarm.top_k(2))
    found = [Agent(policy, draws=100).select(CONTEXTS) for policy in (host, native)]
    assert found[0].items == found[1].items
    np.testing.assert_allclose(found[0].propensities, found[1].propensities, atol=1e-12)
    np.testing.assert_allclose(found[0].errors, found[1].errors, atol=1e-12)
    ranked = Agent(host, draws=100, ranking=True).select(CONTEXTS)
    assert np.all(ranked.propensities < found[0].propensities)
    assert Agent(host).select(CONTEXTS).propensities is None  # unless they are asked for


@pytest.mark.full
def test_ties_on_the_host_are_chances():
    """Two of six that tie: each is in the set with chance 1 / 3."""
    oracle = superarm.oracles.milp(np.ones((1, 6)), at_least=2, at_most=2)
    decision = Agent(superarm.comb_ucb1(oracle), arms=6, draws=60).select(np.zeros((6, 1)))
    assert np.all(np.abs(decision.propensities - 1 / 3) < 4.5 * decision.errors + 0.01)
