"""Double precision inside superarm, whatever the user's JAX settings are.

Importing superarm changes no global setting; the entry points switch 64-bit numbers on while they run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

FLOAT = jnp.float64
ZERO: Any = np.float64(0.0)  # a leaf that is there when nothing else is given


def leaf(value: Any) -> Any:
    """Return a number, or a grid of them, as a float64 leaf of a policy."""
    return np.asarray(value, np.float64)


def double(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` with 64-bit numbers available."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped
