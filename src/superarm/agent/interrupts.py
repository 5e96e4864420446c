"""Signals that wait until a short step has ended.

A KeyboardInterrupt may be raised between any two lines of Python. In the middle of a step it would leave the
log and the memory of an agent apart, or lose a state whose buffers the compiled function has taken over.
"""

from __future__ import annotations

import importlib
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident, main_thread
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]
# What the module `signal` wraps. Its own functions make enums of what they are given and return, which takes
# 3 to 5 microseconds a call: for the six of every step that was a third of an agent's time.
_raw: Any = importlib.import_module("_signal")
# Those whose handlers commonly raise.
HELD = tuple(map(int, (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)))


class HeldSignals:
    """Handlers of signals that are put off: `hold` begins, `release` ends and makes the calls that waited.

    Python calls handlers in the main thread alone: in other threads there is nothing to hold.
    """

    __slots__ = ("_before", "_came")

    def __init__(self) -> None:
        """Hold none yet."""
        self._before: list[tuple[int, Handler]] = []
        self._came: list[tuple[int, FrameType | None]] = []

    def hold(self) -> None:
        """Put off what comes from now on. It must be called once before `release`."""
        if get_ident() != main_thread().ident:
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
        if not self._before:
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
        held = bool(self._before)
        if held:
            self.release()
        try:
            yield
        finally:
            if held:
                self.hold()
