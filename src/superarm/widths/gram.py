"""The information matrix itself, for a ridge that changes from round to round.

    Z_t = A_t + ridge_t I,   A_t = sum_i g_i g_i'

The sum is kept apart and the ridge is added at the query, by one Cholesky factorization, O(p^3). With a ridge
that never changes, `Full` is cheaper and, at extreme noise, more accurate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from superarm.contract import Whitened, Width
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.rows import Rows, cast, count_columns, flat
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class GramFactor:
    """total: (p, p) A; ridge: () what is added to it."""

    total: Array
    ridge: Array

    @property
    def logdet(self) -> Array:
        """() log det(I + A / ridge)."""
        return 2.0 * jnp.sum(jnp.log(jnp.diagonal(_triangle(self)))) - self.total.shape[0] * jnp.log(
            self.ridge
        )


@pytree
@dataclass(frozen=True)
class GramWhitened(Whitened):
    """rows: (n, p); values: (n, p) the rows times Z^-1/2."""

    rows: Array
    values: Array

    def norms(self) -> Array:
        """(n,) sqrt(x' Z^-1 x)."""
        return jnp.linalg.norm(self.values, axis=-1)

    def covariance(self) -> Array:
        """(n, n) x_i' Z^-1 x_j."""
        return self.values @ self.values.T

    def root(self) -> Array:
        """(n, p) the rows times Z^-1/2."""
        return self.values

    def only(self, keep: Array) -> GramWhitened:
        """The same with rows of 0 where keep (n,) is False."""
        return jax.tree.map(lambda leaf: jnp.where(keep[:, None], leaf, 0.0), self)

    def take(self, items: Array) -> GramWhitened:
        """The same of some of the rows."""
        return jax.tree.map(lambda leaf: leaf[items], self)


@pytree
@dataclass(frozen=True)
class Gram(Width):
    """Width ||x||_{Z^-1} with a ridge that `with_ridge` may change. O(p^3) per query, O(k p^2) per block."""

    changes_ridge: ClassVar[bool] = True

    def init(self, like: Rows, scale: Array, capacity: int) -> GramFactor:
        """Return A = 0 and the ridge 1 / scale^2; the capacity is not needed."""
        size = count_columns(like)
        return GramFactor(total=jnp.zeros((size, size), FLOAT), ridge=jnp.asarray(1.0 / scale**2, FLOAT))

    def check(self, like: Rows, capacity: int) -> None:
        """Accept any size."""

    def with_ridge(self, factor: GramFactor, ridge: Array) -> GramFactor:
        """Return the factor with another ridge."""
        return replace(factor, ridge=ridge)

    def whiten(self, factor: GramFactor, rows: Rows) -> GramWhitened:
        """Return the rows, plain and by Z^-1/2."""
        matrix = flat(cast(rows, FLOAT))
        return GramWhitened(matrix, solve_triangular(_triangle(factor), matrix.T, lower=True).T)

    def absorb(self, factor: GramFactor, whitened: GramWhitened, residual: Array) -> tuple[GramFactor, Array]:
        """Take in k rows and residuals (k,), both over the noise; return factor and shift (p,)."""
        added = whitened.rows.T @ whitened.rows
        grown = replace(factor, total=factor.total + added)
        shift = jax.scipy.linalg.cho_solve((_triangle(grown), True), whitened.rows.T @ residual)
        return grown, shift


def _triangle(factor: GramFactor) -> Array:
    """(p, p) lower triangle L with L L' = A + ridge I."""
    size = factor.total.shape[0]
    return jnp.linalg.cholesky(factor.total + factor.ridge * jnp.eye(size, dtype=FLOAT))
