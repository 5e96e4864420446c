"""Thompson sampling: score by a draw from the beliefs."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from superarm.types import Array, Beliefs, pytree, static


@pytree
@dataclass(frozen=True)
class Thompson:
    """Score by the best of `draws` draws.

    Args:
        scale: multiplies the standard deviation; 1 is posterior sampling.
        draws: M; each arm is scored by its best of M draws.
        joint: draw the parameters, so that arms are correlated; otherwise each score is drawn apart.
    """

    scale: Array
    draws: int = static(default=1)
    joint: bool = static(default=True)

    def scores(self, key: Array, beliefs: Beliefs, count: Array) -> Array:
        """(n,) drawn scores."""
        return jnp.max(beliefs.draws(key, self.scale, self.draws, self.joint), axis=0)
