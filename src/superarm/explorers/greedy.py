"""Choosing by the mean, by chance, or by a mixture of the two."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, Beliefs

__all__ = ["EpsilonGreedy", "Greedy", "Uniform"]


@pytree
@dataclass(frozen=True)
class Greedy:
    """Score by the mean: no exploration."""

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) means."""
        return beliefs.mean

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """(1,) certainty and (1, n) the means."""
        return jnp.ones(1, FLOAT), beliefs.mean[None]


@pytree
@dataclass(frozen=True)
class Uniform:
    """Score by chance: uniform over single arms and over sets of fixed size.

    On structured sets (a path, a matching) it is the best set for random scores: every set has a chance, not
    the same chance.
    """

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) independent uniform scores."""
        return jax.random.uniform(key, beliefs.mean.shape, FLOAT)

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """(1,) certainty and (1, n) a tie, which is broken at random."""
        return jnp.ones(1, FLOAT), jnp.zeros((1, *beliefs.mean.shape), FLOAT)


@pytree
@dataclass(frozen=True)
class EpsilonGreedy:
    """With probability epsilon score by chance, otherwise by the mean."""

    epsilon: Array

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) uniform scores or means."""
        key_coin, key_scores = jax.random.split(key)
        explore = jax.random.uniform(key_coin, (), FLOAT) < self.epsilon
        return jnp.where(explore, Uniform().scores(key_scores, beliefs, count), beliefs.mean)

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """(2,) the chances, and (2, n) a tie and the means."""
        chances = jnp.stack([jnp.asarray(self.epsilon, FLOAT), 1.0 - self.epsilon])
        return chances, jnp.stack([jnp.zeros_like(beliefs.mean), beliefs.mean])
