"""Arms that stay with scores of four kinds: the formulas, the noise, and what regret counts."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.special import logit

import superarm
from superarm.environments import fixed_scores
from superarm.environments.score_tables import MEANS
from superarm.simulation.round import keys_of

DIM, NUM_ARMS = 4, 30


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def drawn(score, seed=0, **more):
    world = fixed_scores(score=score, dim=DIM, num_arms=NUM_ARMS, **more)
    return jax.tree.map(np.asarray, jax.jit(world.init)(jax.random.key(seed)))


def direction(world, scores):
    """The theta with arms @ theta = scores, and how far it is from that."""
    theta, *_ = np.linalg.lstsq(world.arms, scores, rcond=None)
    return theta, np.abs(world.arms @ theta - scores).max()


def test_means_are_their_formulas_with_one_theta():
    """A seed draws the same arms and the same theta for all; theta is found again from linear scores."""
    norm = 2.5
    linear = drawn("linear", theta_norm=norm)
    theta, error = direction(linear, linear.means)
    assert error < 1e-12
    np.testing.assert_allclose(np.linalg.norm(theta), norm, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(linear.arms, axis=1), 1.0, rtol=1e-12)
    logistic, distance = drawn("logistic", theta_norm=norm), drawn("distance", theta_norm=norm)
    for other in (logistic, distance):
        np.testing.assert_array_equal(other.arms, linear.arms)
    np.testing.assert_allclose(logit(logistic.means), linear.means, rtol=1e-9, atol=1e-12)
    expected = [-np.sqrt(np.sum((x - theta) ** 2)) for x in linear.arms]
    np.testing.assert_allclose(distance.means, expected, rtol=1e-9)


def test_quadratic_scores_are_squares_over_a_hundred():
    """100 h(x) = x'Mx with one positive M = A A', whose trace is d^2 in the mean over A."""
    world = drawn("quadratic")
    rows, columns = np.triu_indices(DIM)
    products = world.arms[:, rows] * world.arms[:, columns] * np.where(rows == columns, 1.0, 2.0)
    entries, _, rank, _ = np.linalg.lstsq(products, 100.0 * world.means, rcond=None)
    assert rank == len(rows)
    np.testing.assert_allclose(products @ entries, 100.0 * world.means, rtol=1e-9)
    matrix = np.zeros((DIM, DIM))
    matrix[rows, columns] = matrix[columns, rows] = entries
    assert np.linalg.eigvalsh(matrix).min() > 0.0
    keys = jax.random.split(jax.random.key(3), 4000)
    quadratic = fixed_scores(score="quadratic", dim=DIM, num_arms=3)
    means = 100.0 * np.asarray(jax.jit(jax.vmap(lambda key: quadratic.init(key).means))(keys))[:, 0]
    # |A'x|^2 for a unit x is chi-square with d degrees.
    assert means.mean() == pytest.approx(DIM, abs=5 * np.sqrt(2 * DIM / 4000))
    assert means.var() == pytest.approx(2 * DIM, rel=0.2)


def test_arms_stay_in_every_round_and_differ_between_seeds():
    world = fixed_scores(dim=DIM, num_arms=NUM_ARMS)
    one, other = world.init(jax.random.key(0)), world.init(jax.random.key(1))
    for index in range(3):
        offer = world.offer(one, jax.random.key(index))
        np.testing.assert_array_equal(offer.contexts, one.arms)
        assert np.asarray(offer.mask).all()
    assert not np.isclose(one.arms, other.arms).any()
    assert (world.spec.dim, world.spec.num_arms) == (DIM, NUM_ARMS)


def test_arms_are_uniform_on_the_sphere():
    """Every coordinate, and every product of two, has the mean that it should."""
    arms = np.asarray(fixed_scores(dim=3, num_arms=20_000).init(jax.random.key(2)).arms)
    np.testing.assert_allclose(arms.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(arms.T @ arms / 20_000, np.eye(3) / 3, atol=0.01)


@pytest.mark.parametrize(
    "score",
    ["logistic", "quadratic", *(pytest.param(one, marks=pytest.mark.full) for one in ("linear", "distance"))],
)
def test_regret_counts_expected_scores_against_the_best_arm(score):
    environment = fixed_scores(score=score, dim=DIM, num_arms=NUM_ARMS)
    table = superarm.simulate(superarm.uniform(), environment, rounds=400, seeds=[3], workers=0).table
    world = environment.init(keys_of(3).world)
    items, means = np.concatenate(table["items"].to_list()), np.asarray(world.means)
    np.testing.assert_allclose(table["value"], means[items], rtol=1e-12)
    np.testing.assert_allclose(table["best"], means.max(), rtol=1e-12)
    np.testing.assert_allclose(table["regret"], means.max() - means[items], atol=1e-12)
    noise = table["reward"] - table["value"]
    assert noise.std() == pytest.approx(0.5, rel=0.15)  # Gaussian around logistic means, too
    assert noise.mean() == pytest.approx(0.0, abs=0.12)
    assert not set(np.round(table["reward"], 6)) <= {0.0, 1.0}


@pytest.mark.full
def test_sets_are_worth_the_sum_of_their_arms():
    environment = fixed_scores(superarm.top_k(3), score="quadratic", dim=DIM, num_arms=NUM_ARMS, noise=0.0)
    assert environment.oracle == superarm.top_k(3)
    table = superarm.simulate(
        superarm.uniform(environment.oracle), environment, rounds=50, seeds=[1], workers=0
    ).table
    means = np.asarray(environment.init(keys_of(1).world).means)
    np.testing.assert_allclose(table["best"], np.sort(means)[-3:].sum(), rtol=1e-12)
    sums = [means[row].sum() for row in table["items"]]
    np.testing.assert_allclose(table["value"], sums, rtol=1e-12)
    np.testing.assert_allclose(table["reward"], sums, rtol=1e-12)
    assert (table["regret"] >= 0).all()


def test_the_defaults_are_the_paper_s():
    world = fixed_scores()
    assert (world.dim, world.num_arms, world.score, world.oracle) == (20, 50, "linear", None)
    assert (float(world.weights.scale), float(world.theta_norm)) == (0.5, 1.0)
    assert set(MEANS) == {"linear", "logistic", "distance", "quadratic"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"score": "cosine"},
            "score must be one of 'linear', 'logistic', 'distance', 'quadratic', got 'cosine'",
        ),
        ({"dim": 0}, "dim must be >= 1, got 0"),
        ({"num_arms": 2.5}, "num_arms must be a whole number, got float"),
        ({"noise": -0.1}, "noise must be >= 0, got -0.1"),
        ({"theta_norm": float("inf")}, "theta_norm must be finite, got inf"),
        ({"oracle": 3}, "oracle must extend superarm.contract.Oracle, got int"),
        (
            {"oracle": superarm.oracles.knapsack([1.0] * 3, 2.0, method="greedy")},
            "oracle must be exact, so that the optimum is known; an approximate one goes to the policy, "
            "got factor 0.5",
        ),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(arguments, message):
    with pytest.raises((ValueError, TypeError)) as error:
        fixed_scores(**arguments)
    assert str(error.value) == f"fixed_scores: {message}"


def test_an_oracle_that_needs_more_arms_is_refused():
    with pytest.raises(ValueError, match=r"^top_k: k must be at most the number of arms, 5, got 9$"):
        fixed_scores(superarm.top_k(9), num_arms=5)
