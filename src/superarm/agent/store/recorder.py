"""What ties an agent to its folder: the journal, and the checkpoint that the journal's tail goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.arms import Offered
from superarm.agent.compiled import Observation
from superarm.agent.feedback import Feedback
from superarm.agent.learner import PARTS, Learner
from superarm.agent.selection import Pending, Selection
from superarm.agent.state import AgentState
from superarm.agent.store.journal import Entry, Journal
from superarm.agent.store.snapshot import memo_arrays, memo_of, restored, snapshot
from superarm.agent.store.state_file import read_state, write_state
from superarm.errors import StoreError

NDArray = np.ndarray[Any, Any]
STATE = "state.safetensors"


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


class Recorder:
    """The open store of an agent."""

    def __init__(self, store: Store) -> None:
        """Open the log."""
        where = "store"
        checks.count(where, "checkpoint_every", store.checkpoint_every)
        if store.keep is not None:
            checks.count(where, "keep", store.keep, low=0)
        self.store = store
        self.folder = store.path.resolve()  # wherever the process goes
        self.journal = Journal(self.folder, power_safe=store.power_safe)
        for left in self.folder.glob(f".{STATE}.*"):  # by a process that was killed while it wrote
            left.unlink(missing_ok=True)
        self._since = 0  # entries since the last checkpoint
        self._batch = False

    @classmethod
    def begin(cls, store: Store, state: AgentState) -> Recorder:
        """Begin the store of a new agent."""
        recorder = cls(store)
        try:
            if (recorder.folder / STATE).exists() or recorder.journal.last:
                raise StoreError(f"{store.path.name}: holds an agent; use Agent.open to go on with it")
            recorder.checkpoint(state)
        except BaseException:
            recorder.close()
            raise
        return recorder

    @classmethod
    def reopen(cls, store: Store, *, policy: Any) -> tuple[Recorder, AgentState]:
        """Open a store, and return what its agent knew, with all that observation."""
        if not (store.path / STATE).exists():
            raise StoreError(f"{store.path.name}: must be the folder of an agent, with {STATE}, got none")
        recorder = cls(store)
        try:
            arrays, content = read_state(recorder.folder / STATE)
            state = restored(arrays, content, policy=policy)
            seq = checks.count(STATE, "seq", content.get("seq"), low=0)
            # Compaction may have taken the newest entries; their numbers must not be given again.
            recorder.journal.last = max(recorder.journal.last, seq)
            recorder._replay(state, seq)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            recorder.close()
            raise StoreError(f"{store.path.name}: is damaged: {error!r}") from error
        except BaseException:
            recorder.close()
            raise
        return recorder, state

    @property
    def due(self) -> bool:
        """Whether a checkpoint is due."""
        return self._since >= self.store.checkpoint_every and not self._batch

    def checkpoint(self, state: AgentState) -> None:
        """Write the state, and forget what the log need not hold any more."""
        self.journal.require_whole()
        arrays, content = snapshot(state)
        self._since = 0
        write_state(self.folder / STATE, arrays, {**content, "seq": self.journal.last})
        if self.store.keep is not None:
            self.journal.compact(upto=self.journal.last, keep=self.store.keep)

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
        index = offered.ids.index
        arrays = {"items": pending.items, "scores": selection.scores}
        arrays["chosen"] = np.array(tuple(map(index, selection.items)), np.int64)
        if selection.propensities is not None and selection.errors is not None:
            arrays |= {"propensities": selection.propensities, "errors": selection.errors}
        if not isinstance(pending.memo, tuple):
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

    def _replay(self, state: AgentState, after: int) -> None:
        """Do again what observation after the checkpoint."""
        fits = Fits(self.journal, after)
        fits.begin(state, after)
        for place, entry in enumerate(self.journal.tail(after), after + 1):
            if entry.seq != place:
                raise StoreError(f"{self.journal.path.name}: is damaged: entry {place} is missing")
            if entry.kind == "decision":
                pending = self._pending(state, entry)
                state.decided(pending, pending.features.shape[1])
            elif entry.kind == "feedback":
                state.expire(entry.time)
                values, new = entry.arrays["feedback"], entry.arrays["observed"]
                state.learn_from(Feedback(entry.decision, values, new, int(np.count_nonzero(new))))
                fits.learn_if_due(state)
            elif entry.kind == "given":
                state.take_in(Observation(*(entry.arrays[name] for name in PARTS)))
                fits.learn_if_due(state)
            elif "failed" not in entry.arrays:
                fits.hand_over(state, entry)
            fits.begin(state, place)
            self._since += 1

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

    def __init__(self, journal: Journal, after: int) -> None:
        """Read ahead which there are."""
        learned = [entry.arrays for entry in journal.tail(after) if entry.kind == "learn"]
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
