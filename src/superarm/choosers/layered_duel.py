"""Two arms by layers of estimates: VACDB's choice."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from superarm.choosers.duel import best_pair
from superarm.contract import Chooser
from superarm.models.layers import LayerScores
from superarm.pytree import pytree
from superarm.types import Array, Choice, DuelScores


@pytree
@dataclass(frozen=True)
class LayeredDuel(Chooser):
    """In the layer where the arms come to rest: the widest pair if it is there to be learned from.

    Otherwise the pair with the highest sum of utilities and bonus, which may be an arm with itself. The paper
    learns from any pair that is wide enough; we take the widest.
    """

    @property
    def native(self) -> bool:
        """True."""
        return True

    @property
    def size(self) -> int:
        """Two slots."""
        return 2

    @property
    def compares(self) -> bool:
        """True."""
        return True

    @property
    def pair_scores(self) -> type[DuelScores]:
        """Those of layers."""
        return LayerScores

    def check(self, num_arms: int) -> None:
        """Accept any number of arms; a single one meets itself."""

    def choose(self, key: Array, scores: LayerScores, mask: Array) -> Choice:
        """Return the two arms."""
        stop = scores.descend(mask)
        utilities, widths = scores.utilities[stop.layer], scores.widths[stop.layer]
        sums = utilities[:, None] + utilities[None] + scores.radius[stop.layer] * widths
        values = jnp.where(stop.sure, sums, widths)
        return best_pair(key, values, stop.alive[:, None] & stop.alive[None])
