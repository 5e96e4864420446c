"""The stateful shell over a policy: choose now, learn when feedback comes, survive a restart.

Each call of an `Agent` holds its lock and hands on to a function of its session: see `session`. What writes
it to a file or a store is imported when it is asked for.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm import checks
from superarm.agent import choosing, explanation, learning
from superarm.agent.learner import LearnerSnapshot
from superarm.agent.selection import Selection
from superarm.agent.session import Session
from superarm.agent.settings import Settings
from superarm.agent.state import AgentState
from superarm.features.tables import Contexts, Id, Ids, Mask, OnOffer

if TYPE_CHECKING:
    import jax
    import pandas as pd

    from superarm.agent.feedback import Outcome
    from superarm.agent.store.recorder import Recorder, Store
    from superarm.evaluate.logs.log import Log
    from superarm.policies.anytime import Anytime
    from superarm.policy import Policy


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
    >>> agent.update(decision.id, 1.0)  # a repeated one is ignored
    False

    Calls may come from several threads; they are served one after another. A call that is refused changes
    nothing.
    """

    @checks.named
    def __init__(
        self,
        policy: Policy | Anytime,
        *,
        arms: int | Sequence[Id] | None = None,
        store: str | Path | Store | None = None,
        clock: Callable[[], float] = time.time,
        seed: int = 0,
        background: bool = False,
        max_pending: int = 10_000,
        max_age: float | None = None,
        max_observations: int = 100_000,
        min_propensity: float = 0.0,
        draws: int | None = None,
        ranking: bool = False,
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
            seed: fixes all choices.
            background: fit in a thread of its own, and choose by the last fit meanwhile; otherwise fits are
                made when feedback makes them due, before `update` returns.
            max_pending: how many decisions wait for feedback, the oldest expiring first.
            max_age: for how many seconds they wait; None for any time.
            max_observations: that a policy which keeps all its history may keep.
            min_propensity: the least probability of every arm on offer; the policy explores uniformly as
                often as that takes.
            draws: decisions drawn for the probability of a choice where it cannot be computed; 0 not to. None
                for 100, but 0 for duels, and where an oracle runs on the host, which then is called so often.
            ranking: whether the order within a set is a ranking, for propensities.
        """
        where = "agent"
        checks.has(where, "policy", policy, ("epochs", "check", "chooser"))
        settings: dict[str, Any] = {
            "seed": seed,
            "background": background,
            "max_pending": max_pending,
            "max_age": max_age,
            "max_observations": max_observations,
            "min_propensity": min_propensity,
            "ranking": ranking,
        }
        state = AgentState(where, policy, arms, settings if draws is None else {**settings, "draws": draws})
        self._hold(Session(state, clock, None if store is None else _begun(store, state, clock)))

    @classmethod
    def _of(cls, session: Session) -> Agent:
        agent = cls.__new__(cls)
        agent._hold(session)
        return agent

    def _hold(self, session: Session) -> None:
        """Work on a session, whose store is given back when the agent is deleted."""
        self._session = session
        weakref.finalize(self, session.release)

    @property
    def policy(self) -> Policy | Anytime:
        """The policy."""
        return self._session.state.policy

    @property
    def settings(self) -> Settings:
        """How it works."""
        return self._session.state.settings

    @property
    def arms(self) -> tuple[Id, ...]:
        """The ids of the arms that have a place, in its order; none where features are all that counts."""
        return tuple(self._session.state.arms.places)

    @property
    def num_arms(self) -> int | None:
        """How many arms have a place, or can get one; None where features are all that counts."""
        return self._session.state.arms.fixed

    @property
    def stats(self) -> Stats:
        """What it has done."""
        with self._session.lock:
            state = self._session.state
            return Stats(
                decisions=state.decisions,
                updates=state.updates,
                pending=len(state.waiting),
                expired=state.expired,
                repeated=state.repeated,
                refused_fits=0 if state.learner is None else state.learner.refused_fits,
            )

    @checks.named
    def snapshot(self, dim: int) -> LearnerSnapshot:
        """Return a copy of what decides: the policy in force, its state, and how many decisions it made.

        Args:
            dim: features per arm, for an agent that has not begun.
        """
        with self._session.lock:
            self._session.require_open()
            state = self._session.state
            if state.dim not in (None, dim):
                raise ValueError(f"snapshot: dim must be {state.dim}, as before, got {dim}")
            with state.provisional(dim, keep=False) as learner:
                return learner.snapshot()

    # Choosing

    @checks.named
    def select(
        self, contexts: Contexts | None = None, *, ids: Ids | None = None, mask: Mask | None = None
    ) -> Selection:
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
        session = self._session
        with session.lock:
            if session.stopped:
                session.require_open()
            selection = choosing.choose(session, contexts, ids, mask)
            session.settle()
            return selection

    @checks.named
    def select_many(self, batch: Iterable[Contexts | OnOffer]) -> list[Selection]:
        """Choose once for each of several contexts (n, d), or mappings of the arguments of `select`.

        The choices are those of `select` one by one. Many of one shape in a row are made in one compiled
        call, of which there is one for every power of two of them, from 8 on; those of a small linear policy
        need none. Where one is refused, those before it have been made, and wait for feedback.
        """
        session, wanted = self._session, list(batch)
        with session.lock:
            session.require_open()
            made = choosing.choose_many(session, wanted)
            session.settle()
            return made

    @checks.named
    def predict(
        self, contexts: Contexts | None = None, *, ids: Ids | None = None, mask: Mask | None = None
    ) -> tuple[Id, ...]:
        """Return the ids of what is best by all that was learned, without exploring; nothing is recorded."""
        with self._session.lock:
            self._session.require_open()
            return choosing.predict(self._session, contexts, ids, mask)

    @checks.named
    def shortlist(self, contexts: Contexts | jax.Array, size: int) -> np.ndarray[Any, Any]:
        """Return the rows of the `size` best of a large catalogue, the best first, for `select` to decide.

        Items are scored as the next decision will score them, in single precision for linear models: a
        million with 64 features in a ninth of a second on one core, with a diagonal width in a fiftieth.
        LinUCB with the full width takes half its time where bounds rule most items out, if they come as
        float32. The probability that `min_propensity` gives to all is left to `select`. Nothing is recorded.
        A program is compiled for every power of two of n, up to 2^17, and of the size; above, more for
        bounds.

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
        with self._session.lock:
            self._session.require_open()
            return choosing.shortlist(self._session, contexts, size)

    @checks.named
    def explain(self, decision: Selection) -> pd.DataFrame:
        """Return one row per chosen item: the score that it was chosen by, and what is believed of it now.

        Columns: item, score, mean, width (one standard deviation, or the width of a confidence bound; NaN
        where the model has none) and bonus, which is what the score had above the mean of now. The score of
        an arm in a duel is its utility: what made the two meet is the uncertainty of their difference. For
        sets chosen by expected rewards, score and mean are rewards; the width stays that of the latent score.
        """
        with self._session.lock:
            self._session.require_open()
            return explanation.explain(self._session, decision)

    # Learning

    @checks.named
    def update(self, decision: Selection | int, feedback: Outcome) -> bool:
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
        session = self._session
        with session.lock:
            if session.stopped:
                session.require_open()
            return learning.update(session, decision, feedback)

    @checks.named
    def update_many(self, pairs: Iterable[tuple[Selection | int, Outcome]]) -> list[bool]:
        """Learn from several decisions; see `update`. All are checked before any is learned from."""
        session, batch = self._session, list(pairs)
        with session.lock:
            session.require_open()
            learned = learning.update_many(session, batch)
            session.settle()
            return learned

    @checks.named
    def fit(self, log: Log) -> int:
        """Learn from history: choices that were made elsewhere, and what came of them.

        Args:
            log: of `superarm.evaluate.event_log` or `read_log`; of single choices, or of sets no larger than
                the policy's. Those of a duel have two items, whose rewards add up to 1.

        Returns:
            How many events were learned from. Each counts as a decision.
        """
        checks.has("fit", "log", log, ("contexts", "actions", "rewards", "observed", "arms"))
        with self._session.lock:
            self._session.require_open()
            count = learning.fit(self._session, log)
            self._session.settle()
            return count

    def learn(self) -> None:
        """Fit now, whether or not it is due."""
        with self._session.lock:
            self._session.require_open()
            learning.learn_now(self._session)

    def wait(self) -> None:
        """Wait for a fit that is made in the background."""
        self._session.background.wait()

    # Keeping

    @checks.named
    def save(self, path: str | Path) -> Path:
        """Write all that the agent knows to one file; `Agent.load` reads it again.

        The file is replaced as a whole: if that fails, the one before is still there.
        """
        from superarm.agent.store.snapshot import snapshot
        from superarm.agent.store.state_file import write_state

        with self._session.lock:
            self._session.require_open()
            self._session.background.wait()
            write_state(Path(path), *snapshot(self._session.state))
            return Path(path)

    @classmethod
    @checks.named
    def load(
        cls,
        path: str | Path,
        *,
        policy: Policy | Anytime | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Agent:
        """Return the agent of a file. Decisions go on as if it had never been away.

        Args:
            path: of `save`.
            policy: needed where it has functions of yours without a name (`superarm.config.register`);
                otherwise the file says it.
            clock: seconds since 1970.
        """
        from superarm.agent.store.snapshot import restored
        from superarm.agent.store.state_file import read_state

        state = restored(*read_state(Path(path)), policy=policy)
        state.use(state.new_form)
        return cls._of(Session(state, clock))

    @classmethod
    @checks.named
    def open(
        cls,
        store: str | Path | Store,
        *,
        policy: Policy | Anytime | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Agent:
        """Return the agent of a store: its last checkpoint, and what the log says happened since."""
        from superarm.agent.store.recorder import Recorder, store_of

        recorder, state = Recorder.reopen(store_of(store), policy=policy, clock=clock)
        return cls._of(Session(state, clock, recorder))

    def checkpoint(self) -> None:
        """Write the state to the store now; the log before it is forgotten as far as the store says."""
        session = self._session
        with session.lock:
            session.require_open()
            session.background.wait()
            session.checkpoint()

    @checks.named
    def backup(self, folder: str | Path) -> Path:
        """Copy the store as it is now into another folder, while the agent goes on; return that folder.

        Args:
            folder: empty, or not there. `Agent.open` goes on with the copy.
        """
        session = self._session
        with session.lock:
            session.require_open()
            if session.recorder is None:
                raise ValueError("backup: agent must have a store, got none; use save for an agent without")
            copy = session.recorder.backup(session.state, Path(folder))
        return copy.write()

    def close(self) -> None:
        """Write a checkpoint, and give the store back; an agent without a store goes on."""
        with self._session.lock:
            self._session.close()

    def __enter__(self) -> Agent:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _begun(store: str | Path | Store, state: AgentState, clock: Callable[[], float]) -> Recorder:
    from superarm.agent.store.recorder import Recorder, store_of

    return Recorder.begin(store_of(store), state, clock)
