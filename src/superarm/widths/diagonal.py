"""A diagonal covariance: memory and time linear in the number of features.

Each block is taken in exactly given the diagonal before it, then projected on the diagonal: the precision of
coordinate j grows by the sum of squares of column j (the diagonal of the exact precision matrix).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp

from superarm.contract import LinearWidth, Whitened
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.rows import Rows, cast, column_squares, count_columns, flat, only, weighted_squares
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class DiagonalFactor:
    """The diagonal of an information matrix.

    Attributes:
        precision: (d,) the diagonal.
        ridge: () what it started from.
        logdet: () log det of the matrix over the prior's.
    """

    precision: Array
    ridge: Array
    logdet: Array


@pytree
@dataclass(frozen=True)
class DiagonalWhitened(Whitened):
    """Rows, and the precision (d,) that they were measured by."""

    rows: Rows
    precision: Array

    def norms(self) -> Array:
        """(n,) sqrt(sum_j x_j^2 / precision_j)."""
        return jnp.sqrt(weighted_squares(self.rows, 1.0 / self.precision))

    def covariance(self) -> Array:
        """(n, n) sum_j x_ij x_kj / precision_j."""
        matrix = flat(self.rows)
        return (matrix / self.precision[None]) @ matrix.T

    def only(self, keep: Array) -> DiagonalWhitened:
        """The same with rows of 0 where keep (n,) is False."""
        return DiagonalWhitened(only(self.rows, keep), self.precision)

    def take(self, items: Array) -> DiagonalWhitened:
        """The same of some of the rows."""
        return DiagonalWhitened(jax.tree.map(lambda leaf: leaf[items], self.rows), self.precision)


@pytree
@dataclass(frozen=True)
class Diagonal(LinearWidth):
    """Width sqrt(sum x_j^2 / precision_j). O(k d + k^2 d) per block, O(n d) per query."""

    changes_ridge: ClassVar[bool] = True

    def init(self, like: Rows, scale: Array, capacity: int) -> DiagonalFactor:
        """Return the factor of N(0, scale^2 I) for rows like the given ones; the capacity is not needed."""
        ridge = jnp.asarray(1.0 / scale**2, FLOAT)
        precision = jnp.ones(count_columns(like), FLOAT) * ridge
        return DiagonalFactor(precision=precision, ridge=ridge, logdet=jnp.zeros((), FLOAT))

    def check(self, like: Rows, capacity: int) -> None:
        """Accept any size."""

    def with_ridge(self, factor: DiagonalFactor, ridge: Array) -> DiagonalFactor:
        """Return the factor as if it had started from another ridge."""
        precision = factor.precision - factor.ridge + ridge
        logdet = jnp.sum(jnp.log(precision / ridge))
        return DiagonalFactor(precision=precision, ridge=ridge, logdet=logdet)

    def whiten(self, factor: DiagonalFactor, rows: Rows) -> DiagonalWhitened:
        """Return the rows with the precision."""
        return DiagonalWhitened(cast(rows, factor.precision.dtype), factor.precision)

    def absorb(
        self, factor: DiagonalFactor, whitened: DiagonalWhitened, residual: Array
    ) -> tuple[DiagonalFactor, Array]:
        """Take in k rows and residuals (k,), both over the noise; return factor and shift (d,)."""
        precision = factor.precision + column_squares(whitened.rows)
        gain = jnp.sum(jnp.log(precision / factor.precision))
        shift = _shift(factor.precision, flat(whitened.rows), residual)
        return replace(factor, precision=precision, logdet=factor.logdet + gain), shift

    def block_norms(self, factor: DiagonalFactor, rows: Array) -> Array:
        """(n,) widths, with the rows turned: XLA reads them in place, and would copy their squares first."""
        return jnp.sqrt((1.0 / factor.precision) @ rows.T**2)

    def deviations(self, factor: DiagonalFactor, key: Array, num: int) -> Array:
        """(num, d) draws from the diagonal Gaussian around 0."""
        normals = jax.random.normal(key, (num, factor.precision.shape[0]), FLOAT).astype(
            factor.precision.dtype
        )
        return normals / jnp.sqrt(factor.precision)[None]


def _shift(precision: Array, rows: Array, residual: Array) -> Array:
    """(d,) the move of the mean, exact for the diagonal before the block."""
    root = 1.0 / jnp.sqrt(precision)
    values = rows * root[None]  # V, (k, d)
    # R'R = I + V V' without forming V V', which would square the condition number.
    stacked = jnp.concatenate([jnp.eye(values.shape[0], dtype=FLOAT), values.T])
    corner = jnp.linalg.qr(stacked, mode="r")
    return root * (values.T @ jax.scipy.linalg.cho_solve((corner, False), residual))
