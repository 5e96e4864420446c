"""Property tests over small vectors, and sets that are enumerated."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

SOLVE = jax.jit(lambda oracle, key, scores, mask: oracle.solve(key, scores, mask))
quick = settings(max_examples=40, deadline=None, derandomize=True)


def in_double(test):
    """For property tests, whose examples run after the fixture's first use."""

    @functools.wraps(test)
    def wrapped(*args, **kwargs):
        with jax.enable_x64(True):
            return test(*args, **kwargs)

    return wrapped


def vectors(low: float, high: float, size: int):
    values = st.floats(low, high, allow_subnormal=False)
    return st.lists(values, min_size=size, max_size=size).map(np.array)


def revenue(revenues, utilities, items) -> float:
    """In powers of the highest utility, to reach beyond the exponent range."""
    items = list(items)
    highest = max(0.0, utilities[items].max(initial=0.0))
    weights = np.exp(utilities[items] - highest)
    return float((revenues[items] * weights).sum() / (np.exp(-highest) + weights.sum()))


def best_revenue(revenues, utilities, mask, size: int) -> float:
    arms = np.flatnonzero(mask)
    sets = (itertools.combinations(arms, count) for count in range(size + 1))
    return max(revenue(revenues, utilities, items) for items in itertools.chain.from_iterable(sets))
