"""Jobs as Ray tasks, in single-threaded workers with the settings that local workers have.

A job whose worker or node is lost is done again by Ray. Its rounds come back with its result, so what was
done twice counts once. Ray pickles what it moves between processes of its own; nothing else is unpickled.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import ray

from superarm import checks
from superarm.compiler import SECONDS, keep_compiled
from superarm.errors import EngineError
from superarm.jobs.processes import SETTINGS, Done, Job, OnRounds
from superarm.provenance import commit, cpu_model, versions

REDOS = 10  # of a job whose worker is lost; one that ends every worker must not go on for ever
POLL_SECONDS = 0.5  # how often the driver looks
TELL_SECONDS = 2.0  # how often a job tells its rounds; the board takes 1,400 messages a second (measured)
QUEUED = 2  # jobs in flight per core: a worker finds its next job waiting, and thousands are not sent at once
# Folders, under the same names on every node.
DATA = ("SUPERARM_DATA", "SUPERARM_OPEN_BANDIT", "JAX_COMPILATION_CACHE_DIR")


def run_on_ray(
    function: Callable[[Job, OnRounds], Done],
    jobs: Sequence[Job],
    *,
    most: int | None = None,
    progress: OnRounds | None = None,
) -> Iterator[tuple[int, Done]]:
    """Yield (index, function(job, on_rounds)) for every job, as they finish, each once.

    Args:
        function: what to do; it calls on_rounds(n) when n more rounds are done.
        jobs: its arguments.
        most: jobs at a time; None for as many as the cluster has cores, also when nodes come and go.
        progress: called with the rounds done so far by all jobs together; fewer again when work is lost.

    When it is interrupted, the jobs in flight end with the connection, or by themselves where that goes on.
    """
    show = progress or _ignore
    watch = Watch(most)
    task = ray.remote(_work).options(
        num_cpus=1, max_retries=REDOS, runtime_env={"env_vars": _worker_settings()}
    )
    left = iter(enumerate(jobs))
    pending: dict[Any, int] = {}
    finished, (expected, processor) = 0, _made_with()
    processors = {processor}
    try:
        while True:
            while len(pending) < watch.room and (one := next(left, None)) is not None:
                index, job = one
                pending[task.remote(function, job, index, watch.board, expected)] = index
            if not pending:
                break
            for ref in _ready(list(pending)):
                rounds, processor, outcome = _outcome(ref, pending[ref])
                index = pending.pop(ref)
                finished += rounds
                processors.add(processor)
                show(finished + watch.rounds(pending.values()))
                yield index, outcome
            watch.look()
            show(finished + watch.rounds(pending.values()))
    finally:
        # What runs ends with the connection. `ray.cancel` would race with a job that finishes, and end this
        # process with it (a failed check of ray 2.60, forced or not).
        watch.end()
    if len(processors) > 1:
        words = ", ".join(sorted(processors))
        checks.warn(f"ray: processors differ, and so may last bits: {words}")


def _ready(refs: list[Any]) -> list[Any]:
    """Wait for one that is done, but not for long; return all that are."""
    ray.wait(refs, num_returns=1, timeout=POLL_SECONDS)
    return ray.wait(refs, num_returns=len(refs), timeout=0)[0]


def _outcome(ref: Any, index: int) -> tuple[int, str, Any]:
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause or error) from error  # the job's own error, as it would be raised here
    except ray.exceptions.RayError as error:
        raise EngineError(
            f"ray: job {index} was lost with its worker {REDOS + 1} times, or its cluster was "
            f"({type(error).__name__})"
        ) from error


def _work(
    function: Callable[[Job, OnRounds], Done], job: Job, index: int, board: Any, expected: Mapping[str, str]
) -> tuple[int, str, Done]:
    """Run one job in a worker; return its rounds, the processor and what came of it."""
    found, processor = _made_with()
    _require_same(expected, found)
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        keep_compiled(seconds=SECONDS)  # in the part of this node's processor
    rounds, told = 0, time.monotonic()
    board.tell.remote(index, 0)  # a job that is done again starts from nothing

    def on_rounds(more: int) -> None:
        nonlocal rounds, told
        rounds += more
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            board.tell.remote(index, rounds)

    outcome = function(job, on_rounds)
    return rounds, processor, outcome


@lru_cache(maxsize=1)
def _made_with() -> tuple[dict[str, str], str]:
    """Return the versions and the processor of this process; a worker asks for every job."""
    return versions() | {"commit": commit()}, cpu_model()


def _require_same(expected: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Refuse a worker with other versions: its numbers may be others."""
    for name, version in expected.items():
        if found.get(name) != version:
            raise EngineError(f"ray: every node must have {name} {version}, got {found.get(name)} on one")


def _board() -> Any:
    """Start an actor with the rounds of each job that runs, as the workers tell them.

    Its class is made here so that Ray sends it whole: its process would import all of superarm otherwise.
    """

    class Board:
        def __init__(self) -> None:
            self.counts: dict[int, int] = {}

        def tell(self, index: int, rounds: int) -> None:
            self.counts[index] = rounds

        def read(self) -> dict[int, int]:
            return self.counts

    return ray.remote(Board).options(num_cpus=0, max_restarts=-1).remote()


class Watch:
    """What the driver knows of the cluster: its cores and the board, looked at now and then.

    A board that is lost with its node begins anew; the sums that count come with the results.
    """

    def __init__(self, most: int | None) -> None:
        """Start the board; `most` jobs may be in flight, None for some per core."""
        self.most = most
        self.board = _board()
        self.counts: dict[int, int] = {}
        self.asked: Any = None
        self.looked = -math.inf
        self.look()

    def look(self) -> None:
        """Count the cores, and take the board's answer when it is there."""
        if self.asked is not None and ray.wait([self.asked], timeout=0)[0]:
            try:
                self.counts = ray.get(self.asked)
            except ray.exceptions.RayError:
                self.counts = {}
            self.asked = None
        if time.monotonic() - self.looked >= POLL_SECONDS:
            self.looked = time.monotonic()
            self.room = self.most or QUEUED * max(1, int(ray.cluster_resources().get("CPU", 1)))
            self.asked = self.board.read.remote() if self.asked is None else self.asked

    def rounds(self, indices: Iterable[int]) -> int:
        """Return the rounds of jobs that are not finished, as last told."""
        return sum(self.counts.get(index, 0) for index in indices)

    def end(self) -> None:
        """Remove the board."""
        ray.kill(self.board)


def _worker_settings() -> dict[str, str]:
    """The environment of workers: that of local ones, and where data is."""
    folders = {name: os.path.abspath(os.environ[name]) for name in DATA if os.environ.get(name)}
    # A folder that is given is used from the start, with JAX's own limit of a second otherwise.
    limit = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(SECONDS)}
    return SETTINGS | folders | (limit if "JAX_COMPILATION_CACHE_DIR" in folders else {})


def _ignore(rounds: int) -> None:
    """Report to nobody."""
