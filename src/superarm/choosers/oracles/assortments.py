"""The assortment with the highest revenue under the multinomial logit model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import one_per_arm
from superarm.choosers.oracles.native import whole_or_nothing
from superarm.choosers.oracles.top_items import best_of
from superarm.contract import Oracle, Scale
from superarm.pytree import pytree, static
from superarm.rewards import mnl_mean, revenue_per_item
from superarm.types import Array, Choice

__all__ = ["Assortment", "assortment"]


@pytree
@dataclass(frozen=True)
class Assortment(Oracle):
    """Exact, native, a few selections of O(n log size). Build it with `assortment`.

    Attributes:
        revenues: (n,) what each item brings in when bought.
        size: the most items on show.
    """

    revenues: Array
    size: int = static()

    native: ClassVar[bool] = True
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"mnl-revenue"})
    factor: ClassVar[float] = 1.0
    score_scale: ClassVar[Scale] = "latent"

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than there are revenues."""
        one_per_arm("assortment", "revenues", len(self.revenues), num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the items on show; scores are utilities."""
        revenues = jnp.asarray(self.revenues, scores.dtype)
        chance = jax.random.uniform(key, scores.shape, jnp.float32)

        def best_at(level: Array) -> tuple[Array, Array]:
            """The items (size,) that earn most above a revenue level, and the revenue they bring in."""
            gain, worth = _log_gain(scores, revenues, mask, level)
            items, used = best_of(chance, gain, worth, self.size)
            return jnp.where(used, items, -1), mnl_mean(scores[items], revenues[items], used)

        def rises(state: tuple[Array, Array, Array, Array]) -> Array:
            _, level, _, revenue = state
            return revenue > level

        def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            _, _, items, revenue = state
            return items, revenue, *best_at(revenue)

        start = best_at(jnp.zeros((), scores.dtype))
        nothing = jnp.full(self.size, -1, start[0].dtype), jnp.full((), -1.0, scores.dtype)
        # Stop when the revenue no longer rises, and keep the set from before: the level was rounded.
        items = jax.lax.while_loop(rises, step, (*nothing, *start))[0]
        return whole_or_nothing(items, jnp.asarray(True), scores, mask)


@checks.named
def assortment(revenues: npt.ArrayLike, size: int) -> Assortment:
    """Choose what to put on show when a customer buys at most one item, by the multinomial logit model.

        max sum_{e in A} r(e) exp(w(e)) / (1 + sum_{e in A} exp(w(e)))   over sets A of at most `size` items

    The scores w are utilities, and buying nothing has utility 0. Exact: a set brings in more than a level if
    and only if its sum of exp(w(e)) (r(e) - level) is above that level, and the best set for such a sum is a
    selection. The level rises to the revenue of that set until it stays, after a dozen steps at most in
    practice. The answer is not empty if any available item brings in something; an item that brings in what
    the optimum does is left out, since it would change nothing.

    Args:
        revenues: (n,) >= 0, what each item brings in when bought.
        size: the most items on show, from 1 to n.

    >>> import jax, jax.numpy as jnp
    >>> oracle = assortment([1.0, 2.0, 9.0], 2)
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([2.0, 1.0, 0.0]), jnp.ones(3, bool))
    >>> choice.items.tolist()  # 9 / 2 = 4.5: the others would keep customers from it
    [2, -1]

    Rusmevichientong, Shen & Shmoys (2010), Dynamic assortment optimization with a multinomial logit choice
    model and capacity constraint, Operations Research 58; Dinkelbach (1967), On nonlinear fractional
    programming, Management Science 13.
    """
    where = "assortment"
    leaf = revenue_per_item(where, revenues)
    size = checks.count(where, "size", size)
    if size > leaf.size:
        raise ValueError(f"{where}: size must be at most the number of revenues, {leaf.size}, got {size}")
    return Assortment(revenues=leaf, size=size)


def _log_gain(scores: Array, revenues: Array, mask: Array, level: Array) -> tuple[Array, Array]:
    """(n,) log of exp(score) (revenue - level), which cannot overflow, and (n,) where that is positive."""
    worth = mask & (revenues > level)
    return scores + jnp.log(jnp.where(worth, revenues - level, 1.0)), worth
