"""The theorems' bounds against their formulas, term by term, and above what is measured."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.theory.bounds import bayes_regret_bound, regret_bound


@pytest.mark.parametrize(("num_items", "dim"), [(50, 8), (10**9, 2)])
def test_theorem_3_takes_the_smaller_of_two_radii(num_items, dim):
    size, rounds, lam, sigma = 3, 500, 2.0, 0.5
    by_items = np.sqrt(np.log(lam * num_items * rounds / np.sqrt(2 * np.pi)))
    by_features = np.sqrt(dim * np.log(2 * dim * size * rounds * lam / np.sqrt(2 * np.pi)))
    growth = np.log(1 + rounds * size * lam**2 / (dim * sigma**2))  # as Lemma 4; equation 11 drops sigma
    spread = 2 * dim * rounds * growth / np.log(1 + lam**2 / sigma**2)
    expected = 1 + size * lam * min(by_items, by_features) * np.sqrt(spread)
    found = bayes_regret_bound(
        num_items=num_items, size=size, dim=dim, horizon=rounds, prior_scale=lam, noise=sigma
    )
    assert found == pytest.approx(expected, rel=1e-12)


def test_theorem_2_and_theorem_4():
    size, dim, rounds, lam, sigma, radius, delta = 3, 8, 500, 2.0, 0.5, 4.0, 0.01
    spread = (
        dim * rounds * np.log(1 + rounds * size * lam**2 / (dim * sigma**2)) / np.log(1 + lam**2 / sigma**2)
    )
    exact = 2 * radius * size * lam * np.sqrt(spread)
    given = {"radius": radius, "size": size, "dim": dim, "horizon": rounds, "prior_scale": lam}
    found = regret_bound(**given, noise=sigma, delta=delta)
    assert found == pytest.approx(exact + rounds * size * delta, rel=1e-12)
    scaled = regret_bound(**given, noise=sigma, delta=delta, gap=0.5)
    assert scaled == pytest.approx(2 * exact + rounds * size * delta, rel=1e-12)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_lemma_4_bounds_the_widths_of_any_choices(noise):
    """sum of widths <= K lambda sqrt(...): Theorem 2 with radius 1/2 and delta 0, for rows of norm 1."""
    rng = np.random.default_rng(0)
    dim, size, rounds, total = 6, 4, 200, 0.0
    policy = superarm.comb_lin_ucb(superarm.top_k(size), prior_scale=1.0, noise=noise)
    state = policy.init(jax.random.key(0), superarm.Spec(dim=dim, num_arms=size))
    with jax.enable_x64(True):
        observe = jax.jit(policy.observe)
        for _ in range(rounds):
            rows = rng.normal(size=(size, dim))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            total += float(policy.width.whiten(state.record.factor, jnp.asarray(rows)).norms().sum())
            event = superarm.Event(jnp.arange(size), jnp.asarray(rows), jnp.zeros(size), jnp.ones(size, bool))
            state = observe(state, jax.random.key(0), event)
    bound = regret_bound(
        radius=0.5, size=size, dim=dim, horizon=rounds, prior_scale=1.0, noise=noise, delta=0.0
    )
    assert 0.1 * bound < total < bound


def test_lemma_7_covers_the_truth():
    """With the lemma's radius, no true weight leaves its interval in any of 200 rounds, nor is it vacuous."""
    rng = np.random.default_rng(1)
    dim, size, rounds = 3, 2, 200
    features = np.abs(rng.normal(size=(12, dim)))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = np.array([0.5, 0.2, 0.1])
    radius = superarm.lemma7_radius(
        dim=dim, size=size, horizon=rounds, delta=0.01, theta_norm=float(np.linalg.norm(theta)), noise=0.5
    )
    policy = superarm.comb_lin_ucb(superarm.top_k(size), radius=radius, noise=0.5)
    state = policy.init(jax.random.key(0), superarm.Spec(dim=dim, num_arms=12))
    worst = 0.0
    with jax.enable_x64(True):
        select, observe = jax.jit(policy.select), jax.jit(policy.observe)
        for count in range(rounds):
            decision = select(state, jax.random.key(count), jnp.asarray(features), jnp.int64(count))
            record = state.record
            gaps = np.abs(features @ (np.asarray(record.mean) - theta))
            widths = np.asarray(policy.width.whiten(record.factor, jnp.asarray(features)).norms())
            worst = max(worst, float(np.max(gaps / widths)))
            weights = rng.uniform(size=size) < (features @ theta)[np.asarray(decision.items)]
            event = superarm.Event(
                decision.items, decision.features, jnp.asarray(weights, jnp.float64), decision.mask
            )
            state = observe(state, jax.random.key(count), event)
    assert 0.02 * radius < worst < radius


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gap": 1.0}, "regret_bound: gap must be >= 0 and < 1, got 1.0"),
        ({"noise": 0.0}, "regret_bound: noise must be > 0, got 0.0"),
        ({"size": 0}, "regret_bound: size must be >= 1, got 0"),
    ],
)
def test_bad_arguments(arguments, message):
    given = {
        "radius": 1.0,
        "size": 2,
        "dim": 3,
        "horizon": 10,
        "prior_scale": 1.0,
        "noise": 1.0,
        "delta": 0.1,
    }
    with pytest.raises(ValueError) as error:
        regret_bound(**{"delta": 0.1, **given, **arguments})
    assert str(error.value) == message
