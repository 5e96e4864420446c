"""The tangent kernel against its definition and against wide networks; what is computed from it."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.integrate import quad
from scipy.stats import norm

from superarm.theory.ntk import (
    effective_dimension_bae2026,
    effective_dimension_hwang2023,
    effective_dimension_sun2026,
    effective_dimension_verma2025,
    kernel_norm,
    ntk_matrix,
)


def some_contexts(seed, number, dim):
    return np.random.default_rng(seed).normal(size=(number, dim))


def expectations(left, right, cross):
    """E[relu(y) relu(z)] and E[relu'(y) relu'(z)] of a normal pair, by integrating over y > 0."""
    if left == 0.0 or right == 0.0:
        return 0.0, 0.0
    slope, spare = cross / left, right - cross**2 / left
    if spare < 1e-12 * right:  # z = slope y
        return max(slope, 0.0) * left / 2, float(slope > 0.0) / 2
    spread = np.sqrt(spare)

    def density(y):
        return norm.pdf(y, scale=np.sqrt(left))

    def positive_part(mean):  # E[relu(z) | y]
        return mean * norm.cdf(mean / spread) + spread * norm.pdf(mean / spread)

    far = 12.0 * np.sqrt(left)
    both = quad(lambda y: y * positive_part(slope * y) * density(y), 0, far, epsabs=1e-12)[0]
    signs = quad(lambda y: norm.cdf(slope * y / spread) * density(y), 0, far, epsabs=1e-12)[0]
    return both, signs


def definition(contexts, depth):
    """Definition 1 of hwang2023, line by line: Sigma^(L) and H~^(L)."""
    sigma = contexts @ contexts.T
    tangent = sigma.copy()
    for _ in range(depth - 1):
        new_sigma, new_tangent = np.zeros_like(sigma), np.zeros_like(sigma)
        for i, j in itertools.combinations_with_replacement(range(len(contexts)), 2):
            both, signs = expectations(sigma[i, i], sigma[j, j], sigma[i, j])
            new_sigma[i, j] = new_sigma[j, i] = 2 * both
            new_tangent[i, j] = new_tangent[j, i] = 2 * tangent[i, j] * signs + 2 * both
        sigma, tangent = new_sigma, new_tangent
    return sigma, tangent


@functools.cache
def awkward_case():
    """General rows, and a double, an opposite, a multiple and a zero row."""
    rows = some_contexts(0, 3, 3)
    return np.concatenate([rows, rows[:1], -rows[:1], 3.0 * rows[1:2], np.zeros((1, 3))])


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_closed_form_is_the_definition(depth):
    sigma, tangent = definition(awkward_case(), depth)
    found = ntk_matrix(awkward_case(), depth)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, (tangent + sigma) / 2, rtol=1e-7, atol=1e-9)


def test_nearly_equal_contexts_keep_their_digits():
    """At angle a the next layer's angle is a (1 - a / 3 pi) + O(a^3); arccos of a cosine would lose 1e-9."""
    angle = 1e-7
    contexts = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    second = angle * (1 - angle / (3 * np.pi))
    third = second * (1 - second / (3 * np.pi))
    tangent = np.cos(angle) * (1 - angle / np.pi) + np.cos(second)
    assert ntk_matrix(contexts, 2)[0, 1] == pytest.approx((tangent + np.cos(second)) / 2, abs=1e-15)
    tangent = tangent * (1 - second / np.pi) + np.cos(third)
    assert ntk_matrix(contexts, 3)[0, 1] == pytest.approx((tangent + np.cos(third)) / 2, abs=1e-15)
    assert ntk_matrix(-contexts, 3)[0, 1] == pytest.approx((tangent + np.cos(third)) / 2, abs=1e-15)


def gradient_kernel(weights, inputs, scale, blocks):
    """G G' of f = scale W_L relu(... W_1 x), all gradients; or, with blocks, those of the diagonal blocks.

    The gradient of a layer is the outer product delta a', so that two have the inner product
    (delta . delta')(a . a').
    """

    def product(delta, signal):
        if not blocks:
            return (delta @ delta.T) * (signal @ signal.T)
        pairs = zip(np.split(delta, 2, axis=1), np.split(signal, 2, axis=1), strict=True)
        return sum((d @ d.T) * (a @ a.T) for d, a in pairs)

    signals, signal = [], inputs
    for matrix in weights[:-1]:
        signals.append(signal)
        signal = np.maximum(signal @ matrix.T, 0.0)
    total = scale**2 * (signal @ signal.T)
    delta = scale * np.repeat(weights[-1], len(inputs), axis=0) * (signal > 0)
    for layer in reversed(range(len(weights) - 1)):
        total = total + product(delta, signals[layer])
        delta = (delta @ weights[layer]) * (signals[layer] > 0)
    return total


def plain_network(rng, dim, width, depth):
    """Cao & Gu (2019): hidden N(0, 2/m), last N(0, 1/m)."""
    sizes = [dim, *[width] * (depth - 1)]
    hidden = [
        rng.normal(size=(after, before)) * np.sqrt(2 / width) for before, after in itertools.pairwise(sizes)
    ]
    return [*hidden, rng.normal(size=(1, width)) * np.sqrt(1 / width)]


def symmetric_network(rng, dim, width, depth):
    """hwang2023, section 3.1, for doubled contexts."""
    half = width // 2
    hidden = []
    for layer in range(depth - 1):
        block = rng.normal(size=(half, dim if layer == 0 else half)) * np.sqrt(4 / width)
        zero = np.zeros_like(block)
        hidden.append(np.block([[block, zero], [zero, block]]))
    last = rng.normal(size=(1, half)) * np.sqrt(2 / width)
    return [*hidden, np.concatenate([last, -last], axis=1)]


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("start", ["plain", "symmetric", "symmetric, blocks only"])
def test_gradients_of_wide_networks_tend_to_it(depth, start):
    """G G' / m tends to H; with the symmetric start and all weights free, to H~^(L) = 2 H - Sigma^(L).

    There the last layer gives Sigma^(L) as before, but a hidden layer has both halves of delta and of its
    inputs in one matrix: 2 |delta_half|^2 2 |a_half|^2, of which the two diagonal blocks are half.
    """
    rng = np.random.default_rng(depth)
    width, draws, dim = 2000, 20, 4
    contexts = some_contexts(7, 5, dim)
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    contexts[0] *= 2.0
    doubled = np.concatenate([contexts, contexts], axis=1) / np.sqrt(2)
    kernels = np.zeros((draws, 5, 5))
    for draw in range(draws):
        if start == "plain":
            weights, inputs = plain_network(rng, dim, width, depth), contexts
        else:
            weights, inputs = symmetric_network(rng, dim, width, depth), doubled
        kernels[draw] = gradient_kernel(weights, inputs, np.sqrt(width), "blocks" in start) / width
    matrix, sigma = ntk_matrix(contexts, depth), definition(contexts, depth)[0]
    right, wrong = matrix, 2 * matrix - sigma
    if start == "symmetric":
        right, wrong = wrong, right
    mean, error = kernels.mean(axis=0), kernels.std(axis=0, ddof=1) / np.sqrt(draws)
    sizes = np.sum(contexts**2, axis=1)
    assert np.all(np.diag(error) < 0.06 * depth * sizes)
    assert np.all(np.abs(mean - right) < 5 * error)
    assert np.all(np.diag(np.abs(mean - wrong)) > 5 * np.diag(error))


rows = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.floats(-3, 3, allow_subnormal=False),
)


@settings(deadline=None, max_examples=60)
@given(contexts=rows, depth=st.integers(2, 6), scale=st.floats(0.1, 10))
def test_properties_of_the_kernel(contexts, depth, scale):
    matrix = ntk_matrix(contexts, depth)
    size = np.max(np.sum(contexts**2, axis=1))
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(
        np.diag(matrix), np.sum(contexts**2, axis=1) * (depth + 1) / 2, rtol=1e-12, atol=1e-100
    )
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-12 * size - 1e-100
    close = {"rtol": 1e-12, "atol": 1e-13 * size + 1e-100}
    np.testing.assert_allclose(ntk_matrix(scale * contexts, depth), scale**2 * matrix, **close)
    np.testing.assert_allclose(ntk_matrix(contexts[::-1], depth), matrix[::-1, ::-1], **close)
    doubled = np.concatenate([contexts, contexts], axis=1) / np.sqrt(2)
    np.testing.assert_allclose(ntk_matrix(doubled, depth), matrix, **close)


def log_det(matrix):
    sign, value = np.linalg.slogdet(matrix)
    assert sign == 1
    return value


@settings(deadline=None, max_examples=40)
@given(contexts=rows, ridge=st.floats(0.1, 10), horizon=st.integers(1, 50), factor=st.floats(0.05, 20))
def test_the_four_effective_dimensions(contexts, ridge, horizon, factor):
    matrix = ntk_matrix(contexts, 3)
    number = len(matrix)
    eye = np.eye(number)
    total = horizon * number
    close = functools.partial(pytest.approx, rel=1e-9, abs=1e-11)
    assert effective_dimension_hwang2023(matrix, ridge=ridge, horizon=horizon, num_arms=number) == close(
        log_det(eye + matrix / ridge) / np.log(1 + total / ridge)
    )
    assert effective_dimension_sun2026(matrix, ridge=ridge, horizon=horizon) == close(
        log_det(eye + horizon * matrix / ridge) / np.log(1 + total / ridge)
    )
    assert effective_dimension_bae2026(matrix, ridge=ridge) == close(log_det(eye + matrix / (4 * ridge)))
    assert effective_dimension_bae2026(matrix, ridge=ridge, slope=factor) == close(
        log_det(eye + factor / ridge * matrix)
    )
    assert effective_dimension_verma2025(matrix, ridge=ridge, kappa=factor) == close(
        log_det(eye + matrix / (factor * ridge))
    )


@settings(deadline=None, max_examples=40)
@given(contexts=rows, ridge=st.floats(0.1, 10), horizon=st.integers(1, 5))
def test_fixed_arms_make_two_definitions_one(contexts, ridge, horizon):
    """The kernel of the arms repeated T times has the eigenvalues T H, and zeros."""
    fixed = effective_dimension_sun2026(ntk_matrix(contexts, 2), ridge=ridge, horizon=horizon)
    repeated = ntk_matrix(np.tile(contexts, (horizon, 1)), 2)
    all_rounds = effective_dimension_hwang2023(repeated, ridge=ridge, horizon=horizon, num_arms=len(contexts))
    assert fixed == pytest.approx(all_rounds, rel=1e-9, abs=1e-11)


@settings(deadline=None, max_examples=40)
@given(contexts=rows, ridge=st.floats(0.01, 10), growth=st.floats(1.1, 10))
def test_effective_dimensions_grow_with_data_and_shrink_with_ridge(contexts, ridge, growth):
    matrix = ntk_matrix(contexts, 2)
    few, number = ntk_matrix(contexts[:-1], 2), len(contexts)
    log_dets = (effective_dimension_bae2026, functools.partial(effective_dimension_verma2025, kappa=4.0))
    for function in log_dets:
        now = function(matrix, ridge=ridge)
        assert 0.0 <= function(matrix, ridge=growth * ridge) <= now
        assert function(few, ridge=ridge) <= now + 1e-12 * (1 + now)
    kept = effective_dimension_hwang2023(few, ridge=ridge, horizon=1, num_arms=number)
    now = effective_dimension_hwang2023(matrix, ridge=ridge, horizon=1, num_arms=number)
    assert kept <= now + 1e-12 * (1 + now)
    assert now <= number * np.log1p(np.trace(matrix) / (number * ridge)) / np.log1p(number / ridge) * (
        1 + 1e-12
    )  # the mean of the eigenvalues in place of each


def test_effective_dimensions_at_the_ends():
    contexts = some_contexts(1, 6, 3)
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    matrix = ntk_matrix(contexts, 2)
    # A large ridge leaves the traces: log det(I + A) = tr A + O(|A|^2). slogdet would round this to nothing.
    found = effective_dimension_hwang2023(matrix, ridge=1e15, horizon=2, num_arms=3)
    assert found == pytest.approx(np.trace(matrix) / 6, rel=1e-12)
    assert effective_dimension_bae2026(matrix, ridge=1e15) == pytest.approx(6 * 1.5 / 4e15, rel=1e-12)
    # A small ridge counts the distinct directions, and not the rounding of the others.
    distinct = np.linalg.eigvalsh(ntk_matrix(contexts[:4], 2))
    repeated = ntk_matrix(np.tile(contexts[:4], (2, 1)), 2)
    for scale in (1e6, 1e18):
        found = effective_dimension_bae2026(repeated, ridge=1.0, slope=scale)
        assert found == pytest.approx(np.sum(np.log1p(2 * scale * distinct)), rel=1e-9)
    # One direction only.
    one = ntk_matrix(np.tile(contexts[:1], (6, 1)), 2)
    assert effective_dimension_hwang2023(one, ridge=2.0, horizon=2, num_arms=3) == pytest.approx(
        np.log(1 + 6 * 1.5 / 2.0) / np.log(1 + 6 / 2.0)
    )
    assert effective_dimension_verma2025(np.zeros((3, 3)), ridge=1.0, kappa=1.0) == 0.0


def test_the_kernel_of_gradients_gives_the_determinant_of_the_design_matrix():
    """bae2026's H~ is (p, p); G G' / m is (n, n); of a float32 network it is symmetric up to rounding."""
    gradients = np.random.default_rng(2).normal(size=(4, 30))
    design = gradients.T @ gradients / 8
    kernel = gradients @ gradients.T / 8
    rough = kernel.astype(np.float32) * (1 + np.float32(1e-7) * np.triu(np.ones((4, 4), np.float32)))
    expected = log_det(np.eye(30) + 0.25 / 0.7 * design)
    assert effective_dimension_bae2026(design, ridge=0.7) == pytest.approx(expected, rel=1e-12)
    assert effective_dimension_bae2026(kernel, ridge=0.7) == pytest.approx(expected, rel=1e-12)
    assert effective_dimension_bae2026(rough, ridge=0.7) == pytest.approx(expected, rel=1e-5)


def test_kernel_norm():
    contexts = some_contexts(3, 6, 3)
    matrix, values = ntk_matrix(contexts, 2), np.random.default_rng(4).uniform(size=6)
    expected = np.sqrt(2 * values @ np.linalg.solve(matrix, values))
    assert kernel_norm(matrix, values) == pytest.approx(expected, rel=1e-10)
    assert kernel_norm(matrix, 3 * values) == pytest.approx(3 * expected, rel=1e-10)
    assert kernel_norm(4 * matrix, values) == pytest.approx(expected / 2, rel=1e-10)
    assert kernel_norm(matrix, np.zeros(6)) == 0.0


def test_kernel_norm_with_equal_parallel_and_zero_contexts():
    """They add nothing, as long as a positively homogeneous network without biases can fit their values."""
    contexts = some_contexts(5, 4, 3)
    values = np.array([0.2, 0.9, 0.4, 0.6])
    expected = kernel_norm(ntk_matrix(contexts, 2), values)
    more = np.concatenate([contexts, contexts[:2], 0.5 * contexts[2:3], np.zeros((1, 3))])
    fitting = np.concatenate([values, values[:2], 0.5 * values[2:3], [0.0]])
    singular = ntk_matrix(more, 2)
    assert kernel_norm(singular, fitting) == pytest.approx(expected, rel=1e-9)
    for index in (4, 6, 7):
        wrong = fitting.copy()
        wrong[index] += 0.1
        with pytest.raises(ValueError, match=r"^kernel_norm: values must lie in the range of matrix, got"):
            kernel_norm(singular, wrong)


ASYMMETRIC = np.array([[1.0, 0.5], [0.4, 1.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
EYE = np.eye(2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ntk_matrix([1.0], 2),
            ValueError,
            "ntk_matrix: contexts must have shape (any, any), got (1,)",
        ),
        (lambda: ntk_matrix(EYE, 1), ValueError, "ntk_matrix: depth must be >= 2, got 1"),
        (lambda: ntk_matrix(EYE, 2.0), TypeError, "ntk_matrix: depth must be a whole number, got float"),
        (
            lambda: ntk_matrix([[1.0], [np.nan]], 2),
            ValueError,
            "ntk_matrix: contexts must be finite, got nan at (1, 0)",
        ),
        (
            lambda: effective_dimension_bae2026(np.ones((2, 3)), ridge=1.0),
            ValueError,
            "effective_dimension_bae2026: matrix must have shape (2, 2), got (2, 3)",
        ),
        (
            lambda: effective_dimension_bae2026(ASYMMETRIC, ridge=1.0),
            ValueError,
            "effective_dimension_bae2026: matrix must be symmetric, got entries that differ by 0.1",
        ),
        (
            lambda: effective_dimension_verma2025(INDEFINITE, ridge=1.0, kappa=1.0),
            ValueError,
            "effective_dimension_verma2025: matrix must be positive semi-definite, got an eigenvalue of -1",
        ),
        (
            lambda: kernel_norm(INDEFINITE, [1.0, 1.0]),
            ValueError,
            "kernel_norm: matrix must be positive semi-definite, got an eigenvalue of -1",
        ),
        (
            lambda: kernel_norm(EYE, [1.0]),
            ValueError,
            "kernel_norm: values must have shape (2,), got (1,)",
        ),
        (
            lambda: kernel_norm(np.ones((2, 2)), [0.0, 1.0]),
            ValueError,
            "kernel_norm: values must lie in the range of matrix, got a part of norm 0.707 outside it;"
            " give equal contexts equal values",
        ),
        (
            lambda: effective_dimension_hwang2023(EYE, ridge=1.0, horizon=1, num_arms=1),
            ValueError,
            "effective_dimension_hwang2023: matrix must have at most horizon * num_arms = 1 rows, got 2",
        ),
        (
            lambda: effective_dimension_sun2026(EYE, ridge=0.0, horizon=1),
            ValueError,
            "effective_dimension_sun2026: ridge must be > 0, got 0.0",
        ),
        (
            lambda: effective_dimension_verma2025(EYE, ridge=1.0, kappa=-1.0),
            ValueError,
            "effective_dimension_verma2025: kappa must be > 0, got -1.0",
        ),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
