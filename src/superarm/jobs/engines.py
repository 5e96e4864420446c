"""Where jobs run: in worker processes of this machine, or on a Ray cluster (`pip install superarm[ray]`).

Both give the same results, bit for bit on one type of processor: their workers have the same settings.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, get_args

from superarm import checks
from superarm.errors import EngineError
from superarm.jobs import processes
from superarm.jobs.processes import Done, Job, OnRounds

EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
ANSWER_SECONDS = 5.0
STORE_BYTES = 256 * 2**20  # of a Ray of our own; tables are small, and Ray would take 30 % of the memory


def check_engine(where: str, engine: str, *, address: str | None, workers: int | None) -> None:
    """Refuse what no engine can do, and Ray where it is not installed."""
    checks.one_of(where, "engine", engine, ENGINES)
    if engine == "local" and address is not None:
        raise ValueError(f"{where}: address must be None with the local engine, got {address!r}")
    if engine == "ray" and workers == 0:
        raise ValueError(f"{where}: workers must be >= 1 with the ray engine, got 0")
    if engine == "ray" and find_spec("ray") is None:
        raise EngineError(f"{where}: the ray engine needs `pip install superarm[ray]`")


@contextmanager
def connected(
    where: str, engine: str, *, address: str | None = None, workers: int | None = None
) -> Iterator[None]:
    """Hold a connection to Ray; nothing is held for the local engine.

    A Ray that is started here ends here; from a cluster that was running one only parts. A connection that
    the caller has already is used, and left alone.

    Args:
        where: who asks, for errors.
        engine: "local" or "ray".
        address: of a running cluster, such as "10.0.0.1:6379" or "auto"; None for the one that RAY_ADDRESS
            names, or else a Ray of our own on this machine.
        workers: cores of a Ray of our own; None for all.
    """
    check_engine(where, engine, address=address, workers=workers)
    if engine == "local":
        yield
        return
    import ray

    if ray.is_initialized():
        if address is not None:
            raise ValueError(f"{where}: address must be None where Ray is connected already, got {address!r}")
        yield
        return
    _connect(where, address or os.environ.get("RAY_ADDRESS") or "local", workers)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(where: str, address: str, workers: int | None) -> None:
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a Ray of ours tells nobody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of its next version
    own: dict[str, Any] = {
        "num_cpus": workers or processes.core_count(),
        "object_store_memory": STORE_BYTES,
        "include_dashboard": False,
    }
    _require_answer(where, address)
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with forks_allowed():
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level="ERROR",
                **(own if address == "local" else {}),
            )
    except (OSError, RuntimeError, ValueError) as error:
        ray.shutdown()
        reason = " ".join(str(error).split())
        raise EngineError(f"{where}: Ray at {address!r} cannot be used: {reason}") from error
    finally:
        if main and handler is not None:  # Ray sets its own, and a request to end would no longer be a Ctrl-C
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def forks_allowed() -> Iterator[None]:
    """Silence JAX's warning of forks: Ray's become other programs at once, and touch nothing of JAX."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called", category=RuntimeWarning)
        yield


def _require_answer(where: str, address: str) -> None:
    """Knock at an address of a host and a port: Ray itself would try for more than ten minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "local", "auto"
        return
    try:
        # An IPv6 host is in brackets, which are not part of it.
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise EngineError(f"{where}: no Ray cluster answers at {address!r}: {error}") from error


def run_jobs(
    function: Callable[[Job, OnRounds], Done],
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    progress: OnRounds | None = None,
    engine: str = "local",
) -> Iterator[tuple[int, Done]]:
    """As `workers.run_jobs`, by either engine; for "ray" inside `connected`.

    There, `workers` is the most jobs at a time, None for as many as the cluster has cores.
    """
    if engine == "local":
        return processes.run_jobs(function, jobs, workers=workers, progress=progress)
    from superarm.jobs.ray import run_on_ray

    return run_on_ray(function, jobs, most=workers, progress=progress)
