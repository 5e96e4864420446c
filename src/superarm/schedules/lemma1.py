"""The radius and offsets for which hwang2023's theorems on CN-UCB and CN-TS hold.

The paper leaves its absolute constants open, and at widths that can be run any value of them near 1 makes the
radius so large that it says nothing. They are arguments here, and all are 0 by default: the network is then
taken to be its own linearization, and what remains is the radius of a linear bandit in its gradients, plus
what gradient descent has left to do.

Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from superarm import checks
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.schedules.radius import Radius
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class Lemma1(Radius):
    """gamma and e of Lemma 1; build it with `lemma1_radius`, which says what the fields are."""

    norm_bound: Array
    noise: Array
    delta: Array
    ridge: Array
    rate: Array
    c1: Array
    c_gamma1: Array
    c_gamma2: Array
    c_gamma3: Array
    c3: Array
    c4: Array
    width: int = static()
    depth: int = static()
    size: int = static()
    steps: int = static()

    @double
    def at(self, count: Array, logdet: Array) -> Array:
        """() gamma_t after t = count decisions; round t + 1 uses it with Z_t, whose `logdet` this is."""
        pulls = jnp.asarray(count, FLOAT) * self.size  # t K
        logdet = jnp.asarray(logdet, FLOAT)
        rest = _decay(self.width)
        load = pulls / self.ridge
        gamma1 = jnp.sqrt(1.0 + self.c_gamma1 * load ** (7 / 6) * self.depth**4 * rest)
        gamma2 = self.c_gamma2 * pulls ** (5 / 3) * self.depth**4 * self.ridge ** (-1 / 6) * rest
        gamma3 = self.c_gamma3 * load ** (7 / 6) * self.depth**3.5 * rest * (1.0 + jnp.sqrt(load))
        deviation = self.noise * jnp.sqrt(logdet + gamma2 - 2.0 * jnp.log(self.delta))
        unfitted = (1.0 - self.rate * self.ridge) ** (self.steps / 2) * jnp.sqrt(load)
        return gamma1 * (deviation + jnp.sqrt(self.ridge) * self.norm_bound) + (
            self.ridge + self.c1 * pulls * self.depth
        ) * (unfitted + gamma3)

    @double
    def offset_at(self, count: Array, logdet: Array) -> Array:
        """() e_t of the decision of round t = count + 1, in which gamma_{t-1} is what `at` gives."""
        pulls = (jnp.asarray(count, FLOAT) + 1.0) * self.size  # t K
        curved = self.c3 * self.at(count, logdet) * pulls ** (1 / 6) * self.depth**3.5
        return (curved + self.c4 * pulls ** (2 / 3)) * self.ridge ** (-2 / 3) * _decay(self.width)


@checks.named
def lemma1_radius(
    *,
    norm_bound: float,
    noise: float,
    delta: float,
    ridge: float,
    width: int,
    depth: int,
    size: int,
    rate: float,
    steps: int,
    c1: float = 0.0,
    c_gamma1: float = 0.0,
    c_gamma2: float = 0.0,
    c_gamma3: float = 0.0,
    c3: float = 0.0,
    c4: float = 0.0,
) -> Lemma1:
    """The radius schedule gamma_t of CN-UCB and its offset e_t (Lemma 1 of hwang2023).

        gamma_t = G1 (rho sqrt(log(det Z_t / det lambda I) + G2 - 2 log delta) + sqrt(lambda) B)
                  + (lambda + C_1 t K L) ((1 - eta m lambda)^(J/2) sqrt(t K / lambda) + G3)
        G1 = sqrt(1 + C_G1 (t K)^(7/6) L^4 lambda^(-7/6) q),   q = m^(-1/6) sqrt(log m)
        G2 = C_G2 (t K)^(5/3) L^4 lambda^(-1/6) q
        G3 = C_G3 (t K)^(7/6) L^(7/2) lambda^(-7/6) q (1 + sqrt(t K / lambda))
        e_t = C_3 gamma_{t-1} (t K)^(1/6) L^(7/2) lambda^(-2/3) q + C_4 (t K)^(2/3) lambda^(-2/3) q

    The lemma prints the root over the log-determinant alone, and sqrt(lambda B); both are read as in Zhou,
    Li & Gu (2020), whose lemma this extends. Its proof ends at probability 1 - 5 delta with this gamma_t, and
    loses a factor L^3 on the way to C_4's term; we keep what is stated. All constants are 0 unless given, as
    said at the top of this module. Then e_t = 0, and gamma_t keeps its second term, which only many steps J
    make small.

    Args:
        norm_bound: B, at least `superarm.ntk.kernel_norm(...)`.
        noise: rho; the feedback is rho-sub-Gaussian.
        delta: failure probability, in (0, 1).
        ridge: lambda.
        width: units in a hidden layer (m).
        depth: layers (L), at least 2.
        size: items in a set (K).
        rate: eta m, the learning rate per unit of function change; rate * ridge must not exceed 1.
        steps: gradient descent steps per fit (J).
        c1: C_1, which bounds the largest eigenvalue of Z_t by lambda + C_1 t K L.
        c_gamma1: C_G1, for the distance between Z_t and its like with gradients at the start.
        c_gamma2: C_G2, for that between their log-determinants.
        c_gamma3: C_G3, for that between the fit and its linearization.
        c3: C_3, for the gradients' change since the start.
        c4: C_4, for the curvature of the network.

    >>> radius = lemma1_radius(
    ...     norm_bound=1.0, noise=0.1, delta=0.1, ridge=1.0, width=100, depth=2, size=4, rate=0.1, steps=200
    ... )
    >>> round(float(radius.at(10, 5.0)), 3), float(radius.offset_at(10, 5.0))
    (1.31, 0.0)
    """
    where = "lemma1_radius"
    return Lemma1(
        norm_bound=checks.nonnegative(where, "norm_bound", norm_bound),
        noise=checks.nonnegative(where, "noise", noise),
        delta=_probability(where, delta),
        ridge=checks.positive(where, "ridge", ridge),
        rate=_contracting(where, rate, ridge),
        c1=checks.nonnegative(where, "c1", c1),
        c_gamma1=checks.nonnegative(where, "c_gamma1", c_gamma1),
        c_gamma2=checks.nonnegative(where, "c_gamma2", c_gamma2),
        c_gamma3=checks.nonnegative(where, "c_gamma3", c_gamma3),
        c3=checks.nonnegative(where, "c3", c3),
        c4=checks.nonnegative(where, "c4", c4),
        width=checks.count(where, "width", width),
        depth=checks.count(where, "depth", depth, low=2),
        size=checks.count(where, "size", size),
        steps=checks.count(where, "steps", steps),
    )


@checks.named
def optimistic_draws(size: int) -> int:
    """Draws per arm with which CN-TS is optimistic often enough (Theorem 2 and Lemma 3 of hwang2023).

        M = ceil(1 - log K / log(1 - p)),   p = 1 / (4 e sqrt(pi))

    Args:
        size: items in a set (K).

    >>> optimistic_draws(1), optimistic_draws(4)
    (1, 28)
    """
    size = checks.count("optimistic_draws", "size", size)
    chance = 1.0 / (4.0 * math.e * math.sqrt(math.pi))
    return math.ceil(1.0 - math.log(size) / math.log1p(-chance))


def cn_ts_scale(
    *, norm_bound: float, noise: float, effective_dim: float, ridge: float, horizon: int, num_arms: int
) -> float:
    """The scale nu of CN-TS for which Theorem 2 of hwang2023 holds.

        nu = B + rho sqrt(d~ log(1 + T N / lambda) + 2 + 2 log T),   B = max(1 / (22 e sqrt(pi)), norm_bound)

    Args:
        norm_bound: `superarm.ntk.kernel_norm(...)`, or a bound on it. The theorem prints H for H^-1 in it.
        noise: rho; the feedback is rho-sub-Gaussian.
        effective_dim: d~, `superarm.ntk.effective_dimension_hwang2023(...)`.
        ridge: lambda.
        horizon: rounds (T).
        num_arms: arms on offer in a round (N).

    >>> round(
    ...     cn_ts_scale(norm_bound=1.0, noise=0.1, effective_dim=5.0, ridge=1.0, horizon=100, num_arms=20), 3
    ... )
    1.702
    """
    where = "cn_ts_scale"
    horizon = checks.count(where, "horizon", horizon)
    return _spread(
        where,
        norm_bound=norm_bound,
        noise=noise,
        delta=1.0 / horizon,
        effective_dim=effective_dim,
        ridge=ridge,
        offered=horizon * checks.count(where, "num_arms", num_arms),
    )


def cn_ts_offset(
    *,
    norm_bound: float,
    noise: float,
    delta: float,
    effective_dim: float,
    ridge: float,
    horizon: int,
    num_arms: int,
    width: int,
    depth: int,
    size: int,
    rate: float,
    steps: int,
    c_epsilon1: float = 0.0,
    c_epsilon2: float = 0.0,
    c_epsilon3: float = 0.0,
    c_epsilon4: float = 0.0,
) -> float:
    """The offset epsilon that CN-TS adds to every score (hwang2023, section 4.4).

        epsilon = C_1 (T K)^(2/3) L^3 lambda^(-2/3) q + C_2 (1 - eta m lambda)^(J/2) sqrt(T K L / lambda)
                  + C_3 (T K)^(7/6) L^4 lambda^(-7/6) q (1 + sqrt(T K / lambda))
                  + C_4 (T K)^(7/6) L^(9/2) lambda^(-2/3) q
                    (B + rho sqrt(d~ log(1 + T N / lambda) + 2 - 2 log delta))

    with q and the arguments as in `lemma1_radius`, B as in `cn_ts_scale`. It is 0 unless constants are given.

    Args:
        norm_bound: as in `cn_ts_scale`.
        noise: rho.
        delta: failure probability, in (0, 1).
        effective_dim: d~.
        ridge: lambda.
        horizon: rounds (T).
        num_arms: arms on offer in a round (N).
        width: units in a hidden layer (m).
        depth: layers (L), at least 2.
        size: items in a set (K).
        rate: eta m; rate * ridge must not exceed 1.
        steps: gradient descent steps per fit (J).
        c_epsilon1: C_1, for the curvature of the network.
        c_epsilon2: C_2, for what gradient descent has left to do.
        c_epsilon3: C_3, for the distance between the fit and its linearization.
        c_epsilon4: C_4, for the gradients' change since the start.

    >>> problem = {"norm_bound": 1.0, "noise": 0.1, "delta": 0.1, "effective_dim": 5.0, "ridge": 1.0}
    >>> network = {"width": 100, "depth": 2, "size": 4, "rate": 0.1, "steps": 200}
    >>> round(cn_ts_offset(**problem, **network, horizon=100, num_arms=20, c_epsilon2=1.0), 6)
    0.000751
    """
    where = "cn_ts_offset"
    horizon, size = checks.count(where, "horizon", horizon), checks.count(where, "size", size)
    depth, steps = checks.count(where, "depth", depth, low=2), checks.count(where, "steps", steps)
    ridge = float(checks.positive(where, "ridge", ridge))
    rate = float(_contracting(where, rate, ridge))
    pulls, rest = float(horizon * size), _decay(checks.count(where, "width", width))
    load = pulls / ridge
    spread = _spread(
        where,
        norm_bound=norm_bound,
        noise=noise,
        delta=float(_probability(where, delta)),
        effective_dim=effective_dim,
        ridge=ridge,
        offered=horizon * checks.count(where, "num_arms", num_arms),
    )
    terms = (
        (c_epsilon1, load ** (2 / 3) * depth**3 * rest),
        (c_epsilon2, (1.0 - rate * ridge) ** (steps / 2) * math.sqrt(load * depth)),
        (c_epsilon3, load ** (7 / 6) * depth**4 * rest * (1.0 + math.sqrt(load))),
        (c_epsilon4, pulls ** (7 / 6) * depth**4.5 * ridge ** (-2 / 3) * rest * spread),
    )
    return math.fsum(
        float(checks.nonnegative(where, f"c_epsilon{number}", constant)) * term
        for number, (constant, term) in enumerate(terms, 1)
    )


def _decay(width: int) -> float:
    """q = m^(-1/6) sqrt(log m): how slowly a network becomes its linearization."""
    return math.sqrt(math.log(width)) * width ** (-1 / 6)


def _spread(
    where: str,
    *,
    norm_bound: float,
    noise: float,
    delta: float,
    effective_dim: float,
    ridge: float,
    offered: int,
) -> float:
    """B + rho sqrt(d~ log(1 + T N / lambda) + 2 - 2 log delta); Theorem 2's nu at delta = 1 / T."""
    norm_bound = float(checks.nonnegative(where, "norm_bound", norm_bound))
    noise = float(checks.nonnegative(where, "noise", noise))
    effective_dim = float(checks.nonnegative(where, "effective_dim", effective_dim))
    growth = effective_dim * math.log1p(offered / float(checks.positive(where, "ridge", ridge)))
    least = 1.0 / (22.0 * math.e * math.sqrt(math.pi))  # Theorem 2
    return max(least, norm_bound) + noise * math.sqrt(growth + 2.0 - 2.0 * math.log(delta))


def _probability(where: str, delta: float) -> Any:
    array = checks.real(where, "delta", delta)
    if not np.all((array > 0.0) & (array < 1.0)):
        raise ValueError(f"{where}: delta must be between 0 and 1, both excluded, got {delta}")
    return array


def _contracting(where: str, rate: float, ridge: float) -> Any:
    """`rate` as a leaf; with rate * ridge above 1 the contraction (1 - eta m lambda)^(J/2) has no meaning."""
    array = checks.positive(where, "rate", rate)
    product = np.max(array * ridge)
    if product > 1.0:
        raise ValueError(f"{where}: rate * ridge must be <= 1, got {product:g}; use a smaller rate")
    return array
