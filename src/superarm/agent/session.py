"""An agent that is open: its state, its clock and lock, its store, and why it takes no more calls.

Open this file to see what makes a step atomic. The calls of `Agent` are functions of a session: `choosing`
decides, `learning` takes feedback in, and `background` fits in a thread of its own.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from superarm import checks
from superarm.agent.background import BackgroundFit
from superarm.agent.state import AgentState
from superarm.errors import StoreError

if TYPE_CHECKING:
    from superarm.agent.store.recorder import Recorder

INTERRUPTED = "a call was interrupted; open or load the agent again"
CLOSED = "it was closed; Agent.open goes on with its store"
FORKED = "an agent cannot be used in a forked process; open or load one there, or start the process by spawn"

Handler = Callable[[int, FrameType | None], Any]
# What the module `signal` wraps. Its own functions make enums of what they are given and return, which takes
# 3 to 5 microseconds a call: for the six of every step that was a third of an agent's time.
_raw: Any = importlib.import_module("_signal")
HELD = tuple(map(int, (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)))  # their handlers commonly raise


class Session:
    """What the calls of an agent share.

    Attributes:
        state: what the agent knows.
        clock: seconds since 1970.
        recorder: of its store; None without one.
        lock: calls are served one after another.
        stopped: why no more calls are taken; "" while they are.
        atomic_step: makes a step that is logged and known, or stops the agent; signals wait for its end.
        background: the fit that is made aside, if one is.
    """

    def __init__(
        self, state: AgentState, clock: Callable[[], float], recorder: Recorder | None = None
    ) -> None:
        """Open."""
        self.state, self.clock, self.recorder = state, clock, recorder
        self.lock = threading.RLock()
        self.stopped = ""
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
        self.atomic_step.hold()
        try:
            with self.recorder.together():
                yield
        finally:
            self.stop_with_store()  # the agent knows what the log does not
            self.atomic_step.release()

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
            self.checkpoint()
        except StoreError as error:  # the log has all that happened, and the next one may succeed
            self.stop_with_store()
            checks.warn(f"agent: no checkpoint could be written: {error}")

    def checkpoint(self) -> None:
        """Write a checkpoint; signals wait for its end."""
        self.atomic_step.hold()
        try:
            if self.recorder is not None:
                self.recorder.checkpoint(self.state)
        finally:
            self.atomic_step.release()

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
                self.checkpoint()
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


class HeldSignals:
    """Handlers of signals that are put off: `hold` begins, `release` ends and makes the calls that waited.

    A KeyboardInterrupt may be raised between any two lines of Python. In the middle of a step it would leave
    the log and the memory of an agent apart, or lose a state whose buffers the compiled function has taken
    over. Python calls handlers in the main thread alone: in other threads there is nothing to hold.
    """

    __slots__ = ("_before", "_came", "_depth")

    def __init__(self) -> None:
        """Hold none yet."""
        self._depth = 0  # how often it was held: a batch holds signals, and so does each of its steps
        self._before: list[tuple[int, Handler]] = []
        self._came: list[tuple[int, FrameType | None]] = []

    def hold(self) -> None:
        """Put off what comes from now on, until `release` was called as often."""
        self._depth += 1
        if self._depth > 1 or threading.get_ident() != threading.main_thread().ident:
            return
        try:
            for number in HELD:
                handler = _raw.getsignal(number)
                if callable(handler):  # no Python code runs for the others
                    _raw.signal(number, self._note)
                    self._before.append((number, handler))
        except BaseException:  # of a handler that was called just before it was to be put off
            self.release()
            raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))

    def release(self) -> None:
        """Give the handlers back, and call those whose signals came; they may raise."""
        self._depth -= 1
        if self._depth or not self._before:
            return
        handlers, raised = dict(self._before), None
        while self._before:
            try:
                _raw.signal(*self._before[-1])
            except BaseException as error:  # of a handler that was given back before
                raised = error
            else:
                self._before.pop()
        came, self._came = self._came, []
        for number, frame in came:
            try:
                handlers[number](number, frame)
            except BaseException as error:
                raised = error
        if raised is not None:
            raise raised

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Let signals through for a while: for a fit, which may take long and can be cut short."""
        depth, self._depth = self._depth, 1
        try:
            self.release()
            yield
        finally:
            self._depth = 0
            self.hold()
            self._depth = depth


class AtomicStep(HeldSignals):
    """A step that is logged and made as one.

    Signals wait for its end. If the step is cut short all the same, what is logged and what is known would
    part, and all later answers would be wrong after a restart: the agent stops. Where the log could not be
    written, nothing has been, and the step is not made. A class and not a generator, since every call passes
    through it.
    """

    def __init__(self, session: Session) -> None:
        """Of one session."""
        super().__init__()
        self.session = session

    __enter__ = HeldSignals.hold

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        """Stop the agent where the step was cut short."""
        session = self.session
        if kind is not None and not issubclass(kind, StoreError):
            failed = f"a step failed ({error!r:.200}); open or load the agent again"
            session.stopped = failed if issubclass(kind, Exception) else INTERRUPTED
        elif kind is not None:
            session.stop_with_store()
        self.release()


_open: weakref.WeakSet[Session] = weakref.WeakSet()
_left_open: list[Recorder] = []  # in a forked process, of its parent's agents


def _after_fork() -> None:
    for session in list(_open):
        session.forked()


os.register_at_fork(after_in_child=_after_fork)
