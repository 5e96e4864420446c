"""Lemma 1's radius and offset, and the settings of Theorem 2, against hwang2023 line by line."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from superarm.schedules.lemma1 import cn_ts_offset, cn_ts_scale, lemma1_radius, optimistic_draws

PLAIN = {
    "norm_bound": 1.3,
    "noise": 0.4,
    "delta": 0.05,
    "ridge": 1.7,
    "width": 64,
    "depth": 3,
    "size": 4,
    "rate": 0.02,
    "steps": 25,
}
CONSTANTS = {"c1": 0.3, "c_gamma1": 0.7, "c_gamma2": 0.11, "c_gamma3": 0.013, "c3": 0.5, "c4": 0.09}
THEOREM = {"effective_dim": 6.5, "horizon": 500, "num_arms": 20}


def gamma_of(t, logdet, p, c):
    """gamma_t as the lemma has it, but the root over logdet + Gamma_2 - 2 log delta, and sqrt(lambda) B."""
    rho, B, lam, delta = p["noise"], p["norm_bound"], p["ridge"], p["delta"]
    m, L, K, J, eta = p["width"], p["depth"], p["size"], p["steps"], p["rate"] / p["width"]
    wide = m ** (-1 / 6) * np.sqrt(np.log(m))
    gamma1 = np.sqrt(1 + c["c_gamma1"] * t ** (7 / 6) * K ** (7 / 6) * L**4 * lam ** (-7 / 6) * wide)
    gamma2 = c["c_gamma2"] * t ** (5 / 3) * K ** (5 / 3) * L**4 * lam ** (-1 / 6) * wide
    gamma3 = c["c_gamma3"] * t ** (7 / 6) * K ** (7 / 6) * L ** (7 / 2) * lam ** (-7 / 6) * wide
    gamma3 = gamma3 * (1 + np.sqrt(t * K / lam))
    first = gamma1 * (rho * np.sqrt(logdet + gamma2 - 2 * np.log(delta)) + np.sqrt(lam) * B)
    second = (lam + c["c1"] * t * K * L) * ((1 - eta * m * lam) ** (J / 2) * np.sqrt(t * K / lam) + gamma3)
    return first + second


def offset_of(t, logdet, p, c):
    """e_t as the lemma has it; logdet is that of Z_{t-1}."""
    lam, m, L, K = p["ridge"], p["width"], p["depth"], p["size"]
    wide = m ** (-1 / 6) * np.sqrt(np.log(m))
    gamma = gamma_of(t - 1, logdet, p, c)
    first = c["c3"] * gamma * t ** (1 / 6) * K ** (1 / 6) * L ** (7 / 2) * lam ** (-2 / 3) * wide
    return first + c["c4"] * t ** (2 / 3) * K ** (2 / 3) * lam ** (-2 / 3) * wide


@pytest.mark.parametrize("round_number", [1, 2, 17, 4000])
def test_radius_and_offset_are_the_lemmas(round_number):
    logdet = 0.0 if round_number == 1 else 2.5 * np.log(round_number)
    radius = lemma1_radius(**PLAIN, **CONSTANTS)
    count = jnp.asarray(round_number - 1)
    found = radius.at(count, logdet)
    assert found.dtype == jnp.float64
    assert found.shape == ()
    assert float(found) == pytest.approx(gamma_of(round_number - 1, logdet, PLAIN, CONSTANTS), rel=1e-12)
    assert float(radius.offset_at(count, logdet)) == pytest.approx(
        offset_of(round_number, logdet, PLAIN, CONSTANTS), rel=1e-12
    )


@pytest.mark.parametrize("name", list(CONSTANTS))
def test_each_constant_is_its_own_and_zero_by_default(name):
    zeros = dict.fromkeys(CONSTANTS, 0.0)
    plain, one = lemma1_radius(**PLAIN), lemma1_radius(**PLAIN, **{name: 2.0})
    given_one = {**zeros, name: 2.0}
    assert float(plain.at(9, 3.0)) == pytest.approx(gamma_of(9, 3.0, PLAIN, zeros), rel=1e-12)
    assert float(plain.offset_at(9, 3.0)) == 0.0
    assert float(one.at(9, 3.0)) == pytest.approx(gamma_of(9, 3.0, PLAIN, given_one), rel=1e-12)
    assert float(one.offset_at(9, 3.0)) == pytest.approx(offset_of(10, 3.0, PLAIN, given_one), rel=1e-12)


def test_with_a_full_fit_and_no_constants_it_is_the_radius_of_a_linear_bandit():
    radius = lemma1_radius(**{**PLAIN, "steps": 10**6})
    linear = 0.4 * np.sqrt(3.0 + 2 * np.log(1 / 0.05)) + np.sqrt(1.7) * 1.3
    assert float(radius.at(1000, 3.0)) == pytest.approx(linear, rel=1e-12)


@pytest.mark.parametrize("change", [{}, {"width": 1}, {"rate": 1 / 1.7}, {"noise": 0.0, "norm_bound": 0.0}])
def test_finite_before_the_first_decision_and_at_the_ends(change):
    radius = lemma1_radius(**{**PLAIN, **change}, **CONSTANTS)
    for count in (0, 10**7):
        assert np.isfinite(radius.at(count, 0.0))
        assert np.isfinite(radius.offset_at(count, 0.0))


@settings(deadline=None, max_examples=40)
@given(
    count=st.integers(0, 10**6),
    logdet=st.floats(0, 1e3),
    more=st.floats(0, 1e3),
    constants=st.fixed_dictionaries({name: st.floats(0, 10) for name in CONSTANTS}),
)
def test_both_grow_with_rounds_and_information(count, logdet, more, constants):
    radius = lemma1_radius(**PLAIN, **constants)
    for function in (radius.at, radius.offset_at):
        now = float(function(count, logdet))
        assert 0.0 <= now <= float(function(count + 1, logdet)) * (1 + 1e-12)
        assert now <= float(function(count, logdet + more)) * (1 + 1e-12)


def test_compiles_once_and_runs_over_a_grid():
    traces = []

    @jax.jit
    def both(radius, count, logdet):
        traces.append(None)
        return radius.at(count, logdet), radius.offset_at(count, logdet)

    ridges = np.array([0.5, 1.0, 2.0])
    with jax.enable_x64(True):
        for ridge in ridges:
            radius = lemma1_radius(**{**PLAIN, "ridge": float(ridge)}, **CONSTANTS)
            gamma, offset = both(radius, jnp.asarray(5), jnp.asarray(2.0))
            assert float(gamma) == pytest.approx(float(radius.at(5, 2.0)), rel=1e-12)
            assert float(offset) == pytest.approx(float(radius.offset_at(5, 2.0)), rel=1e-12)
        assert len(traces) == 1
        leaves, structure = jax.tree.flatten(lemma1_radius(**PLAIN, **CONSTANTS))
        assert len(leaves) == 11
        assert {leaf.dtype for leaf in leaves} == {np.dtype(np.float64)}
        grid = jax.tree.unflatten(structure, [np.broadcast_to(leaf, (3,)) for leaf in leaves])
        grid = jax.tree.unflatten(
            structure, [*jax.tree.leaves(grid)[:3], jnp.asarray(ridges), *jax.tree.leaves(grid)[4:]]
        )
        found = jax.vmap(lambda radius: radius.at(jnp.asarray(5), jnp.asarray(2.0)))(grid)
    expected = [gamma_of(5, 2.0, {**PLAIN, "ridge": ridge}, CONSTANTS) for ridge in ridges]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 10, 100, 5000])
def test_draws_are_the_fewest_that_lemma_3_needs(size):
    """(1 - p)^M <= (1 - p) / K; then all K best draws are a deviation up with chance p at least."""
    chance = 1 / (4 * np.e * np.sqrt(np.pi))
    draws = optimistic_draws(size)
    assert (1 - chance) ** draws <= (1 - chance) / size * (1 + 1e-12)
    assert draws == 1 or (1 - chance) ** (draws - 1) > (1 - chance) / size
    assert (1 - norm.cdf(1) ** draws) ** size >= chance


@pytest.mark.parametrize("norm_bound", [1.3, 0.0])
def test_theorem_2_scale_and_offset(norm_bound):
    lam, m, L, K, T, N, J = 1.7, 64, 3, 4, 500, 20, 25
    d, rho, delta, contraction = 6.5, 0.4, 0.05, 1 - 0.02 * 1.7
    B = max(1 / (22 * np.e * np.sqrt(np.pi)), norm_bound)
    nu = B + rho * np.sqrt(d * np.log(1 + T * N / lam) + 2 + 2 * np.log(T))
    found = cn_ts_scale(norm_bound=norm_bound, noise=rho, ridge=lam, **THEOREM)
    assert found == pytest.approx(nu, rel=1e-12)
    wide = m ** (-1 / 6) * np.sqrt(np.log(m))
    terms = [
        T ** (2 / 3) * K ** (2 / 3) * L**3 * lam ** (-2 / 3) * wide,
        contraction ** (J / 2) * np.sqrt(T * K * L / lam),
        T ** (7 / 6) * K ** (7 / 6) * L**4 * lam ** (-7 / 6) * wide * (1 + np.sqrt(T * K / lam)),
        T ** (7 / 6)
        * K ** (7 / 6)
        * lam ** (-2 / 3)
        * L ** (9 / 2)
        * wide
        * (B + rho * np.sqrt(d * np.log(1 + T * N / lam) + 2 - 2 * np.log(delta))),
    ]
    given_arguments = {**PLAIN, **THEOREM, "norm_bound": norm_bound}
    assert cn_ts_offset(**given_arguments) == 0.0
    for number, term in enumerate(terms, 1):
        found = cn_ts_offset(**given_arguments, **{f"c_epsilon{number}": 0.7})
        assert found == pytest.approx(0.7 * term, rel=1e-12)
    every = {f"c_epsilon{number}": float(number) for number in range(1, 5)}
    expected = sum(number * term for number, term in enumerate(terms, 1))
    assert cn_ts_offset(**given_arguments, **every) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"delta": 1.0}, ValueError, "delta must be between 0 and 1, both excluded, got 1.0"),
        ({"delta": 0.0}, ValueError, "delta must be between 0 and 1, both excluded, got 0.0"),
        ({"rate": 2.0}, ValueError, "rate * ridge must be <= 1, got 3.4; use a smaller rate"),
        ({"rate": 0.0}, ValueError, "rate must be > 0, got 0.0"),
        ({"ridge": -1.0}, ValueError, "ridge must be > 0, got -1.0"),
        ({"noise": -0.1}, ValueError, "noise must be >= 0, got -0.1"),
        ({"norm_bound": -1.0}, ValueError, "norm_bound must be >= 0, got -1.0"),
        ({"depth": 1}, ValueError, "depth must be >= 2, got 1"),
        ({"width": 0}, ValueError, "width must be >= 1, got 0"),
        ({"size": 2.5}, TypeError, "size must be a whole number, got float"),
        ({"steps": 0}, ValueError, "steps must be >= 1, got 0"),
    ],
)
def test_bad_arguments(change, error, message):
    with pytest.raises(error) as raised:
        lemma1_radius(**{**PLAIN, **change})
    assert str(raised.value) == f"lemma1_radius: {message}"
    with pytest.raises(error) as raised:
        cn_ts_offset(**{**PLAIN, **THEOREM, **change})
    assert str(raised.value) == f"cn_ts_offset: {message}"


def test_bad_constants_and_counts():
    with pytest.raises(ValueError) as raised:
        lemma1_radius(**PLAIN, c_gamma2=-1.0)
    assert str(raised.value) == "lemma1_radius: c_gamma2 must be >= 0, got -1.0"
    with pytest.raises(ValueError) as raised:
        cn_ts_offset(**PLAIN, **THEOREM, c_epsilon3=-1.0)
    assert str(raised.value) == "cn_ts_offset: c_epsilon3 must be >= 0, got -1.0"
    with pytest.raises(ValueError) as raised:
        cn_ts_scale(norm_bound=1.0, noise=1.0, ridge=1.0, **{**THEOREM, "effective_dim": -1.0})
    assert str(raised.value) == "cn_ts_scale: effective_dim must be >= 0, got -1.0"
    with pytest.raises(ValueError) as raised:
        optimistic_draws(0)
    assert str(raised.value) == "optimistic_draws: size must be >= 1, got 0"
