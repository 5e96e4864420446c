"""Theorem 3.1 and equations 1 to 4 of bae2026: formulas, and coverage by simulation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference.bae2026 as reference
import superarm
from superarm.precision import double
from superarm.schedules import BernsteinRadius, BernsteinRidge, EffectiveRadius, bernstein, tail_bound
from superarm.widths import Diagonal, Full, Gram

NUMBER = np.float64


@given(
    count=st.integers(0, 10**6),
    logdet=st.floats(0.0, 1e4),
    norm=st.floats(0.1, 50.0),
    delta=st.floats(0.001, 0.9),
    c1=st.floats(0.01, 10.0),
    depth=st.integers(2, 6),
)
@settings(max_examples=50, deadline=None)
@double
def test_parts_of_the_radius_are_the_formulas(count, logdet, norm, delta, c1, depth):
    constants = bernstein(norm_bound=norm, delta=delta, depth=depth, c1=c1)
    count_, logdet_ = jnp.int64(count), jnp.float64(logdet)
    first = reference.lambda_zero(L=depth, S=norm, delta=delta, C1=c1)
    iota = reference.iota(count, logdet, first, L=depth, delta=delta, C1=c1)
    np.testing.assert_allclose(constants.first_ridge, first, rtol=1e-12)
    np.testing.assert_allclose(constants.iota(count_, logdet_), iota, rtol=1e-12)
    np.testing.assert_allclose(
        BernsteinRidge(constants, NUMBER(3.0)).at(count_, logdet_),
        3.0 * reference.lambda_now(count, logdet, first, L=depth, S=norm, delta=delta, C1=c1),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        BernsteinRadius(constants, NUMBER(0.7), NUMBER(2.0)).at(count_, logdet_),
        2.0 * reference.nu_t(iota, L=depth, S=norm, C=0.7),
        rtol=1e-12,
    )


@double
def test_a_radius_counts_observations_not_decisions():
    constants = bernstein(norm_bound=1.0, delta=0.1)
    one, four = (BernsteinRadius(constants, NUMBER(1.0), NUMBER(1.0), size=size) for size in (1, 4))
    assert four.at(jnp.int64(5), jnp.float64(2.0)) == one.at(jnp.int64(20), jnp.float64(2.0))


@double
def test_the_radius_of_the_experiments():
    radius = EffectiveRadius(*(NUMBER(value) for value in (0.3, 7.0, 0.25, 2.0, 5.0)))
    found = radius.at(jnp.int64(9), jnp.float64(4.0))
    np.testing.assert_allclose(found, 5.0 * 0.3 * (7.0 * 2.0 + 0.5 * 2.0), rtol=1e-12)
    np.testing.assert_allclose(
        found, 5.0 * reference.beta(4.0, nu=0.3, lam=0.25, S=2.0, neural_log=True), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"norm_bound": 0.0, "delta": 0.1}, "norm_bound must be > 0, got 0.0"),
        ({"norm_bound": 1.0, "delta": 1.0}, "delta must be between 0 and 1, both excluded, got 1.0"),
        ({"norm_bound": 1.0, "delta": 0.1, "depth": 1}, "depth must be >= 2, got 1"),
    ],
)
def test_bad_constants(arguments, words):
    with pytest.raises(ValueError, match=f"bernstein: {words}"):
        bernstein(**arguments)


PATHS, ROUNDS, DIM, RIDGE, DELTA = 2000, 200, 4, 0.5, 0.2


@jax.jit
def path(key):
    """One martingale: the vectors follow what was seen so far; the ratio of norm and bound at every t."""
    key_theta, key_rounds = jax.random.split(key)
    theta = 2.0 * jax.random.normal(key_theta, (DIM,), jnp.float64)

    def step(carry, inputs):
        total, matrix = carry
        key, count = inputs
        key_vector, key_noise = jax.random.split(key)
        offered = jax.random.normal(key_vector, (6, DIM), jnp.float64)
        offered = offered / jnp.linalg.norm(offered, axis=1, keepdims=True)
        # An adversary of the bound: it goes on where the sum already points.
        vector = offered[jnp.argmax(jnp.abs(offered @ jnp.linalg.solve(matrix, total)))]
        chance = jax.nn.sigmoid(vector @ theta)
        noise = jnp.where(jax.random.uniform(key_noise, (), jnp.float64) < chance, 1.0, 0.0) - chance
        total = total + noise * vector
        matrix = matrix + chance * (1.0 - chance) * jnp.outer(vector, vector)
        norm = jnp.sqrt(total @ jnp.linalg.solve(matrix, total))
        logdet = jnp.linalg.slogdet(matrix)[1] - DIM * jnp.log(RIDGE)
        return (total, matrix), (norm, tail_bound(logdet, count, delta=DELTA, norm=1.0, ridge=RIDGE))

    start = (jnp.zeros(DIM, jnp.float64), RIDGE * jnp.eye(DIM, dtype=jnp.float64))
    keys = jax.random.split(key_rounds, ROUNDS)
    return jax.lax.scan(step, start, (keys, jnp.arange(1, ROUNDS + 1)))[1]


@double
def test_theorem_3_1_covers():
    """Over thousands of paths, ||s_t|| stays below the bound at all t in at least 1 - delta of them.

    The bound is loose: a bound of a quarter its size still covers, one of a fortieth does not, so that the
    simulation can tell.
    """
    norms, bounds = (np.asarray(one) for one in jax.vmap(path)(jax.random.split(jax.random.key(0), PATHS)))
    assert np.mean(np.all(norms <= bounds, axis=1)) >= 1.0 - DELTA
    assert np.mean(np.all(norms <= bounds / 40.0, axis=1)) < 1.0 - DELTA


@double
def test_the_tail_bound_is_the_transcription():
    rng = np.random.default_rng(0)
    vectors, noise = rng.normal(size=(30, 3)), rng.uniform(-1, 1, 30)
    weights = rng.uniform(0, 0.25, 30)
    norm, logdet = reference.self_normalized(vectors, noise, weights, 0.7)
    expected = reference.tail_bound(logdet, 30, 0.1, 1.0, 2.0, 0.7)
    np.testing.assert_allclose(
        tail_bound(logdet, 30, delta=0.1, bound=1.0, norm=2.0, ridge=0.7), expected, rtol=1e-12
    )
    assert norm < expected


# --- the width whose ridge may change ---


@given(seed=st.integers(0, 500), ridge=st.floats(1e-3, 1e3), later=st.floats(1e-3, 1e3))
@settings(max_examples=25, deadline=None)
@double
def test_gram_is_the_matrix_with_the_ridge_of_now(seed, ridge, later):
    rng = np.random.default_rng(seed)
    rows, others = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    width = Gram()
    factor = width.init(jax.ShapeDtypeStruct((1, 4), jnp.float64), jnp.float64(ridge**-0.5), 0)
    factor, shift = width.absorb(factor, width.whiten(factor, jnp.asarray(rows)), jnp.ones(7))
    exact = rows.T @ rows + ridge * np.eye(4)
    np.testing.assert_allclose(shift, np.linalg.solve(exact, rows.T @ np.ones(7)), rtol=1e-6, atol=1e-9)
    factor = width.with_ridge(factor, jnp.float64(later))
    exact = rows.T @ rows + later * np.eye(4)
    whitened = width.whiten(factor, jnp.asarray(others))
    covariance = others @ np.linalg.solve(exact, others.T)
    np.testing.assert_allclose(whitened.covariance(), covariance, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(whitened.norms(), np.sqrt(np.diag(covariance)), rtol=1e-7)
    np.testing.assert_allclose(
        factor.logdet, np.linalg.slogdet(exact)[1] - 4 * np.log(later), rtol=1e-6, atol=1e-9
    )
    kept = whitened.only(jnp.asarray([True, False, True, True, False])).norms()
    np.testing.assert_allclose(kept[jnp.asarray([1, 4])], 0.0)
    np.testing.assert_allclose(whitened.take(jnp.asarray([2])).norms(), whitened.norms()[2:3])


@given(seed=st.integers(0, 500), ridge=st.floats(1e-2, 1e2), later=st.floats(1e-2, 1e2))
@settings(max_examples=25, deadline=None)
@double
def test_a_diagonal_can_change_its_ridge(seed, ridge, later):
    rows = np.random.default_rng(seed).normal(size=(6, 3))
    width = Diagonal()
    factor = width.init(jax.ShapeDtypeStruct((1, 3), jnp.float64), jnp.float64(ridge**-0.5), 0)
    factor = width.absorb(factor, width.whiten(factor, jnp.asarray(rows)), jnp.zeros(6))[0]
    factor = width.with_ridge(factor, jnp.float64(later))
    exact = (rows**2).sum(axis=0) + later
    np.testing.assert_allclose(factor.precision, exact, rtol=1e-9)
    np.testing.assert_allclose(factor.logdet, np.log(exact / later).sum(), rtol=1e-9, atol=1e-9)


def test_a_ridge_that_changes_needs_a_width_that_can():
    policy = superarm.neural_log_ucb_2_theory(norm_bound=1.0, delta=0.1)
    policy = superarm.Policy(policy.model, Full(), policy.explorer, policy.chooser)
    with pytest.raises(
        ValueError, match="width must be 'gram' or 'diagonal' for a ridge that changes, got Full"
    ):
        policy.check(superarm.Spec(dim=3, num_arms=4, capacity=10))
