"""One round of a run: what is offered, what is chosen, what comes of it, and the keys of it all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.contract import Environment
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.pytree import pytree
from superarm.types import Array, Decision, Event, Outcome, State


class SimulationError(RuntimeError):
    """A run could not go on: scores were not finite, or no set was feasible."""


@pytree
@dataclass(frozen=True)
class Keys:
    """Environment and policy draw from split keys, so that every policy meets the same world."""

    world: Array
    rounds: Array
    init: Array
    policy: Array
    learn: Array


@pytree
@dataclass(frozen=True)
class Trace:
    """What one round leaves in the table. Shapes () per round, (CHUNK,) in a chunk's buffer."""

    regret: Array
    realized_regret: Array
    reward: Array
    value: Array
    best: Array
    healthy: Array
    items: Array  # (k,)
    event: Any = ()  # the event, where a later policy will observe it again


def check_meeting(
    where: str, name: str, policy: Policy | Anytime, environment: Environment, rounds: int
) -> None:
    """Refuse a policy that cannot be run in an environment, in one sentence."""
    checks.has(where, name, policy, ("epochs", "check"))
    policy.check(replace(environment.spec, capacity=rounds * policy.chooser.size))
    if policy.chooser.compares != environment.compares:
        kind = "two arms to compare" if environment.compares else "one arm or a set, not a duel"
        met = type(environment).__name__
        raise ValueError(f"{where}: {name} must choose {kind} in {met}, got {policy.chooser!r}")


def keys_of(seed: int) -> Keys:
    """Return the keys of a run."""
    return Keys(*jax.random.split(jax.random.key(seed), 5))


def play_round(
    policy: Policy,
    environment: Environment,
    world: Any,
    keep_events: bool,
    state: State,
    keys: tuple[Array, ...],
    count: Array,
    origin: Array | int = 0,
    width: Any = None,
) -> tuple[State, Trace]:
    """Round `count`, with its keys: offer, select, respond, observe. The policy counts from `origin`.

    With a `width` it chooses by that, in place of its own.
    """
    key_offer, key_respond, key_select, key_observe = keys
    world = environment.at_round(world, count)
    offer = environment.offer(world, key_offer)
    selecting = policy if width is None else replace(policy, width=width)
    decision = selecting.select(state, key_select, offer, count - origin)
    outcome = environment.respond(world, key_respond, offer, decision)
    return settle(policy, state, key_observe, decision, outcome, keep_events)


def round_keys(keys: Keys, count: Array) -> tuple[Array, Array, Array, Array]:
    """The keys of decision `count`: to offer, to respond, to select and to observe."""
    # Two keys at a time: each call of the generator costs about 0.1 s to compile.
    pair = jax.vmap(jax.random.fold_in, in_axes=(0, None))(jnp.stack([keys.rounds, keys.policy]), count)
    (key_offer, key_respond), (key_select, key_observe) = jax.vmap(jax.random.split)(pair)
    return key_offer, key_respond, key_select, key_observe


def settle(
    policy: Policy, state: State, key: Array, decision: Decision, outcome: Outcome, keep_events: bool
) -> tuple[State, Trace]:
    """Observe the outcome, and trace it."""
    event = Event(
        items=decision.items,
        features=decision.features,
        feedback=outcome.feedback,
        observed=outcome.observed,
        memo=decision.memo,
        variance=outcome.variance,
        cache=decision.cache,
    )
    trace = Trace(
        regret=outcome.best - outcome.value,
        realized_regret=outcome.best_reward - outcome.reward,
        reward=outcome.reward,
        value=outcome.value,
        best=outcome.best,
        healthy=decision.healthy,
        items=decision.items,
        event=replace(event, memo=(), cache=()) if keep_events else (),
    )
    return policy.observe(state, key, event), trace
