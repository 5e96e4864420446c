"""The full posterior covariance, kept as a square root.

The factor is a matrix S with Sigma = S S', never Sigma itself, so it cannot turn indefinite: at noise 1e-7
the plain information matrix is not positive definite after one episode, and the Kalman recursion of
wen2015 (Algorithm 1) goes indefinite. A block of k observations with rows X (features over the noise) is
taken in by one factorization:

    Sigma_new = S (I + V'V)^-1 S',   V = X S.

Widths are then accurate to 1e-6 for any noise. The mean is too, except while directions are unseen and one
item has shown weights r apart: rounding moves it along those by about eps (scale / noise)^2 |x| r, little at
scale / noise = 1e6 and as much as the prior at 1e8. We know of no form in double precision that avoids it.

Three exact forms, chosen by shape: Potter's closed form for one row (Potter & Stern, 1963), its like for few
rows by a QR of a (d + k) x k array, and a QR of a (d + k) x d array for many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from superarm.contract import LinearWidth, Whitened
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.rows import Rows, cast, count_columns, flat
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class FullFactor:
    """root: (d, d) matrix S with Sigma = S S'; logdet: log det of prior covariance over posterior."""

    root: Array
    logdet: Array


@pytree
@dataclass(frozen=True)
class FullWhitened(Whitened):
    """values: (n, d) rows times S, so that their inner products are covariances."""

    values: Array

    def norms(self) -> Array:
        """(n,) sqrt(x' Sigma x)."""
        return jnp.linalg.norm(self.values, axis=-1)

    def covariance(self) -> Array:
        """(n, n) x_i' Sigma x_j."""
        return self.values @ self.values.T

    def root(self) -> Array:
        """(n, d) the rows times S."""
        return self.values

    def only(self, keep: Array) -> FullWhitened:
        """The same with rows of 0 where keep (n,) is False."""
        return FullWhitened(jnp.where(keep[:, None], self.values, 0.0))

    def take(self, items: Array) -> FullWhitened:
        """The same of some of the rows."""
        return FullWhitened(self.values[items])


@pytree
@dataclass(frozen=True)
class Full(LinearWidth):
    """Width ||x||_Sigma = sqrt(x' Sigma x) with the full covariance.

    O(k d^2) per block of k observations, O(n d^2) per query of n widths.
    """

    keeps_root: ClassVar[bool] = True
    by_product: ClassVar[bool] = True
    bayes_rule: ClassVar[bool] = True

    def init(self, like: Rows, scale: Array, capacity: int) -> FullFactor:
        """Return the factor of N(0, scale^2 I) for rows like the given ones; the capacity is not needed."""
        root = scale * jnp.eye(count_columns(like), dtype=FLOAT)
        return FullFactor(root=root, logdet=jnp.zeros((), FLOAT))

    def check(self, like: Rows, capacity: int) -> None:
        """Accept any size."""

    def whiten(self, factor: FullFactor, rows: Rows) -> FullWhitened:
        """Return rows (n, d) times S."""
        return FullWhitened(flat(cast(rows, factor.root.dtype)) @ factor.root)

    def absorb(self, factor: FullFactor, whitened: FullWhitened, residual: Array) -> tuple[FullFactor, Array]:
        """Take in k whitened rows and residuals (k,), both over the noise; return factor and shift (d,)."""
        num_rows, dim = whitened.values.shape
        if num_rows == 1:
            form = _one_row
        elif 2 * num_rows <= dim:  # fewer operations than stacking, up to about k = 0.55 d
            form = _few_rows
        else:
            form = _many_rows
        root, shift, gain = form(factor.root, whitened.values, residual)
        return FullFactor(root=root, logdet=factor.logdet + gain), shift

    def deviations(self, factor: FullFactor, key: Array, num: int) -> Array:
        """(num, d) draws from N(0, Sigma)."""
        normals = jax.random.normal(key, (num, factor.root.shape[0]), FLOAT).astype(factor.root.dtype)
        return (factor.root @ normals.T).T


def _one_row(root: Array, whitened: Array, residual: Array) -> tuple[Array, Array, Array]:
    """Potter's form: S_new = S - S v v' / (g (1 + g)) with g = sqrt(1 + |v|^2)."""
    row = whitened[0]
    growth = jnp.sqrt(1.0 + row @ row)
    direction = root @ row
    new_root = root - jnp.outer(direction, row) / (growth * (1.0 + growth))
    return new_root, direction * (residual[0] / growth**2), 2.0 * jnp.log(growth)


def _few_rows(root: Array, whitened: Array, residual: Array) -> tuple[Array, Array, Array]:
    """QR of [V'; I] = [Q; P] R, so P = R^-1 and (I + V'V)^-1 = I - Q Q' = F F' with F = I - Q (I + P')^-1 Q'.

    Every factor is bounded by 1, whatever the noise; S_new = S F.
    """
    num_rows, dim = whitened.shape
    identity = jnp.eye(num_rows, dtype=FLOAT)
    basis, triangle = jnp.linalg.qr(jnp.concatenate([whitened.T, identity]))
    basis = basis * jnp.sign(jnp.diagonal(triangle))[None]  # as if the diagonal of R were positive
    upper, lower = basis[:dim], basis[dim:]  # Q, P
    spread = root @ upper
    new_root = root - spread @ solve_triangular(identity + lower, upper.T, trans=1)
    return new_root, spread @ (lower.T @ residual), _log_det(triangle)


def _many_rows(root: Array, whitened: Array, residual: Array) -> tuple[Array, Array, Array]:
    """R'R = I + V'V from a QR of [I; V] = [P; Q] R, so that R^-T V'r = Q'r; S_new = S R^-1."""
    dim = root.shape[0]
    basis, triangle = jnp.linalg.qr(jnp.concatenate([jnp.eye(dim, dtype=FLOAT), whitened]))
    new_root = jax.lax.linalg.triangular_solve(triangle, root, left_side=False, lower=False)
    return new_root, new_root @ (basis[dim:].T @ residual), _log_det(triangle)


def _log_det(triangle: Array) -> Array:
    """() log det R'R."""
    return 2.0 * jnp.sum(jnp.log(jnp.abs(jnp.diagonal(triangle))))
