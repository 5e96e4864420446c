"""Layers of ever finer estimates, and how far down a set of arms gets.

Di, Jin, Wu, Zhao, Farnoud & Gu (2023), Variance-aware regret bounds for stochastic contextual dueling
bandits, Algorithm 1: layer l = 1, ..., L has an estimate good to about 2^-l. From the top, arms that the
layer holds for surely worse are dropped, until a layer has something left to learn about the arms that
remain, or nothing is left to learn at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, DuelScores


@pytree
@dataclass(frozen=True)
class Stop:
    """Where a set of arms came to rest.

    Attributes:
        layer: () index of the layer, from 0.
        alive: (n,) the arms that remain.
        sure: () True when no pair of them is wider than `finest`: the layer is there to be used, not to
            learn.
    """

    layer: Array
    alive: Array
    sure: Array


@pytree
@dataclass(frozen=True)
class LayerScores(DuelScores):
    """What L layers say of n arms.

    Attributes:
        utilities: (L, n).
        widths: (L, n, n) of all pairs.
        radius: (L,) beta: a difference of utilities may be off by beta times its width.
        finest: () alpha: what is narrower is known.
    """

    utilities: Array
    widths: Array
    radius: Array
    finest: Array

    @property
    def mean(self) -> Array:
        """(n,) utilities of the first layer, which learns most often."""
        return self.utilities[0]

    @property
    def precisions(self) -> Array:
        """(L,) 2^-l, l = 1, ..., L."""
        return 0.5 ** jnp.arange(1, self.radius.shape[0] + 1, dtype=FLOAT)

    def finite(self, mask: Array) -> Array:
        """() whether all that is said of the arms where mask (n,) is True is finite."""
        pairs = mask[:, None] & mask[None]
        widths = jnp.all(jnp.isfinite(self.widths) | ~pairs[None])
        return jnp.all(jnp.isfinite(self.utilities) | ~mask[None]) & widths

    def descend(self, mask: Array) -> Stop:
        """Go down with the arms where mask (n,) is True. O(L n^2)."""
        indices = jnp.arange(self.radius.shape[0], dtype=jnp.int32)
        layers = (indices, self.utilities, self.widths, self.radius, self.precisions)

        def layer(carry: tuple[Stop, Array], one: tuple[Array, ...]) -> tuple[tuple[Stop, Array], None]:
            stop, stopped = carry
            index, utilities, widths, radius, precision = one
            pairs = stop.alive[:, None] & stop.alive[None]
            widest = jnp.max(jnp.where(pairs, widths, 0.0))
            sure = widest <= self.finest
            rests = sure | (widest > precision)
            best = jnp.max(jnp.where(stop.alive, utilities, -jnp.inf))
            left = stop.alive & (utilities >= best - precision * radius)
            here = Stop(index, jnp.where(rests, stop.alive, left), sure)
            return (
                jax.tree.map(lambda old, new: jnp.where(stopped, old, new), stop, here),
                stopped | rests,
            ), None

        first = Stop(jnp.zeros((), jnp.int32), mask, jnp.zeros((), bool))
        return jax.lax.scan(layer, (first, jnp.zeros((), bool)), layers)[0][0]
