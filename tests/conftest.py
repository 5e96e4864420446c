"""Shared settings: silent broadcasting and silent changes of type are errors in every test."""

import os

# Tests share the cores: one thread per process, set before JAX starts.
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import ctypes
import resource
import time
from itertools import count
from pathlib import Path

import jax
import pytest

from superarm.compiler import forget_compiled, forget_if_full
from support import heavy

MAX_MEMORY = 1_200  # MB of a worker before it forgets what was compiled: two of them share a machine


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the heavy tests: `make test` leaves them out."""
    listed = heavy.listed()
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.full)


def pytest_addoption(parser):
    text = "write the rows of new presets into tests/golden/runs.json"
    parser.addoption("--record", action="store_true", help=text)


@pytest.fixture(autouse=True)
def strict_promotion():
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Forget what a module compiled, which no other module uses: programs are what takes memory here."""
    yield
    forget()


TESTS = count()


@pytest.fixture(autouse=True)
def few_maps():
    """Forget compiled programs before the process takes too much memory, or runs out of memory maps."""
    yield
    if next(TESTS) % 10 == 0:
        forget_if_full()
        if megabytes() > MAX_MEMORY:
            forget()


def forget() -> None:
    """Forget compiled programs, and give their memory back, which the allocator would keep."""
    forget_compiled()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def megabytes() -> int:
    """The memory that the process has now."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return 0
    return int(status.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Write what each test costs into the file that SUPERARM_TEST_COSTS names, if it names one.

    A line has CPU seconds, those of processes that were waited for included, the process's largest memory so
    far in MB, and the test.
    """
    file = os.environ.get("SUPERARM_TEST_COSTS")
    if not file:
        return (yield)
    begun = cpu_seconds()
    try:
        return (yield)
    finally:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        with open(file, "a", encoding="utf-8") as costs:
            costs.write(f"{cpu_seconds() - begun:.2f} {memory} {item.nodeid}\n")


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
