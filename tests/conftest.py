"""Shared settings: silent broadcasting and silent changes of type are errors in every test."""

import os

# Tests share the cores: one thread per process, set before JAX starts.
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time
from itertools import count

import jax
import pytest

from superarm.compiler import forget_compiled, forget_if_full


@pytest.fixture(autouse=True)
def strict_promotion():
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Forget what a module compiled, which no other module uses: programs are what takes memory here."""
    yield
    forget_compiled()


TESTS = count()


@pytest.fixture(autouse=True)
def few_maps():
    """Forget compiled programs before the process runs out of memory maps, which ends it."""
    yield
    if next(TESTS) % 10 == 0:
        forget_if_full()


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
