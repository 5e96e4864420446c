"""Fits in a thread of their own: choosing and observing go on meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from superarm import checks
from superarm.agent.learner import LearnerSnapshot

if TYPE_CHECKING:
    from superarm.agent.session import Session


class BackgroundFit:
    """The fit of a session that is made aside: of a copy of the state, taken over when it is ready."""

    def __init__(self, session: Session) -> None:
        """Make none yet."""
        self.session = session
        self._idle = threading.Condition(session.lock)
        self._thread: threading.Thread | None = None
        self._fitted = (-1, -1)  # epoch and updates of the last fit that was begun

    @property
    def busy(self) -> bool:
        """Whether a fit is being made."""
        return self._thread is not None

    def wait(self) -> None:
        """Wait for the fit that is being made."""
        with self._idle:
            self._idle.wait_for(lambda: self._thread is None)

    def begin_if_due(self) -> None:
        """Begin a fit, where one is due and none is being made."""
        learner, recorder = self.session.state.learner, self.session.recorder
        if self._thread is not None or learner is None or not learner.run.due:
            return
        if (learner.number, learner.updates) == self._fitted:
            return
        self._fitted = (learner.number, learner.updates)
        seq = 0 if recorder is None else recorder.journal.last
        thread = threading.Thread(target=self._fit, args=(learner.snapshot(), seq), daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads; the next fit that is due may have one
            checks.warn(f"agent: no fit was begun: {error}")
        else:
            self._thread = thread  # whose last word waits for the lock that is held here

    def _fit(self, snapshot: LearnerSnapshot, seq: int) -> None:
        """Fit a copy of the state as it was after entry `seq` of the log, and hand the fit over."""
        failure = ""
        try:
            self._hand_over(snapshot, snapshot.fit(), seq)
        except Exception as error:  # a thread's error would be lost
            failure = f"agent: a fit in the background failed: {error}"
        finally:
            with self._idle:
                self._thread = None
                self._idle.notify_all()
        if failure:
            checks.warn(failure)

    def _hand_over(self, snapshot: LearnerSnapshot, fit: Any, seq: int) -> None:
        session = self.session
        with session.lock:
            learner = session.state.learner
            if learner is None or learner.number != snapshot.number or session.stopped:
                return
            with session.atomic_step:
                if session.recorder is not None:
                    session.recorder.learned(session.now(), seq)
                learner.learned(fit)
            session.checkpoint_if_due()  # which waited for this fit
