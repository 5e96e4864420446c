"""The best items that fit under a capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import one_per_arm
from superarm.choosers.oracles.host import NDArray, searched
from superarm.choosers.oracles.native import whole_or_nothing
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["GreedyKnapsack", "Knapsack", "knapsack"]

# Sums of weights are rounded: three weights of 0.1 must fit into 0.3.
SLACK = 1e-12


Method = Literal["exact", "greedy"]
METHODS: tuple[Method, ...] = get_args(Method)


@pytree
@dataclass(frozen=True)
class Knapsack(Oracle):
    """Exact, on the host, by the list of sets that are not dominated. Build it with `knapsack`.

    Attributes:
        weights: (n,) what each item takes up.
        capacity: () what the items of a set may take up together.
        size: the most items that fit.
    """

    weights: Array
    capacity: Array
    size: int = static()

    native: ClassVar[bool] = False
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum"})
    factor: ClassVar[float] = 1.0

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than there are weights."""
        one_per_arm("knapsack", "weights", len(self.weights), num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the best items that fit."""
        return searched(self.search, key=key, scores=scores, mask=mask, size=self.size)

    def search(self, items: NDArray, scores: NDArray, rng: np.random.Generator) -> NDArray:
        """The best set; where several are, the one with the highest sum of random numbers, one per item."""
        weights, room = np.asarray(self.weights)[items], float(self.capacity) * (1 + SLACK)
        worth = (scores >= 0.0) & (weights <= room)
        items, scores, weights = items[worth], scores[worth], weights[worth]
        free = weights == 0.0
        with np.errstate(over="ignore"):
            densest = np.argsort(-scores[~free] / weights[~free])
        packed, scores, weights = items[~free][densest], scores[~free][densest], weights[~free][densest]
        chosen = _undominated(scores, weights, rng.uniform(-1.0, 1.0, packed.size), room)
        return np.concatenate([items[free], packed[chosen]])


@pytree
@dataclass(frozen=True)
class GreedyKnapsack(Oracle):
    """Half of the optimum at least, native, O(n log n). Build it with `knapsack(..., method="greedy")`.

    Attributes:
        weights: (n,) what each item takes up.
        capacity: () what the items of a set may take up together.
        size: the most items that fit.
    """

    weights: Array
    capacity: Array
    size: int = static()

    native: ClassVar[bool] = True
    by_arm: ClassVar[bool] = True
    factor: ClassVar[float] = 0.5

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than there are weights."""
        one_per_arm("knapsack", "weights", len(self.weights), num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the densest items that fit, or the best single item if that is worth more."""
        weights, room = jnp.asarray(self.weights, scores.dtype), jnp.asarray(self.capacity, scores.dtype)
        room = room * (1 + SLACK)
        worth = mask & (scores >= 0.0) & (weights <= room)
        value = jnp.where(worth, scores, 0.0)
        key_dense, key_single = jax.random.split(key)
        dense = worth & _densest_first(key_dense, value, jnp.where(worth, weights, jnp.inf), room)
        chance = jax.random.uniform(key_single, scores.shape, jnp.float32)
        best = worth & (value == jnp.max(value))
        single = jnp.arange(scores.size) == jnp.argmax(jnp.where(best, chance, -1.0))
        chosen = jnp.where(jnp.sum(value, where=dense) >= jnp.max(value), dense, single)
        items = jnp.nonzero(chosen, size=self.size, fill_value=-1)[0]
        return whole_or_nothing(items, jnp.asarray(True), scores, mask)


@checks.named
def knapsack(
    weights: npt.ArrayLike, capacity: float, *, method: Method = "exact"
) -> Knapsack | GreedyKnapsack:
    """Choose the best items that fit together.

        max sum_{e in A} w(e)   over sets A of available items with   sum_{e in A} weights[e] <= capacity

    An item with a score < 0 is never taken; the set may be empty.

    Args:
        weights: (n,) >= 0, what each item takes up.
        capacity: > 0, what a set may take up.
        method: "exact", on the host: the cost grows with n times the sets that no lighter set beats, which
            are at most capacity + 1 when weights are whole numbers, and few unless weights and scores are
            nearly proportional. Or "greedy", native: the densest items first, or the best single item; at
            least half of the optimum; the cost grows with n log n.

    >>> import jax, jax.numpy as jnp
    >>> oracle = knapsack([3.0, 2.0, 2.0], 4.0)
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([3.5, 2.0, 2.0]), jnp.ones(3, bool))
    >>> sorted(choice.items.tolist())
    [1, 2]

    Nemhauser & Ullmann (1969), Discrete dynamic programming and capital allocation, Management Science 15.
    """
    where = "knapsack"
    leaf = checks.matrix(where, "weights", weights, (None,))
    if not leaf.size:
        raise ValueError(f"{where}: weights must not be empty, got shape {leaf.shape}")
    checks.nonnegative(where, "weights", leaf)
    room = checks.positive(where, "capacity", checks.matrix(where, "capacity", capacity, ()))
    if leaf.min() > room:
        must = f"capacity must be at least the smallest weight, {leaf.min():g}"
        raise ValueError(f"{where}: {must}, got {room:g}")
    size = int(np.sum(np.cumsum(np.sort(leaf)) <= room * (1 + SLACK)))
    exact = checks.one_of(where, "method", method, METHODS) == "exact"
    return (Knapsack if exact else GreedyKnapsack)(weights=leaf, capacity=room, size=size)


def _undominated(scores: NDArray, weights: NDArray, chance: NDArray, room: float) -> NDArray:
    """The indices of the best set; items come densest first, and no weight is 0.

    Item by item, keep the sets (weight, score, chance) that no lighter set beats, and of these the ones that
    the items still to come can lift to the best set known: the bound fills what room is left by density,
    which is linear between the sums over the first items.
    """
    sums = np.concatenate([[0.0], np.cumsum(weights)]), np.concatenate([[0.0], np.cumsum(scores)])
    sets, trail, known = np.zeros((3, 1)), [], 0.0
    for index, item in enumerate(zip(weights, scores, chance, strict=True)):
        both = np.hstack([sets, sets + np.array(item)[:, None]])
        reach = np.minimum(sums[0][index + 1] + room - both[0], sums[0][-1])
        ahead = both[1] - sums[1][index + 1]
        fits = both[0] <= room
        whole_items = sums[1][np.searchsorted(sums[0], reach, side="right") - 1]
        known = max(known, np.max((ahead + whole_items)[fits]))
        hopeful = ahead + np.interp(reach, *sums) >= known - SLACK * sums[1][-1]
        kept = np.flatnonzero(fits & hopeful)
        kept = kept[np.lexsort((-both[2, kept], -both[1, kept]))]
        lightest = np.minimum.accumulate(np.append(np.inf, both[0, kept]))
        kept = kept[both[0, kept] < lightest[:-1]]
        trail.append((kept % sets.shape[1], kept >= sets.shape[1]))
        sets = both[:, kept]
    return _followed(trail)


def _followed(trail: list[tuple[NDArray, NDArray]]) -> NDArray:
    """The indices of the items taken on the way to the first of the last sets."""
    position, taken = 0, []
    for index in reversed(range(len(trail))):
        parents, took = trail[index]
        taken += [index] if took[position] else []
        position = parents[position]
    return np.array(taken, np.int64)


def _densest_first(key: Array, value: Array, weights: Array, room: Array) -> Array:
    """(n,) True for the items taken, densest first, each if it still fits."""
    chance = jax.random.uniform(key, value.shape, jnp.float32)
    density = value / jnp.maximum(weights, np.finfo(value.dtype).tiny)
    order = jnp.lexsort((chance, -density))

    def step(left: Array, weight: Array) -> tuple[Array, Array]:
        fits = weight <= left
        return jnp.where(fits, left - weight, left), fits

    _, taken = jax.lax.scan(step, room, weights[order])
    return jnp.zeros(value.shape, bool).at[order].set(taken)
