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
    """Another explorer's latent scores through a link; scores that estimate nothing stay as they are.

    A link is increasing, so the best single arm stays the same; the best set of arms, whose rewards are
    added, does not.
    """

    explorer: Explorer
    link: LinkName = static()

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) mu of the other's scores."""
        return self._response(self.explorer.scores(key, beliefs, count))

    def options(self, beliefs: Beliefs, count: Array) -> tuple[Array, Array]:
        """The other's chances, and mu of its scores."""
        chances, latent = self.explorer.options(beliefs, count)
        return chances, self._response(latent)

    def _response(self, scores: Array) -> Array:
        return scores if self.explorer.score_scale == "any" else response(self.link, scores)

    def means(self, beliefs: Beliefs) -> Array:
        """(n,) mu of the other's means, which are latent."""
        return response(self.link, self.explorer.means(beliefs))

    @property
    def score_scale(self) -> Scale:
        """That of rewards."""
        return "reward"

    @property
    def inner(self) -> Explorer:
        """The other."""
        return self.explorer

    def pointwise(self, model: Model) -> bool:
        """As the other explorer."""
        return self.explorer.pointwise(model)
