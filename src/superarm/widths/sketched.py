"""A sketch: the information matrix as a low rank plus a multiple of the identity, with its error known.

Robust frequent directions (Luo, Chen, Zhang, Li & Zhang, 2019, Robust frequent directions with application
in online learning, JMLR 20), with k rows at a time: the sketch B (r, p) and the new rows are rotated to
their principal directions; all squared lengths shrink by the (r + 1)-th, d, and r directions stay. Half of
what shrinking took goes to the identity's multiple. For Z the exact matrix after T blocks,

    | Z - (a I + B'B) |  <=  (d_1 + ... + d_T) / 2,    a = 1 / s^2 + (d_1 + ... + d_T) / 2.

Sketching is exact while the rows seen have rank r or less.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.contract import LinearWidth, Whitened
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.rows import Rows, cast, count_columns, flat
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class SketchedFactor:
    """The sketch of a matrix.

    Attributes:
        directions: (r, p) orthonormal, or 0 where the sketch has room left.
        lengths: (r,) squared lengths of B along them.
        ridge: () a, the multiple of the identity.
        prior: () 1 / s^2, what it started from.
        error: () bound on the spectral norm of what the sketch misses.
        trace: () sum of the squared norms of all rows seen; seen: () their number.
        logdet: () log det of Z over the prior's: exact while the error is 0, then a bound from above.
    """

    directions: Array
    lengths: Array
    ridge: Array
    prior: Array
    error: Array
    trace: Array
    seen: Array
    logdet: Array


@pytree
@dataclass(frozen=True)
class SketchedWhitened(Whitened):
    """Rows (n, p), their parts along the directions (n, r), and the factor's weights."""

    rows: Array
    parts: Array
    lengths: Array
    ridge: Array

    def norms(self) -> Array:
        """(n,) sqrt(x' (a I + B'B)^-1 x)."""
        rest = jnp.maximum(jnp.sum(self.rows**2, axis=1) - jnp.sum(self.parts**2, axis=1), 0.0)
        return jnp.sqrt(rest / self.ridge + self.parts**2 @ (1.0 / (self.ridge + self.lengths)))

    def covariance(self) -> Array:
        """(n, n) x_i' (a I + B'B)^-1 x_j."""
        shrunk = self.lengths / (self.ridge + self.lengths)
        return (self.rows @ self.rows.T - (self.parts * shrunk[None]) @ self.parts.T) / self.ridge

    def only(self, keep: Array) -> SketchedWhitened:
        """The same with rows of 0 where keep (n,) is False."""
        rows, parts = (jnp.where(keep[:, None], leaf, 0.0) for leaf in (self.rows, self.parts))
        return SketchedWhitened(rows, parts, self.lengths, self.ridge)

    def take(self, items: Array) -> SketchedWhitened:
        """The same of some of the rows."""
        return SketchedWhitened(self.rows[items], self.parts[items], self.lengths, self.ridge)


@pytree
@dataclass(frozen=True)
class Sketched(LinearWidth):
    """Width from a sketch of rank r. O(p (r + k)^2) per block of k rows, O(n p r) per query, r p numbers.

    Args:
        rank: r.
    """

    rank: int = static(default=64)

    def init(self, like: Rows, scale: Array, capacity: int) -> SketchedFactor:
        """Return the factor of N(0, scale^2 I) for rows like the given ones; the capacity is not needed."""
        dim = count_columns(like)
        prior = jnp.ones((), FLOAT) / scale**2
        return SketchedFactor(
            directions=jnp.zeros((min(self.rank, dim), dim), FLOAT),
            lengths=jnp.zeros(min(self.rank, dim), FLOAT),
            ridge=prior,
            prior=prior,
            error=jnp.zeros((), FLOAT),
            trace=jnp.zeros((), FLOAT),
            seen=jnp.zeros((), FLOAT),
            logdet=jnp.zeros((), FLOAT),
        )

    def check(self, like: Rows, capacity: int) -> None:
        """Accept any size; refuse a sketch of nothing."""
        checks.count("sketched width", "rank", self.rank)

    def whiten(self, factor: SketchedFactor, rows: Rows) -> SketchedWhitened:
        """Return the rows with their parts along the sketch."""
        values = flat(cast(rows, FLOAT))
        return SketchedWhitened(values, values @ factor.directions.T, factor.lengths, factor.ridge)

    def absorb(
        self, factor: SketchedFactor, whitened: SketchedWhitened, residual: Array
    ) -> tuple[SketchedFactor, Array]:
        """Take in k rows and residuals (k,), both over the noise; return factor and shift (p,)."""
        rank, dim = factor.directions.shape
        # Scaled by B's lengths the old directions, and the new rows: their Gram matrix is small.
        stacked = jnp.concatenate([factor.directions * jnp.sqrt(factor.lengths)[:, None], whitened.rows])
        squared, turns = jnp.linalg.eigh(stacked @ stacked.T)  # rising
        kept = jnp.maximum(squared[-rank:], 0.0)
        rounding = 1e-14 * jnp.maximum(kept[-1], 1e-300)
        live = kept > rounding
        shrink = jnp.zeros((), FLOAT)
        if stacked.shape[0] > rank and rank < dim:
            # Rounding must not shrink: over a million blocks it would add up to a share of the ridge.
            shrink = jnp.where(squared[-rank - 1] > rounding, squared[-rank - 1], 0.0)
        turned = turns[:, -rank:].T @ stacked
        # By their own norms: the root of a small eigenvalue has lost up to half of its digits.
        norms = jnp.linalg.norm(turned, axis=1)
        directions = jnp.where(live[:, None], turned / jnp.where(live, norms, 1.0)[:, None], 0.0)
        lengths = jnp.where(live, jnp.maximum(kept - shrink, 0.0), 0.0)
        ridge = factor.ridge + 0.5 * shrink
        error = factor.error + 0.5 * shrink
        sizes = jnp.sum(whitened.rows**2, axis=1)
        trace, seen = factor.trace + jnp.sum(sizes), factor.seen + jnp.sum((sizes > 0.0).astype(FLOAT))
        # Of all matrices of that trace and rank, one with equal eigenvalues has the largest determinant.
        most = jnp.clip(seen, 1.0, float(dim))
        bound = most * jnp.log1p(trace / (most * factor.prior))
        exact = jnp.sum(jnp.log1p(lengths / ridge))
        new = SketchedFactor(
            directions=directions,
            lengths=lengths,
            ridge=ridge,
            prior=factor.prior,
            error=error,
            trace=trace,
            seen=seen,
            logdet=jnp.where(error > 0.0, bound, exact),
        )
        return new, _shift(factor, whitened, residual)

    def deviations(self, factor: SketchedFactor, key: Array, num: int) -> Array:
        """(num, p) draws from N(0, (a I + B'B)^-1)."""
        normals = jax.random.normal(key, (num, factor.directions.shape[1]), FLOAT)
        less = 1.0 - jnp.sqrt(factor.ridge / (factor.ridge + factor.lengths))
        along = (normals @ factor.directions.T) * less[None]
        return (normals - along @ factor.directions) / jnp.sqrt(factor.ridge)


def _shift(factor: SketchedFactor, whitened: SketchedWhitened, residual: Array) -> Array:
    """(p,) the move of the mean, exact for the sketch before the block."""
    corner = jnp.eye(residual.shape[0], dtype=FLOAT) + whitened.covariance()
    weights = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(corner), residual)
    pull = whitened.rows.T @ weights
    shrunk = factor.lengths / (factor.ridge + factor.lengths)
    return (pull - factor.directions.T @ (shrunk * (factor.directions @ pull))) / factor.ridge
