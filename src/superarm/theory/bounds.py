"""The regret bounds of wen2015's theorems 1 to 4, as functions of the problem.

They hold for features of norm at most 1. For norm at most M, scale the features to 1: give M times the prior
scale (and M times the norm of the coefficients to `lemma7_radius`).
"""

from __future__ import annotations

import math

from superarm import checks


@checks.named
def bayes_regret_bound(
    *, num_items: int, size: int, dim: int, horizon: int, prior_scale: float, noise: float
) -> float:
    """Bound the Bayes regret of CombLinTS over `horizon` rounds (Theorem 3, equation 11).

    Theorem 1 is its order, K lambda sqrt(d n min(ln L, d)) up to logarithms, for lambda >= sigma. Equation 11
    prints ln(1 + n K lambda^2 / d); its proof (Lemma 4) has d sigma^2 below the line, and so do we.

    >>> round(bayes_regret_bound(num_items=100, size=5, dim=10, horizon=1000, prior_scale=1.0, noise=1.0))
    6894
    """
    where = "bayes_regret_bound"
    _require(where, num_items=num_items, size=size, dim=dim, horizon=horizon)
    checks.positive(where, "prior_scale", prior_scale)
    checks.positive(where, "noise", noise)
    by_items = math.log(prior_scale * num_items * horizon / math.sqrt(2 * math.pi))
    by_features = dim * math.log(2 * dim * size * horizon * prior_scale / math.sqrt(2 * math.pi))
    radius = math.sqrt(max(0.0, min(by_items, by_features)))
    growth = 2 * dim * horizon * math.log1p(horizon * size * prior_scale**2 / (dim * noise**2))
    return 1 + size * prior_scale * radius * math.sqrt(growth / math.log1p(prior_scale**2 / noise**2))


@checks.named
def regret_bound(
    *,
    radius: float,
    size: int,
    dim: int,
    horizon: int,
    prior_scale: float,
    noise: float,
    delta: float,
    gap: float = 0.0,
) -> float:
    """Bound the regret of CombLinUCB with `radius` c >= `lemma7_radius(...)` (Theorem 2).

    With an oracle of sub-optimality gap gamma in [0, 1) it bounds the scaled regret (Theorem 4, appendix D).

    >>> round(regret_bound(radius=5.0, size=5, dim=10, horizon=1000, prior_scale=1.0, noise=1.0, delta=1e-3))
    14979
    """
    where = "regret_bound"
    _require(where, size=size, dim=dim, horizon=horizon)
    checks.positive(where, "prior_scale", prior_scale)
    checks.positive(where, "noise", noise)
    checks.nonnegative(where, "radius", radius)
    checks.between(where, "delta", delta, 0.0, 1.0)
    if not 0.0 <= gap < 1.0:
        raise ValueError(f"{where}: gap must be >= 0 and < 1, got {gap}")
    growth = dim * horizon * math.log1p(horizon * size * prior_scale**2 / (dim * noise**2))
    spread = size * prior_scale * math.sqrt(growth / math.log1p(prior_scale**2 / noise**2))
    return 2 * radius * spread / (1 - gap) + horizon * size * delta


def _require(where: str, **counts: int) -> None:
    for name, value in counts.items():
        checks.count(where, name, value)


checks.public(__name__)
