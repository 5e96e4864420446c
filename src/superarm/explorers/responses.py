"""Scores on the scale of rewards, for choices that add rewards up."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from superarm.explorers.options import options_of
from superarm.models.links import LINKS
from superarm.pytree import pytree, static
from superarm.types import Array, Beliefs, Explorer

__all__ = ["Responses"]

TRACE = 1e-12  # far below what a reward can be told by, far above the rounding of 1


@pytree
@dataclass(frozen=True)
class Responses:
    """Another explorer's latent scores through a link.

    A link is increasing, so the best single arm stays the same; the best set of arms, whose rewards are
    added, does not. Where the link is flat to the last digit, as the logistic one is above 37, a trace of the
    latent score keeps the order.
    """

    explorer: Explorer
    link: str = static()

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) mu of the other's scores."""
        return self._responses(self.explorer.scores(key, beliefs, count))

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """The other's chances, and mu of its scores."""
        chances, latent = options_of("responses", self.explorer, beliefs, count)
        return chances, self._responses(latent)

    def _responses(self, latent: Array) -> Array:
        trace = TRACE * jnp.sign(latent) * jnp.log1p(jnp.abs(latent))
        return LINKS[self.link].mean(latent) + trace
