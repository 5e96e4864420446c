"""The k arms with the highest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.types import Array, Choice, pytree, static


@pytree
@dataclass(frozen=True)
class TopK:
    """Exact, native, O(n log k). Build it with `top_k`."""

    k: int = static()

    native: ClassVar[bool] = True
    factor: ClassVar[float] = 1.0

    @property
    def size(self) -> int:
        """k."""
        return self.k

    def check(self, num_arms: int) -> None:
        """Refuse more items than there are arms."""
        if self.k > num_arms:
            raise ValueError(f"top_k: k must be at most the number of arms, {num_arms}, got {self.k}")

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the k best available arms, best first."""
        items, used = best_of_group(key, scores, mask, self.k)
        feasible = jnp.all(used)
        return Choice(items=jnp.where(used, items, -1), mask=used, feasible=feasible)


def top_k(k: int) -> TopK:
    """Choose the k arms with the highest scores.

    >>> top_k(3).size
    3
    """
    return TopK(k=checks.count("top_k", "k", k))


def best_of_group(key: Array, scores: Array, mask: Array, k: int) -> tuple[Array, Array]:
    """(k,) the k best arms of `mask` in falling order, ties at random, and (k,) which slots hold one.

    Two selections instead of a sort by (score, chance): the k-th score is a threshold; what lies above it is
    in, and among what equals it chance decides.
    """
    masked = jnp.where(mask, scores, -jnp.inf)
    threshold = jax.lax.top_k(masked, k)[0][-1]
    chance = jax.random.uniform(key, scores.shape, jnp.float32)
    above = masked > threshold
    tied = mask & (masked == threshold)
    # Above ranks over tied, tied over the rest; chance < 1 orders the tied.
    rank = jnp.where(above, 2.0, jnp.where(tied, chance, jnp.where(mask, -1.0, -2.0)))
    items = jax.lax.top_k(rank, k)[1]
    order = jnp.argsort(-masked[items])
    items = items[order].astype(jnp.int32)
    return items, mask[items]
