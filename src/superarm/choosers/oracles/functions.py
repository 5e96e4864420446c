"""A user's own function as an oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.host import NDArray, padded
from superarm.choosers.oracles.native import whole_or_nothing
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["HostFunction", "NativeFunction", "function"]

# (scores (n,), mask (n,)) -> the chosen arms: indices, or which they are (n,)
HostSolver = Callable[[NDArray, NDArray], npt.ArrayLike | None]
NativeSolver = Callable[[Array, Array], Array]


@pytree
@dataclass(frozen=True)
class HostFunction(Oracle):
    """A NumPy function, checked at every call. Build it with `function`."""

    fn: HostSolver = static()
    size: int = static()
    factor: float = static()

    native: ClassVar[bool] = False

    def check(self, num_arms: int) -> None:
        """Refuse more items than there are arms."""
        _size_fits(self.size, num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the function's answer; it breaks ties as it likes."""
        values, available = np.asarray(scores), np.asarray(mask)
        if np.any(np.isnan(values[available])):
            return padded(None, self.size)
        answer = self.fn(values, available)
        return padded(None if answer is None else _checked(answer, available, self.size), self.size)


@pytree
@dataclass(frozen=True)
class NativeFunction(Oracle):
    """A function that JAX traces. Build it with `function(..., native=True)`."""

    fn: NativeSolver = static()
    size: int = static()
    factor: float = static()

    native: ClassVar[bool] = True

    def check(self, num_arms: int) -> None:
        """Refuse more items than there are arms."""
        _size_fits(self.size, num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the function's answer; infeasible if items repeat, are not available or are too many."""
        answer = jnp.asarray(self.fn(scores, mask))
        items, fits = _slots(answer, scores.size, self.size)
        used = items >= 0
        index = jnp.where(used, items, 0)
        times = jnp.zeros(scores.shape, jnp.int32).at[index].add(used.astype(jnp.int32))
        sound = jnp.all(~used | (mask[index] & (items < scores.size))) & jnp.all(times <= 1)
        first = jnp.argsort(~used)  # slots that are used come first
        return whole_or_nothing(items[first], fits & sound, scores, mask)


@checks.named
def function(
    fn: HostSolver | NativeSolver, *, size: int, factor: float = 1.0, native: bool = False
) -> HostFunction | NativeFunction:
    """Let a function of your own solve the offline problem.

        A = fn(scores, mask)   with   sum_{e in A} w(e) >= factor * max over your feasible sets

    Args:
        fn: takes scores (n,) and mask (n,), True where an arm is available; returns the chosen arms, either
            their indices or a boolean array (n,). On the host, both are NumPy arrays, None means that there
            is no answer, and a wrong answer is an error. With native=True it is traced by JAX, indices are
            padded with -1, and a wrong answer is infeasible. It should break ties at random, or not care.
        size: the most arms in a set.
        factor: the share of the optimum that fn guarantees, in [0, 1]; 1 if it is exact.
        native: whether JAX can trace fn; rounds are then compiled whole.

    >>> import jax, jax.numpy as jnp, numpy as np
    >>> neighbours = function(lambda scores, mask: np.argmax(scores[:-1] + scores[1:]) + np.arange(2), size=2)
    >>> choice = neighbours.solve(jax.random.key(0), jnp.array([3.0, 0.0, 2.0, 2.0]), jnp.ones(4, bool))
    >>> choice.items.tolist()
    [2, 3]
    """
    where = "function"
    if not callable(fn):
        raise TypeError(f"{where}: fn must be callable, got {type(fn).__name__}")
    made: Any = NativeFunction if native else HostFunction
    return made(
        fn=fn,
        size=checks.count(where, "size", size),
        factor=float(checks.between(where, "factor", factor, 0.0, 1.0)),
    )


def _size_fits(size: int, num_arms: int) -> None:
    if size > num_arms:
        raise ValueError(f"function: size must be at most the number of arms, {num_arms}, got {size}")


def _checked(answer: Any, available: NDArray, size: int) -> NDArray:
    """The answer of a host function as indices, or an error that says what is wrong with it."""
    items = np.asarray(answer)
    if items.dtype == bool and items.shape == available.shape:
        items = np.flatnonzero(items)
    if items.ndim != 1 or (items.size and items.dtype.kind not in "iu"):
        kind = "indices of shape (any,) or booleans of shape " + str(available.shape)
        raise ValueError(f"function: the answer must be {kind}, got {items.dtype} of shape {items.shape}")
    outside = items[(items < 0) | (items >= available.size)]
    if outside.size:
        must = f"indices must be from 0 to {available.size - 1}"
        raise ValueError(f"function: the answer's {must}, got {outside[0]}")
    if np.unique(items).size < items.size:
        raise ValueError(f"function: the answer's indices must differ, got {items.tolist()}")
    if not np.all(available[items]):
        raise ValueError(f"function: the answer's arms must be available, got {items[~available[items]][0]}")
    if items.size > size:
        raise ValueError(f"function: the answer must have at most size = {size} arms, got {items.size}")
    return items


def _slots(answer: Array, num_arms: int, size: int) -> tuple[Array, Array]:
    """(size,) the answer of a native function as indices padded with -1, and () whether it fits."""
    if answer.dtype == bool and answer.shape == (num_arms,):
        return jnp.nonzero(answer, size=size, fill_value=-1)[0], jnp.sum(answer) <= size
    if answer.ndim != 1 or answer.shape[0] > size or not jnp.issubdtype(answer.dtype, jnp.integer):
        kind = f"indices of at most size = {size} arms or booleans of shape ({num_arms},)"
        raise ValueError(f"function: the answer must be {kind}, got {answer.dtype} of shape {answer.shape}")
    return jnp.pad(answer, (0, size - answer.shape[0]), constant_values=-1), jnp.asarray(True)
