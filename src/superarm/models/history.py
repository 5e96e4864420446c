"""What a model that is fitted remembers: all observations, those of the last rounds, a uniform sample, or
sums per arm.

Losses are linear in the feedback, but for terms without parameters. So n observations of one feature vector
count in a fit as one, of their mean, n times over: with arms that stay, counts and means per arm say all, and
a fit costs O(arms) whatever the number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.types import Array, Event, Spec

MemoryKind = Literal["all", "window", "reservoir", "arms"]
MEMORIES: tuple[MemoryKind, ...] = get_args(MemoryKind)


@pytree
@dataclass(frozen=True)
class History:
    """Observations in slots; C is the number of slots.

    Attributes:
        contexts: (C, d); feedback: (C,) the mean of the slot's observations; counts: (C,) how many they are,
            0 where the slot is empty.
        seen: () observations so far, kept or not.
        events: () events so far.
    """

    contexts: Array
    feedback: Array
    counts: Array
    seen: Array
    events: Array

    @property
    def filled(self) -> Array:
        """(C,) True where a slot holds an observation; NaN, of a broken one, is held, too."""
        return ~(self.counts <= 0)


@pytree
@dataclass(frozen=True)
class Memory:
    """Which observations are kept.

    Args:
        kind: "all", up to the capacity that the problem states; "window", those of the last `size` events;
            "reservoir", a uniform sample of `size` observations (Vitter, 1985, Algorithm R); "arms", counts
            and means per arm, for arms whose features stay the same. An arm whose features changed has count
            NaN from then on: the fits, and so the scores, turn NaN, which a decision reports.
        size: events for "window", observations for "reservoir"; not used otherwise.
    """

    kind: str = static(default="all")
    size: int = static(default=0)

    @property
    def by_arm(self) -> bool:
        """Whether an arm is known by its index."""
        return self.kind == "arms"

    def slots(self, spec: Spec) -> int:
        """Observations to make room for."""
        if self.kind == "all":
            return spec.capacity
        if self.kind == "arms":
            return spec.num_arms
        return self.size * spec.size if self.kind == "window" else self.size

    def init(self, spec: Spec, dtype: Any) -> History:
        """Return empty slots."""
        slots = self.slots(spec)
        zero = jnp.zeros((), jnp.int64)
        return History(
            contexts=jnp.zeros((slots, spec.dim), dtype),
            feedback=jnp.zeros(slots, FLOAT if self.kind == "arms" else dtype),
            counts=jnp.zeros(slots, FLOAT if self.kind == "arms" else dtype),
            seen=zero,
            events=zero,
        )

    def add(self, history: History, key: Array, event: Event, weights: Array | None = None) -> History:
        """Return the history with the event's observations, counted weights (k,) times each."""
        if self.kind == "arms":
            return _summed(history, event)
        slots = history.feedback.shape[0]
        order = history.seen + jnp.cumsum(event.observed) - 1  # number of each observation, from 0
        write = event.observed
        if self.kind == "window":
            size = event.observed.shape[0]
            place = (history.events % self.size) * size + jnp.arange(size)
            write = jnp.ones_like(event.observed)  # an unobserved slot must forget what it held
        elif self.kind == "reservoir":
            ticket = jax.random.uniform(key, order.shape, FLOAT) * (order + 1).astype(FLOAT)
            place = jnp.where(order < slots, order, jnp.floor(ticket).astype(jnp.int64))
        else:
            place = order
        place = jnp.where(write & (place < slots), place, slots)  # out of bounds: dropped
        dtype = history.contexts.dtype
        # 0 where nothing was observed: a NaN there would spoil slopes even when the loss leaves it out.
        contexts = jnp.where(event.observed[:, None], event.features, 0.0)
        feedback = jnp.where(event.observed, event.feedback, 0.0)
        counts = jnp.where(event.observed, 1.0 if weights is None else weights, 0.0)
        return History(
            contexts=history.contexts.at[place].set(contexts.astype(dtype), mode="drop"),
            feedback=history.feedback.at[place].set(feedback.astype(dtype), mode="drop"),
            counts=history.counts.at[place].set(counts.astype(dtype), mode="drop"),
            seen=history.seen + jnp.sum(event.observed),
            events=history.events + 1,
        )

    def used(self, history: History) -> Array:
        """() slots that may be filled; none after them is."""
        slots = history.feedback.shape[0]
        if self.kind == "arms":
            return jnp.full((), slots, jnp.int64)
        count = history.events * (slots // self.size) if self.kind == "window" else history.seen
        return jnp.minimum(count, slots)


def _summed(history: History, event: Event) -> History:
    """The history with the event's observations added to those of their arms."""
    slots = history.feedback.shape[0]
    place = jnp.where(event.observed & (event.items >= 0), event.items, slots)  # out of bounds: dropped
    features = event.features.astype(history.contexts.dtype)
    known = history.counts.at[place].get(mode="fill", fill_value=0.0) > 0
    moved = jnp.any(history.contexts.at[place].get(mode="fill", fill_value=0.0) != features, axis=-1)
    counts = history.counts.at[place].add(jnp.where(known & moved, jnp.nan, 1.0), mode="drop")
    sums = (history.feedback * history.counts).at[place].add(event.feedback, mode="drop")
    return History(
        contexts=history.contexts.at[place].set(features, mode="drop"),
        feedback=jnp.where(counts == 0, 0.0, sums / jnp.where(counts == 0, 1.0, counts)),
        counts=counts,
        seen=history.seen + jnp.sum(event.observed),
        events=history.events + 1,
    )
