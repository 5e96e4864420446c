"""Scores on the scale of rewards, for choices that add rewards up."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.contract import Beliefs, Explorer, Model, Scale
from superarm.models.links import LinkName, response
from superarm.pytree import pytree, static
from superarm.types import Array

__all__ = ["Responses"]


@pytree
@dataclass(frozen=True)
class Responses(Explorer):
    """Another explorer's latent scores through a link.

    A link is increasing, so the best single arm stays the same; the best set of arms, whose rewards are
    added, does not.
    """

    explorer: Explorer
    link: LinkName = static()

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) mu of the other's scores."""
        return response(self.link, self.explorer.scores(key, beliefs, count))

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """The other's chances, and mu of its scores."""
        chances, latent = self.explorer.options(beliefs, count)
        return chances, response(self.link, latent)

    def means(self, beliefs: Beliefs) -> Array:
        """(n,) mu of the other's scores without exploration."""
        return response(self.link, self.explorer.means(beliefs))

    @property
    def score_scale(self) -> Scale:
        """That of rewards."""
        return "reward"

    @property
    def finite(self) -> bool:
        """As the other explorer."""
        return self.explorer.finite

    @property
    def by_arm(self) -> bool:
        """As the other explorer."""
        return self.explorer.by_arm

    def pointwise(self, model: Model) -> bool:
        """As the other explorer."""
        return self.explorer.pointwise(model)
