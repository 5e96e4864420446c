"""Warm-up: the first decisions follow a plan, whatever is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import NOTHING, Explorer, Special
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.types import Array

__all__ = ["WarmUp"]


def cut(rounds: int, horizon: int) -> int:
    """The length of a warm-up: half of the horizon when it is longer than that.

    >>> cut(500, 1109), cut(500, 424)
    (500, 212)
    """
    return rounds if rounds <= horizon else horizon // 2


@pytree
@dataclass(frozen=True)
class WarmUp(Explorer):
    """Another explorer, after `rounds` decisions by a plan.

    Args:
        explorer: decides afterwards.
        rounds: tau; None for the number of arms, with "each".
        horizon: decisions that there will be; a longer warm-up is cut to half of them. None when not known.
        plan: "each", arm after arm; "uniform", at random; "design", as the beliefs of a `Planned` model say.

    The planned arm is scored 1 and the others 0: a set that is chosen holds it, with others at random. Where
    it is not on offer its turn is lost, and any arm is tried.
    """

    explorer: Explorer
    rounds: int | None = static()
    plan: str = static()
    horizon: int | None = static(default=None)

    @property
    def inner(self) -> Explorer:
        """The other."""
        return self.explorer

    @property
    def needs(self) -> frozenset[Special]:
        """The plan of a design, and what the other needs."""
        return self.explorer.needs | ({"plan"} if self.plan == "design" else NOTHING)

    @property
    def by_arm(self) -> bool:
        """Whether the plan, or the other explorer, knows arms by their index."""
        return self.plan != "uniform" or self.explorer.by_arm

    def length(self, num_arms: int) -> int:
        """Decisions by the plan."""
        rounds = num_arms if self.rounds is None else self.rounds
        return rounds if self.horizon is None else cut(rounds, self.horizon)

    def scores(self, key: Array, beliefs: Any, count: Array) -> Array:
        """(n,) by the plan, or the other explorer's."""
        num_arms = beliefs.mean.shape[0]  # its shape alone: compiled code computes nothing for it

        def planned() -> Array:
            if self.plan == "uniform":
                return jax.random.uniform(key, (num_arms,), FLOAT)
            return self._planned(beliefs, count, num_arms)

        early = count < self.length(num_arms)
        return jax.lax.cond(early, planned, lambda: self.explorer.scores(key, beliefs, count))

    def options(self, beliefs: Any, count: Array) -> tuple[Array, Array]:
        """The other's chances and scores, or the plan as often: a tie where it is random."""
        chances, scores = self.explorer.options(beliefs, count)
        num_arms = scores.shape[1]
        tied = self.plan == "uniform"
        row = jnp.zeros(num_arms, FLOAT) if tied else self._planned(beliefs, count, num_arms)
        return chances, jnp.where(count < self.length(num_arms), row[None], scores)

    def _planned(self, beliefs: Any, count: Array, num_arms: int) -> Array:
        arm = count % num_arms
        if self.plan == "design":
            ends = jnp.cumsum(beliefs.plan())
            arm = jnp.searchsorted(ends, count.astype(ends.dtype), side="right")
        return (jnp.arange(num_arms) == arm.astype(jnp.int64)).astype(FLOAT)
