"""The compiled part of replay: events of a log, offered one by one until enough are accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from superarm.evaluate.logs.log import Log
from superarm.policy import Policy
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.simulation.round import Keys, Trace, settle
from superarm.simulation.run import CHUNK
from superarm.types import Array, Decision, Offer, Outcome, State


@pytree
@dataclass(frozen=True)
class Place:
    """Where a stretch begins: the log, the order (n,) of this pass, and the events offered before.

    The log has slots (n, k), one for a single choice. Those of a set are in the order of its items.
    """

    log: Log
    order: Array
    offered: Array

    def event(self, offered: Array) -> Array:
        """The logged event that comes after so many."""
        return self.order[offered % self.order.size]

    def agrees(self, event: Array, items: Array) -> Array:
        """Whether items (k,) are what was logged: the whole set, or the ranking in its order."""
        return jnp.all((items if self.log.ranking else jnp.sort(items)) == self.log.actions[event])

    def slots(self, event: Array, items: Array) -> Array:
        """(k,) where the log has items that agree with it."""
        if self.log.ranking:
            return jnp.arange(items.size)
        return jnp.searchsorted(self.log.actions[event], items)


@partial(jax.jit, static_argnames=("size",))
def shuffled(key: Array, number: int, size: int) -> Array:
    """(size,) the order of pass `number`."""
    return jax.random.permutation(jax.random.fold_in(key, number), size)


@partial(jax.jit, donate_argnames=("state",), static_argnames=("keep_events",))
def stretch(
    policy: Policy, keys: Keys, state: State, place: Place, start: Array, length: Array, *, keep_events: bool
) -> tuple[State, Trace, Array, Array]:
    """Offer events until `length` are accepted or the pass ends; one that finds no sound decision counts too.

    Return the state, the rows of accepted events in a buffer (CHUNK,), the events offered so far, and how
    many rows there are.
    """
    decide = partial(_decide, policy, keys, place)
    accept = partial(_accept, policy, keys, place, keep_events)
    size = place.order.size
    end = (place.offered // size + 1) * size
    no_decision = jax.eval_shape(decide, state, place.offered, start)
    no_row = jax.eval_shape(accept, state, place.offered, no_decision)[1]

    def search(state: State, offered: Array, count: Array) -> tuple[Array, Decision, Array]:
        """Offer events up to the first in which the policy chooses as the log did, or cannot choose."""

        def look(carry: tuple[Array, Decision, Array]) -> tuple[Array, Decision, Array]:
            offered, _, _ = carry
            decision = decide(state, offered, count)
            found = place.agrees(place.event(offered), decision.items)
            return offered + 1, decision, found | ~decision.healthy

        carry = (offered, _blank(no_decision), jnp.zeros((), bool))
        return jax.lax.while_loop(lambda carry: ~carry[2] & (carry[0] < end), look, carry)

    def one_round(carry: Any) -> Any:
        state, buffer, offered, rows, _ = carry
        offered, decision, found = search(state, offered, start + rows)
        # The search is a loop of its own: the state, which may be large, stays where it is while events fail.
        state, row = jax.lax.cond(
            found, accept, lambda state, *_: (state, _blank(no_row)), state, offered - 1, decision
        )
        buffer = jax.tree.map(lambda leaf, new: leaf.at[rows].set(new), buffer, row)
        return state, buffer, offered, rows + found.astype(rows.dtype), found

    buffer = jax.tree.map(lambda leaf: jnp.zeros((CHUNK, *leaf.shape), leaf.dtype), no_row)
    begin = (state, buffer, place.offered, jnp.zeros_like(start), jnp.ones((), bool))
    return jax.lax.while_loop(lambda carry: (carry[3] < length) & carry[4], one_round, begin)[:4]


def _decide(policy: Policy, keys: Keys, place: Place, state: State, offered: Array, count: Array) -> Decision:
    """What the policy chooses in the event after `offered`, having had `count` accepted."""
    event = place.event(offered)
    offer = Offer.of(place.log.contexts[event])
    if place.log.mask is not None:
        offer = replace(offer, mask=place.log.mask[event])
    return policy.select(state, _event_keys(keys, offered)[0], offer, count)


def _accept(
    policy: Policy,
    keys: Keys,
    place: Place,
    keep_events: bool,
    state: State,
    offered: Array,
    decision: Decision,
) -> tuple[State, Trace]:
    """Observe what the log says of the event after `offered`."""
    event, unknown = place.event(offered), jnp.full((), jnp.nan, FLOAT)
    slots = place.slots(event, decision.items)
    feedback, seen = place.log.rewards[event][slots], place.log.observed
    outcome = Outcome(
        feedback=feedback,
        observed=decision.mask if seen is None else decision.mask & seen[event][slots],
        reward=jnp.sum(feedback),
        value=unknown,
        best=unknown,
        best_reward=unknown,
    )
    return settle(policy, state, _event_keys(keys, offered)[1], decision, outcome, keep_events)


def _event_keys(keys: Keys, offered: Array) -> tuple[Array, Array]:
    """To select and to observe."""
    # By the events offered, not by those accepted: a policy would repeat its chance until it is accepted.
    key_select, key_observe = jax.random.split(jax.random.fold_in(keys.policy, offered))
    return key_select, key_observe


def _blank(shapes: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
