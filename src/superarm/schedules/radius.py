"""Radius schedules: how many widths a confidence bound lies above the mean."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array


class Radius(ABC):
    """A schedule over decisions."""

    @abstractmethod
    def at(self, count: Array, logdet: Array) -> Array:
        """() the radius of the next decision, when `count` were made before it.

        `logdet` is log(det Z / det Z_0) of the information matrix Z so far.
        """

    def offset_at(self, count: Array, logdet: Array) -> Any:
        """() what is added to every score: a plain 0, which has no precision of its own."""
        return 0.0

    @property
    def constant_value(self) -> Any:
        """() the radius of every decision, with an offset of 0; None where they change."""
        return None


def is_schedule(value: Any) -> bool:
    """Whether a value changes over decisions."""
    return isinstance(value, Radius)


@pytree
@dataclass(frozen=True)
class Constant(Radius):
    """The same radius in every round."""

    value: Array

    def at(self, count: Array, logdet: Array) -> Array:
        """() the constant."""
        return self.value

    @property
    def constant_value(self) -> Array:
        """() the constant."""
        return self.value


@pytree
@dataclass(frozen=True)
class Logarithmic(Radius):
    """sqrt(scale ln t) in round t = count + 1: UCB1's radius, with scale 1.5 in Kveton et al. (2015).

    They take ln(t - 1) in round t, which differs by 1 / t.
    """

    scale: Array

    def at(self, count: Array, logdet: Array) -> Array:
        """() sqrt(scale ln(count + 1))."""
        return jnp.sqrt(self.scale * jnp.log1p(count.astype(FLOAT)))


@pytree
@dataclass(frozen=True)
class LogGrowth(Radius):
    """scale log(2 + t): the regularization of Logistic-UCB-1 as its authors run it."""

    scale: Array

    def at(self, count: Array, logdet: Array) -> Array:
        """() scale log(2 + count)."""
        return self.scale * jnp.log(2.0 + count.astype(FLOAT))


@checks.named
def lemma7_radius(
    *,
    dim: int,
    size: int,
    horizon: int,
    delta: float,
    theta_norm: float,
    prior_scale: float = 1.0,
    noise: float = 1.0,
) -> float:
    """The radius c of CombLinUCB for which wen2015's Theorem 2 holds.

        c = (1/sigma) sqrt(d ln(1 + n K lambda^2 / (d sigma^2)) + 2 ln(1/delta)) + |theta*| / lambda

    Theorem 2 prints the last term inside the root; its proof (Lemma 7) has it outside, and so do we. It
    assumes independent feedback in [0, 1] and features of norm at most 1.

    Args:
        dim: features (d).
        size: the most items in a set (K).
        horizon: rounds (n).
        delta: failure probability, in (0, 1).
        theta_norm: a bound on the norm of the true coefficients.
        prior_scale: lambda.
        noise: sigma.

    >>> round(lemma7_radius(dim=10, size=5, horizon=1000, delta=0.1, theta_norm=1.0), 3)
    9.171
    """
    where = "lemma7_radius"
    dim, size = checks.count(where, "dim", dim), checks.count(where, "size", size)
    horizon = checks.count(where, "horizon", horizon)
    checks.positive(where, "prior_scale", prior_scale)
    checks.positive(where, "noise", noise)
    checks.nonnegative(where, "theta_norm", theta_norm)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"{where}: delta must be between 0 and 1, both excluded, got {delta}")
    growth = dim * math.log1p(horizon * size * prior_scale**2 / (dim * noise**2))
    return math.sqrt(growth + 2.0 * math.log(1.0 / delta)) / noise + theta_norm / prior_scale
