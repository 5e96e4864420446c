"""What the oracles that run on the host share: order by key, masks, NaN and padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.types import Array, Choice

NDArray = np.ndarray[Any, Any]
# (the available items (a,), their scores (a,), a generator) -> the chosen items, None if there is no answer
Search = Callable[[NDArray, NDArray, np.random.Generator], NDArray | None]


def searched(search: Search, *, key: Array, scores: Array, mask: Array, size: int) -> Choice:
    """Return what `search` finds among the available items.

    It meets them in an order drawn by key: a solver that prefers the first of two equals then breaks ties at
    random.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    values = np.asarray(scores, np.float64)
    items = rng.permutation(np.flatnonzero(np.asarray(mask)))
    if not np.all(np.isfinite(values[items])):
        return padded(None, size)
    return padded(search(items, values[items], rng), size)


def padded(items: NDArray | None, size: int) -> Choice:
    """Return items (at most size,) in the slots of a choice; None when there is no answer."""
    slots = np.full(size, -1, np.int32)
    if items is not None:
        slots[: len(items)] = items
    return Choice(
        items=jnp.asarray(slots), mask=jnp.asarray(slots >= 0), feasible=jnp.asarray(items is not None)
    )
