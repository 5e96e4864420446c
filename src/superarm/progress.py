"""A live bar on long work, where somebody is looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining


@contextmanager
def progress_bar(title: str, total: int, *, shown: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the rounds done so far and moves the bar.

    Args:
        title: what is going on.
        total: rounds in all.
        shown: None shows the bar on a terminal only.
    """
    console = Console(stderr=True)
    visible = console.is_terminal if shown is None else shown
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
        Remaining(),
    )
    with Progress(*columns, console=console, disable=not visible, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
