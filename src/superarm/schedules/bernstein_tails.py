"""Radius and regularization of neural logistic bandits, from a Bernstein inequality for martingales.

Bae & Lee (2026), Neural logistic bandits, ICML: Theorem 3.1 and equations 1 to 4. With t observations and the
effective dimension d_t = log det(I + (R / lambda_0) sum_i g_i g_i' / m), R = 1/4,

    lambda_0 = 8 sqrt(2) C_1 sqrt(L) log(4 / delta) / S
    lambda_t = (64 / S^2) d_t log(4 t^2 / delta) + (16 C_1^2 L / (S^2 lambda_0)) log^2(4 t^2 / delta)
    iota_t   = 16 sqrt(d_t log(4 t^2 / delta)) + 8 C_1 sqrt(L / lambda_0) log(4 t^2 / delta)
    nu_t     = C (1 + sqrt(L) S + L S^2) iota_t + 1

with C = C_6 for V_t and C_7 for W_t. Before the first observation lambda is lambda_0, and t = 1 is taken in
the logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.schedules.radius import Radius
from superarm.types import Array

VARIANCE = 0.25  # R: the most that a Bernoulli variable varies


@checks.named
@double
def tail_bound(
    logdet: Array | float, count: Array | int, *, delta: float, bound: float = 1.0, norm: float, ridge: float
) -> Array:
    """The bound of Theorem 3.1 on ||s_t||_{H_t^-1}, which holds for all t together.

        8 sqrt(log(det H_t / det(lambda I)) log(4 t^2 / delta)) + (4 M N / sqrt(lambda)) log(4 t^2 / delta)

    Args:
        logdet: log(det H_t / det(lambda I)), with H_t = lambda I + sum of variances times x x'.
        count: t.
        delta: failure probability, in (0, 1).
        bound: M, the most that the noise can be.
        norm: N, the most that a vector's norm can be.
        ridge: lambda.

    >>> round(float(tail_bound(2.0, 10, delta=0.1, norm=1.0, ridge=1.0)), 3)
    65.759
    """
    rate = jnp.log(4.0 * jnp.maximum(jnp.asarray(count, FLOAT), 1.0) ** 2 / delta)
    return 8.0 * jnp.sqrt(jnp.maximum(logdet, 0.0) * rate) + 4.0 * bound * norm / math.sqrt(ridge) * rate


@pytree
@dataclass(frozen=True)
class Bernstein:
    """The constants of equations 1 to 4. Build it with `bernstein`."""

    norm_bound: Array  # S
    delta: Array
    c1: Array
    depth: int = static(default=2)  # L

    @property
    def first_ridge(self) -> Array:
        """() lambda_0."""
        growth = 8.0 * math.sqrt(2.0 * self.depth) * self.c1
        return growth * jnp.log(4.0 / self.delta) / self.norm_bound

    def rate(self, count: Array) -> Array:
        """() log(4 t^2 / delta)."""
        return jnp.log(4.0 * jnp.maximum(count, 1).astype(FLOAT) ** 2 / self.delta)

    def ridge(self, count: Array, logdet: Array) -> Array:
        """() lambda_t (equation 3)."""
        rate, square = self.rate(count), self.norm_bound**2
        later = 64.0 / square * logdet * rate
        later = later + 16.0 * self.c1**2 * self.depth / (square * self.first_ridge) * rate**2
        return jnp.where(count > 0, later, self.first_ridge)

    def iota(self, count: Array, logdet: Array) -> Array:
        """() iota_t (equation 2)."""
        rate = self.rate(count)
        drift = 8.0 * self.c1 * jnp.sqrt(self.depth / self.first_ridge)
        return 16.0 * jnp.sqrt(jnp.maximum(logdet, 0.0) * rate) + drift * rate

    def radius(self, count: Array, logdet: Array, constant: Array) -> Array:
        """() nu_t (equation 1 with C_6, equation 4 with C_7)."""
        growth = 1.0 + math.sqrt(self.depth) * self.norm_bound + self.depth * self.norm_bound**2
        return constant * growth * self.iota(count, logdet) + 1.0


@checks.named
def bernstein(*, norm_bound: float, delta: float, depth: int = 2, c1: float = 1.0) -> Bernstein:
    """Return the constants of neural logistic bandits' theorems.

    Args:
        norm_bound: S, at least sqrt(2 h' H^-1 h); see `superarm.ntk.kernel_norm`.
        delta: failure probability, in (0, 1).
        depth: layers (L).
        c1: C_1, with which ||g(x; theta_0)|| <= C_1 sqrt(m L).

    >>> round(float(bernstein(norm_bound=1.0, delta=0.1).first_ridge), 3)
    59.022
    """
    where = "bernstein"
    if not 0.0 < delta < 1.0:
        raise ValueError(f"{where}: delta must be between 0 and 1, both excluded, got {delta}")
    return Bernstein(
        norm_bound=checks.positive(where, "norm_bound", norm_bound),
        delta=checks.real(where, "delta", delta),
        c1=checks.positive(where, "c1", c1),
        depth=checks.count(where, "depth", depth, low=2),
    )


@pytree
@dataclass(frozen=True)
class BernsteinRidge(Radius):
    """lambda_t as a schedule, `scale` times: kappa in V_t, 1 in W_t, m in the loss."""

    constants: Bernstein
    scale: Array

    def at(self, count: Array, logdet: Array) -> Array:
        """() scale * lambda_t after `count` observations."""
        return self.scale * self.constants.ridge(count, logdet)


@pytree
@dataclass(frozen=True)
class BernsteinRate(Radius):
    """The step eta m = C_5 / (t L + lambda_t) of Condition 4.4 as a schedule, with t in place of T."""

    constants: Bernstein
    c5: Array

    def at(self, count: Array, logdet: Array) -> Array:
        """() eta m after `count` observations: small enough for the penalty m lambda_t."""
        seen = self.constants.depth * count.astype(FLOAT)
        return self.c5 / (seen + self.constants.ridge(count, logdet))


@pytree
@dataclass(frozen=True)
class BernsteinRadius(Radius):
    """nu_t as a schedule, `scale` times."""

    constants: Bernstein
    constant: Array  # C_6 or C_7
    scale: Array
    size: int = static(default=1)  # observations per decision

    def at(self, count: Array, logdet: Array) -> Array:
        """() scale * nu_t after `count` decisions."""
        return self.scale * self.constants.radius(self.size * count, logdet, self.constant)


@pytree
@dataclass(frozen=True)
class EffectiveRadius(Radius):
    """The radius of bae2026's experiments: scale nu (growth sqrt(d_t) + sqrt(lambda) S).

    d_t is the effective dimension, which the model keeps. The paper prints no formula, only the orders in
    d_t, lambda, S and kappa.
    """

    nu: Array
    growth: Array  # 1 + S + S^2 for the paper's own methods, 1 for the others
    ridge: Array  # lambda
    norm_bound: Array  # S
    scale: Array  # the power of kappa that a method has

    def at(self, count: Array, logdet: Array) -> Array:
        """() the radius when the effective dimension is `logdet`."""
        bias = jnp.sqrt(self.ridge) * self.norm_bound
        return self.scale * self.nu * (self.growth * jnp.sqrt(jnp.maximum(logdet, 0.0)) + bias)
