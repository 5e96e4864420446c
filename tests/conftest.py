"""Shared settings: silent broadcasting and silent changes of type are errors in every test."""

import os

# Tests share the cores: one thread per process, set before JAX starts.
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from itertools import count

import jax
import pytest

from superarm.compiler import forget_if_full


@pytest.fixture(autouse=True)
def strict_promotion():
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


TESTS = count()


@pytest.fixture(autouse=True)
def few_maps():
    """Forget compiled programs before the process runs out of memory maps, which ends it."""
    yield
    if next(TESTS) % 10 == 0:
        forget_if_full()
