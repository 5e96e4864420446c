"""The cheapest exact width that fits memory: full or dual, by the numbers of parameters and observations."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from superarm.contract import Whitened, Width
from superarm.pytree import pytree, static
from superarm.rows import Rows, count_columns
from superarm.types import Array
from superarm.widths.dual import Dual, DualFactor, room
from superarm.widths.full import Full

logger = logging.getLogger("superarm")

NUMBER = 8  # bytes of a float64


@dataclass(frozen=True)
class Estimate:
    """What a width would take: bytes at most, and operations per row of a query, on average over a run."""

    name: str
    bytes: int
    operations: float


def estimates(like: Rows, capacity: int) -> tuple[Estimate, Estimate]:
    """What the full and the dual width take for rows like the given ones and a number of observations.

    The full form multiplies with a p x p matrix, which updating copies and passes over: with 20 arms, 4 of
    them chosen, that makes it as dear as 5 p^2 operations of the dual one (benchmarks, "What a round costs").
    The dual one keeps the rows, takes inner products with them, and solves with a triangle that grows, over a
    run, to the number of observations: half and a third of its last cost on average.

    >>> import jax, jax.numpy as jnp
    >>> [one.name for one in estimates(jax.ShapeDtypeStruct((1, 8100), jnp.float32), 8000)]
    ['full', 'dual']
    """
    parameters, leaves = count_columns(like), jax.tree.leaves(like)
    full = Estimate("full", 3 * parameters**2 * NUMBER, 5.0 * parameters**2)
    rows = room(capacity)  # asked again for the room that it made, the choice must be the same
    kept = rows * sum(leaf.shape[1] * leaf.dtype.itemsize for leaf in leaves)
    kernel = rows * sum(leaf.shape[1] for leaf in leaves)
    dual = Estimate("dual", rows**2 // 2 * NUMBER + kept, rows**2 / 3.0 + kernel)
    return full, dual


def cheapest(like: Rows, capacity: int, memory: float) -> Estimate:
    """The cheapest that fits; the dual one needs a capacity that is known (> 0)."""
    full, dual = estimates(like, capacity)
    parameters = count_columns(like)
    fitting = [one for one in ((full, dual) if capacity else (full,)) if one.bytes <= memory]
    if not fitting:
        sizes = " and ".join(f"{one.name} {one.bytes / 1e9:.1f} GB" for one in (full, dual) if one.bytes)
        raise ValueError(
            f"width: no exact width fits {memory / 1e9:.1f} GB for {parameters} parameters and {capacity} "
            f"observations ({sizes}); choose 'sketched', 'last-layer' or 'diagonal', or Auto(memory=...)"
        )
    return min(fitting, key=lambda one: one.operations)


@pytree
@dataclass(frozen=True)
class Auto(Width):
    """Full or dual, whichever is cheaper for the problem; it says which in the log "superarm".

    Args:
        memory: bytes that the width may take.
    """

    memory: float = static(default=4e9)

    lookahead: ClassVar[bool] = True

    def init(self, like: Rows, scale: Array, capacity: int) -> Any:
        """Return the factor of the width that was chosen."""
        best = cheapest(like, capacity, self.memory)
        return (Full() if best.name == "full" else Dual()).init(like, scale, capacity)

    def check(self, like: Rows, capacity: int) -> None:
        """Say in the log which width it will be; refuse when none fits."""
        best = cheapest(like, capacity, self.memory)
        logger.info(
            "width: %s for %d parameters and %d observations, at most %.2f GB",
            *(best.name, count_columns(like), capacity, best.bytes / 1e9),
        )

    def whiten(self, factor: Any, rows: Rows) -> Whitened:
        """Measure rows by the factor."""
        found: Whitened = self.resolved(factor).whiten(factor, rows)
        return found

    def absorb(self, factor: Any, whitened: Any, residual: Array) -> tuple[Any, Any]:
        """Take in whitened rows."""
        return self.resolved(factor).absorb(factor, whitened, residual)

    def capacity(self, factor: Any) -> int:
        """As the width that was chosen."""
        return self.resolved(factor).capacity(factor)

    def resolved(self, state: Any) -> Width:
        """The width that was chosen."""
        parts = jax.tree.leaves(state, is_leaf=_is_dual)
        return Dual() if any(_is_dual(part) for part in parts) else Full()


def _is_dual(part: Any) -> bool:
    return isinstance(part, DualFactor)
