"""Binary rewards with nonlinear log-odds: formulas, pools, and draws without repetition."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.environments import logistic_scores
from superarm.environments.logistic import LATENTS, distinct
from superarm.precision import double
from superarm.types import Decision


@double
def test_latent_scores_are_the_papers():
    rng = np.random.default_rng(0)
    contexts, theta, matrix = rng.uniform(-1, 1, (6, 4)), rng.uniform(-1, 1, 4), rng.uniform(-1, 1, (4, 4))
    inner = contexts @ theta
    expected = {
        "h1": 0.2 * inner**4,
        "h2": 20 * np.cos(inner),
        "h3": 5 * np.array([x @ matrix @ x for x in contexts]),
        "h4": 10 * inner**2,
        "h5": np.array([x @ matrix.T @ matrix @ x for x in contexts]),
        "h6": np.cos(3 * inner),
        "linear": inner,
    }
    assert set(expected) == set(LATENTS)
    for name, values in expected.items():
        np.testing.assert_allclose(LATENTS[name](contexts, theta, matrix), values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("total", "count"), [(5, 5), (7, 3), (2500, 5), (1, 1)])
@double
def test_numbers_are_drawn_without_repetition(total, count):
    drawn = np.asarray(
        jax.vmap(lambda key: distinct(key, total, count))(jax.random.split(jax.random.key(0), 400))
    )
    assert drawn.min() >= 0
    assert drawn.max() < total
    assert all(len(set(row)) == count for row in drawn.tolist())


@double
def test_every_pair_is_as_likely():
    drawn = jax.vmap(lambda key: distinct(key, 4, 2))(jax.random.split(jax.random.key(1), 12_000))
    counts = Counter(map(tuple, np.asarray(drawn).tolist()))
    assert len(counts) == 12
    assert max(abs(count - 1000) for count in counts.values()) < 5 * np.sqrt(1000)


@double
def test_contexts_come_from_the_pool_and_rewards_are_bernoulli():
    world = logistic_scores(latent="h6", dim=3, pool=12)
    instance = world.init(jax.random.key(0))
    pool = np.asarray(instance.pool)
    assert pool.shape == (12, 3)
    assert np.abs(pool).max() <= 1.0
    offer = world.offer(instance, jax.random.key(1))
    rows = [int(np.flatnonzero((pool == row).all(axis=1))[0]) for row in np.asarray(offer.contexts)]
    assert len(set(rows)) == 5
    chances = 1 / (1 + np.exp(-np.cos(3 * np.asarray(offer.contexts) @ np.asarray(instance.theta))))

    def outcome(key):
        items = jnp.asarray([2], jnp.int32)
        decision = Decision(items, items >= 0, offer.contexts[items], jnp.zeros(1), jnp.asarray(True))
        return world.respond(instance, key, offer, decision)

    outcomes = jax.jit(jax.vmap(outcome))(jax.random.split(jax.random.key(2), 4000))
    np.testing.assert_allclose(outcomes.value, chances[2], rtol=1e-10)
    np.testing.assert_allclose(outcomes.best, chances.max(), rtol=1e-10)
    assert set(np.unique(outcomes.feedback)) == {0.0, 1.0}
    assert abs(float(np.mean(outcomes.feedback)) - chances[2]) < 5 * 0.5 / np.sqrt(4000)


def test_sets_and_functions_of_the_user():
    world = logistic_scores(superarm.top_k(2), latent=lambda x, theta, matrix: x[:, 0], dim=2, pool=8)
    result = superarm.simulate(superarm.uniform(world.oracle), world, rounds=20, seeds=1, workers=0)
    assert (result.table["regret"] >= 0).all()
    assert result.table["best"].max() <= 2.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"latent": "h7"}, "latent must be one of 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'linear', got 'h7'"),
        ({"pool": 4}, "pool must be >= 5, got 4"),
        ({"dim": 0}, "dim must be >= 1, got 0"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=f"logistic_scores: {words}"):
        logistic_scores(**arguments)
