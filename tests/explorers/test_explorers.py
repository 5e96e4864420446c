"""Explorers and choosers against their formulas."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from superarm.choosers import Best
from superarm.contract import Beliefs, Explorer
from superarm.explorers import UCB, EpsilonGreedy, Greedy, Responses, Thompson, Uniform
from superarm.models.beta import beta_draws
from superarm.models.items import ItemBeta, ItemGaussian
from superarm.schedules import Constant, Logarithmic, lemma7_radius


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def beliefs() -> ItemGaussian:
    return ItemGaussian(mean=jnp.asarray([0.1, 0.5, 0.3]), counts=jnp.asarray([4.0, 100.0, 1.0]))


def test_ucb_adds_radius_times_width():
    scores = UCB(Constant(np.asarray(2.0))).scores(None, beliefs(), jnp.int64(9))
    np.testing.assert_allclose(scores, [0.1 + 2 * 0.5, 0.5 + 2 * 0.1, 0.3 + 2 * 1.0])


def test_ucb1_radius_is_sqrt_of_scale_ln_t():
    """Round 10 comes after 9 decisions: sqrt(1.5 ln 10 / n)."""
    scores = UCB(Logarithmic(np.asarray(1.5))).scores(None, beliefs(), jnp.int64(9))
    np.testing.assert_allclose(
        scores, beliefs().mean + np.sqrt(1.5 * np.log(10) / np.array([4.0, 100.0, 1.0]))
    )


def test_unseen_items_come_first_and_stay_finite():
    unseen = ItemGaussian(mean=jnp.asarray([0.0, 1.0]), counts=jnp.asarray([0.0, 1.0]))
    scores = UCB(Logarithmic(np.asarray(1.5))).scores(None, unseen, jnp.int64(10**9))
    assert scores[0] > 1000 * scores[1]
    assert np.isfinite(scores).all()


def test_thompson_scales_the_best_of_m_draws():
    key = jax.random.key(3)
    five = beliefs().draws(key, np.asarray(1.0), 5, False)
    scores = Thompson(scale=np.asarray(0.5), draws=5, joint=False).scores(key, beliefs(), jnp.int64(0))
    np.testing.assert_allclose(scores, beliefs().mean + 0.5 * (five.max(axis=0) - beliefs().mean), rtol=1e-12)


def test_thompson_draws_have_the_beliefs_moments():
    keys = jax.random.split(jax.random.key(0), 40_000)
    draw = jax.vmap(lambda key: Thompson(np.asarray(1.0)).scores(key, beliefs(), jnp.int64(0)))(keys)
    np.testing.assert_allclose(draw.mean(axis=0), beliefs().mean, atol=0.02)
    np.testing.assert_allclose(draw.std(axis=0), beliefs().norms(), rtol=0.02)


def test_beta_beliefs_have_beta_moments():
    belief = ItemBeta(wins=jnp.asarray([3.0, 1.0]), losses=jnp.asarray([2.0, 1.0]))
    np.testing.assert_allclose(belief.mean, [0.6, 0.5])
    np.testing.assert_allclose(belief.norms() ** 2, [3 * 2 / (25 * 6), 1 / 12])
    draws = belief.draws(jax.random.key(1), np.asarray(1.0), 20_000, True)
    np.testing.assert_allclose(draws.mean(axis=0), belief.mean, atol=0.01)
    np.testing.assert_allclose(draws.std(axis=0), belief.norms(), rtol=0.03)


@pytest.mark.parametrize(("wins", "losses"), [(1.0, 1.0), (0.2, 0.7), (3.0, 50.0), (4000.0, 1.0)])
def test_beta_draws_follow_the_beta_distribution(wins, losses):
    draws = beta_draws(jax.random.key(2), jnp.full(20_000, wins), jnp.full(20_000, losses))
    assert scipy.stats.kstest(np.asarray(draws), scipy.stats.beta(wins, losses).cdf).pvalue > 1e-3


def test_beta_draws_of_bad_parameters_are_nan():
    draws = beta_draws(jax.random.key(0), jnp.asarray([1.0, jnp.nan, -1.0]), jnp.asarray([1.0, 1.0, 1.0]))
    assert np.isnan(draws).tolist() == [False, True, True]


@dataclass(frozen=True)
class Flat(Beliefs):
    mean: jax.Array


def test_epsilon_is_the_share_of_random_rounds():
    belief = Flat(jnp.asarray([0.0, 5.0, 0.0, 0.0]))
    explorer = EpsilonGreedy(np.asarray(0.4))

    def choose(key):
        key_scores, key_choose = jax.random.split(key)
        scores = explorer.scores(key_scores, belief, jnp.int64(0))
        return Best().choose(key_choose, scores, jnp.ones(4, bool)).items[0]

    items = np.asarray(jax.vmap(choose)(jax.random.split(jax.random.key(0), 20_000)))
    share = np.bincount(items, minlength=4) / len(items)
    np.testing.assert_allclose(share, [0.1, 0.7, 0.1, 0.1], atol=0.015)


def test_greedy_is_the_mean_and_uniform_ignores_it():
    np.testing.assert_array_equal(Greedy().scores(None, beliefs(), jnp.int64(0)), beliefs().mean)
    scores = Uniform().scores(jax.random.key(0), beliefs(), jnp.int64(0))
    shifted = ItemGaussian(mean=beliefs().mean + 10.0, counts=beliefs().counts)
    np.testing.assert_array_equal(scores, Uniform().scores(jax.random.key(0), shifted, jnp.int64(0)))


def test_best_breaks_ties_at_random_among_available_arms():
    scores, mask = jnp.asarray([2.0, 1.0, 2.0, 2.0]), jnp.asarray([True, True, False, True])
    keys = jax.random.split(jax.random.key(0), 6_000)
    items = np.asarray(jax.vmap(lambda key: Best().choose(key, scores, mask).items[0])(keys))
    share = np.bincount(items, minlength=4) / len(items)
    np.testing.assert_allclose(share, [0.5, 0.0, 0.0, 0.5], atol=0.03)


def test_lemma_7_radius_by_hand():
    """d=2, K=3, n=10, lambda=2, sigma=0.5, delta=0.1, |theta|=1."""
    expected = np.sqrt(2 * np.log(1 + 10 * 3 * 4 / (2 * 0.25)) + 2 * np.log(10)) / 0.5 + 1 / 2
    radius = lemma7_radius(dim=2, size=3, horizon=10, delta=0.1, theta_norm=1.0, prior_scale=2.0, noise=0.5)
    assert radius == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="delta must be between 0 and 1, both excluded, got 1"):
        lemma7_radius(dim=2, size=3, horizon=10, delta=1.0, theta_norm=1.0)


def test_scores_through_a_link_keep_their_order_where_it_is_flat():
    class Latent(Explorer):
        def scores(self, key, beliefs, count):
            return beliefs

    latent = jnp.asarray([-900.0, -80.0, -1.0, 0.0, 2.0, 40.0, 80.0, 1e6])
    through = np.asarray(Responses(Latent(), "logistic").scores(None, latent, None))
    assert (np.diff(through) > 0).all()
    np.testing.assert_allclose(through, 1 / (1 + np.exp(-np.clip(latent, -700, 700))), atol=1e-10)
