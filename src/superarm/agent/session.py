"""An agent that is open: its state, its clock and lock, its store, and why it takes no more calls.

Open this file to see what makes a step atomic. The calls of `Agent` are functions of a session: `choosing`
decides, `learning` takes feedback in, and `background` fits in a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from superarm import checks
from superarm.agent.background import BackgroundFit
from superarm.agent.state import AgentState
from superarm.errors import StoreError

if TYPE_CHECKING:
    from superarm.agent.store.recorder import Recorder

INTERRUPTED = "a call was interrupted; open or load the agent again"


class Session:
    """What the calls of an agent share.

    Attributes:
        state: what the agent knows.
        clock: seconds since 1970.
        recorder: of its store; None without one.
        lock: calls are served one after another.
        stopped: why no more calls are taken; "" while they are.
        atomic_step: makes a step that is logged and known, or neither.
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

    def require_open(self) -> None:
        """Raise if no more calls are taken."""
        if self.stopped:
            raise StoreError(f"agent: {self.stopped}")

    def together(self) -> AbstractContextManager[None]:
        """Log what comes as one."""
        return nullcontext() if self.recorder is None else self.recorder.together()

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
            checks.warn(f"agent: no checkpoint could be written: {error}")

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
            self.stopped = self.stopped or "it was closed; Agent.open goes on with its store"
            self.recorder = None
            recorder.close()


class AtomicStep:
    """A step that is logged and made as one.

    Cut short by an interrupt, what is logged and what is known would part, and all later answers would be
    wrong after a restart: the agent stops. Where the log could not be written, nothing has been, and the step
    is not made. A class and not a generator, since every call passes through it.
    """

    def __init__(self, session: Session) -> None:
        """Of one session."""
        self.session = session

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Stop the agent where the step was cut short."""
        if kind is not None and not issubclass(kind, StoreError):
            self.session.stopped = INTERRUPTED
