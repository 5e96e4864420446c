"""Optimism: the upper end of a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Explorer, Model, Scale
from superarm.models.links import LINKS, LinkName, response
from superarm.precision import FLOAT, ZERO
from superarm.pytree import pytree, static
from superarm.schedules.radius import Radius
from superarm.types import Array

__all__ = ["UCB"]


@pytree
@dataclass(frozen=True)
class UCB(Explorer):
    """Score mean + radius * width + offset.

    With a link the mean is that of the reward, mu(latent score), and the width is added to it
    (NeuralLog-UCB-1); without, the score stays latent.

    The offset is the same for every arm: it changes nothing for sums over sets of fixed size, but does for
    other rewards. A radius with an `offset_at` of its own (hwang2023's Lemma 1) adds to it.
    """

    radius: Radius
    offset: Array = ZERO
    link: LinkName | None = static(default=None)

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) upper confidence bounds."""
        radius, logdet = self.radius, beliefs.logdet
        offset = self.offset + radius.offset_at(count, logdet)
        mean = beliefs.mean if self.link is None else LINKS[self.link].mean(beliefs.mean)
        return mean + radius.at(count, logdet) * beliefs.norms() + offset

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """(1,) certainty and (1, n) the bounds: nothing is random."""
        return jnp.ones(1, FLOAT), self.scores(jax.random.key(0), beliefs, count)[None]

    def means(self, beliefs: Beliefs) -> Array:
        """(n,) means, of rewards with a link."""
        return beliefs.mean if self.link is None else response(self.link, beliefs.mean)

    @property
    def score_scale(self) -> Scale:
        """That of rewards with a link, latent without."""
        return "latent" if self.link is None else "reward"

    @property
    def constant_bonus(self) -> tuple[Any, Any] | None:
        """The radius and the offset, where neither changes and there is no link."""
        radius = self.radius.constant_value
        return None if radius is None or self.link is not None else (radius, self.offset)

    @property
    def monotone(self) -> bool:
        """Whether the bound is the mean and a multiple of the width."""
        return self.link is None

    def pointwise(self, model: Model) -> bool:
        """Yes: an arm's bound is its own."""
        return True
