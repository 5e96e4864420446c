"""Agents at work in a folder, whose every state is noted: what damage may bring back, and what it may not."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import superarm
from superarm import Agent, Store
from superarm.agent.store import state_file
from superarm.evaluate import agent_log
from support.knowledge import knowledge

LOG, WAL, STATE, LOCK = "log.sqlite", "log.sqlite-wal", "state.safetensors", "lock"
FILES = (LOG, WAL, STATE, LOCK)
GOLDEN = Path(__file__).parents[1] / "golden"
MEMORY = Path("/dev/shm")  # a file system in memory, where there is one  # noqa: S108


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder for a while, in memory where that can be had."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as name:
        yield Path(name)


@dataclass(frozen=True)
class Copy:
    """The files of a store at one time.

    Attributes:
        files: by name.
        seq: the newest entry of the log; state_seq: the entry that the state was written after.
    """

    files: dict[str, bytes]
    seq: int
    state_seq: int

    def write(self, folder: Path) -> Path:
        """Put the files into a folder, which is made anew."""
        return written(folder, self.files)


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """A folder with just these files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """All files of a folder, as they are: those of an agent that is idle are as if it had been killed."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@dataclass
class Life:
    """An agent at work.

    Attributes:
        known: the number of an entry -> what the agent knew after it.
        older: copies of the files, the oldest first.
        made: decisions that may get feedback.
        told: the features of chosen items, as bytes, and what feedback said of them.
    """

    folder: Path
    agent: Agent
    rng: np.random.Generator
    known: dict[int, str] = field(default_factory=dict)
    older: list[Copy] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)
    told: set[tuple[bytes, float]] = field(default_factory=set)

    @classmethod
    def begun(cls, folder: Path, seed: int, policy: Any, *, store: dict[str, Any], **options: Any) -> Life:
        """A new agent, whose clock counts its calls."""
        ticks = iter(range(10**9))
        agent = Agent(
            policy, store=Store(folder, **store), clock=lambda: float(next(ticks)), seed=seed, **options
        )
        life = cls(folder, agent, np.random.default_rng(seed))
        life._watch_fits()
        life.note()
        life.known[0] = life.known[1]  # before the entry that says it was opened
        return life

    @classmethod
    def reopened(cls, folder: Path, seed: int) -> Life:
        """The agent of a folder that is there."""
        ticks = iter(range(10**6, 10**9))
        agent = Agent.open(folder, clock=lambda: float(next(ticks)))
        life = cls(folder, agent, np.random.default_rng(seed))
        life.note()
        return life

    def _watch_fits(self) -> None:
        """Note what is known after a fit that was made aside, too."""
        background = self.agent._session.background
        hand_over = background._hand_over

        def watched(*arguments: Any) -> None:
            with self.agent._session.lock:
                hand_over(*arguments)
                self.note()

        background._hand_over = watched  # type: ignore[method-assign]

    def note(self) -> None:
        """Note what is known now."""
        with self.agent._session.lock:
            recorder = self.agent._session.recorder
            assert recorder is not None
            self.known[recorder.journal.last] = knowledge(self.agent)

    def decide(self, contexts: Any, **offered: Any) -> None:
        """One more decision."""
        self.made.append(self.agent.select(contexts, **offered))
        self.note()

    def tell(self, *, partly: bool = False) -> None:
        """Feedback for a decision at random, for one of its items only if `partly`."""
        decision = self.made.pop(int(self.rng.integers(len(self.made))))
        rewards = (self.rng.random(len(decision.items)) < 0.5).astype(float).tolist()
        told = {decision.items[0]: rewards[0]} if partly else rewards if len(rewards) > 1 else rewards[0]
        self.agent.update(decision, told)
        self.told |= {(row.tobytes(), reward) for row, reward in zip(decision.features, rewards, strict=True)}
        self.note()

    def batch(self) -> None:
        """Nine decisions and their feedback, but for one."""
        made = self.agent.select_many(list(self.rng.normal(size=(9, 4, 3))))
        self.note()
        self.agent.update_many((one, 1.0) for one in made[1:])
        self.told |= {(one.features[0].tobytes(), 1.0) for one in made[1:]}
        self.note()

    def copy(self) -> Copy:
        """The files as they are."""
        with self.agent._session.lock:
            recorder = self.agent._session.recorder
            assert recorder is not None
            return copy_of(self.folder, recorder.journal.last)

    def keep_copy(self) -> None:
        """Keep the files as they are now, to be restored later."""
        self.older.append(self.copy())

    def keep_backup(self) -> None:
        """Keep what `Agent.backup` makes."""
        recorder = self.agent._session.recorder
        assert recorder is not None
        folder = self.folder.with_name(f"{self.folder.name}-backup")
        with self.agent._session.lock:
            seq = recorder.journal.last
            self.agent.backup(folder)
        self.older.append(copy_of(folder, seq))
        shutil.rmtree(folder)

    def killed(self) -> Copy:
        """End without a last word; the files as that leaves them."""
        self.agent.wait()
        found = self.copy()
        self.agent._session.release()
        return found

    def closed(self) -> Copy:
        """End in order; the files as that leaves them."""
        self.agent.wait()
        recorder = self.agent._session.recorder
        assert recorder is not None
        self.agent.close()
        return copy_of(self.folder, recorder.journal.last)


def copy_of(folder: Path, seq: int) -> Copy:
    """The files of a folder whose log has come to entry `seq`."""
    _, content = state_file.read_state(folder / STATE)
    return Copy(read(folder), seq, content["seq"])


@dataclass(frozen=True)
class Scene:
    """A store as the damage finds it.

    Attributes:
        now: its files, whose state is to come back.
        known: the number of an entry -> what its agent knew after it.
        older: copies of its files, the oldest first.
        other: the files of another store of the kind, at another time of its life.
        others_known: what the agent of the other store knew.
        told: what was ever told, in one or the other; see `Life`.
    """

    kind: str
    now: Copy
    known: dict[int, str]
    older: list[Copy]
    other: Copy
    others_known: dict[int, str]
    told: set[tuple[bytes, float]]


def scene_of(kind: str, folder: Path) -> Scene:
    """A store of a kind, made in a folder."""
    live, end = KINDS[kind]
    life = live(folder / "one", 0)
    now = end(life)
    other = _lived_on(life, folder / "other") if kind in TWICE else live(folder / "other", 1)
    return Scene(kind, now, life.known, life.older, end(other), other.known, life.told | other.told)


def _lived_on(life: Life, folder: Path) -> Life:
    """An older copy of the same store, which went on in another way."""
    return _tell_on(Life.reopened(life.older[0].write(folder), 1), 30)


def _long_tail(folder: Path, seed: int) -> Life:
    """All in the log, most of it in its write-ahead log."""
    life = Life.begun(folder, seed, superarm.lin_ucb(), store={"checkpoint_every": 10_000})
    for number in range(60 + 5 * seed):
        life.decide(life.rng.normal(size=(4, 3)))
        if number % 7:
            life.tell()
        _keep_copies(life, number)
    return life


def _with_checkpoints(folder: Path, seed: int) -> Life:
    """Checkpoints on the way, batches, and a log that goes on after the last one."""
    life = Life.begun(folder, seed, superarm.lin_ucb(), store={"checkpoint_every": 25})
    for number in range(40 + 5 * seed):
        life.decide(life.rng.normal(size=(4, 3)))
        life.tell()
        if number % 10 == 5:
            life.batch()
        _keep_copies(life, number)
    return life


def _compacted(folder: Path, seed: int) -> Life:
    """Little is kept of the log, and offers that are forgotten but for later decisions."""
    life = Life.begun(folder, seed, superarm.lin_ucb(), store={"checkpoint_every": 9, "keep": 5})
    catalogue = life.rng.normal(size=(5, 3))
    for number in range(60 + 5 * seed):
        life.decide(catalogue if number % 3 else life.rng.normal(size=(4, 3)))
        life.tell()
        _keep_copies(life, number)
    return life


def _repeated(folder: Path, seed: int) -> Life:
    """One catalogue, with words for ids, of which some are on offer each time."""
    life = Life.begun(folder, seed, superarm.lin_ucb(), store={"checkpoint_every": 30})
    catalogue, names = life.rng.normal(size=(12, 3)), [f"film {number}" for number in range(12)]
    for number in range(50 + 5 * seed):
        mask = life.rng.random(12) < 0.7
        mask[0] = True
        life.decide(catalogue, ids=names, mask=mask)
        life.tell()
        _keep_copies(life, number)
    return life


def _waiting(folder: Path, seed: int) -> Life:
    """Most decisions wait, and many expire: by their age, and because too many wait."""
    store = {"checkpoint_every": 30}
    life = Life.begun(folder, seed, superarm.lin_ucb(), store=store, max_pending=12, max_age=40.0)
    for number in range(60 + 5 * seed):
        life.decide(life.rng.normal(size=(4, 3)))
        if number % 3 == 0:
            life.tell()
        _keep_copies(life, number)
    return life


def _of_arms(folder: Path, seed: int) -> Life:
    """Sets of arms that have places; feedback comes for one of two first."""
    policy = superarm.comb_ucb1(superarm.top_k(2))
    life = Life.begun(folder, seed, policy, store={"checkpoint_every": 25}, arms=8)
    names = np.array([f"arm {number}" for number in range(8)])
    for number in range(50 + 5 * seed):
        life.decide(None, ids=life.rng.permutation(names)[:5].tolist())
        life.tell(partly=number % 2 == 0)
        _keep_copies(life, number)
    return life


def _of_fits(folder: Path, seed: int) -> Life:
    """Fits of a generalized linear model, made aside, and taken over some entries later."""
    policy = superarm.glm_ucb(learn_every=4, steps=2)
    return _aside(Life.begun(folder, seed, policy, store={"checkpoint_every": 17}, background=True))


def _of_networks(folder: Path, seed: int) -> Life:
    """Fits of a network."""
    model = superarm.neural(superarm.perceptron(width=4), steps=2, learn_every=5)
    policy = superarm.neural_ucb(model)
    return _aside(Life.begun(folder, seed, policy, store={"checkpoint_every": 17}, background=True))


def _of_schema_1(folder: Path, seed: int) -> Life:
    """A store that the first version wrote, brought to the schema of today, and used."""
    shutil.copytree(GOLDEN / "store-1", folder)
    life = Life.reopened(folder, seed)
    log = agent_log(folder)
    chosen = log.contexts[np.arange(len(log.actions)), log.actions]
    life.told = {(row.tobytes(), reward) for row, reward in zip(chosen, log.rewards.tolist(), strict=True)}
    life.keep_copy()
    return _tell_on(life, 25 + 5 * seed)


def _tell_on(life: Life, rounds: int) -> Life:
    for number in range(rounds):
        life.decide(life.rng.normal(size=(4, 3)))
        life.tell()
        _keep_copies(life, number)
    return life


def _aside(life: Life) -> Life:
    for number in range(30):
        life.decide(life.rng.normal(size=(4, 3)))
        life.tell()
        if number % 3 == 0:
            life.agent.wait()
        _keep_copies(life, number)
    return life


def _keep_copies(life: Life, number: int) -> None:
    if number in (8, 21):
        life.keep_copy()
    if number == 15:
        life.keep_backup()


# A kind: how it lives, and how it ends.
KINDS: dict[str, tuple[Any, Any]] = {
    "killed with all in the log": (_long_tail, Life.killed),
    "killed between checkpoints": (_with_checkpoints, Life.killed),
    "closed": (_with_checkpoints, Life.closed),
    "compacted": (_compacted, Life.killed),
    "compacted and closed": (_compacted, Life.closed),
    "offers that come again": (_repeated, Life.killed),
    "decisions that wait": (_waiting, Life.killed),
    "arms in places": (_of_arms, Life.killed),
    "fits aside": (_of_fits, Life.killed),
    "networks": (_of_networks, Life.killed),
    "of schema 1": (_of_schema_1, Life.killed),
    "two lives": (_with_checkpoints, Life.killed),
}
TWICE = ("of schema 1", "two lives")  # their other store is an older copy of the same, which went on
