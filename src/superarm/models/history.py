"""What a neural model remembers: all observations, those of the last rounds, or a uniform sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.types import Array, Event, Spec, pytree, static


@pytree
@dataclass(frozen=True)
class History:
    """Observations in slots; C is the number of slots.

    Attributes:
        contexts: (C, d); feedback: (C,); filled: (C,) True where a slot holds an observation.
        seen: () observations so far, kept or not.
        events: () events so far.
    """

    contexts: Array
    feedback: Array
    filled: Array
    seen: Array
    events: Array


@pytree
@dataclass(frozen=True)
class Memory:
    """Which observations are kept.

    Args:
        kind: "all", up to the capacity that the problem states; "window", those of the last `size` events;
            "reservoir", a uniform sample of `size` observations (Vitter, 1985, Algorithm R).
        size: events for "window", observations for "reservoir"; not used for "all".
    """

    kind: str = static(default="all")
    size: int = static(default=0)

    def slots(self, spec: Spec) -> int:
        """Observations to make room for."""
        if self.kind == "all":
            return spec.capacity
        return self.size * spec.size if self.kind == "window" else self.size

    def init(self, spec: Spec, dtype: Any) -> History:
        """Return empty slots."""
        slots = self.slots(spec)
        zero = jnp.zeros((), jnp.int64)
        return History(
            contexts=jnp.zeros((slots, spec.dim), dtype),
            feedback=jnp.zeros(slots, dtype),
            filled=jnp.zeros(slots, bool),
            seen=zero,
            events=zero,
        )

    def add(self, history: History, key: Array, event: Event) -> History:
        """Return the history with the event's observations."""
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
        return History(
            contexts=history.contexts.at[place].set(contexts.astype(dtype), mode="drop"),
            feedback=history.feedback.at[place].set(feedback.astype(dtype), mode="drop"),
            filled=history.filled.at[place].set(event.observed, mode="drop"),
            seen=history.seen + jnp.sum(event.observed),
            events=history.events + 1,
        )

    def used(self, history: History) -> Array:
        """() slots that may be filled; none after them is."""
        slots = history.feedback.shape[0]
        count = history.events * (slots // self.size) if self.kind == "window" else history.seen
        return jnp.minimum(count, slots)
