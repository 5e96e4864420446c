"""One arm: the one with the highest score."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.contract import Chooser, Scale
from superarm.pytree import pytree
from superarm.types import Array, Choice


@pytree
@dataclass(frozen=True)
class Best(Chooser):
    """The available arm with the highest score; ties are broken at random."""

    @property
    def top(self) -> int:
        """One arm, the best."""
        return 1

    @property
    def score_scale(self) -> Scale:
        """Any: scores are ranked."""
        return "any"

    @property
    def native(self) -> bool:
        """True: an argmax."""
        return True

    @property
    def size(self) -> int:
        """One slot."""
        return 1

    def check(self, num_arms: int) -> None:
        """Accept any number of arms."""

    def choose(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the best arm in a single slot."""
        masked = jnp.where(mask, scores, -jnp.inf)
        highest = jnp.max(masked)
        # XLA may compute a score twice, to compare it with the highest, and round it otherwise: without the
        # arm that one pass finds, nothing would be tied, and any arm would be chosen.
        first = (jnp.arange(scores.size) == jnp.argmax(masked)) & ~jnp.isnan(highest)
        tied = mask & ((masked == highest) | first)
        # NaN ties with nothing: then any available arm is returned, and the decision says unhealthy.
        tied = jnp.where(jnp.any(tied), tied, mask)

        def drawn() -> Array:
            tickets = jax.random.uniform(key, scores.shape, jnp.float32)
            return jnp.argmax(jnp.where(tied, tickets, -1.0))

        # Ties are rare, and drawing takes as long as a small policy's scores.
        alone = jnp.sum(tied, dtype=jnp.int32) <= 1
        item = jax.lax.cond(alone, lambda: jnp.argmax(tied), drawn)
        feasible = jnp.any(mask)
        item = jnp.where(feasible, item, -1).astype(jnp.int32)
        return Choice(items=item[None], mask=feasible[None], feasible=feasible)
