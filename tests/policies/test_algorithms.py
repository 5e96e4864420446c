"""Each named algorithm against its pseudo-code, written independently in plain NumPy.

The transcription keeps its own statistics, sees the same feedback and scores the items itself. In every round
the policy must have chosen a set that is optimal for the transcription's scores.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.models.beta import beta_draws
from superarm.types import Event, Spec

draw_betas = jax.jit(beta_draws)
ITEMS, DIM, SIZE, ROUNDS = 9, 7, 3, 300
LAMBDA, SIGMA = 2.0, 0.5
SETS = np.array(list(itertools.combinations(range(ITEMS), SIZE)))


class CombLin:
    """Algorithm 1 of wen2015 for the statistics; the subclasses score."""

    def __init__(self, features):
        self.features = features
        self.mean, self.covariance = np.zeros(DIM), LAMBDA**2 * np.eye(DIM)

    def update(self, items, weights, key):
        for item, weight in zip(items, weights, strict=True):
            phi = self.features[item]
            spread = self.covariance @ phi
            total = phi @ spread + SIGMA**2
            gain = spread / total
            self.mean = (np.eye(DIM) - np.outer(gain, phi)) @ self.mean + gain * weight
            self.covariance = self.covariance - np.outer(spread, spread) / total


class CombLinUCB(CombLin):
    """Algorithm 3."""

    def scores(self, key, state, count):
        return np.array(
            [phi @ self.mean + 0.7 * np.sqrt(phi @ self.covariance @ phi) for phi in self.features]
        )


class CombLinTS(CombLin):
    """Algorithm 2, with the policy's standard normals turned into the transcription's own root."""

    def scores(self, key, state, count):
        with jax.enable_x64(True):
            normals = np.asarray(jax.random.normal(key, (1, DIM), jnp.float64))[0]
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(values)
        rotation = np.linalg.solve(root, np.asarray(state.record.factor.root))
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(DIM), atol=1e-6)  # S S' = Sigma
        return self.features @ (self.mean + root @ (rotation @ normals))


class CombUCB1:
    """UCB1 indices; an item never seen is infinitely attractive."""

    def __init__(self, features):
        self.seen = [[] for _ in range(ITEMS)]

    def scores(self, key, state, count):
        return np.array(
            [np.mean(w) + np.sqrt(1.5 * np.log(count + 1) / len(w)) if w else 1e4 for w in self.seen]
        )

    def update(self, items, weights, key):
        for item, weight in zip(items, weights, strict=True):
            self.seen[item].append(weight)


class CombTS:
    """Beta(1 + wins, 1 + losses), drawn with the policy's key."""

    def __init__(self, features):
        self.wins, self.losses = np.ones(ITEMS), np.ones(ITEMS)

    def scores(self, key, state, count):
        with jax.enable_x64(True):
            one = jax.random.split(key, 1)[0]
            return np.asarray(draw_betas(one, jnp.asarray(self.wins), jnp.asarray(self.losses)))

    def update(self, items, weights, key):
        for item, weight in zip(items, weights, strict=True):
            self.wins[item] += weight
            self.losses[item] += 1 - weight


ORACLE = superarm.top_k(SIZE)
PAIRS = {
    "comb_lin_ucb": (
        superarm.comb_lin_ucb(ORACLE, radius=0.7, prior_scale=LAMBDA, noise=SIGMA),
        CombLinUCB,
    ),
    "comb_lin_ts": (superarm.comb_lin_ts(ORACLE, prior_scale=LAMBDA, noise=SIGMA), CombLinTS),
    "comb_ucb1": (superarm.comb_ucb1(ORACLE), CombUCB1),
    "comb_ts": (superarm.comb_ts(ORACLE), CombTS),
}


@pytest.mark.parametrize(("policy", "transcription"), PAIRS.values(), ids=PAIRS.keys())
def test_chooses_what_the_pseudo_code_chooses(policy, transcription):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ITEMS, DIM))
    probabilities = rng.uniform(0.1, 0.9, ITEMS)
    reference = transcription(features)
    state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ITEMS))
    with jax.enable_x64(True):
        select, observe = jax.jit(policy.select), jax.jit(policy.observe)
        for count in range(ROUNDS):
            key_select, key_observe = jax.random.split(jax.random.key(count))
            decision = select(state, key_select, jnp.asarray(features), jnp.int64(count))
            scores = reference.scores(jax.random.split(key_select)[0], state, count)
            items = np.asarray(decision.items)
            assert scores[items].sum() == pytest.approx(scores[SETS].sum(axis=1).max(), abs=1e-7)
            weights = (rng.uniform(size=SIZE) < probabilities[items]).astype(float)
            event = Event(decision.items, decision.features, jnp.asarray(weights), decision.mask)
            state = observe(state, key_observe, event)
            reference.update(items, weights, key_observe)


def test_single_arm_presets_are_the_combinatorial_ones_with_one_slot():
    """LinUCB is CombLinUCB and LinTS is CombLinTS when a set has one arm: same keys, same choices."""
    rng = np.random.default_rng(1)
    features = jnp.asarray(rng.normal(size=(ITEMS, DIM)))
    one = superarm.top_k(1)
    for single, combined in (
        (superarm.lin_ucb(radius=0.7, noise=SIGMA), superarm.comb_lin_ucb(one, radius=0.7, noise=SIGMA)),
        (superarm.lin_ts(noise=SIGMA), superarm.comb_lin_ts(one, noise=SIGMA)),
    ):
        states = [policy.init(jax.random.key(0), Spec(DIM, ITEMS)) for policy in (single, combined)]
        for count in range(50):
            chosen = []
            for index, policy in enumerate((single, combined)):
                decision = policy.select(states[index], jax.random.key(count), features, count)
                feedback = jnp.sin(decision.items.astype(jnp.float32))
                event = Event(decision.items, decision.features, feedback, decision.mask)
                states[index] = policy.observe(states[index], jax.random.key(count), event)
                chosen.append(int(decision.items[0]))
            assert chosen[0] == chosen[1]
