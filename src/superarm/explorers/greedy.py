"""Choosing by the mean, by chance, or by a mixture of the two."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.types import Array, Beliefs, pytree


@pytree
@dataclass(frozen=True)
class Greedy:
    """Score by the mean: no exploration."""

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) means."""
        return beliefs.mean


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
