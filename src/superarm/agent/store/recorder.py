"""What ties an agent to its folder: the journal, and the checkpoint that the journal's tail goes on from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from superarm import __version__, checks
from superarm.agent.arms import Offered
from superarm.agent.compiled import Observation
from superarm.agent.feedback import Feedback
from superarm.agent.learner import PARTS, Learner
from superarm.agent.numpy_linear import COMPILED
from superarm.agent.selection import Pending, Selection
from superarm.agent.state import AgentState, form_of
from superarm.agent.store.backup import Backup
from superarm.agent.store.journal import Journal
from superarm.agent.store.pending import memo_arrays, memo_of
from superarm.agent.store.snapshot import restored, snapshot
from superarm.agent.store.state_file import STATE, read_state, write_state
from superarm.errors import StoreError
from superarm.storage.entries import Entry
from superarm.storage.lock import FolderLock

NDArray = np.ndarray[Any, Any]


@checks.named_fields
@dataclass(frozen=True)
class Store:
    """Where an agent keeps what it knows, and how.

    Args:
        folder: state.safetensors, log.sqlite and a lock.
        checkpoint_every: entries of the log, decisions, feedback and fits, between checkpoints; a restart
            replays about so many. Checkpoints wait for the end of a batch, and of a fit in the background.
        keep: decisions that the log holds for offline evaluation; older ones are forgotten when a checkpoint
            is written. None for all.
        power_safe: wait for the disk, so that not even the loss of power loses an acknowledged update; some
            milliseconds a call. Otherwise the death of the process loses nothing.
    """

    folder: str | Path
    checkpoint_every: int = 1000
    keep: int | None = 1_000_000
    power_safe: bool = False

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)


def store_of(store: str | Path | Store) -> Store:
    """Return how a folder is kept, by default or as said."""
    return store if isinstance(store, Store) else Store(Path(store))


def _folder(store: Store) -> Path:
    """The folder of a store, wherever the process goes; what the store says is checked."""
    where = "store"
    checks.count(where, "checkpoint_every", store.checkpoint_every)
    if store.keep is not None:
        checks.count(where, "keep", store.keep, low=0)
    return store.path.resolve()


class Recorder:
    """The open store of an agent."""

    def __init__(self, store: Store, journal: Journal, clock: Callable[[], float]) -> None:
        """Go on with an open log; `begin` and `reopen` open one."""
        self.store, self.journal, self.clock = store, journal, clock
        self.folder = journal.folder
        for left in self.folder.glob(f".{STATE}.*"):  # by a process that was killed while it wrote
            left.unlink(missing_ok=True)
        self._since = 0  # entries since the last checkpoint
        self._batch = False

    @classmethod
    def begin(cls, store: Store, state: AgentState, clock: Callable[[], float]) -> Recorder:
        """Begin the store of a new agent."""
        folder = _folder(store)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder.name}: could not be made: {error.strerror or error}") from error
        lock = FolderLock(folder)
        try:
            if (folder / STATE).exists():
                raise StoreError(f"{folder.name}: holds an agent; use Agent.open to go on with it")
            journal = Journal.begin(lock, bytes.fromhex(state.agent), power_safe=store.power_safe)
            recorder = cls(store, journal, clock)
            recorder.checkpoint(state)
            # So that a state that is lost can be made again from the log.
            recorder._opened(state, {"state": snapshot(state)[1]})
        except BaseException:
            lock.close()
            raise
        return recorder

    @classmethod
    def reopen(cls, store: Store, *, policy: Any, clock: Callable[[], float]) -> tuple[Recorder, AgentState]:
        """Open a store, and return what its agent knew: the checkpoint, and what the log says came after."""
        folder = _folder(store)
        if not (folder / STATE).exists():
            raise StoreError(f"{folder.name}: must be the folder of an agent, with {STATE}, got none")
        lock = FolderLock(folder)
        journal: Journal | None = None
        try:
            arrays, content = read_state(folder / STATE)
            state = restored(arrays, content, policy=policy)
            seq = checks.count(STATE, "seq", content.get("seq"), low=0)
            journal = Journal.reopen(lock, bytes.fromhex(state.agent), seq, power_safe=store.power_safe)
            recorder = cls(store, journal, clock)
            recorder._go_on(state, seq, content["chain"])
        except BaseException as error:
            if journal is not None:
                journal.refuse()
            lock.close()
            if isinstance(error, KeyError | IndexError | TypeError | ValueError):
                raise StoreError(f"{folder.name}: is damaged: {error!r}") from error
            raise
        return recorder, state

    def _go_on(self, state: AgentState, seq: int, checksum: str | None) -> None:
        """Replay what came after entry `seq`, and say that the log is open again."""
        if self.journal.store.hex() != state.agent:
            raise StoreError(f"{self.journal.path.name}: is the log of another store than {STATE}")
        old = checksum is None  # a state of schema 1
        chain = self.journal.begun_by_schema_1(seq) if checksum is None else bytes.fromhex(checksum)
        if not old:
            self.journal.verify(seq, chain)
        self._replay(state, seq, chain)
        state.use(state.new_form)
        self.journal.settle()
        if old:
            self.checkpoint(state)
        self._opened(state)

    def _opened(self, state: AgentState, more: Mapping[str, Any] | None = None) -> None:
        """Log that the store was opened: by which run of the agent, and how that run observes."""
        about = {"agent": state.agent, "run": state.run, "version": __version__, "form": state.form}
        about |= more or {}
        self.journal.append("opened", {}, decision=-1, now=self.clock(), text=json.dumps(about))

    @property
    def due(self) -> bool:
        """Whether a checkpoint is due."""
        return self._since >= self.store.checkpoint_every and not self._batch

    def checkpoint(self, state: AgentState) -> None:
        """Write the state, and forget what the log need not hold any more."""
        self.journal.sync()
        seq, chain = self.journal.last, self.journal.chain
        arrays, content = snapshot(state)
        self._since = 0
        write_state(self.folder / STATE, arrays, {**content, "seq": seq, "chain": chain.hex()})
        keep = self.store.keep
        if keep is not None and state.decisions > keep:
            self.journal.compact(upto=seq, decision=state.decisions - keep if keep else None)

    def backup(self, state: AgentState, folder: Path) -> Backup:
        """Begin a copy of the store as it is now; `Backup.write` makes it while the agent goes on."""
        self.journal.require_whole()
        arrays, content = snapshot(state)
        content |= {"seq": self.journal.last, "chain": self.journal.chain.hex()}
        return Backup(folder, arrays, content, self.journal.path)

    def close(self) -> None:
        """Give the files back."""
        self.journal.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what comes as one."""
        self._batch = True
        try:
            with self.journal.together():
                yield
        finally:
            self._batch = False

    def decided(self, selection: Selection, pending: Pending, offered: Offered) -> None:
        """Log a decision."""
        arrays = {"items": pending.items, "scores": selection.scores}
        if offered.places is None:  # the places are those of the rows
            arrays["chosen"] = pending.items[: len(selection.items)].astype(np.int64)
        else:
            arrays["chosen"] = np.array(tuple(map(offered.ids.index, selection.items)), np.int64)
        if selection.propensities is not None and selection.errors is not None:
            arrays |= {"propensities": selection.propensities, "errors": selection.errors}
        if not isinstance(pending.memo, tuple) or pending.memo:
            arrays |= memo_arrays(pending.memo, "memo")
        self.journal.append("decision", arrays, decision=selection.id, now=pending.time, offered=offered)
        self._since += 1

    def feedback(self, feedback: Feedback, now: float) -> None:
        """Log feedback."""
        arrays = {"feedback": feedback.values, "observed": feedback.new}
        self.journal.append("feedback", arrays, decision=feedback.number, now=now)
        self._since += 1

    def given(self, number: int, observation: Observation, now: float) -> None:
        """Log a choice that was made elsewhere, and its feedback."""
        self._append("given", {name: getattr(observation, name) for name in PARTS}, number, now)

    def learned(self, now: float, seq: int | None = None) -> None:
        """Log that a fit is taken over: of what is recorded now, or of what was after entry `seq`."""
        arrays = {} if seq is None else {"fit": np.array([seq])}
        self._append("learn", arrays, -1, now)

    def failed(self, now: float, learner: Learner) -> None:
        """Log that the fit that was due has failed, so that a replay does not make it."""
        self._append("learn", {"failed": np.array([learner.updates, learner.number])}, -1, now)

    def _append(self, kind: str, arrays: dict[str, NDArray], number: int, now: float) -> None:
        self.journal.append(kind, arrays, decision=number, now=now)
        self._since += 1

    def _replay(self, state: AgentState, after: int, chain: bytes) -> None:
        """Do again what happened after the checkpoint."""
        fits = Fits(self.journal, after, chain)
        fits.begin(state, after)
        for entry in self.journal.tail(after, chain):
            if entry.kind == "decision":
                pending = self._pending(state, entry)
                state.decided(pending, pending.features.shape[1])
            elif entry.kind == "feedback":
                values, new = entry.arrays["feedback"], entry.arrays["observed"]
                feedback = Feedback(entry.decision, values, new, int(np.count_nonzero(new)))
                state.learn_from(feedback, entry.time)
                fits.learn_if_due(state)
            elif entry.kind == "given":
                state.take_in(Observation(*(entry.arrays[name] for name in PARTS)))
                fits.learn_if_due(state)
            elif entry.kind == "learn":
                if "failed" not in entry.arrays:
                    fits.hand_over(state, entry)
            elif entry.kind == "opened":
                state.use(form_of(self.journal.path.name, json.loads(entry.text).get("form", COMPILED)))
            else:
                must = f"entry {entry.seq} is of kind {entry.kind!r}, which this superarm does not know"
                raise StoreError(f"{self.journal.path.name}: {must}; upgrade it")
            fits.begin(state, entry.seq)
            self._since += entry.kind != "opened"

    def _pending(self, state: AgentState, entry: Entry) -> Pending:
        """What the log says of a decision."""
        offered = self.journal.offered(entry)
        learner = state.started(offered.dim)
        run = learner.upcoming()
        items, chosen = entry.arrays["items"], entry.arrays["chosen"]
        features = np.zeros((len(items), offered.dim))
        features[: len(chosen)] = offered.contexts[chosen]
        state.arms.settle(offered)
        return Pending(
            ids=tuple(offered.ids[index] for index in chosen),
            items=items,
            features=features,
            seen=np.zeros(len(items), bool),
            memo=memo_of(learner, run, entry.arrays, "memo"),
            time=entry.time,
            epoch=run.number,
        )


class Fits:
    """The fits of a log that are not just made when due: those that failed, and those made aside.

    The latter are of what was known after some entry, and handed over later.
    """

    def __init__(self, journal: Journal, after: int, chain: bytes) -> None:
        """Read ahead which there are."""
        learned = [entry.arrays for entry in journal.tail(after, chain) if entry.kind == "learn"]
        self.wanted = {int(arrays["fit"][0]) for arrays in learned if "fit" in arrays}
        self.failed = {tuple(arrays["failed"].tolist()) for arrays in learned if "failed" in arrays}
        self.made: dict[int, Any] = {}

    def learn_if_due(self, state: AgentState) -> None:
        """Make the fit that is due, unless it failed."""
        learner = state.learner
        if learner is not None and (learner.updates, learner.number) not in self.failed:
            learner.learn_if_due()

    def begin(self, state: AgentState, seq: int) -> None:
        """Make the fit of what is known after an entry, if one was made."""
        if state.learner is not None and seq in self.wanted:
            self.made[seq] = state.learner.fit_now()

    def hand_over(self, state: AgentState, entry: Entry) -> None:
        """Take over a fit."""
        learner = state.started(0)
        if "fit" not in entry.arrays:
            learner.learned(learner.fit_now())
            return
        learner.learned(self.made.pop(int(entry.arrays["fit"][0])))
