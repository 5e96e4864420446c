"""Choosing by the mean, by chance, or by a mixture of the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Explorer, Model, Scale
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array

__all__ = ["EpsilonGreedy", "Exploit", "Greedy", "Uniform"]


@pytree
@dataclass(frozen=True)
class Greedy(Explorer):
    """Score by the mean: no exploration."""

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) means."""
        return beliefs.mean

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """(1,) certainty and (1, n) the means."""
        return jnp.ones(1, FLOAT), beliefs.mean[None]

    @property
    def constant_bonus(self) -> tuple[Any, Any]:
        """Nothing is added to the mean."""
        return 0.0, 0.0

    def pointwise(self, model: Model) -> bool:
        """Yes: a mean is the arm's own."""
        return True


@pytree
@dataclass(frozen=True)
class Exploit(Explorer):
    """Score as another explorer would without exploring, on its scale."""

    explorer: Explorer

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) the other's means."""
        return self.explorer.means(beliefs)

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """(1,) certainty and (1, n) the means."""
        return jnp.ones(1, FLOAT), self.explorer.means(beliefs)[None]

    def means(self, beliefs: Beliefs) -> Array:
        """(n,) its scores."""
        return self.explorer.means(beliefs)

    @property
    def score_scale(self) -> Scale:
        """That of the other's means."""
        return "reward" if self.explorer.score_scale == "reward" else "latent"


@pytree
@dataclass(frozen=True)
class Uniform(Explorer):
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

    @property
    def score_scale(self) -> Scale:
        """Any: the scores estimate nothing."""
        return "any"


@pytree
@dataclass(frozen=True)
class EpsilonGreedy(Explorer):
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
