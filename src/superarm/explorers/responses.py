"""Scores on the scale of rewards, for choices that add rewards up."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.models.links import LINKS
from superarm.types import Array, Beliefs, Explorer, pytree, static


@pytree
@dataclass(frozen=True)
class Responses:
    """Another explorer's latent scores through a link.

    A link is increasing, so the best single arm stays the same; the best set of arms, whose rewards are
    added, does not.
    """

    explorer: Explorer
    link: str = static()

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) mu of the other's scores."""
        return LINKS[self.link].mean(self.explorer.scores(key, beliefs, count))
