"""The Bayesian linear model against wen2015's Algorithm 1, and its numbers at the ends of the range."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.models import Linear
from superarm.types import Event, Spec, State
from superarm.widths import Diagonal, Full, Sketched

DIM = 8


def kalman(mean, covariance, features, weights, noise):
    """Algorithm 1 of wen2015, line by line."""
    for phi, weight in zip(features, weights, strict=True):
        spread = covariance @ phi
        total = phi @ spread + noise**2
        mean = (np.eye(len(phi)) - np.outer(spread, phi) / total) @ mean + spread / total * weight
        covariance = covariance - np.outer(spread, spread) / total
    return mean, covariance


def event_of(features, feedback, observed=None) -> Event:
    count = len(features)
    return Event(
        items=jnp.arange(count),
        features=jnp.asarray(features, jnp.float64),
        feedback=jnp.asarray(feedback, jnp.float64),
        observed=jnp.ones(count, bool) if observed is None else jnp.asarray(observed),
    )


@jax.jit  # once per width and shape: models are values
def observe(model, width, record, event):
    return model.observe(State(record, ()), None, event, width)


@jax.jit
def answers(width, factor, queries):
    whitened = width.whiten(factor, queries)
    return whitened.norms(), whitened.covariance()


def run(model, width, blocks, dim=DIM):
    with jax.enable_x64(True):
        record = model.init(jax.random.key(0), Spec(dim=dim, num_arms=1), width).record
        for features, feedback in blocks:
            record = observe(model, width, record, event_of(features, feedback))
    return record


def blocks_of(rng, num_blocks, size, dim=DIM, theta=None):
    theta = rng.normal(size=dim) if theta is None else theta
    for _ in range(num_blocks):
        features = rng.normal(size=(size, dim))
        yield features, features @ theta + rng.normal(size=size)


def model_of(prior_scale=10.0, noise=1.0) -> Linear:
    return Linear(prior_scale=np.asarray(prior_scale), noise=np.asarray(noise))


@pytest.mark.parametrize("size", [3, 6])
def test_partly_observed_blocks_equal_algorithm_1_on_what_was_observed(size):
    rng = np.random.default_rng(size)
    model, width = model_of(), Full()
    mean, covariance = np.zeros(DIM), 100.0 * np.eye(DIM)
    with jax.enable_x64(True):
        record = model.init(jax.random.key(0), Spec(dim=DIM, num_arms=1), width).record
        for features, weights in blocks_of(rng, 15, size):
            seen = rng.uniform(size=size) < 0.6
            event = event_of(features, np.where(seen, weights, np.nan), seen)
            record = observe(model, width, record, event)
            mean, covariance = kalman(mean, covariance, features[seen], weights[seen], 1.0)
    root = np.asarray(record.factor.root)
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(record.mean, mean, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize("noise", [1e-4, 1e-2, 1.0])
def test_an_item_that_contradicts_itself_moves_no_unseen_direction(size, noise):
    """Repeated rows before full rank: exactly, the mean stays within their span."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, DIM))
    blocks = [(rows[rng.choice(6, size, replace=False)], rng.normal(size=size)) for _ in range(20)]
    mean = np.asarray(run(model_of(10.0, noise), Full(), blocks).mean)
    inside = np.linalg.lstsq(rows.T, mean, rcond=None)[0] @ rows
    # The limit that the width's page states: eps (scale / noise)^2 |x| r, with |x| about 3 and r about 2.
    assert np.linalg.norm(mean - inside) < 20 * 20 * 2.2e-16 * (10.0 / noise) ** 2 * 6 + 1e-12


# One row, few rows and many rows are three forms of one update.
@pytest.mark.parametrize("size", [1, 2, 4, 5, 8, 13])
@pytest.mark.parametrize("noise", [0.1, 1.0, 30.0])
def test_block_update_equals_algorithm_1(size, noise):
    blocks = list(blocks_of(np.random.default_rng(size), 12, size))
    record = run(model_of(noise=noise), Full(), blocks)
    mean, covariance = np.zeros(DIM), 100.0 * np.eye(DIM)
    for features, weights in blocks:
        mean, covariance = kalman(mean, covariance, features, weights, noise)
    root = np.asarray(record.factor.root)
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(record.mean, mean, rtol=1e-8, atol=1e-10)
    expected = np.linalg.slogdet(100.0 * np.eye(DIM))[1] - np.linalg.slogdet(covariance)[1]
    np.testing.assert_allclose(record.factor.logdet, expected, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-6, 4), st.floats(-2, 5))
def test_widths_answer_norms_covariances_and_stay_sound(seed, log_noise, log_prior):
    """For any noise and prior: finite, no wider than the prior, and norms^2 = diagonal of the covariance."""
    rng = np.random.default_rng(seed)
    prior_scale, noise = 10.0**log_prior, 10.0**log_noise
    blocks = list(blocks_of(rng, 3, 4))
    queries = rng.normal(size=(5, DIM))
    for width in (Full(), Diagonal()):
        record = run(model_of(prior_scale, noise), width, blocks)
        with jax.enable_x64(True):
            norms, covariance = map(np.asarray, answers(width, record.factor, jnp.asarray(queries)))
        assert np.isfinite(np.asarray(record.mean)).all()
        assert (norms <= prior_scale * np.linalg.norm(queries, axis=1) * (1 + 1e-9)).all()
        assert (norms > 0).all()
        np.testing.assert_allclose(norms**2, np.diag(covariance), rtol=1e-6)


def test_the_order_of_blocks_does_not_matter():
    blocks = list(blocks_of(np.random.default_rng(3), 10, 3))
    forward, backward = run(model_of(), Full(), blocks), run(model_of(), Full(), blocks[::-1])
    np.testing.assert_allclose(forward.mean, backward.mean, rtol=1e-9)
    root, other = np.asarray(forward.factor.root), np.asarray(backward.factor.root)
    np.testing.assert_allclose(root @ root.T, other @ other.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("noise", [1e-7, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_noise_from_1e_minus_7_to_1e4_matches_exact_arithmetic(noise, size):
    """Block after block equals one Householder QR of all rows."""
    rng = np.random.default_rng(0)
    blocks = list(blocks_of(rng, 60, size))
    record = run(model_of(10.0, noise), Full(), blocks)
    features = np.concatenate([block[0] for block in blocks])
    weights = np.concatenate([block[1] for block in blocks])
    stacked = np.concatenate([np.eye(DIM) / 10.0, features / noise])
    target = np.concatenate([np.zeros(DIM), weights / noise])
    mean = np.linalg.lstsq(stacked, target, rcond=None)[0]
    triangle = np.linalg.qr(stacked, mode="r")
    queries = rng.normal(size=(6, DIM))
    norms = np.linalg.norm(np.linalg.solve(triangle.T, queries.T), axis=0)
    root = np.asarray(record.factor.root)
    np.testing.assert_allclose(np.linalg.norm(queries @ root, axis=1), norms, rtol=1e-5)
    np.testing.assert_allclose(record.mean, mean, rtol=1e-5, atol=1e-6)


def test_the_plain_recursions_fail_where_the_square_root_does_not():
    """At noise 1e-7 the information matrix of one block is singular in float64; the factor is sound."""
    rng = np.random.default_rng(0)
    features, weights = next(blocks_of(rng, 1, 5))
    information = np.eye(DIM) / 100.0 + features.T @ features / 1e-14
    assert np.linalg.eigvalsh(information)[0] < 0.005  # exactly it is 0.01
    record = run(model_of(10.0, 1e-7), Full(), [(features, weights)])
    singular = np.linalg.svd(np.asarray(record.factor.root), compute_uv=False)
    np.testing.assert_allclose(singular[:3], 10.0, rtol=1e-6)
    np.testing.assert_allclose(features @ np.asarray(record.mean), weights, rtol=1e-5, atol=1e-6)


def test_diagonal_precision_is_the_diagonal_of_the_information_matrix():
    blocks = list(blocks_of(np.random.default_rng(1), 7, 3))
    record = run(model_of(2.0, 0.5), Diagonal(), blocks)
    information = np.eye(DIM) / 4.0 + sum(x.T @ x for x, _ in blocks) / 0.25
    np.testing.assert_allclose(record.factor.precision, np.diag(information), rtol=1e-12)


def test_diagonal_is_exact_when_features_are_axes():
    """With one-hot features the posterior is diagonal, so both widths agree."""
    rng = np.random.default_rng(2)
    blocks = [(np.eye(DIM)[rng.choice(DIM, 3, replace=False)], rng.normal(size=3)) for _ in range(9)]
    full, diagonal = (run(model_of(), width, blocks) for width in (Full(), Diagonal()))
    np.testing.assert_allclose(full.mean, diagonal.mean, rtol=1e-9, atol=1e-12)
    root = np.asarray(full.factor.root)
    np.testing.assert_allclose(np.diag(root @ root.T), 1.0 / np.asarray(diagonal.factor.precision), rtol=1e-9)
    np.testing.assert_allclose(full.factor.logdet, diagonal.factor.logdet, rtol=1e-9)


@pytest.mark.parametrize("width", [Full(), Diagonal(), Sketched(4)], ids=["full", "diagonal", "sketched"])
def test_draws_have_the_posterior_covariance(width):
    record = run(model_of(), width, blocks_of(np.random.default_rng(5), 2, 3))
    with jax.enable_x64(True):
        features = jnp.asarray(np.random.default_rng(6).normal(size=(4, DIM)))
        draws = np.asarray(width.deviations(record.factor, jax.random.key(0), 40_000) @ features.T)
        expected = np.asarray(width.whiten(record.factor, features).covariance())
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(np.cov(draws.T) / scale, expected / scale, atol=0.03)
    np.testing.assert_allclose(draws.mean(axis=0) / np.sqrt(np.diag(expected)), 0.0, atol=0.03)


def million(width, noise, size=1, updates=10**6, dim=10):
    """Scan over updates with features that repeat, so that sums are known exactly."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(50, size, dim))
    feedback = rng.normal(size=(50, size))
    model = model_of(1.0, noise)
    with jax.enable_x64(True):
        record = model.init(jax.random.key(0), Spec(dim=dim, num_arms=1), width).record
        rows, values = jnp.asarray(pool), jnp.asarray(feedback)

        def body(index, record):
            event = event_of(rows[index % 50], values[index % 50])
            return model.observe(State(record, ()), None, event, width)

        record = jax.jit(lambda record: jax.lax.fori_loop(0, updates, body, record))(record)
    gram = np.einsum("bki,bkj->ij", pool, pool) * (updates / 50)
    moment = np.einsum("bki,bk->i", pool, feedback) * (updates / 50)
    information = np.eye(dim) + gram / noise**2
    return record, information, moment / noise**2


@pytest.mark.parametrize("noise", [1e-7, 1.0, 1e4])
def test_a_million_updates_equal_one_solve(noise):
    record, information, moment = million(Full(), noise)
    root = np.asarray(record.factor.root)
    np.testing.assert_allclose(root @ root.T @ information, np.eye(10), atol=1e-6)
    np.testing.assert_allclose(record.mean, np.linalg.solve(information, moment), rtol=1e-6, atol=1e-9)
