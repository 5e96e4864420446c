"""A floor under every arm's chance: now and then, choose uniformly."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Explorer
from superarm.explorers.greedy import Uniform
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class Floor(Explorer):
    """Another explorer's scores, or with probability `share` scores by chance."""

    explorer: Explorer
    share: Array

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) the other's scores, or uniform ones."""
        key_coin, key_uniform, key_other = jax.random.split(key, 3)
        by_chance = jax.random.uniform(key_coin, (), FLOAT) < self.share
        uniform = Uniform().scores(key_uniform, beliefs, count)
        return jnp.where(by_chance, uniform, self.explorer.scores(key_other, beliefs, count))

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """The other's chances and scores, and a tie."""
        chances, scores = self.explorer.options(beliefs, count)
        share = jnp.asarray(self.share, FLOAT)
        tie = jnp.zeros((1, scores.shape[1]), FLOAT)
        return jnp.append((1.0 - share) * chances, share), jnp.concatenate([scores.astype(FLOAT), tie])

    @property
    def inner(self) -> Explorer:
        """The other."""
        return self.explorer
