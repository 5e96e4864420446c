"""VACDB against its pseudo-code in plain NumPy, and the way down through the layers."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference.oh2026 as reference
import superarm
from superarm.environments import duels
from superarm.models.layered import LayerMemo
from superarm.models.layers import LayerScores
from superarm.types import Event, Offer, Spec

DIM, ARMS = 3, 5
THETA = np.array([1.2, -0.7, 0.4])


@jax.jit
def round_of(policy, state, key, contexts, mask, count):
    return policy.select(state, key, Offer(contexts, mask), count)


@jax.jit
def learned(policy, state, event):
    state = policy.observe(state, jax.random.key(0), event)
    return replace(state, fit=policy.learn(state, jax.random.key(0)))


@pytest.mark.parametrize("layer", [1, 8, 15])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_one_duel_moves_any_layer_to_its_optimum(layer, size):
    """kappa theta + 4^l w^2 (g(z'theta) - 1) z = 0 with 4^l w^2 = 1 / (|z|^2 4^l), however small."""
    policy = superarm.vacdb(2000, radius=1.0, kappa=0.1)
    z, weight = np.array([size, 0.0]), 4.0**-layer / size**2
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=2, capacity=40))
        event = Event(
            items=jnp.arange(2, dtype=jnp.int32),
            features=jnp.stack([z, 0.0 * z]),
            feedback=jnp.array([1.0, 0.0]),
            observed=jnp.ones(2, bool),
            memo=LayerMemo(jnp.int32(layer)),
        )
        theta = np.asarray(learned(policy, state, event).fit.theta)[layer - 1]
    lost = weight * (1.0 / (1.0 + np.exp(-z @ theta)) - 1.0) * z
    np.testing.assert_allclose(0.1 * theta, -lost, rtol=1e-5)


@pytest.mark.parametrize("radius", [0.5, None])
def test_vacdb_is_its_pseudo_code(radius):
    """Small arms, so that layers are passed; both kinds of choices; arms that come and go."""
    policy = superarm.vacdb(200, radius=radius, kappa=0.2, finest=0.05)
    rng = np.random.default_rng(4)
    agent = reference.VACDB(dim=DIM, alpha=0.05, kappa=0.2, radius=radius)
    fixed = rng.normal(size=(ARMS, DIM)) * np.geomspace(0.02, 1.0, ARMS)[:, None]
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ARMS, capacity=400))
        visited = set()
        for count in range(150):
            mask = rng.uniform(size=ARMS) < 0.8
            mask[rng.integers(ARMS)] = True
            arms = fixed[mask]
            decision = round_of(policy, state, jax.random.key(count), fixed, mask, count)
            first, second, layer = agent.choose(arms)
            names = np.flatnonzero(mask)
            chosen = np.asarray(decision.items).tolist()
            assert sorted(chosen) == sorted((int(names[first]), int(names[second]))), count
            assert int(decision.memo.layer) == (layer or 0)
            one, other = fixed[chosen[0]], fixed[chosen[1]]
            won = float(rng.uniform() < 1.0 / (1.0 + np.exp(-5.0 * (one - other) @ THETA)))
            agent.observe(one, other, won, layer)
            feedback = jnp.array([won, 1.0 - won])
            event = Event(decision.items, decision.features, feedback, decision.mask, decision.memo)
            state = learned(policy, state, event)
            visited.add(layer)
            theta = [agent.theta[one] for one in agent.all_layers()]
            np.testing.assert_allclose(state.fit.theta, theta, rtol=1e-5, atol=1e-7)
            beta = [agent.beta[one] for one in agent.all_layers()]
            np.testing.assert_allclose(state.fit.radius, beta, rtol=1e-6)
    assert {None, 1, 2} <= visited  # None: chosen to be used, not to learn


def test_a_duel_without_a_memo_is_learned_in_the_first_layer_that_it_is_wide_in():
    policy = superarm.vacdb(100, radius=1.0)
    items = np.array([0, 1], np.int32)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=2, capacity=20))

        def counts(gap, observed=True):
            features = np.array([[gap, 0.0], [0.0, 0.0]])
            event = Event(items, features, np.array([1.0, 0.0]), np.array([True, observed]))
            return np.asarray(learned(policy, state, event).record.counts)

        # An empty layer l has width 2^l |z|, which is > 2^-l for |z| > 4^-l.
        assert [int(np.argmax(counts(gap))) for gap in (1.0, 0.2, 0.05)] == [0, 1, 2]
        assert counts(1.0).sum() == 1
        assert counts(1.0, observed=False).sum() == 0
        assert counts(0.0).sum() == 0  # an arm against itself says nothing


@jax.enable_x64(True)
def test_arms_that_are_surely_worse_are_dropped_on_the_way():
    utilities = jnp.array([[0.0, 0.1, 0.9], [0.5, 0.0, 0.4]])
    widths = jnp.stack([jnp.full((3, 3), 0.4), jnp.full((3, 3), 0.3)])
    scores = LayerScores(utilities, widths, jnp.array([1.0, 1.0]), jnp.array(0.1))
    # Layer 1 (1/2) has nothing to learn at width 0.4, and drops what is 0.5 behind; layer 2 (1/4) learns.
    everything = scores.descend(jnp.ones(3, bool))
    assert everything.alive.tolist() == [False, False, True]
    assert int(everything.layer) == 1
    assert not bool(everything.sure)
    some = scores.descend(jnp.array([True, True, False]))
    assert some.alive.tolist() == [True, True, False]
    assert bool(scores.descend(jnp.zeros(3, bool)).sure)


@pytest.mark.full
def test_vacdb_learns_linear_utilities():
    world = duels("linear", dim=3, num_arms=5)
    policies = {"vacdb": superarm.vacdb(1000, radius=1.0), "uniform": superarm.uniform_duel()}
    results = {
        name: superarm.simulate(policy, world, rounds=1000, seeds=2, workers=0)
        for name, policy in policies.items()
    }
    regret = {name: float(result.table["regret"].sum()) for name, result in results.items()}
    assert regret["vacdb"] < 0.5 * regret["uniform"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"horizon": 0}, "vacdb: horizon must be"),
        ({"horizon": 10, "finest": 2.0}, "vacdb: finest must"),
        ({"horizon": 10, "kappa": 0.0}, "vacdb: kappa must be > 0"),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        superarm.vacdb(**arguments)
