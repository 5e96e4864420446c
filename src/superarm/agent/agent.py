"""The stateful shell over a policy: choose now, learn when feedback comes, survive a restart."""

from __future__ import annotations

import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from superarm import checks
from superarm.agent import inspection
from superarm.agent.arms import Offered, Placed, require_places
from superarm.agent.compiled import Decided, Happened
from superarm.agent.learner import Core, Taken, happened_in
from superarm.agent.selection import Pending, Selection, Told, require_shares, told_of
from superarm.agent.settings import Settings
from superarm.agent.shortlist import one_by_one
from superarm.agent.state import Book
from superarm.agent.store.recorder import Keeper, Store
from superarm.agent.store.snapshot import restored, snapshot
from superarm.agent.store.state_file import read_state, write_state
from superarm.agent.tables import Id, frame_of
from superarm.errors import StoreError

if TYPE_CHECKING:
    import pandas as pd

NDArray = np.ndarray[Any, Any]
AT_ONCE = 256  # decisions in one compiled call: what it takes to begin one is lost in them
FEW = 8  # decisions that are not worth a program of their own
NUMBERS = 2**20  # of features that are copied for it: 8 MB
INTERRUPTED = "a call was interrupted; open or load the agent again"


@dataclass(frozen=True)
class Stats:
    """What an agent has done.

    Attributes:
        decisions, updates: so far; an update is feedback that was new.
        pending: decisions that wait for feedback.
        expired: decisions that waited too long, or had too many after them.
        repeated: feedback that had come before, or came too late: it was not learned from. Not logged, so
            that after a crash it counts from the last checkpoint on.
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
                  100, but 0 for duels, and where an oracle runs on the host, which then is called so often.
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
        self._stopped = ""  # why no more calls are taken
        self._whole = _Whole(self)
        self._fitted = (-1, -1)  # epoch and updates of the last fit that was begun aside

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
    def arms(self) -> tuple[Id, ...]:
        """The ids of the arms that have a place, in its order; none where features are all that counts."""
        return tuple(self._book.arms.places)

    @property
    def num_arms(self) -> int | None:
        """How many arms have a place, or can get one; None where features are all that counts."""
        return self._book.arms.fixed

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

    def taken(self, dim: int) -> Taken:
        """Return a copy of what decides: the policy in force, its state, and how many decisions it made.

        Args:
            dim: features per arm, for an agent that has not begun.
        """
        with self._lock:
            if self._book.dim not in (None, dim):
                raise ValueError(f"taken: dim must be {self._book.dim}, as before, got {dim}")
            with self._book.tried(dim, keep=False) as core:
                return core.snapshot()

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
            self._require_open()
            book = self._book
            offered = self._offered(contexts, ids, mask)
            with book.tried(offered.dim) as core:
                placed = book.arms.placed(offered)
                selection = self._decided(
                    offered, placed, core.decisions, *core.choose(placed.slate, book.chances)
                )
            self._after()
            return selection

    def _offered(self, contexts: Any = None, ids: Any = None, mask: Any = None) -> Offered:
        book = self._book
        offered = book.arms.offer("select", contexts, ids, mask, book.dim)
        book.settings.require_floor(book.policy.chooser.size, offered.mask)
        return offered

    def _decided(self, offered: Offered, placed: Placed, number: int, one: Decided, epoch: int) -> Selection:
        """Record a decision, and return it."""
        book, names = self._book, placed.names(one.items)
        selection = Selection(
            id=number,
            items=names,
            features=one.features[: one.used].copy(),  # the caller may change them
            scores=one.scores[: one.used],
            propensities=None if one.chance is None else one.chance[: one.used],
            errors=None if one.error is None else one.error[: one.used],
        )
        seen = np.zeros(len(one.items), bool)
        pending = Pending(names, one.items, one.features, seen, one.memo, self._clock(), epoch)
        with self._whole:
            if self._keeper is not None:
                self._keeper.decided(selection, pending, offered)
            book.arms.settle(offered)
            book.decided(pending)
        return selection

    def select_many(self, batch: Iterable[Any]) -> list[Selection]:
        """Choose once for each of several contexts (n, d), or mappings of the arguments of `select`.

        The choices are those of `select` one by one. Many of one shape in a row are made in one compiled
        call, of which there is one for every power of two of them, from 8 on. Where one is refused, those
        before it have been made, and wait for feedback.
        """
        wanted = [one if isinstance(one, Mapping) else {"contexts": one} for one in batch]
        made: list[Selection] = []
        with self._lock:
            self._require_open()
            with self._together():
                while len(made) < len(wanted):
                    alike = self._alike(wanted[len(made) : len(made) + AT_ONCE])
                    made += self._select_alike(alike) if alike else [self.select(**wanted[len(made)])]
            self._after()
            return made

    def _alike(self, wanted: Sequence[Mapping[str, Any]]) -> list[tuple[Offered, Placed]]:
        """The first of what is wanted that can be decided in one call; none, where they are few."""
        book = self._book
        found: list[tuple[Offered, Placed]] = []
        most = 0 if book.core is None else book.core.at_once
        for one in wanted[:most] if min(len(wanted), most) >= FEW else ():
            try:
                offered = self._offered(**one)
            except Exception:  # which `select` raises again, when those before it have been made
                break
            placed = book.arms.placed(offered)
            shape = placed.slate.packed.shape
            if not book.arms.knows(offered) or shape[0] * shape[1] * (len(found) + 1) > NUMBERS:
                break
            if found and shape != found[0][1].slate.packed.shape:
                break
            found.append((offered, placed))
        return found if len(found) >= FEW else []

    def _select_alike(self, alike: list[tuple[Offered, Placed]]) -> Iterator[Selection]:
        book = self._book
        core = book.started(alike[0][0].dim)
        decided, epoch = core.choose_all([placed.slate for _, placed in alike], book.chances)
        for (offered, placed), one in zip(alike, decided, strict=True):
            yield self._decided(offered, placed, core.decisions, core.sound(one), epoch)

    def predict(self, contexts: Any = None, *, ids: Any = None, mask: Any = None) -> tuple[Id, ...]:
        """Return the ids of what is best by all that was learned, without exploring; nothing is recorded."""
        with self._lock:
            book = self._book
            offered = book.arms.offer("predict", contexts, ids, mask, book.dim)
            placed = book.arms.placed(offered)
            with book.tried(offered.dim, keep=False) as core:
                return placed.names(core.predict(placed.slate).items)

    def shortlist(self, contexts: Any, size: int) -> NDArray:
        """Return the rows of the `size` best of a large catalogue, the best first, for `select` to decide.

        Items are scored as the next decision will score them, in single precision for linear models: a
        million with 64 features in a ninth of a second on one core, with a diagonal width in a fiftieth.
        LinUCB with the full width takes half its time where bounds rule most items out, if they come as
        float32. The chance that `min_propensity` gives to all is left to `select`. Nothing is recorded. A
        program is compiled for every power of two of n, up to 2^17, and of the size; above, more for bounds.

        Args:
            contexts: (n, d) features, or a table as `select` takes them; as a float32 array of JAX nothing is
                copied.
            size: how many; more than are chosen, so that rounding and masks leave enough.

        >>> import numpy as np, superarm
        >>> agent = superarm.Agent(superarm.lin_ucb())
        >>> catalogue = np.random.default_rng(0).normal(size=(10_000, 8))
        >>> rows = agent.shortlist(catalogue, 50)
        >>> decision = agent.select(catalogue[rows], ids=rows)
        >>> decision.item == int(rows[0])
        True
        """
        where, book = "shortlist", self._book
        if book.arms.fixed is not None or not one_by_one(book.policy.epochs(1)[0].policy):
            must = "the policy must score items one by one, by their features alone"
            raise ValueError(f"{where}: {must}, got {book.policy.name}")
        with self._lock:
            features = contexts
            if not isinstance(contexts, jax.Array | np.ndarray):
                features = frame_of(where, contexts, book.arms.columns, labels=False).values
            if features.ndim != 2 or features.dtype.kind not in "fiu" or not all(features.shape):
                got = f"{features.dtype} {features.shape}"
                raise ValueError(f"{where}: contexts must be an array (n, d) of numbers, got {got}")
            count, dim = features.shape
            if book.dim not in (None, dim):
                raise ValueError(f"{where}: contexts must have {book.dim} features, as before, got {dim}")
            most = checks.count(where, "size", size)
            checks.between(where, "size", most, 1, count)
            with book.tried(dim, keep=False) as core:
                return core.shortlist(features, most)

    def explain(self, decision: Selection) -> pd.DataFrame:
        """Return one row per chosen item: the score that it was chosen by, and what is believed of it now.

        Columns: item, score, mean, width (one standard deviation, or the width of a confidence bound; NaN
        where the model has none) and bonus, which is what the score had above the mean of now. The score of
        an arm in a duel is its utility: what made the two meet is the doubt about their difference.
        """
        if not isinstance(decision, Selection):
            raise TypeError(f"explain: decision must be a Selection, got {type(decision).__name__}")
        with self._lock:
            book, dim = self._book, decision.features.shape[1]
            if book.core is None or book.dim != dim or decision.id >= book.core.decisions:
                raise ValueError(f"explain: decision must be one of this agent's, got number {decision.id}")
            # A duel may be of an arm with itself.
            places = {name: place for place, name in enumerate(dict.fromkeys(decision.items))}
            places = places if book.arms.fixed is None else book.arms.places
            if unknown := [name for name in decision.items if name not in places]:
                raise ValueError(f"explain: decision must be one of this agent's, got arm {unknown[0]!r}")
            index = [places[name] for name in decision.items]
            rows = np.zeros((book.arms.fixed or inspection.padded(len(index)), dim))
            rows[index] = decision.features
            mean, width = (one[index] for one in inspection.beliefs(book.core.policy, book.core.state, rows))
            columns = {"item": list(decision.items), "score": decision.scores, "mean": mean, "width": width}
            pd = checks.installed("explain", "pandas")  # a third of a second, for those who look
            return pd.DataFrame(columns | {"bonus": decision.scores - mean})

    # Learning

    def update(self, decision: Selection | int, feedback: Any) -> bool:
        """Learn what came of a decision, at any time and in any order.

        Args:
            decision: the selection, or its id.
            feedback: a number; for a set one per item, with None where it is not known, or a mapping from ids
                for some items only, the others later; for a duel how much the first arm is preferred, 1 or 0,
                which may be True or False.

        Returns:
            True when something new was learned; False for feedback that had come before, or for a decision
            that has expired.

        Raises:
            UnknownDecisionError: no such decision was made.
            ValueError, TypeError: the feedback does not fit.
        """
        with self._lock:
            self._require_open()
            now = self._clock()  # once: what is accepted now must be in time when it is replayed, too
            told = self._read(decision, feedback, now)
            if self._book.core is not None:
                self._book.core.make_room(told.count)
            return self._learned_from(told, now)

    def _learned_from(self, told: Told, now: float) -> bool:
        book = self._book
        if not told.count:
            book.repeated += 1
            return False
        with self._whole:
            if self._keeper is not None:
                self._keeper.told(told.number, told.values, told.new, now)
            book.told(told.number, told.values, told.new)
            failure = self._learn_if_due(now)
        self._tell(failure)
        self._after()
        return True

    def _learn_if_due(self, now: float) -> BaseException | None:
        """Fit, where a fit is due; one that fails is logged, and leaves the fit before in force.

        Returns:
            What a fit failed with, for `_tell` once all is settled.
        """
        core = self._book.core
        if core is None:
            return None
        try:
            core.learn_if_due()
        except BaseException as error:
            self._log_failure(now, core)
            return error
        return None

    def _tell(self, failure: BaseException | None) -> None:
        """Raise the interrupt of a fit; warn of its error: what was observed is recorded all the same."""
        if failure is None:
            return
        if not isinstance(failure, Exception):
            raise failure
        warnings.warn(f"agent: a fit failed: {failure}", RuntimeWarning, stacklevel=4)

    def _log_failure(self, now: float, core: Core) -> None:
        if self._keeper is None:
            return
        try:
            self._keeper.failed(now, core)
        except BaseException:
            self._stopped = INTERRUPTED  # a replay would make the fit
            raise

    def _read(self, decision: Selection | int, feedback: Any, now: float) -> Told:
        """What the feedback says, checked."""
        book = self._book
        number = decision.id if isinstance(decision, Selection) else decision
        pending = book.find(number, now)
        if pending is not None and isinstance(decision, Selection) and decision.items != pending.ids:
            must = f"decision must be one of this agent's, whose number {number} chose {pending.ids}"
            raise ValueError(f"update: {must}, got {decision.items}")
        return told_of(int(number), pending, feedback, duel=book.is_duel, allowed=book.feedback_range)

    def update_many(self, pairs: Iterable[tuple[Selection | int, Any]]) -> list[bool]:
        """Learn from several decisions; see `update`. All are checked before any is learned from."""
        batch = list(pairs)
        with self._lock:
            self._require_open()
            now = self._clock()
            read = [self._read(decision, feedback, now) for decision, feedback in batch]
            numbers = [told.number for told in read]
            twice = len(set(numbers)) < len(numbers)  # then the second is no news any more
            if self._book.core is not None:
                news: Counter[int] = Counter()
                for told in read:
                    news[told.number] += told.count
                size = self.policy.chooser.size
                self._book.core.make_room(sum(min(count, size) for count in news.values()))
            with self._together():
                learned = [
                    self._learned_from(self._read(*pair, now) if twice else told, now)
                    for pair, told in zip(batch, read, strict=True)
                ]
            self._after()
            return learned

    def fit(self, log: Any) -> int:
        """Learn from history: choices that were made elsewhere, and what came of them.

        Args:
            log: of `superarm.evaluate.event_log` or `read_log`; of single choices, or of sets no larger than
                the policy's. Those of a duel have two items, whose rewards add up to 1.

        Returns:
            How many events were learned from. Each counts as a decision.
        """
        where, book = "fit", self._book
        checks.has(where, "log", log, ("contexts", "actions", "rewards", "observed"))
        with self._lock:
            self._require_open()
            if book.arms.fixed is not None:
                require_places(where, book.arms.places, log)
            arms, dim = log.contexts.shape[1:]
            if book.dim not in (None, dim) or book.arms.fixed not in (None, arms):
                fixed = "any number of" if book.arms.fixed is None else book.arms.fixed
                must = f"log must have {fixed} arms with {book.dim or dim} features"
                raise ValueError(f"{where}: {must}, got {arms} with {dim}")
            events = happened_in(where, log, book.policy.chooser.size, book.feedback_range)
            for one in events if book.is_duel else ():
                require_shares(where, one.feedback, one.observed)
            with book.tried(dim) as core:
                core.make_room(sum(int(one.observed.sum()) for one in events))
                book.arms.require_same(where, events)
                with self._together():
                    for one in events:
                        self._take_in(core, one)
            self._after()
            return len(events)

    def _take_in(self, core: Core, event: Happened) -> None:
        now = self._clock()
        with self._whole:
            if self._keeper is not None:
                self._keeper.given(core.decisions, event, now)
            self._book.given(event)
            failure = self._learn_if_due(now)
        self._tell(failure)

    def learn(self) -> None:
        """Fit now, whether or not it is due."""
        with self._lock:
            self._require_open()
            self.wait()
            core = self._book.core
            if core is None or core.policy.learn_every is None:
                return
            fit = core.fit_now()
            with self._whole:
                if self._keeper is not None:
                    self._keeper.learned(self._clock())
                core.learned(fit)

    def wait(self) -> None:
        """Wait for a fit that is made in the background."""
        with self._idle:
            self._idle.wait_for(lambda: self._learner is None)

    def _after(self) -> None:
        """Write a checkpoint, and learn in the background, where they are due."""
        core = self._book.core
        if self._learner is not None or core is None:
            return
        self._checkpoint_if_due()
        if self.settings.background and core.era.due and (core.number, core.updates) != self._fitted:
            self._fitted = (core.number, core.updates)
            seq = 0 if self._keeper is None else self._keeper.journal.last
            taken = (core.snapshot(), seq)
            learner = threading.Thread(target=self._learn_aside, args=taken, daemon=True)
            try:
                learner.start()
            except RuntimeError as error:  # no more threads; the next fit that is due may have one
                warnings.warn(f"agent: no fit was begun: {error}", RuntimeWarning, stacklevel=4)
            else:
                self._learner = learner  # whose last word waits for the lock that is held here

    def _checkpoint_if_due(self) -> None:
        if self._keeper is None or not self._keeper.due:
            return
        try:
            self._keeper.checkpoint(self._book)
        except StoreError as error:  # the log has all that happened, and the next one may succeed
            warnings.warn(f"agent: no checkpoint could be written: {error}", RuntimeWarning, stacklevel=4)

    def _learn_aside(self, taken: Taken, seq: int) -> None:
        """Fit a copy of the state as it was after an entry of the log, and hand the fit over."""
        failure = ""
        try:
            self._hand_over(taken, taken.fit(), seq)
        except Exception as error:  # a thread's error would be lost
            failure = f"agent: a fit in the background failed: {error}"
        finally:
            with self._idle:
                self._learner = None
                self._idle.notify_all()
        if failure:
            warnings.warn(failure, RuntimeWarning, stacklevel=2)

    def _hand_over(self, taken: Taken, fit: Any, seq: int) -> None:
        with self._lock:
            core = self._book.core
            if core is None or core.number != taken.number or self._stopped:
                return
            with self._whole:
                if self._keeper is not None:
                    self._keeper.learned(self._clock(), seq)
                core.learned(fit)
            self._checkpoint_if_due()

    def _together(self) -> AbstractContextManager[None]:
        return nullcontext() if self._keeper is None else self._keeper.together()

    def _require_open(self) -> None:
        if self._stopped:
            raise StoreError(f"agent: {self._stopped}")

    # Keeping

    def save(self, path: str | Path) -> Path:
        """Write all that the agent knows to one file; `Agent.load` reads it again.

        The file is replaced as a whole: if that fails, the one before is still there.
        """
        with self._lock:
            self._require_open()
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
            self._require_open()
            self.wait()
            if self._keeper is not None:
                self._keeper.checkpoint(self._book)

    def close(self) -> None:
        """Write a checkpoint, and give the store back; an agent without a store goes on."""
        with self._lock:
            keeper = self._keeper
            if keeper is None:
                return
            try:
                if not self._stopped:
                    self.checkpoint()
            finally:
                self._stopped = self._stopped or "it was closed; Agent.open goes on with its store"
                self._keeper = None
                keeper.close()

    def __enter__(self) -> Agent:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class _Whole:
    """A step that is logged and made as one: cut short, what is logged and what is known would part.

    Where the log could not be written, nothing has been, and the step is not made.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None and not issubclass(kind, StoreError):
            self.agent._stopped = INTERRUPTED


def _store(store: str | Path | Store) -> Store:
    return store if isinstance(store, Store) else Store(Path(store))
