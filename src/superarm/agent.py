"""The stateful shell over a policy: choose now, learn when feedback comes, survive a restart."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import jax
import numpy as np
import pandas as pd

from superarm import checks, engine
from superarm.arms import Offered
from superarm.book import Book
from superarm.core import Core, Taken, happened_in
from superarm.frames import Id
from superarm.selection import Pending, Selection, feedback_of
from superarm.settings import Settings
from superarm.store.keeper import Keeper, Store
from superarm.store.snapshot import restored, snapshot
from superarm.store.state_file import read_state, write_state

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Stats:
    """What an agent has done.

    Attributes:
        decisions, updates: so far; an update is feedback that was new.
        pending: decisions that wait for feedback.
        expired: decisions that waited too long, or had too many after them.
        repeated: feedback that had come before, or came too late: it was not learned from.
        refused_fits: fits that diverged; the ones before stayed in force.
    """

    decisions: int
    updates: int
    pending: int
    expired: int
    repeated: int
    refused_fits: int


class Agent:
    """A policy with a memory: `select` now, `update` later.

    >>> import numpy as np, superarm
    >>> agent = superarm.Agent(superarm.lin_ucb())
    >>> decision = agent.select(np.eye(3), ids=["red", "green", "blue"])
    >>> decision.item in ("red", "green", "blue")
    True
    >>> agent.update(decision.id, 1.0)  # later, in any order
    True
    >>> agent.update(decision.id, 1.0)  # counted once
    False

    Calls may come from several threads; they are served one after another. A call that is refused changes
    nothing.
    """

    def __init__(
        self,
        policy: Any,
        *,
        arms: int | Sequence[Id] | None = None,
        store: str | Path | Store | None = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> None:
        """Begin.

        Args:
            policy: any policy.
            arms: for policies that know arms by their index, those with a memory per arm or an oracle over a
                structure: the arms' ids in the order of the structure; or how many different arms there can
                be, which get their places as they first come. None where features are all that counts: then
                any number of arms may come and go.
            store: a folder to keep state and log in, so that a restart loses nothing (`Agent.open`); a
                `Store` says more. None to keep nothing.
            clock: seconds since 1970.
            settings: any of

                - seed: fixes all choices.
                - background: fit in a thread of its own, and choose by the last fit meanwhile; otherwise fits
                  are made when feedback makes them due, before `update` returns.
                - max_pending, max_age: how many decisions wait for feedback, the oldest expiring first, and
                  for how many seconds; None for any age.
                - max_observations: that a policy which keeps all its history may keep.
                - min_propensity: the least chance of every arm on offer; the policy explores uniformly as
                  often as that takes.
                - draws: decisions drawn for the chance of a choice where it cannot be computed; 0 not to.
                - ranking: whether the order within a set is a ranking, for the chances.
        """
        where = "agent"
        checks.has(where, "policy", policy, ("epochs", "check", "chooser"))
        book = Book(where, policy, arms, settings)
        self._take(book, clock, None if store is None else Keeper.begin(_store(store), book))

    def _take(self, book: Book, clock: Callable[[], float], keeper: Keeper | None = None) -> None:
        self._book, self._clock = book, clock
        self._keeper: Keeper | None = keeper
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._learner: threading.Thread | None = None

    @classmethod
    def _of(cls, book: Book, clock: Callable[[], float], keeper: Keeper | None = None) -> Agent:
        agent = cls.__new__(cls)
        agent._take(book, clock, keeper)
        return agent

    @property
    def policy(self) -> Any:
        """The policy."""
        return self._book.policy

    @property
    def settings(self) -> Settings:
        """How it works."""
        return self._book.settings

    @property
    def stats(self) -> Stats:
        """What it has done."""
        with self._lock:
            book = self._book
            return Stats(
                decisions=0 if book.core is None else book.core.decisions,
                updates=book.updates,
                pending=len(book.waiting),
                expired=book.expired,
                repeated=book.repeated,
                refused_fits=0 if book.core is None else book.core.refused_fits,
            )

    def begun(self, dim: int) -> Core:
        """Return what decides: the policy in force and its state, begun for `dim` features if it was not."""
        with self._lock:
            return self._book.started(dim)

    # Choosing

    def select(self, contexts: Any = None, *, ids: Any = None, mask: Any = None) -> Selection:
        """Choose among arms.

        Args:
            contexts: (n, d) features: an array, or a table of pandas, polars or Arrow, whose column names are
                remembered and must stay. May be left out with `arms` for policies that look at none.
            ids: (n,) the arms' ids, words or whole numbers; their row numbers by default.
            mask: (n,) which of them are available; all by default.

        Raises:
            ValueError, TypeError: what was given does not fit.
            NoChoiceError: nothing feasible is on offer.
        """
        with self._lock:
            offered = self._book.arms.offer("select", contexts, ids, mask, self._book.dim)
            selection, pending = self._chosen(offered)
            if self._keeper is not None:
                self._keeper.decided(selection, pending, offered)
            self._book.arms.settle(offered)
            self._book.decided(pending)
            return selection

    def _chosen(self, offered: Offered) -> tuple[Selection, Pending]:
        """Choose, and change nothing yet."""
        book = self._book
        size = book.policy.chooser.size
        chances = book.settings.chances(size, int(offered.mask.sum()))
        placed = book.arms.placed(offered)
        with book.tried(offered.dim) as core:
            decision, found = core.choose(placed.contexts, placed.mask, chances)
        items, used = np.asarray(decision.items), np.asarray(decision.mask)
        features, names = np.asarray(decision.features), placed.names(items)
        selection = Selection(
            id=core.decisions,
            items=names,
            features=features[used],
            scores=np.asarray(decision.scores)[used],
            propensities=None if found is None else np.asarray(found.chance)[used],
            errors=None if found is None else np.asarray(found.error)[used],
        )
        memo = jax.tree.map(np.asarray, decision.memo)
        seen = np.zeros(size, bool)
        return selection, Pending(names, items, features, seen, memo, self._clock(), core.number)

    def select_many(self, batch: Iterable[Any]) -> list[Selection]:
        """Choose once for each of several contexts (n, d), or mappings of the arguments of `select`.

        Where one is refused, those before it have been made, and wait for feedback.
        """
        with self._lock, self._together():
            return [
                self.select(**one) if isinstance(one, Mapping) else self.select(one) for one in list(batch)
            ]

    def predict(self, contexts: Any = None, *, ids: Any = None, mask: Any = None) -> tuple[Id, ...]:
        """Return the ids of what is best by all that was learned, without exploring; nothing is recorded."""
        with self._lock:
            book = self._book
            offered = book.arms.offer("predict", contexts, ids, mask, book.dim)
            placed = book.arms.placed(offered)
            with book.tried(offered.dim) as core:
                return placed.names(np.asarray(core.predict(placed.contexts, placed.mask).items))

    def explain(self, decision: Selection) -> pd.DataFrame:
        """Return one row per chosen item: the score that it was chosen by, and what is believed of it now.

        Columns: item, score, mean, width (one standard deviation, or the width of a confidence bound; NaN
        where the model has none) and bonus, which is what the score had above the mean of now.
        """
        if not isinstance(decision, Selection):
            raise TypeError(f"explain: decision must be a Selection, got {type(decision).__name__}")
        with self._lock:
            book = self._book
            core = book.started(decision.features.shape[1])
            # A duel may be of an arm with itself.
            places = {name: place for place, name in enumerate(dict.fromkeys(decision.items))}
            places = places if book.arms.fixed is None else book.arms.places
            index = [places[name] for name in decision.items]
            rows = np.zeros((book.arms.fixed or engine.padded(len(index)), decision.features.shape[1]))
            rows[index] = decision.features
            mean, width = (one[index] for one in engine.beliefs(core.policy, core.state, rows))
            columns = {"item": list(decision.items), "score": decision.scores, "mean": mean, "width": width}
            return pd.DataFrame(columns | {"bonus": decision.scores - mean})

    # Learning

    def update(self, decision: Selection | int, feedback: Any) -> bool:
        """Learn what came of a decision, at any time and in any order.

        Args:
            decision: the selection, or its id.
            feedback: a number; for a set one per item, with None where it is not known, or a mapping from ids
                for some items only, the others later; for a duel how much the first arm is preferred, 1 or 0.

        Returns:
            True when something new was learned; False for feedback that had come before, or for a decision
            that has expired.

        Raises:
            UnknownDecisionError: no such decision was made.
            ValueError, TypeError: the feedback does not fit.
        """
        with self._lock:
            book = self._book
            number, values, new = self._read(decision, feedback)
            if not new.any():
                book.repeated += 1
                return False
            if self._keeper is not None:
                self._keeper.told(number, values, new)
            book.told(number, values, new)
            self._after()
            return True

    def _read(self, decision: Selection | int, feedback: Any) -> tuple[int, NDArray, NDArray]:
        """The decision's number, the feedback (k,), and where it is new (k,); all checked."""
        book = self._book
        number = decision.id if isinstance(decision, Selection) else decision
        pending = book.find(number, self._clock())
        if pending is None:
            return int(number), np.zeros(1), np.zeros(1, bool)
        values, known = feedback_of(pending, feedback, duel=book.is_duel, allowed=book.feedback_range)
        new = known & ~pending.seen
        if book.core is not None:
            book.core.make_room(int(new.sum()))
        return int(number), values, new

    def update_many(self, pairs: Iterable[tuple[Selection | int, Any]]) -> list[bool]:
        """Learn from several decisions; see `update`. All are checked before any is learned from."""
        with self._lock:
            batch = list(pairs)
            for decision, feedback in batch:
                self._read(decision, feedback)
            with self._together():
                return [self.update(decision, feedback) for decision, feedback in batch]

    def fit(self, log: Any) -> int:
        """Learn from history: choices that were made elsewhere, and what came of them.

        Args:
            log: of `superarm.evaluate.event_log` or `read_log`; of single choices, or of sets no larger than
                the policy's.

        Returns:
            How many events were learned from. Each counts as a decision.
        """
        where, book = "fit", self._book
        checks.has(where, "log", log, ("contexts", "actions", "rewards", "observed"))
        with self._lock:
            arms, dim = log.contexts.shape[1:]
            if book.dim not in (None, dim) or book.arms.fixed not in (None, arms):
                fixed = "any number of" if book.arms.fixed is None else book.arms.fixed
                must = f"log must have {fixed} arms with {book.dim or dim} features"
                raise ValueError(f"{where}: {must}, got {arms} with {dim}")
            events = happened_in(where, log, book.policy.chooser.size, book.feedback_range)
            core = book.started(dim)
            core.make_room(sum(int(one.observed.sum()) for one in events))
            with self._together():
                for one in events:
                    if self._keeper is not None:
                        self._keeper.given(core.decisions, one)
                    book.given(one)
            self._after()
            return len(events)

    def learn(self) -> None:
        """Fit now, whether or not it is due."""
        with self._lock:
            self.wait()
            core = self._book.core
            if core is None or core.policy.learn_every is None:
                return
            if self._keeper is not None:
                self._keeper.learned()
            core.learned(core.fit_now())

    def wait(self) -> None:
        """Wait for a fit that is made in the background."""
        with self._idle:
            self._idle.wait_for(lambda: self._learner is None)

    def _after(self) -> None:
        """Learn in the background, and write a checkpoint, where they are due."""
        core = self._book.core
        if core is not None and self.settings.background and core.due and self._learner is None:
            self._learner = threading.Thread(target=self._learn_aside, args=(core.snapshot(),), daemon=True)
            self._learner.start()
        if self._keeper is not None and self._keeper.due and self._learner is None:
            self._keeper.checkpoint(self._book)

    def _learn_aside(self, taken: Taken) -> None:
        """Fit a copy of the state, and hand the fit over."""
        fit: Any = None
        try:
            fit = taken.fit()
        except Exception as error:  # a thread's error would be lost
            warnings.warn(f"agent: a fit in the background failed: {error}", RuntimeWarning, stacklevel=2)
        with self._idle:
            core = self._book.core
            if fit is not None and core is not None and core.number == taken.number:
                if self._keeper is not None:
                    self._keeper.learned(taken)
                core.learned(fit)
            self._learner = None
            self._idle.notify_all()

    def _together(self) -> AbstractContextManager[None]:
        return nullcontext() if self._keeper is None else self._keeper.together()

    # Keeping

    def save(self, path: str | Path) -> Path:
        """Write all that the agent knows to one file; `Agent.load` reads it again.

        The file is replaced as a whole: if that fails, the one before is still there.
        """
        with self._lock:
            self.wait()
            write_state(Path(path), *snapshot(self._book))
            return Path(path)

    @classmethod
    def load(cls, path: str | Path, *, policy: Any = None, clock: Callable[[], float] = time.time) -> Agent:
        """Return the agent of a file. Decisions go on as if it had never been away.

        Args:
            path: of `save`.
            policy: needed where it has functions of yours without a name (`superarm.config.register`);
                otherwise the file says it.
            clock: seconds since 1970.
        """
        return cls._of(restored(*read_state(Path(path)), policy=policy), clock)

    @classmethod
    def open(
        cls, store: str | Path | Store, *, policy: Any = None, clock: Callable[[], float] = time.time
    ) -> Agent:
        """Return the agent of a store: its last checkpoint, and what the log says happened since."""
        keeper, book = Keeper.reopen(_store(store), policy=policy)
        return cls._of(book, clock, keeper)

    def checkpoint(self) -> None:
        """Write the state to the store now; the log before it is forgotten as far as the store says."""
        with self._lock:
            self.wait()
            if self._keeper is not None:
                self._keeper.checkpoint(self._book)

    def close(self) -> None:
        """Write a checkpoint, and give the store back."""
        with self._lock:
            self.checkpoint()
            if self._keeper is not None:
                self._keeper.close()
                self._keeper = None

    def __enter__(self) -> Agent:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _store(store: str | Path | Store) -> Store:
    return store if isinstance(store, Store) else Store(Path(store))
