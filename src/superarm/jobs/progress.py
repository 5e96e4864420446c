"""How far long work has come: a live bar where somebody is looking, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

# Without a terminal, one line at most this often.
LINE_SECONDS = 10.0


@contextmanager
def progress_of(title: str, console: Console) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (rounds done, rounds to do): a live bar on a terminal, else a line now and then."""
    if console.is_terminal:
        with _bar(title, console) as advance:
            yield advance
    else:
        yield _lines(title, console)


@contextmanager
def _bar(title: str, console: Console) -> Iterator[Callable[[int, int], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(escape(title), total=None, start=False)

        def advance(done: int, rounds: int) -> None:
            bar.start_task(task)  # time counts from the first call; later ones change nothing
            bar.update(task, completed=done, total=rounds)

        yield advance


def _lines(title: str, console: Console) -> Callable[[int, int], None]:
    started = last = 0.0

    def advance(done: int, rounds: int) -> None:
        nonlocal started, last
        now = time.monotonic()
        started, last = started or now, last or now
        if done and (now - last >= LINE_SECONDS or done == rounds):
            last = now
            line = f"{title}: {done} of {rounds} rounds"
            # Before that, most of the time went into compiling.
            if rounds > done >= 0.05 * rounds:
                line += f", about {(now - started) * (rounds - done) / done:.0f} s left"
            console.print(escape(line), highlight=False)

    return advance
