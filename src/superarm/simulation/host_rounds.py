"""Rounds stepped on the host: for oracles and worlds that run there, and to take the time of the parts.

What can be compiled is, once, at the first round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.contract import Environment
from superarm.policy import Policy, select_on_host
from superarm.simulation.first_round import check_offer, check_outcome
from superarm.simulation.round import SimulationError, Trace, round_keys, settle
from superarm.types import Array, Decision, Offer, Outcome, State

if TYPE_CHECKING:
    from superarm.simulation.run import Run

Steps = Callable[[State, int, int], tuple[State, Trace]]


def stepped_chunks(run: Run, state: State) -> tuple[Steps, float]:
    """Return a chunk that steps on the host; what can be compiled is, once, at the first round."""
    policy, environment, world, keys = run.policy, run.environment, run.world, run.keys
    native = environment.native
    # Compiled where they can be: run piece by piece, a loop would be compiled anew in every round.
    choose = _select if policy.native else select_on_host
    respond = _respond_jitted if native else _respond

    def one_round(state: State, count: int) -> tuple[State, Trace]:
        key_offer, key_respond, key_select, key_observe = round_keys(keys, jnp.int64(count))
        now = environment.at_round(world, count)
        offer = _offer(environment, now, key_offer) if native else environment.offer(now, key_offer)
        first = not native and count == run.origin
        if first:
            check_offer(environment, policy, offer)
        decision = choose(policy, state, key_select, offer, jnp.int64(count - run.origin))
        outcome = respond(environment, now, key_respond, offer, decision)
        if first:
            check_outcome(environment, decision, outcome)
        return _settle_jitted(policy, state, key_observe, decision, _as_arrays(outcome), run.keep_events)

    def steps(state: State, start: int, length: int) -> tuple[State, Trace]:
        traces = []
        for count in range(start, start + length):
            state, trace = one_round(state, count)
            traces.append(trace)
        return state, jax.tree.map(lambda *rows: np.stack(rows), *traces)

    return steps, 0.0


def timed_chunks(run: Run, state: State) -> tuple[Steps, float]:
    """Return a chunk that steps on the host, and takes the time of choosing and of updating apart."""
    policy, environment, world, keys = run.policy, run.environment, run.world, run.keys
    if not (policy.native and environment.native):
        raise SimulationError(f"{policy.name}: only what is compiled can be timed; this runs on the host")

    def one_round(state: State, count: int, warm: bool) -> tuple[State, Trace]:
        key_offer, key_respond, key_select, key_observe = round_keys(keys, jnp.int64(count))
        now = environment.at_round(world, count)
        offer = jax.block_until_ready(_offer(environment, now, key_offer))
        begun = time.perf_counter()
        decision = _select(policy, state, key_select, offer, jnp.int64(count - run.origin))
        jax.block_until_ready(decision)
        chosen = time.perf_counter()
        outcome = jax.block_until_ready(_respond_jitted(environment, now, key_respond, offer, decision))
        answered = time.perf_counter()
        state, trace = _settle_jitted(policy, state, key_observe, decision, outcome, run.keep_events)
        state = jax.block_until_ready(run.learned(state, count + 1))
        if not warm:
            run.clock.append((chosen - begun, time.perf_counter() - answered))
        return state, trace

    begun = time.perf_counter()
    every = policy.learn_every
    one_round(state, run.origin + (every or 1) - 1, True)  # compiles all, a fit included
    seconds = time.perf_counter() - begun

    def steps(state: State, start: int, length: int) -> tuple[State, Trace]:
        traces = []
        for count in range(start, start + length):
            state, trace = one_round(state, count, False)
            traces.append(trace)
        return state, jax.tree.map(lambda *rows: np.stack(rows), *traces)

    return steps, seconds


@jax.jit
def _select(policy: Policy, state: State, key: Array, offer: Offer, count: Array) -> Decision:
    return policy.select(state, key, offer, count)


_settle_jitted = partial(jax.jit, static_argnames=("keep_events",))(settle)


@jax.jit
def _offer(environment: Environment, world: Any, key: Array) -> Offer:
    return environment.offer(world, key)


def _respond(environment: Environment, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
    return environment.respond(world, key, offer, decision)


_respond_jitted = jax.jit(_respond)


REAL_FIELDS = ("feedback", "reward", "value", "best", "best_reward")


def _as_arrays(outcome: Outcome) -> Outcome:
    """Python worlds may answer with plain numbers and lists."""
    numbers: dict[str, Any] = {name: np.asarray(getattr(outcome, name), np.float64) for name in REAL_FIELDS}
    observed: Any = np.asarray(outcome.observed, bool)
    return replace(outcome, observed=observed, **numbers)
