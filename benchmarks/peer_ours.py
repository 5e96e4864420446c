"""superarm's sides of `peers.py`: the compiled rounds of `simulate` on a given stream, and the Agent."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from benchmarks.peer_sides import play
from superarm.precision import double
from superarm.rounds import Trace, keys_of, play_round
from superarm.types import Array, Decision, Offer, Outcome, Spec, pytree

TURNS = 3
STRETCH = 200  # rounds in a compiled call; divides the length of every stream
WARM_UP = 50  # rounds


@pytree
@dataclass(frozen=True)
class Round:
    """One round of a stream as a world: contexts (n, d), what every arm would pay (n,)."""

    contexts: Array
    rewards: Array

    def offer(self, world: Any, key: Array) -> Offer:
        """Offer all arms; one context (d,) is everybody's."""
        arms = self.rewards.shape[0]
        contexts = jnp.broadcast_to(self.contexts, (arms, self.contexts.shape[-1]))
        return Offer(contexts=contexts, mask=jnp.ones(arms, bool))

    def respond(self, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Pay; the regret is counted by the caller."""
        feedback = self.rewards[decision.items]
        paid, zero = feedback[0], jnp.zeros_like(feedback[0])
        return Outcome(feedback, observed=decision.mask, reward=paid, value=paid, best=zero, best_reward=zero)


@double
def simulated(policy: Any, contexts: Any, rewards: Any) -> dict[str, Any]:
    """Run a stream inside compiled code; return items, seconds a round, and seconds to compile."""
    rounds, arms = rewards.shape
    starts = range(0, rounds - STRETCH + 1, STRETCH)
    stretches = [Round(contexts[at : at + STRETCH], rewards[at : at + STRETCH]) for at in starts]
    stretches = jax.tree.map(jnp.asarray, stretches)
    keys = keys_of(0)
    capacity = 0 if policy.learn_every is None else rounds
    first = policy.init(keys.init, Spec(dim=contexts.shape[-1], num_arms=arms, capacity=capacity))
    begun = time.perf_counter()
    run = _run.lower(policy, first, keys, np.int64(0), stretches[0]).compile()
    compiling = time.perf_counter() - begun
    spent = []
    for _ in range(TURNS):
        state, items = first, []
        for start, stretch in zip(starts, stretches, strict=True):
            begun = time.perf_counter()
            state, trace = jax.block_until_ready(run(policy, state, keys, np.int64(start), stretch))
            spent.append((time.perf_counter() - begun) / STRETCH)
            items.append(trace.items[:, 0])
    return {"items": np.concatenate(items), "seconds": statistics.median(spent), "compile": compiling}


@jax.jit
def _run(policy: Any, state: Any, keys: Any, start: Array, stretch: Round) -> tuple[Any, Trace]:
    """The state and the trace of rounds, by the function that plays one in `superarm.simulate`."""

    def step(state: Any, row: tuple[Array, Round]) -> tuple[Any, Trace]:
        count, world = row
        state, trace = play_round(policy, world, (), keys, False, state, count)
        if policy.learn_every == 1:
            state = replace(state, fit=policy.learn(state, jax.random.fold_in(keys.learn, count + 1)))
        return state, trace

    return jax.lax.scan(step, state, (start + jnp.arange(STRETCH), stretch))


class AgentSide:
    """An Agent without a store."""

    def __init__(self, policy: Any, arms: int, disjoint: bool) -> None:
        self.agent = superarm.Agent(policy, arms=arms if disjoint else None, draws=0)
        self.arms = arms

    def form(self, contexts: Any) -> Any:
        return np.broadcast_to(contexts, (self.arms, contexts.shape[-1])).copy()

    def select(self, contexts: Any) -> int:
        self.decision = self.agent.select(contexts)
        return self.decision.items[0]

    def update(self, contexts: Any, item: int, reward: float) -> None:
        self.agent.update(self.decision, reward)


def served(policy: Any, contexts: Any, rewards: Any, seconds: float) -> dict[str, Any]:
    """Run a stream through an Agent, one call at a time, after another has compiled all that is needed."""
    for rounds in (WARM_UP, len(rewards)):
        side = AgentSide(policy, rewards.shape[1], disjoint=contexts.ndim == 2)
        items, spent = play(side, contexts[:rounds], rewards[:rounds], seconds)
    return {"items": items, "seconds": statistics.median(spent)}
