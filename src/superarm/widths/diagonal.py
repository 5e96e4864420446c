"""A diagonal covariance: memory and time linear in the number of features.

Each block is taken in exactly given the diagonal before it, then projected on the diagonal: the precision of
coordinate j grows by the sum of squares of column j (the diagonal of the exact precision matrix).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.types import Array, pytree


@pytree
@dataclass(frozen=True)
class DiagonalFactor:
    """precision: (d,) the diagonal of the information matrix; logdet: its log det over the prior's."""

    precision: Array
    logdet: Array


@pytree
@dataclass(frozen=True)
class Diagonal:
    """Width sqrt(sum x_j^2 / precision_j). O(k d + k^2 d) per block, O(n d) per query."""

    def init(self, dim: int, scale: Array) -> DiagonalFactor:
        """Return the factor of N(0, scale^2 I)."""
        return DiagonalFactor(
            precision=jnp.ones(dim, FLOAT) / scale**2,
            logdet=jnp.zeros((), FLOAT),
        )

    def absorb(self, factor: DiagonalFactor, rows: Array, residual: Array) -> tuple[DiagonalFactor, Array]:
        """Take in rows (k, d) and residuals (k,), both over the noise; return factor and shift (d,)."""
        root = 1.0 / jnp.sqrt(factor.precision)
        whitened = rows * root[None]  # V, (k, d)
        num_rows = whitened.shape[0]
        # R'R = I + V V' without forming V V', which would square the condition number.
        stacked = jnp.concatenate([jnp.eye(num_rows, dtype=FLOAT), whitened.T])
        corner = jnp.linalg.qr(stacked, mode="r")
        weights = jax.scipy.linalg.cho_solve((corner, False), residual)
        precision = factor.precision + jnp.sum(rows**2, axis=0)
        gain = jnp.sum(jnp.log(precision) - jnp.log(factor.precision))
        return DiagonalFactor(precision, factor.logdet + gain), root * (whitened.T @ weights)

    def norms(self, factor: DiagonalFactor, features: Array) -> Array:
        """(n,) sqrt(sum_j x_j^2 / precision_j)."""
        return jnp.sqrt(features**2 @ (1.0 / factor.precision))

    def covariance(self, factor: DiagonalFactor, features: Array) -> Array:
        """(n, n) sum_j x_ij x_kj / precision_j."""
        return (features / factor.precision[None]) @ features.T

    def deviations(self, factor: DiagonalFactor, key: Array, num: int) -> Array:
        """(num, d) draws from the diagonal Gaussian around 0."""
        normals = jax.random.normal(key, (num, factor.precision.shape[0]), FLOAT)
        return normals / jnp.sqrt(factor.precision)[None]
