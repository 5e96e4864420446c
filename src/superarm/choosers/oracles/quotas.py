"""The best arms, so many from each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import one_per_arm, whole
from superarm.choosers.oracles.native import has_nan
from superarm.choosers.oracles.top_items import best_of
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["Quota", "quota"]

Counts = np.ndarray[Any, Any]


@pytree
@dataclass(frozen=True)
class Shelf:
    """Groups of similar size, one per row.

    Attributes:
        members: (g, w) the arms of each group, -1 where a group is smaller than w.
        at_least: (g,) arms that must come from each group.
        at_most: (g,) arms that may come from each group.
        depth: the largest of `at_most`.
    """

    members: Array
    at_least: Array
    at_most: Array
    depth: int = static()

    def candidates(self, chance: Array, scores: Array, mask: Array) -> tuple[Array, Array, Array]:
        """(g * depth,) the best arms of each group, which slots hold one, and which of them must be taken."""
        available = mask[self.members] & (self.members >= 0)
        best = jax.vmap(partial(best_of, k=self.depth))
        slots, used = best(chance[self.members], scores[self.members], available)
        items = jnp.take_along_axis(self.members, slots, axis=1)
        rank = jnp.arange(self.depth, dtype=jnp.int32)[None]
        used, forced = used & (rank < self.at_most[:, None]), rank < self.at_least[:, None]
        return items.ravel(), used.ravel(), forced.ravel()


@pytree
@dataclass(frozen=True)
class Quota(Oracle):
    """Exact, native, O(n log k). Build it with `quota`.

    The best `at_least` of a group are in some optimum: exchange any other arm of that group for them. Given
    these, what may still be added is a partition matroid cut at the slots that are left, and taking the best
    arm that fits, again and again, is optimal on a matroid.
    """

    shelves: tuple[Shelf, ...]
    size: int = static()
    num_arms: int = static()

    native: ClassVar[bool] = True
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum", "cascade"})
    factor: ClassVar[float] = 1.0

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than `groups` has."""
        one_per_arm("quota", "groups", self.num_arms, num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the best arms within the quotas; fewer than `size`, and infeasible, if arms are missing."""
        chance = jax.random.uniform(key, scores.shape, jnp.float32)
        parts = [shelf.candidates(chance, scores, mask) for shelf in self.shelves]
        items, used, forced = (jnp.concatenate(part) for part in zip(*parts, strict=True))
        # What must be taken outranks every score.
        ranked = jnp.where(forced, jnp.inf, scores[items])
        slots, taken = best_of(chance[items], ranked, used, self.size)
        feasible = jnp.all(taken) & jnp.all(used | ~forced) & ~has_nan(scores, mask)
        return Choice(items=jnp.where(taken, items[slots], -1), mask=taken, feasible=feasible)


@checks.named
def quota(
    groups: npt.ArrayLike,
    sizes: Sequence[int] | None = None,
    *,
    size: int | None = None,
    at_least: Mapping[int, int] | None = None,
    at_most: Mapping[int, int] | None = None,
    exactly: Mapping[int, int] | None = None,
) -> Quota:
    """Choose the best arms under a quota for each group.

        max sum_{e in A} w(e)   over sets A of exactly `size` available arms with
        at_least[g] <= |A within group g| <= at_most[g]   for every group g

    Exact; the cost grows with n, hardly with the number of groups or with `size`.

    Args:
        groups: (n,) the group of each arm, from 0 to G - 1.
        sizes: (G,) arms from each group, for exact quotas; then nothing else is given.
        size: arms in a set.
        at_least: group -> least number of its arms; 0 where not given.
        at_most: group -> largest number of its arms; no bound where not given.
        exactly: group -> number of its arms.

    >>> import jax, jax.numpy as jnp
    >>> oracle = quota([0, 0, 0, 1, 1], size=3, at_least={1: 1})
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([0.9, 0.8, 0.7, 0.2, 0.1]), jnp.ones(5, bool))
    >>> sorted(choice.items.tolist())
    [0, 1, 3]

    Edmonds (1971), Matroids and the greedy algorithm, Mathematical Programming 1.
    """
    where = "quota"
    members = whole(where, "groups", groups)
    if members.ndim != 1:
        raise ValueError(f"{where}: groups must have shape (any,), got {members.shape}")
    counts = np.bincount(members)
    if sizes is not None:
        if (size, at_least, at_most, exactly) != (None, None, None, None):
            raise ValueError(f"{where}: sizes must come alone, got it beside other bounds")
        exactly = _per_group(where, sizes, counts)
        size = sum(exactly.values())
    total = checks.count(where, "size", size)
    low, high = _bounds(where, counts, at_least or {}, at_most or {}, exactly or {})
    _refuse_infeasible(where, counts, total, low, high)
    return Quota(shelves=_shelves(members, total, low, high), size=total, num_arms=members.size)


def _per_group(where: str, sizes: Sequence[int], counts: Counts) -> dict[int, int]:
    if len(sizes) != counts.size:
        raise ValueError(f"{where}: sizes must have one entry per group, {counts.size}, got {len(sizes)}")
    return dict(enumerate(sizes))


def _bounds(
    where: str,
    counts: Counts,
    at_least: Mapping[int, int],
    at_most: Mapping[int, int],
    exactly: Mapping[int, int],
) -> tuple[Counts, Counts]:
    """(G,) lower and (G,) upper bounds; the upper ones never exceed a group's arms."""
    twice = sorted(set(exactly) & (set(at_least) | set(at_most)))
    if twice:
        raise ValueError(f"{where}: exactly must name groups without other bounds, got group {twice[0]}")
    low, high = np.zeros_like(counts), counts.copy()
    for name, bounds in (("at_least", at_least), ("at_most", at_most), ("exactly", exactly)):
        for group, value in bounds.items():
            bound = checks.count(where, f"{name} of group {group}", value, low=0)
            if not 0 <= group < counts.size:
                raise ValueError(f"{where}: {name} must name groups from 0 to {counts.size - 1}, got {group}")
            if name != "at_most":
                low[group] = bound
            if name != "at_least":
                high[group] = min(bound, counts[group])
    return low, high


def _refuse_infeasible(where: str, counts: Counts, size: int, low: Counts, high: Counts) -> None:
    for group in np.flatnonzero(low > counts):
        must = f"at_least of group {group} must be at most its arms, {counts[group]}"
        raise ValueError(f"{where}: {must}, got {low[group]}")
    for group in np.flatnonzero(low > high):
        must = f"at_least of group {group} must be at most its at_most, {high[group]}"
        raise ValueError(f"{where}: {must}, got {low[group]}")
    if low.sum() > size:
        raise ValueError(f"{where}: at_least must sum to at most size, {size}, got {low.sum()}")
    if high.sum() < size:
        raise ValueError(f"{where}: size must be at most what the groups may give, {high.sum()}, got {size}")


def _shelves(groups: Counts, size: int, low: Counts, high: Counts) -> tuple[Shelf, ...]:
    """Groups sorted onto shelves by powers of four: padding looks at no more than four times the arms.

    Every shelf is compiled on its own, and powers of two would be twice as many.
    """
    counts = np.bincount(groups)
    high = np.minimum(high, size - low.sum() + low)
    arms = np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
    shelf_of = np.where(high > 0, np.ceil(np.log2(np.maximum(counts, 1)) / 2), -1)
    used = np.unique(shelf_of[high > 0])
    return tuple(_shelf(arms, np.flatnonzero(shelf_of == one), low, high) for one in used)


def _shelf(arms: list[Counts], groups: Counts, low: Counts, high: Counts) -> Shelf:
    # As wide as its largest group, not as the power of four: groups of one size are not padded at all.
    members: Any = np.full((groups.size, max(arms[group].size for group in groups)), -1, np.int32)
    for row, group in enumerate(groups):
        members[row, : arms[group].size] = arms[group]
    lower: Any = low[groups].astype(np.int32)
    upper: Any = high[groups].astype(np.int32)
    return Shelf(members=members, at_least=lower, at_most=upper, depth=int(high[groups].max()))
