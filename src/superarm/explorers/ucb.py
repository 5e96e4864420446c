"""Optimism: the upper end of a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.types import Array, Beliefs, pytree
from superarm.widths.radius import Radius


@pytree
@dataclass(frozen=True)
class UCB:
    """Score mean + radius * width."""

    radius: Radius

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) upper confidence bounds."""
        return beliefs.mean + self.radius.at(count) * beliefs.norms()
