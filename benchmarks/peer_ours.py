"""superarm's sides of `peers.py`: compiled rounds on a given stream, and the Agent."""

from __future__ import annotations

from typing import Any

import numpy as np

import superarm
from benchmarks.peer_sides import play
from superarm.environments import stream
from superarm.simulation.run import run_seed

WARM_UP = 50  # rounds


class Simulated:
    """A stream inside compiled code. A round's seconds are those of its chunk over the rounds in it."""

    def __init__(self, policy: Any, contexts: Any, rewards: Any) -> None:
        self.rounds, arms = rewards.shape
        if contexts.ndim == 2:  # one context is everybody's
            contexts = np.broadcast_to(contexts[:, None], (self.rounds, arms, contexts.shape[1]))
        self.policy, self.world = policy, stream(contexts, rewards)
        self.compile = self._run().attrs["compile_seconds"]

    def play(self) -> dict[str, Any]:
        table = self._run()
        return {"items": np.concatenate(table["items"].to_list()), "spent": table["seconds"].to_numpy()}

    def _run(self) -> Any:
        return run_seed(self.policy, self.world, rounds=self.rounds, seed=0, keep_items=True)


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


class Served:
    """A stream through an Agent, one call at a time, after another has compiled all that is needed."""

    def __init__(self, policy: Any, contexts: Any, rewards: Any, seconds: float) -> None:
        self.policy, self.contexts, self.rewards, self.seconds = policy, contexts, rewards, seconds
        self._run(WARM_UP)

    def play(self) -> dict[str, Any]:
        items, spent = self._run(len(self.rewards))
        return {"items": items, "spent": spent}

    def _run(self, rounds: int) -> tuple[list[int], list[float]]:
        side = AgentSide(self.policy, self.rewards.shape[1], disjoint=self.contexts.ndim == 2)
        return play(side, self.contexts[:rounds], self.rewards[:rounds], self.seconds)
