"""Real interrupts: SIGINT comes to the process a moment after it is asked for."""

from __future__ import annotations

import os
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DELAY = struct.Struct("<d")
PATIENCE = 20.0  # seconds for an interrupt to arrive


class Interrupter:
    """A thread that interrupts the process; it is asked through a pipe, which no interrupt leaves locked."""

    def __init__(self, pipe: tuple[int, int]) -> None:
        self.ear, self.mouth = pipe
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while raw := os.read(self.ear, DELAY.size):
            time.sleep(DELAY.unpack(raw)[0])
            os.kill(os.getpid(), signal.SIGINT)

    def interrupt(self, work: Callable[[], None], delay: float) -> None:
        """Work over and over until one interrupt arrives, as a KeyboardInterrupt, and stop there."""
        failure = None
        try:
            os.write(self.mouth, DELAY.pack(delay))
            try:
                while True:
                    work()
            except Exception as error:  # it may come before the interrupt, which must not come later
                failure = error
            time.sleep(PATIENCE)
        except KeyboardInterrupt:
            if failure is not None:
                raise failure from None
            return
        raise AssertionError("the interrupt has not arrived") from failure


@contextmanager
def interrupter() -> Iterator[Interrupter]:
    """One for a while, under Python's own handler of SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe = os.pipe()
    one = Interrupter(pipe)
    try:
        yield one
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        os.close(pipe[1])
        one.thread.join()
        os.close(pipe[0])
        signal.signal(signal.SIGINT, before)
