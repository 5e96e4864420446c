"""The theorems' bounds against their formulas, term by term, and above what is measured."""

from __future__ import annotations

import numpy as np
import pytest

import superarm
from superarm.bounds import bayes_regret_bound, regret_bound
from superarm.environments import catalogue


@pytest.mark.parametrize(("num_items", "dim"), [(50, 8), (10**9, 2)])
def test_theorem_3_takes_the_smaller_of_two_radii(num_items, dim):
    size, rounds, lam, sigma = 3, 500, 2.0, 0.5
    by_items = np.sqrt(np.log(lam * num_items * rounds / np.sqrt(2 * np.pi)))
    by_features = np.sqrt(dim * np.log(2 * dim * size * rounds * lam / np.sqrt(2 * np.pi)))
    spread = 2 * dim * rounds * np.log(1 + rounds * size * lam**2 / dim) / np.log(1 + lam**2 / sigma**2)
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


def test_comb_lin_ucb_stays_below_theorem_2():
    """A coherent case with weights in [0, 1] and unit features, as the theorem asks."""
    rng = np.random.default_rng(0)
    features = np.abs(rng.normal(size=(30, 4)))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = np.array([0.5, 0.3, 0.1, 0.05])
    rounds, size, delta = 300, 3, 1 / 900
    world = catalogue(features, features @ theta, superarm.top_k(size))
    radius = superarm.lemma7_radius(
        dim=4, size=size, horizon=rounds, delta=delta, theta_norm=float(np.linalg.norm(theta))
    )
    policy = superarm.comb_lin_ucb(world.oracle, radius=radius)
    regret = superarm.simulate(policy, world, rounds=rounds, seeds=3, workers=0).finals()["regret"].iloc[0]
    bound = regret_bound(
        radius=radius, size=size, dim=4, horizon=rounds, prior_scale=1.0, noise=1.0, delta=delta
    )
    assert 0 < regret < bound
