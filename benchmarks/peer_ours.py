"""superarm's sides of `peers.py`: compiled rounds on a given stream, and the Agent."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

import superarm
from benchmarks.peer_sides import play
from superarm.environments import stream
from superarm.rollout import run_seed

TURNS = 3
WARM_UP = 50  # rounds


def simulated(policy: Any, contexts: Any, rewards: Any) -> dict[str, Any]:
    """Run a stream inside compiled code; return items, seconds a round, and seconds to compile."""
    rounds, arms = rewards.shape
    if contexts.ndim == 2:  # one context is everybody's
        contexts = np.broadcast_to(contexts[:, None], (rounds, arms, contexts.shape[1]))
    world = stream(contexts, rewards)
    tables = [run_seed(policy, world, rounds=rounds, seed=0, keep_items=True) for _ in range(TURNS)]
    return {
        "items": np.concatenate(tables[0]["items"].to_list()),
        "seconds": statistics.median(np.concatenate([one["seconds"] for one in tables])),
        "compile": tables[0].attrs["compile_seconds"],
    }


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
