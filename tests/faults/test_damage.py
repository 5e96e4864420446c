"""Damage to any file of a store: the agent is as it was, or is refused in a sentence. Never another one."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superarm import Agent
from superarm.errors import StoreError
from superarm.evaluate import Log, agent_log
from superarm.evaluate.logs.tables import LogError
from superarm.storage import lock
from support.knowledge import knowledge
from support.lives import (
    FILES,
    GOLDEN,
    KINDS,
    LOCK,
    LOG,
    STATE,
    TWICE,
    WAL,
    Scene,
    quick_folder,
    read,
    scene_of,
    written,
)

Rng = np.random.Generator
Bytes = dict[str, bytes]
SEED = int(os.environ.get("SUPERARM_FAULTS_SEED", "0"))  # other damages than the last time


@dataclass(frozen=True)
class Damaged:
    """Files after a damage.

    Attributes:
        what: was done.
        known: what the agent may know, by the entry that it has come to.
        marked: the newest entry that the lock's file knows of: a log must not end before it.
        least: the newest entry that the lock or the state knows of: an agent must not.
    """

    what: str
    files: Bytes
    known: dict[int, str]
    marked: int
    least: int


# One file


def flipped(raw: bytes, rng: Rng) -> bytes:
    """With one bit to three that are others."""
    bits = np.frombuffer(raw, np.uint8).copy()
    for _ in range(int(rng.integers(1, 4))):
        bits[place(raw, rng)] ^= 1 << int(rng.integers(8))
    return bits.tobytes()


def zeroed(raw: bytes, rng: Rng) -> bytes:
    return replaced(raw, rng, bytes(length(rng)))


def overwritten(raw: bytes, rng: Rng) -> bytes:
    return replaced(raw, rng, rng.bytes(length(rng)))


def moved(raw: bytes, rng: Rng) -> bytes:
    """With a part of the file written over another."""
    begin = place(raw, rng)
    return replaced(raw, rng, raw[begin : begin + length(rng)])


def truncated(raw: bytes, rng: Rng) -> bytes:
    return raw[: place(raw, rng)]


def appended(raw: bytes, rng: Rng) -> bytes:
    return raw + (rng.bytes(length(rng)) if rng.random() < 0.5 else raw[: length(rng)])


def replaced(raw: bytes, rng: Rng, part: bytes) -> bytes:
    begin = place(raw, rng)
    part = part[: len(raw) - begin]
    return raw[:begin] + part + raw[begin + len(part) :]


def place(raw: bytes, rng: Rng) -> int:
    """Anywhere, near the begin or the end, or near where a page or a frame of SQLite begins."""
    way, size = rng.random(), len(raw)
    if way < 0.5:
        return int(rng.integers(size))
    if way < 0.65:
        return int(rng.integers(min(size, 128)))
    if way < 0.75:
        return size - 1 - int(rng.integers(min(size, 128)))
    step, first = (4096, 0) if way < 0.85 else (4096 + 24, 32)
    begin = first + step * int(rng.integers(1 + size // step))
    return min(size - 1, begin + int(rng.integers(40)))


def length(rng: Rng) -> int:
    """Of a part: from a byte to some pages."""
    return int(2 ** (13.5 * rng.random()))


WAYS: tuple[Callable[[bytes, Rng], bytes], ...] = (flipped, zeroed, overwritten, moved, truncated, appended)


def one_file(scene: Scene, rng: Rng) -> Damaged:
    """A file that is damaged, deleted, of an earlier time, or of another store."""
    files = dict(scene.now.files)
    there = [name for name in files if files[name]]
    chances = np.array([{LOG: 5.0, WAL: 5.0, STATE: 2.0, LOCK: 2.5}.get(name, 0.5) for name in there])
    name = str(rng.choice(there, p=chances / chances.sum()))
    way = rng.random()
    if way < 0.75:
        change = WAYS[int(rng.integers(len(WAYS)))]
        files[name] = change(files[name], rng)
        what = change.__name__
    elif way < 0.82:
        del files[name]
        what = "deleted"
    else:
        source = scene.older[int(rng.integers(len(scene.older)))] if way < 0.92 else scene.other
        files.pop(name)
        files |= {name: source.files[name]} if name in source.files else {}
        what = "of an earlier time" if way < 0.92 else "of another store"
    return Damaged(f"{name} {what}", files, scene.known, scene.now.seq, scene.now.seq)


# Several files


def restored(scene: Scene, rng: Rng) -> Damaged:
    """Each file from some backup, or as it is, or missing."""
    times = [*scene.older, scene.now]
    turns = {name: int(rng.integers(len(times))) for name in FILES}
    if rng.random() < 0.2:
        turns = dict.fromkeys(FILES, turns[LOG])  # all from the same
    elif rng.random() < 0.4:
        turns[WAL] = turns[LOG]
    files = {name: times[turn].files[name] for name, turn in turns.items() if name in times[turn].files}
    marked = times[turns[LOCK]].seq
    least = max(marked, times[turns[STATE]].state_seq)
    return Damaged(f"restored from {turns}", files, scene.known, marked, least)


def exchanged(scene: Scene, rng: Rng) -> Damaged:
    """Some files of another store."""
    names = [name for name in FILES if name in scene.now.files and rng.random() < 0.5]
    if len(names) in (0, len(scene.now.files.keys() & set(FILES))):  # all of them would be that store
        names = [STATE]
    files = {name: raw for name, raw in scene.now.files.items() if name in FILES and name not in names}
    files |= {name: scene.other.files[name] for name in names if name in scene.other.files}
    # With its lock and its log, a copy of the same store is right, from any state that both had.
    if LOCK in names and scene.kind in TWICE:
        return Damaged(
            f"{names} of another life", files, scene.others_known, scene.other.seq, scene.other.seq
        )
    return Damaged(f"{names} of another store", files, scene.known, scene.now.seq, scene.now.seq)


def damaged(scene: Scene, rng: Rng) -> Damaged:
    way = rng.random()
    if way < 0.8:
        return one_file(scene, rng)
    return restored(scene, rng) if way < 0.93 else exchanged(scene, rng)


# What comes of it

NAMED = ("scene: ", "log.sqlite: ", "state.safetensors: ", "state file: ", "lock: ")  # what a refusal is of


def opened(folder: Path) -> tuple[Agent, int] | None:
    """The agent of a folder, and the entry that it had come to; None if it is refused in a sentence."""
    try:
        agent = Agent.open(folder)
    except StoreError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert refused.startswith(NAMED)
        return None
    recorder = agent._session.recorder
    assert recorder is not None
    return agent, recorder.journal.last - 1  # the newest says that it was opened


def outcome(folder: Path, damage: Damaged, newest: int, *, further: bool) -> str:
    """What comes of a damage, in a word; what must not come fails."""
    found = opened(written(folder, damage.files))
    if found is None:
        left = read(folder)
        for name in (LOG, WAL, STATE):
            assert left.get(name, b"") == damage.files.get(name, b""), f"is refused, and {name} is changed"
        return "refused"
    agent, seq = found
    try:
        assert seq in damage.known, f"comes to an entry that never was the newest, {seq}"
        assert damage.known[seq] == knowledge(agent), f"knows what it never knew, at entry {seq}"
        assert seq >= damage.least, f"forgot what came after entry {seq}"
        if further:
            go_on(agent, folder)
        return "the same" if seq == newest else "as earlier"
    finally:
        agent._session.release()


def go_on(agent: Agent, folder: Path) -> None:
    """Work, die, open again: no damage lay in wait. What the log refuses is refused in a sentence."""
    state = agent._session.state
    dim = state.dim or 3
    names = list(state.arms.places)[:4] or None
    decisions = agent.stats.decisions
    try:
        for number in range(5):
            decision = agent.select(np.eye(4, dim), ids=names)
            assert decision.id == decisions + number
            agent.update(decision, np.ones(len(decision.items)))
        agent.wait()
        agent.checkpoint()
        agent.select(np.eye(4, dim), ids=names)
    except StoreError:
        return
    before = knowledge(agent)
    agent._session.release()
    again = opened(folder)
    if again is not None:
        assert knowledge(again[0]) == before
        again[0]._session.release()


def read_log(folder: Path) -> Log | None:
    """What `agent_log` tells; None if it refuses."""
    try:
        return agent_log(folder)
    except (StoreError, LogError):
        return None


def same_log(one: Log | None, other: Log | None) -> bool:
    if one is None or other is None:
        return one is other
    names = ("contexts", "mask", "actions", "rewards", "propensities", "observed")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return one.arms == other.arms and all(np.array_equal(*pair) for pair in pairs)


def outcome_of_log(folder: Path, damage: Damaged, scene: Scene, before: Log | None) -> str:
    """What comes of reading a log, in a word; what must not come fails."""
    log = read_log(written(folder, damage.files))
    if log is None or same_log(log, before):
        return "refused" if log is None else "the same"
    earlier = damage.marked < scene.now.seq or damage.known is scene.others_known
    assert earlier, "tells less than was acknowledged"
    chosen = np.take_along_axis(log.contexts, log.actions.reshape(len(log.actions), -1)[:, :, None], 1)
    seen = np.ones(chosen.shape[:2], bool) if log.observed is None else log.observed
    rewards = log.rewards.reshape(seen.shape)
    told = {(row.tobytes(), reward) for row, reward in zip(chosen[seen], rewards[seen].tolist(), strict=True)}
    assert told <= scene.told, "tells what never was"
    return "as earlier"


@cache
def scene(kind: str) -> Scene:
    with quick_folder() as folder:
        return scene_of(kind, folder)


QUICK = ("killed with all in the log", "compacted")
FULL = {"networks": 80, "fits aside": 160}  # opening these takes longer


def cases() -> list[Any]:
    """Kinds, and how many damages: 2,000 in all."""
    quick = [pytest.param(kind, 25, id=f"{kind}, some") for kind in QUICK]
    full = [pytest.param(kind, FULL.get(kind, 176), marks=pytest.mark.full, id=kind) for kind in KINDS]
    return [*quick, *full]


@pytest.mark.parametrize(("kind", "number"), cases())
def test_a_damaged_store_is_as_before_or_refused(kind, number):
    found: Counter[str] = Counter()
    told: Counter[str] = Counter()
    one = scene(kind)
    with quick_folder() as folder:
        before = read_log(one.now.write(folder / "scene"))
        whole = Damaged("", one.now.files, one.known, one.now.seq, one.now.seq)
        assert outcome(folder / "scene", whole, one.now.seq, further=True) == "the same"
        for turn in range(number):
            damage = damaged(one, np.random.default_rng([SEED, turn, len(kind)]))
            try:
                told[outcome_of_log(folder / "scene", damage, one, before)] += 1
                found[outcome(folder / "scene", damage, one.now.seq, further=turn % 3 == 0)] += 1
            except BaseException as error:
                error.add_note(f"{kind}, damage {turn}: {damage.what}")
                raise
    print(f"{kind}: {dict(found)}; logs: {dict(told)}")


def after_power_failure(scene: Scene, rng: Rng) -> Damaged:
    """The end of the write-ahead log has not come to the disk, and the machine has begun anew."""
    files = dict(scene.now.files)
    mark = mark_of(files)
    raw = lock._packed(mark.seq, mark.chain, mark.store, bytes(15) + b"1", False)  # of another boot
    files[LOCK] = raw.ljust(256, b"\0") + raw
    way = (truncated, zeroed, overwritten)[int(rng.integers(3))]
    files[WAL] = way(files[WAL], rng)
    return Damaged(
        f"log.sqlite-wal {way.__name__}", files, scene.known, scene.now.state_seq, scene.now.state_seq
    )


def mark_of(files: Bytes) -> lock.Mark:
    """The newest mark of a lock's file."""
    found = [lock._read(files[LOCK][place : place + 256]) for place in (0, 256)]
    return max((mark for mark in found if mark is not None), key=lambda mark: mark.seq)


@pytest.mark.parametrize("number", [5, pytest.param(200, marks=pytest.mark.full)])
def test_a_power_failure_leaves_a_state_that_was(number):
    one, found = scene("killed with all in the log"), Counter[str]()
    with quick_folder() as folder:
        for turn in range(number):
            damage = after_power_failure(one, np.random.default_rng([SEED, turn]))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                came = outcome(folder / "scene", damage, one.now.seq, further=turn % 3 == 0)
            found[came] += 1
            earlier = came == "as earlier"
            assert [str(one.message)[:32] for one in told] == [
                "scene: the machine went down, and"[:32]
            ] * earlier
    print(dict(found))


@pytest.mark.parametrize("number", [10, pytest.param(300, marks=pytest.mark.full)])
def test_a_damaged_store_of_schema_1_is_opened_or_refused(number):
    """Its log had no checksums: a number in it may change unseen. Its state had one."""
    found = Counter[str]()
    whole = read(GOLDEN / "store-1")
    with quick_folder() as folder:
        agent, _ = opened(written(folder / "scene", whole)) or pytest.fail("must open")
        before = knowledge(agent)
        agent._session.release()
        for turn in range(number):
            rng = np.random.default_rng([SEED, turn])
            name, way = str(rng.choice([LOG, STATE])), WAYS[int(rng.integers(len(WAYS)))]
            came = opened(written(folder / "scene", {**whole, name: way(whole[name], rng)}))
            same = came is not None and knowledge(came[0]) == before
            if came is not None:
                came[0]._session.release()
            assert came is None or same or name == LOG, f"damage {turn}: {name} {way.__name__}"
            found[f"{name} {'refused' if came is None else 'the same' if same else 'as the log says'}"] += 1
    print(dict(found))
