"""Times on a busy machine: calls in turns, and the fastest of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

SQUARE = 1024


def in_turns(calls: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, list[float]]:
    """Seconds of every call, one after the other; a first turn compiles and is left out."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns + 1):
        for name, call in calls.items():
            begun = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                times[name].append(time.perf_counter() - begun)
    return times


def fastest(calls: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """The least seconds of every call, in turns."""
    return {name: min(times) for name, times in in_turns(calls, turns).items()}


def square(dtype: str = "float32") -> Callable[[], Any]:
    """A product of two 1024 x 1024 matrices, to be measured in the turns of what it is the measure of."""
    left = jnp.ones((SQUARE, SQUARE), dtype)
    product = jax.jit(lambda one, other: one @ other)
    return lambda: product(left, left)


def square_rate(seconds: float) -> float:
    """Gflop/s of that product."""
    return 2.0 * SQUARE**3 / seconds / 1e9
