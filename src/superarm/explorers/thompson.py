"""Thompson sampling: score by a draw from the beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from superarm.contract import Beliefs, Explorer, Model
from superarm.precision import ZERO
from superarm.pytree import pytree, static
from superarm.schedules.radius import is_schedule
from superarm.types import Array

__all__ = ["Thompson"]


@pytree
@dataclass(frozen=True)
class Thompson(Explorer):
    """Score by the best of `draws` draws.

    Args:
        scale: multiplies the standard deviation; 1 is posterior sampling. A number, or a schedule.
        draws: M; each arm is scored by its best of M draws.
        joint: draw the parameters, so that arms are correlated; otherwise each score is drawn apart.
        squared: use (scale * width)^2 as the standard deviation, not scale * width; scores are then drawn
            apart.
        offset: added to every score.
    """

    scale: Any
    draws: int = static(default=1)
    joint: bool = static(default=True)
    squared: bool = static(default=False)
    offset: Array = ZERO

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) drawn scores."""
        scale = self.scale
        if is_schedule(scale):
            scale = scale.at(count, beliefs.logdet)
        if self.squared:
            scale = scale**2 * beliefs.norms()
        joint = self.joint and not self.squared
        return jnp.max(beliefs.draws(key, scale, self.draws, joint), axis=0) + self.offset

    def pointwise(self, model: Model) -> bool:
        """Where parameters are drawn: a drawn score of an arm is then its own."""
        return model.draws_parameters and self.joint and not self.squared
