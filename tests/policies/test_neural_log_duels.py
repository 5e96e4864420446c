"""NeuralLog duels against a transcription made of bae2026's equations and oh2026's choices."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference.bae2026 as bae
import reference.oh2026 as oh
import superarm
from superarm.models import Paired, Preferences
from superarm.types import Event, Spec

DIM, ARMS, UNITS, ROUNDS = 3, 4, 6, 45
SHORT = {"asymmetric": "asym", "optimistic": "osym", "candidate": "csym"}


class Difference(NamedTuple):
    """f(x_1) - f(x_2) of rows [x_1; x_2], as a network of bae2026."""

    def value(self, weights, X):
        return bae.PLAIN.value(weights, X[:, :DIM]) - bae.PLAIN.value(weights, X[:, DIM:])

    def gradient(self, weights, X):
        return bae.PLAIN.gradient(weights, X[:, :DIM]) - bae.PLAIN.gradient(weights, X[:, DIM:])


@jax.jit
def reach(policy, state, arms, count):
    beliefs = policy.model.beliefs(state, arms, policy.width)
    return policy.explorer.scores(jax.random.key(0), beliefs, jnp.asarray(count)).reach


@pytest.mark.parametrize(
    ("strategy", "variances"),
    [
        ("optimistic", True),
        pytest.param("asymmetric", False, marks=pytest.mark.full),
        pytest.param("candidate", True, marks=pytest.mark.full),
    ],
)
def test_neural_log_duel_is_its_transcription(strategy, variances):
    nu, lam, kappa = 0.3, 0.5, 4.0
    settings = {"nu": nu, "ridge": lam, "kappa": kappa, "units": UNITS, "learn_every": 5, "steps": 10}
    policy = superarm.neural_log_duel(strategy=strategy, variances=variances, **settings)
    network = replace(policy.model.model.network.network, precision="float64")
    policy = replace(policy, model=Preferences(replace(policy.model.model, network=Paired(network))))
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(3), Spec(dim=DIM, num_arms=ARMS, capacity=2 * ROUNDS))
        weights = tuple(np.asarray(leaf).astype(float) for leaf in jax.tree.leaves(state.fit.params))
        size = bae.flatten(weights).size
        X, r = np.empty((0, 2 * DIM)), np.empty(0)
        G, variance = np.empty((0, size)), np.empty(0)
        select, observe, learn = jax.jit(policy.select), jax.jit(policy.observe), jax.jit(policy.learn)
        for count in range(ROUNDS):
            arms = rng.uniform(-1, 1, (ARMS, DIM))
            key = jax.random.key(count)
            decision = select(state, key, arms, count)

            f, g = bae.PLAIN.value(weights, arms), bae.PLAIN.gradient(weights, arms)
            d_t = bae.effective_dimension(G, 0.25, full=False)
            radius = bae.beta(d_t, nu=nu, lam=lam, S=1.0, neural_log=True)
            squares = G**2 * variance[:, None] if variances else G**2
            matrix = np.diag((lam if variances else kappa * lam) + squares.sum(axis=0))
            power = radius * (1.0 if variances else np.sqrt(kappa))
            choose = getattr(oh, f"ucb_{SHORT[strategy]}")
            expected = choose(f, g, matrix, power)
            found = reach(policy, state, arms, count)
            np.testing.assert_allclose(found, power * oh.widths(g, matrix), rtol=1e-6, atol=1e-9)
            chosen = np.asarray(decision.items).tolist()
            assert sorted(chosen) == sorted(expected), count

            pair = np.concatenate([arms[chosen[0]], arms[chosen[1]]])
            gap = 4.0 * (arms[chosen[0]][0] ** 2 - arms[chosen[1]][0] ** 2)
            won = float(rng.uniform() < 1.0 / (1.0 + np.exp(-gap)))
            if chosen[0] != chosen[1]:  # an arm against itself says nothing
                X, r = np.vstack([X, pair]), np.append(r, won)
                G = np.vstack([G, g[chosen[0]] - g[chosen[1]]])
                variance = np.append(variance, bae.sigmoid_slope(f[chosen[0]] - f[chosen[1]]))
            event = Event(decision.items, decision.features, jnp.array([won, 1.0 - won]), decision.mask)
            state = observe(state, key, event)
            if (count + 1) % 5 == 0:
                state = replace(state, fit=learn(state, key))
                assert len(r)
                weights = bae.descend(Difference(), weights, X, r, lam=lam, steps=10, lr=0.01)


@pytest.mark.parametrize("rule", ["ucb", "ts"])
def test_both_rules_run(rule):
    world = superarm.environments.duels("square", dim=2, num_arms=3)
    policy = superarm.neural_log_duel(rule=rule, units=4, learn_every=5, steps=2)
    result = superarm.simulate(policy, world, rounds=10, seeds=1, workers=0)
    assert np.isfinite(result.table["regret"]).all()


def test_bad_arguments_are_told_in_one_sentence():
    with pytest.raises(ValueError, match="neural_log_duel: rule must be one of 'ucb', 'ts', got 'best'"):
        superarm.neural_log_duel(rule="best")
    with pytest.raises(ValueError, match="neural_log_duel: strategy must be one of"):
        superarm.neural_log_duel(strategy="both")
