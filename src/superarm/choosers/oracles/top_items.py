"""The k arms with the highest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers.oracles.native import has_nan
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["TopK", "top_k"]

MAX_STACKED_ARMS = 2**16  # arms; with a million, keeping the digits takes as long as selecting


@pytree
@dataclass(frozen=True)
class TopK(Oracle):
    """Exact, native, O(n log k). Build it with `top_k`."""

    k: int = static()

    native: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum", "cascade", "position-weighted"})
    factor: ClassVar[float] = 1.0

    @property
    def size(self) -> int:
        """k."""
        return self.k

    @property
    def top(self) -> int:
        """k: every set of k arms may be chosen."""
        return self.k

    def check(self, num_arms: int) -> None:
        """Refuse more items than there are arms."""
        if self.k > num_arms:
            raise ValueError(f"top_k: k must be at most the number of arms, {num_arms}, got {self.k}")

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the k best available arms, best first."""
        chance = jax.random.uniform(key, scores.shape, jnp.float32)
        items, used = best_of(chance, scores, mask, self.k)
        feasible = jnp.all(used) & ~has_nan(scores, mask)
        return Choice(items=jnp.where(used, items, -1), mask=used, feasible=feasible)


@checks.named
def top_k(k: int) -> TopK:
    """Choose the k arms with the highest scores.

        max sum_{e in A} w(e)   over sets A of exactly k available arms

    The best come first, so the answer is a ranking, too: exact for a sum weighted by position whose weights
    never rise, and for a cascade (`superarm.rewards`). Exact; the cost grows with n, hardly with k.

    Args:
        k: arms in a set, from 1 to n.

    >>> import jax, jax.numpy as jnp
    >>> choice = top_k(2).solve(jax.random.key(0), jnp.array([0.3, 0.9, 0.1, 0.5]), jnp.ones(4, bool))
    >>> choice.items.tolist()
    [1, 3]
    """
    return TopK(k=checks.count("top_k", "k", k))


def best_of(chance: Array, scores: Array, mask: Array, k: int) -> tuple[Array, Array]:
    """(k,) the k best arms of `mask` in falling order, ties by `chance`, and (k,) which slots hold one.

    Selections instead of a sort by (score, chance): the k-th score is a threshold; what lies above it is in,
    and among what equals it chance decides. `chance` (n,) is float32 in [0, 1). NaN ranks last.
    """
    above, tied = jnp.zeros_like(mask), mask
    if scores.size > MAX_STACKED_ARMS:
        for digit in digits(scores):
            above, tied = _narrowed(above, tied, digit, k)
    else:
        # A loop reads digits that are kept. Unrolled, XLA may compute few scores twice and round them
        # otherwise: then none equals the threshold, and arms are missing.
        (above, tied), _ = jax.lax.scan(
            lambda found, digit: (_narrowed(*found, digit, k), None),
            (above, tied),
            jnp.stack(digits(scores)),
        )
    rank = jnp.where(above, 2.0, jnp.where(tied, chance, -1.0))
    items = jax.lax.top_k(rank, k)[1].astype(jnp.int32)
    used = (above | tied)[items]
    order = jnp.lexsort((-chance[items], -scores[items], ~used))
    return items[order], used[order]


def _narrowed(above: Array, tied: Array, digit: Array, k: int) -> tuple[Array, Array]:
    """(n,) which arms are in, and (n,) which are as good as the last of them, after one more digit."""
    # The k-th of (above, then tied by digit): above ranks over every digit, the rest under every digit.
    ranked = jnp.where(above, jnp.inf, jnp.where(tied, digit, -jnp.inf))
    # The minimum, not [-1]: XLA turns a slice of a selection into a sort of everything, 70 times slower.
    threshold = jnp.min(jax.lax.top_k(ranked, k)[0])
    return above | (tied & (digit > threshold)), tied & (digit == threshold)


def digits(scores: Array) -> list[Array]:
    """Finite float32 arrays (n,), most significant first, that order as `scores` do.

    XLA selects float32 on a CPU 90 times faster than float64, which it sorts. So a float64 is read as three
    whole numbers below 2^22, which float32 holds exactly.
    """
    scores = jnp.where(jnp.isnan(scores), -jnp.inf, scores)
    if scores.dtype != jnp.float64:
        return [jnp.nan_to_num(scores.astype(jnp.float32))]
    # Minus zero equals zero but differs in its bits.
    bits = jax.lax.bitcast_convert_type(jnp.where(scores == 0.0, 0.0, scores), jnp.uint64)
    sign = jnp.uint64(1 << 63)
    # As whole numbers, positive floats rise and negative ones fall: flip all bits of these, one of those.
    ordered = jnp.where(bits >= sign, ~bits, bits | sign)
    low = jnp.uint64((1 << 21) - 1)
    parts = (ordered >> jnp.uint64(42), (ordered >> jnp.uint64(21)) & low, ordered & low)
    return [part.astype(jnp.float32) for part in parts]
