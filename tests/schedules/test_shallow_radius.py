"""a_t of oh2026's Theorem 1, against the formula as it is printed."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm

PLAIN = {
    "dim": 4,
    "horizon": 500,
    "num_arms": 6,
    "slope": 0.2,
    "norm_bound": 1.5,
    "least_deviation": 0.3,
    "ridge": 0.7,
    "delta": 0.05,
    "steps": 12,
}


def printed(t, *, dim, horizon, num_arms, slope, norm_bound, least_deviation, ridge, delta, steps):
    root = 2 * math.sqrt(dim * math.log(steps) * math.log(horizon * num_arms / delta))
    inner = 1 + t * (root / (math.sqrt(dim * ridge) * least_deviation)) ** 2
    first = math.sqrt(dim * math.log(inner) * math.log(4 * t**2 / delta))
    first += math.log(4 * t**2 / delta) / least_deviation
    rest = norm_bound + 2 * (2 + math.sqrt(math.log(1 / delta) / dim))
    return 8 / slope * first + 2 * math.sqrt(ridge) * rest


@pytest.mark.parametrize("change", [{}, {"least_deviation": 1.0, "steps": 100}, {"dim": 32, "ridge": 4.0}])
@pytest.mark.parametrize("count", [0, 7, 499])
def test_it_is_the_printed_formula_in_round_count_plus_one(change, count):
    settings = PLAIN | change
    found = superarm.shallow_radius(**settings).at(jnp.asarray(count), jnp.asarray(0.0))
    np.testing.assert_allclose(found, printed(count + 1, **settings), rtol=1e-12)


def test_a_policy_explores_by_it():
    """So wide that the second arm is the one whose features differ most from the first one's."""
    settings = {"dim": 3, "horizon": 50, "num_arms": 4, "slope": 0.1}
    policy = superarm.nvldb_theory(radius=superarm.shallow_radius(**settings), units=8)
    world = superarm.environments.duels("square", dim=3, num_arms=4)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), superarm.Spec(dim=3, num_arms=4, capacity=100))
        contexts = np.random.default_rng(0).normal(size=(4, 3))
        first, second = np.asarray(policy.select(state, jax.random.key(1), contexts, 0).items)
        beliefs = policy.model.beliefs(state, contexts, policy.width)
        utilities, covariance = np.asarray(beliefs.mean), np.asarray(beliefs.whitened.covariance())
    assert first == utilities.argmax()
    spread = np.diagonal(covariance)
    assert second == np.argmax(spread + spread[first] - 2 * covariance[first])
    assert len(superarm.simulate(policy, world, rounds=20, seeds=1, workers=0).table) == 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delta": 1.0}, "delta must be between 0 and 1, both excluded, got 1.0"),
        ({"slope": 0.0}, "slope must be > 0, got 0.0"),
        ({"steps": 0}, "steps must be >= 1, got 0"),
        ({"norm_bound": -1.0}, "norm_bound must be >= 0, got -1.0"),
    ],
)
def test_bad_arguments(change, words):
    with pytest.raises(ValueError, match=f"shallow_radius: {words}"):
        superarm.shallow_radius(**PLAIN | change)
