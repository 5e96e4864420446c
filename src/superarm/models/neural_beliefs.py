"""What a neural model believes of the arms on offer, and what of it observing can use again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Whitened
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class Stamp:
    """Which state a cache is of: observations seen, and fits made."""

    seen: Array
    version: Array


@pytree
@dataclass(frozen=True)
class NeuralCache:
    """The chosen items' rows as the width prepared them, to spare doing it again when feedback comes.

    It is used only when the state is still the one that decided; otherwise the rows are prepared anew.
    """

    whitened: Any
    stamp: Stamp


@pytree
@dataclass(frozen=True)
class NeuralBeliefs(Beliefs):
    """Scores f(x; theta) and the width of their gradients."""

    mean: Array
    whitened: Any
    logdet: Array
    stamp: Stamp

    def norms(self) -> Array:
        """(n,) ||g(x)||_{Z^-1}."""
        return self.whitened.norms().astype(FLOAT)

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) draws around the scores: of each apart, or with the gradients' covariance when joint."""
        root = self.whitened.root() if joint else None
        if root is not None:
            root = root.astype(FLOAT)
            return self.mean[None] + scale * (jax.random.normal(key, (num, root.shape[1]), FLOAT) @ root.T)
        normals = jax.random.normal(key, (num, self.mean.shape[0]), FLOAT)
        if not joint:
            return self.mean[None] + (scale * self.norms())[None] * normals
        # Arms with equal gradients make the covariance singular: eigenvalues, not Cholesky.
        values, vectors = jnp.linalg.eigh(self.whitened.covariance().astype(FLOAT))
        root = vectors * jnp.sqrt(jnp.maximum(values, 0.0))[None]
        return self.mean[None] + scale * (normals @ root.T)

    def covariance(self) -> Array:
        """(n, n) g(x_i)'Z^-1 g(x_j)."""
        return self.whitened.covariance().astype(FLOAT)

    def whitened_rows(self) -> Whitened:
        """The rows as the width measured them."""
        measured: Whitened = self.whitened
        return measured

    def cache(self, items: Array) -> NeuralCache:
        """What observing items (k,) can use again."""
        return NeuralCache(self.whitened.take(jnp.maximum(items, 0)), self.stamp)


@pytree
@dataclass(frozen=True)
class Certain(Whitened):
    """Rows of a model without a width."""

    count: int = static()

    def norms(self) -> Array:
        """(n,) zeros."""
        return jnp.zeros(self.count, FLOAT)

    def covariance(self) -> Array:
        """(n, n) zeros."""
        return jnp.zeros((self.count, self.count), FLOAT)

    def take(self, items: Array) -> Certain:
        """The same of some of the rows."""
        return Certain(items.shape[0])

    def only(self, keep: Array) -> Certain:
        """The same: rows of 0 are as certain."""
        return self
