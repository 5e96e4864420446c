"""An agent at work in a process of its own, which says all that it does, until it is killed.

    python worker.py FOLDER SEED WAY OPEN

Before feedback is given it is announced ("try"), afterwards it is acknowledged ("ok"). Each write is one,
which is whole or not there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DIM, ARMS, BATCH = 3, 4, 9
EVERY, KEEP = 50, 100  # entries between checkpoints, and decisions that the log keeps
WAYS = ("one by one", "batches", "aside", "copied")


def say(*lines: str) -> None:
    os.write(1, "".join(f"{line}\n" for line in lines).encode())


def policy_of(way: str) -> Any:
    import superarm

    return superarm.glm_ucb(learn_every=20, steps=2) if way == "aside" else superarm.lin_ucb()


def agent_of(folder: str, way: str, *, opened: bool) -> Any:
    import superarm

    store = superarm.Store(folder, checkpoint_every=EVERY, keep=KEEP)
    if opened:
        return superarm.Agent.open(store)
    return superarm.Agent(policy_of(way), store=store, background=way == "aside")


class Worker:
    """What the process does, over and over."""

    def __init__(self, agent: Any, rng: np.random.Generator, folder: Path) -> None:
        self.agent, self.rng, self.folder = agent, rng, folder
        self.made: list[Any] = []
        self.copies = 0

    def contexts(self) -> Any:
        return self.rng.normal(size=(ARMS, DIM))

    def decided(self, *decisions: Any) -> None:
        self.made += decisions
        say(*(f"made {one.id}" for one in decisions))

    def tell(self, number: int, update: Callable[[list[tuple[Any, float]]], None]) -> None:
        """Feedback for some decisions, the oldest or the newest: some wait since before a checkpoint."""
        pairs = [
            (self.made.pop(0 if self.rng.random() < 0.5 else -1), float(self.rng.random() < 0.5))
            for _ in range(min(number, len(self.made)))
        ]
        rows = [[one.id, *one.features[0].tolist(), reward] for one, reward in pairs]
        say(*(f"try {' '.join(map(repr, row))}" for row in rows))
        update(pairs)
        say("ok")

    def singly(self) -> None:
        for _ in range(int(self.rng.integers(1, 3))):
            self.decided(self.agent.select(self.contexts()))
        self.tell(1, lambda pairs: self.agent.update(*pairs[0]))

    def together(self) -> None:
        self.decided(*self.agent.select_many([self.contexts() for _ in range(BATCH)]))
        self.tell(BATCH, self.agent.update_many)

    def copied(self) -> None:
        """Work, and now and then a backup, whose number of updates is known."""
        self.singly()
        if self.rng.random() < 0.02:
            name = self.folder.with_name(f"{self.folder.name}-copy-{os.getpid()}-{self.copies}")
            updates, self.copies = self.agent.stats.updates, self.copies + 1
            self.agent.backup(name)
            say(f"copy {name} {updates}")


def main(folder: str, seed: str, way: str, opened: str) -> None:
    import superarm

    superarm.keep_compiled(Path(folder).parent / "compiled")
    agent = agent_of(folder, way, opened=opened == "1")
    worker = Worker(agent, np.random.default_rng(int(seed)), Path(folder))
    once = {"batches": worker.together, "copied": worker.copied}.get(way, worker.singly)
    say("ready")
    while True:
        once()


if __name__ == "__main__":
    main(*sys.argv[1:])
