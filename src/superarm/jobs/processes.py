"""Jobs over the cores: single-threaded worker processes with the same settings, whatever their number.

Thread counts change the order of sums and so the last bits of a result. Each worker therefore runs on one
thread, and a job's result does not depend on how many workers there are.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import TypeVar

import numpy as np

from superarm.compiler import cache_settings

Job = TypeVar("Job")
Done = TypeVar("Done")
OnRounds = Callable[[int], None]

# One thread each, on the CPU: several processes would fight over an accelerator.
SETTINGS = {
    "JAX_PLATFORMS": "cpu",
    "NPROC": "1",  # the threads of XLA's CPU client; its flags leave large products two or more
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
POLL_SECONDS = 0.2


def run_jobs(
    function: Callable[[Job, OnRounds], Done],
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    progress: OnRounds | None = None,
) -> Iterator[tuple[int, Done]]:
    """Yield (index, function(job, on_rounds)) for every job, as they finish.

    Args:
        function: what to do; it calls on_rounds(n) when n more rounds are done.
        jobs: its arguments.
        workers: processes; None for one per core, 0 to run here, in order, with this process's settings.
        progress: called with the rounds done so far by all jobs together.
    """
    if workers == 0:
        yield from _run_here(function, jobs, progress or _ignore)
        return
    with tempfile.TemporaryDirectory(prefix="superarm-") as folder:
        board = Path(folder) / "rounds"
        np.zeros(max(len(jobs), 1), np.int64).tofile(board)
        yield from _run_in_processes(function, jobs, workers or core_count(), board, progress or _ignore)


def core_count() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _run_here(
    function: Callable[[Job, OnRounds], Done], jobs: Sequence[Job], progress: OnRounds
) -> Iterator[tuple[int, Done]]:
    done = 0

    def on_rounds(rounds: int) -> None:
        nonlocal done
        done += rounds
        progress(done)

    for index, job in enumerate(jobs):
        yield index, function(job, on_rounds)


def _run_in_processes(
    function: Callable[[Job, OnRounds], Done],
    jobs: Sequence[Job],
    workers: int,
    board: Path,
    progress: OnRounds,
) -> Iterator[tuple[int, Done]]:
    from loky import get_reusable_executor

    executor = get_reusable_executor(
        max_workers=max(1, min(workers, len(jobs))),
        timeout=60,
        env=SETTINGS | cache_settings(),
        initializer=_ignore_interrupts,
    )
    counts = np.memmap(board, np.int64, mode="r")
    indices: dict[Future[Done], int] = {
        executor.submit(_work, function, job, str(board), index): index for index, job in enumerate(jobs)
    }
    pending = set(indices)
    try:
        while pending:
            finished, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            progress(int(counts.sum()))
            for future in finished:
                yield indices[future], future.result()
    except BaseException:
        executor.shutdown(wait=False, kill_workers=True)
        raise


def _work(function: Callable[[Job, OnRounds], Done], job: Job, board: str, index: int) -> Done:
    """Run one job in a worker, counting its rounds on the board that all processes share."""
    counts = np.memmap(board, np.int64, mode="r+")

    def on_rounds(rounds: int) -> None:
        counts[index] += rounds

    return function(job, on_rounds)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which ends the workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ignore(rounds: int) -> None:
    """Report to nobody."""
