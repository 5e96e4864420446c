"""The confidence coefficient for which oh2026's theorems on NVLDB and NLDB hold.

Oh, Park & Paik (2026), Neural variance-aware dueling bandits with deep representation and shallow
exploration, Theorem 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT, double
from superarm.pytree import pytree
from superarm.schedules.radius import Radius
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class ShallowRadius(Radius):
    """a_t of Theorem 1; build it with `shallow_radius`, which says what the fields are."""

    dim: Array
    slope: Array
    least_deviation: Array
    ridge: Array
    norm_bound: Array
    delta: Array
    steps: Array
    horizon: Array
    num_arms: Array

    @double
    def at(self, count: Array, logdet: Array) -> Array:
        """() a_t of round t = count + 1; the theorem bounds the log-determinant by itself."""
        rounds = jnp.asarray(count, FLOAT) + 1.0
        sure = jnp.log(4.0 * rounds**2 / self.delta)
        drawn = jnp.log(self.steps) * jnp.log(self.horizon * self.num_arms / self.delta)
        growth = 1.0 + 4.0 * rounds * drawn / (self.ridge * self.least_deviation**2)  # a'_t
        deviation = jnp.sqrt(self.dim * jnp.log(growth) * sure) + sure / self.least_deviation
        start = 2.0 + jnp.sqrt(jnp.log(1.0 / self.delta) / self.dim)
        return 8.0 / self.slope * deviation + 2.0 * jnp.sqrt(self.ridge) * (self.norm_bound + 2.0 * start)


@checks.named
def shallow_radius(
    *,
    dim: int,
    horizon: int,
    num_arms: int,
    slope: float,
    norm_bound: float = 1.0,
    least_deviation: float = 0.1,
    ridge: float = 1.0,
    delta: float = 0.1,
    steps: int = 20,
) -> ShallowRadius:
    """The confidence coefficient a_t of NVLDB (Theorem 1 of oh2026), a radius for `nvldb_theory`.

        a_t = (8 / beta) (sqrt(d log(a'_t) log(4 t^2 / delta)) + log(4 t^2 / delta) / epsilon)
              + 2 sqrt(lambda) (J + 2 (2 + sqrt(log(1 / delta) / d)))
        a'_t = 1 + t (2 sqrt(d log(n) log(T K / delta)) / (sqrt(d lambda) epsilon))^2

    It is in the thousands, where the paper's experiments take 1: with it a policy explores throughout any run
    of usual length.

    Args:
        dim: features of the last layer (d).
        horizon: rounds (T).
        num_arms: K.
        slope: beta, the least slope of the link over the differences of utilities; for the logistic link and
            differences up to u it is sigmoid(u) sigmoid(-u).
        norm_bound: J, a bound on the norm of the last layer's true coefficients.
        least_deviation: epsilon; 1 for NLDB, which counts all preferences alike (corollary 1).
        ridge: lambda.
        delta: failure probability, in (0, 1).
        steps: gradient steps per fit (n).

    >>> import superarm
    >>> radius = superarm.shallow_radius(dim=5, horizon=2000, num_arms=5, slope=0.1)
    >>> [round(float(radius.at(count, 0.0))) for count in (0, 1999)]
    [4025, 18343]
    """
    where = "shallow_radius"
    numbers = {"dim": dim, "horizon": horizon, "num_arms": num_arms, "steps": steps}
    counts = {name: checks.count(where, name, value) for name, value in numbers.items()}
    if not 0.0 < delta < 1.0:
        raise ValueError(f"{where}: delta must be between 0 and 1, both excluded, got {delta}")
    return ShallowRadius(
        **{
            name: checks.real(where, name, checks.count(where, name, value)) for name, value in counts.items()
        },
        slope=checks.positive(where, "slope", slope),
        norm_bound=checks.nonnegative(where, "norm_bound", norm_bound),
        least_deviation=checks.positive(where, "least_deviation", least_deviation),
        ridge=checks.positive(where, "ridge", ridge),
        delta=checks.positive(where, "delta", delta),
    )
