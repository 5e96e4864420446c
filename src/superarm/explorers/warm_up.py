"""Warm-up: the first decisions follow a plan, whatever is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.types import Array, Explorer, pytree, static


@pytree
@dataclass(frozen=True)
class WarmUp:
    """Another explorer, after `rounds` decisions by a plan.

    Args:
        explorer: decides afterwards.
        rounds: tau; None for the number of arms, with "each".
        plan: "each", arm after arm; "uniform", at random; "design", as the beliefs of a `Planned` model say.

    The planned arm is scored 1 and the others 0: a set that is chosen holds it, with others at random.
    """

    explorer: Explorer
    rounds: int | None = static()
    plan: str = static()

    def scores(self, key: Array, beliefs: Any, count: Array) -> Array:
        """(n,) by the plan, or the other explorer's."""
        num_arms = beliefs.mean.shape[0]  # its shape alone: nothing is computed
        rounds = num_arms if self.rounds is None else self.rounds

        def planned() -> Array:
            if self.plan == "uniform":
                return jax.random.uniform(key, (num_arms,), FLOAT)
            arm = count % num_arms
            if self.plan == "design":
                arm = jnp.searchsorted(jnp.cumsum(beliefs.plan()), count, side="right")
            return (jnp.arange(num_arms) == arm).astype(FLOAT)

        return jax.lax.cond(count < rounds, planned, lambda: self.explorer.scores(key, beliefs, count))
