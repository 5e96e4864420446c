"""An agent that is open: its state, its clock and lock, its store, and why it takes no more calls.

Open this file to see what makes a step atomic. The calls of `Agent` are functions of a session: `choosing`
decides, `learning` takes feedback in, and `background` fits in a thread of its own.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from superarm import checks
from superarm.agent.background import BackgroundFit
from superarm.agent.interrupts import HeldSignals
from superarm.agent.state import AgentState
from superarm.errors import StoreError

if TYPE_CHECKING:
    from superarm.agent.store.recorder import Recorder

INTERRUPTED = "a call was interrupted; open or load the agent again"
CLOSED = "it was closed; Agent.open goes on with its store"
FORKED = "an agent cannot be used in a forked process; open or load one there, or start the process by spawn"


class Session:
    """What the calls of an agent share.

    Attributes:
        state: what the agent knows.
        clock: seconds since 1970.
        recorder: of its store; None without one.
        lock: calls are served one after another.
        stopped: why no more calls are taken; "" while they are.
        signals: those that wait for the end of a step.
        atomic_step: makes a step that is logged and known, or stops the agent.
        background: the fit that is made aside, if one is.
    """

    def __init__(
        self, state: AgentState, clock: Callable[[], float], recorder: Recorder | None = None
    ) -> None:
        """Open."""
        self.state, self.clock, self.recorder = state, clock, recorder
        self.lock = threading.RLock()
        self.stopped = ""
        self.signals = HeldSignals()
        self.atomic_step = AtomicStep(self)
        self.background = BackgroundFit(self)
        _open.add(self)

    def require_open(self) -> None:
        """Raise if no more calls are taken."""
        if self.stopped:
            raise StoreError(f"agent: {self.stopped}")

    def now(self) -> float:
        """The time, as the clock says."""
        now = float(self.clock())
        if not math.isfinite(now):
            raise ValueError(f"agent: clock must return seconds since 1970, got {now}")
        return now

    @contextmanager
    def together(self) -> Iterator[None]:
        """Log what comes as one."""
        if self.recorder is None:
            yield
            return
        try:
            with self.recorder.together():
                yield
        finally:
            self.stop_with_store()  # the agent knows what the log does not

    def settle(self) -> None:
        """Write a checkpoint, and fit in the background, where they are due."""
        if self.recorder is not None and self.recorder.due and not self.background.busy:
            self.checkpoint_if_due()
        if self.state.settings.background:
            self.background.begin_if_due()

    def checkpoint_if_due(self) -> None:
        """Write a checkpoint where one is due; of one that fails the caller is warned."""
        if self.recorder is None or not self.recorder.due:
            return
        try:
            self.recorder.checkpoint(self.state)
        except StoreError as error:  # the log has all that happened, and the next one may succeed
            self.stop_with_store()
            checks.warn(f"agent: no checkpoint could be written: {error}")

    def stop_with_store(self) -> None:
        """Take no more calls where the store takes no more entries."""
        if self.recorder is not None:
            self.stopped = self.stopped or self.recorder.journal.stopped

    def close(self) -> None:
        """Write a checkpoint, and give the store back; without a store nothing changes."""
        recorder = self.recorder
        if recorder is None:
            return
        try:
            if not self.stopped:
                self.background.wait()
                recorder.checkpoint(self.state)
        finally:
            self.release()

    def release(self) -> None:
        """Give the store back as it is: the log has all that happened."""
        with self.lock:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                self.stopped = self.stopped or CLOSED
                recorder.close()

    def forked(self) -> None:
        """Stop in a child process, which shares the files of the parent, and has none of its threads.

        What the child closes must not touch the log: its file stays open, unused, until the child ends.
        """
        self.stopped = FORKED
        self.lock = threading.RLock()  # another thread of the parent may have held it
        if self.recorder is not None:
            self.recorder.journal.leave_to_parent()
            _left_open.append(self.recorder)
            self.recorder = None


class AtomicStep:
    """A step that is logged and made as one.

    Interrupts wait for its end. If the step is cut short all the same, what is logged and what is known would
    part, and all later answers would be wrong after a restart: the agent stops. Where the log could not be
    written, nothing has been, and the step is not made. A class and not a generator, since every call passes
    through it.
    """

    def __init__(self, session: Session) -> None:
        """Of one session."""
        self.session = session

    def __enter__(self) -> None:
        """Begin."""
        self.session.signals.hold()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        """Stop the agent where the step was cut short."""
        session = self.session
        if kind is not None and not issubclass(kind, StoreError):
            failed = f"a step failed ({error!r:.200}); open or load the agent again"
            session.stopped = failed if issubclass(kind, Exception) else INTERRUPTED
        elif kind is not None:
            session.stop_with_store()
        session.signals.release()


_open: weakref.WeakSet[Session] = weakref.WeakSet()
_left_open: list[Recorder] = []  # in a forked process, of its parent's agents


def _after_fork() -> None:
    for session in list(_open):
        session.forked()


os.register_at_fork(after_in_child=_after_fork)
