"""Processes that are killed at any moment, again and again: nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superarm import Agent
from support import worker
from support.lives import quick_folder

OPERATIONS = 2_000  # of a folder's life, at least
KILLS = 25  # of a folder
FOLDERS = 20
RIDGE = np.eye(worker.DIM)


@dataclass
class Life:
    """A folder whose processes are killed, and what they said.

    Attributes:
        made: numbers of decisions that were acknowledged.
        told: rows of a number, features and a reward that were acknowledged, or are known to have been taken.
        tried: such rows that were announced last, and were not acknowledged.
        copies: folders of backups, and how many updates each has.
        operations: that were acknowledged.
    """

    folder: Path
    way: str
    seed: int
    made: set[int] = field(default_factory=set)
    told: list[list[float]] = field(default_factory=list)
    tried: list[list[float]] = field(default_factory=list)
    copies: list[tuple[Path, int]] = field(default_factory=list)
    operations: int = 0
    kills: int = 0

    def hear(self, line: str) -> None:
        word, *rest = line.split()
        if word == "made":
            assert int(rest[0]) not in self.made, f"decision {rest[0]} was made twice"
            self.made.add(int(rest[0]))
        elif word == "try":
            self.tried.append([float(one) for one in rest])
        elif word == "ok":
            self.told += self.tried
            self.tried.clear()
        elif word == "copy":
            self.copies.append((Path(rest[0]), int(rest[1])))
        self.operations += word in ("made", "ok")

    def kill(self) -> None:
        """Let a process work for a while, and kill it at a random moment."""
        rng = np.random.default_rng([self.seed, self.kills])
        command = [sys.executable, worker.__file__, str(self.folder), str(int(rng.integers(2**31))), self.way]
        command.append(str(int(self.kills > 0)))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            for _ in range(int(rng.integers(1, 2 * self.lines))):
                self.hear(process.stdout.readline())
            time.sleep(float(rng.random() * 0.004))
            os.kill(process.pid, signal.SIGKILL)
            for line in process.stdout:
                if line.endswith("\n"):
                    self.hear(line)
        self.kills += 1

    @property
    def lines(self) -> int:
        """That a process says on average before it is killed: an operation takes one, and some are tried."""
        return int(1.6 * OPERATIONS / KILLS)

    def check(self) -> None:
        """Open the folder, and compare what it knows with what was acknowledged."""
        with_store = worker.agent_of(str(self.folder), self.way, opened=True)
        try:
            self.take_in_the_last(with_store)
            assert with_store.stats.updates == len(self.told)
            require_posterior(with_store, self.told)
            decision = with_store.select(np.eye(worker.ARMS, worker.DIM))
            self.hear(f"made {decision.id}")
        finally:
            with_store._session.release()

    def take_in_the_last(self, agent: Agent) -> None:
        """What was announced last, and not acknowledged, was taken as a whole or not at all."""
        if agent.stats.updates != len(self.told):
            self.told += self.tried
        self.tried.clear()

    def check_copies(self) -> None:
        for folder, updates in self.copies:
            with Agent.open(folder) as agent:
                assert agent.stats.updates == updates
                require_posterior(agent, self.told[:updates])


def require_posterior(agent: Agent, told: list[list[float]]) -> None:
    """Compare with a dense solve of all that was told; of a generalized linear model, with its history."""
    if not told:
        return
    rows = np.array(told)
    features, rewards = rows[:, 1:-1], rows[:, -1]
    record: Any = agent._session.state.learner.state.record  # type: ignore[union-attr]
    if not hasattr(record, "history"):
        precision = RIDGE + features.T @ features
        np.testing.assert_allclose(record.mean, np.linalg.solve(precision, features.T @ rewards), rtol=1e-8)
        return
    seen = int(record.history.seen)
    kept = np.column_stack([record.history.contexts[:seen], record.history.feedback[:seen]])
    np.testing.assert_array_equal(kept, rows[:, 1:])


@pytest.mark.parametrize(
    ("seed", "kills"),
    [(1, 2), *(pytest.param(seed, KILLS, marks=pytest.mark.full) for seed in range(FOLDERS))],
)
def test_kills_lose_nothing_that_was_acknowledged(seed, kills):
    with quick_folder() as folder:
        life = Life(folder / "agent", worker.WAYS[seed % len(worker.WAYS)], seed)
        while life.kills < kills or (kills == KILLS and life.operations < OPERATIONS):
            life.kill()
            life.check()
        life.check_copies()
    print(f"{life.way}: {life.kills} kills, {life.operations} operations, {len(life.copies)} copies")
