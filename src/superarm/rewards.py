"""Rewards R(S, v): what a set S of items is worth when its items have the scores v (hwang2023, section 2.2).

The items of a set stand in slots; slot 0 is the first position. Of the scores only those of S count, so a
reward is given them slot by slot, and what stands in slots that are not used does not matter.

The paper asks of R that it never falls when a score rises (Assumption 1), so that optimistic scores give
optimistic rewards, and that it is Lipschitz in the scores of S (Assumption 2). Each reward says if it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.pytree import pytree, static
from superarm.types import Array

__all__ = [
    "Cascade",
    "Function",
    "MnlRevenue",
    "PositionWeighted",
    "Reward",
    "Sum",
    "function",
    "mnl_revenue",
    "position_weighted",
]

# (items (k,), mask (k,), scores (k,)) -> a number
Worth = Callable[[Array, Array, Array], Array | float]


class Reward(ABC):
    """What a set is worth. `kind` is what an oracle may be exact for; None for a function of the user's."""

    kind: ClassVar[str | None] = None

    @abstractmethod
    def value(self, items: Array, mask: Array, scores: Array) -> Array:
        """() R of items (k,), in the slots where mask (k,) is True, with scores (k,)."""


@pytree
@dataclass(frozen=True)
class Sum(Reward):
    """sum_s v_s: the sum of the scores. Monotone; Lipschitz with constant sqrt(k)."""

    kind: ClassVar[str | None] = "sum"

    def value(self, items: Array, mask: Array, scores: Array) -> Array:
        """() the sum."""
        return jnp.sum(scores, where=mask)


@pytree
@dataclass(frozen=True)
class PositionWeighted(Reward):
    """sum_s weights_s v_s: what is shown first counts most. Build it with `position_weighted`.

    Monotone, since no weight is negative; Lipschitz with the norm of the weights.
    """

    kind: ClassVar[str | None] = "position-weighted"

    weights: Array

    def value(self, items: Array, mask: Array, scores: Array) -> Array:
        """() the weighted sum."""
        return jnp.sum(at_slots("position_weighted", self.weights, scores) * scores, where=mask)


@pytree
@dataclass(frozen=True)
class Cascade(Reward):
    """1 - prod_s (1 - v_s): the chance that at least one item attracts, if v are chances of attraction.

    Scores are clipped to [0, 1], where the reward is monotone and Lipschitz with constant sqrt(k). Above 1 it
    is flat: optimistic scores above 1 all count as certain.
    """

    kind: ClassVar[str | None] = "cascade"

    def value(self, items: Array, mask: Array, scores: Array) -> Array:
        """() the chance."""
        return 1.0 - jnp.prod(1.0 - jnp.clip(scores, 0.0, 1.0), where=mask)


@pytree
@dataclass(frozen=True)
class MnlRevenue(Reward):
    """sum_s r_s w_s / (1 + sum_s w_s), w = exp(v): revenue of a multinomial logit choice among S and nothing.

    Build it with `mnl_revenue`; the scores v are utilities, and buying nothing has utility 0.

    Of a fixed set it is not monotone: it falls when an item gains utility that brings in less than the set's
    revenue, since dR/dv_s = p_s (r_s - R) with p_s the chance of buying s. So Assumption 1 does not hold, and
    the paper says that its bound does not cover this reward. The revenue of the *best* set is monotone in v:
    no item of it brings in less than its revenue. That is why optimism works here, too. Lipschitz with
    constant max r / 2.
    """

    kind: ClassVar[str | None] = "mnl-revenue"

    revenues: Array

    def value(self, items: Array, mask: Array, scores: Array) -> Array:
        """() the expected revenue."""
        revenues = jnp.asarray(self.revenues, scores.dtype)[jnp.maximum(items, 0)]
        return mnl_mean(scores, revenues, mask)


@pytree
@dataclass(frozen=True)
class Function(Reward):
    """A function of the user's. Build it with `function`."""

    kind: ClassVar[str | None] = None

    fn: Worth = static()

    def value(self, items: Array, mask: Array, scores: Array) -> Array:
        """() what the function says."""
        return jnp.asarray(self.fn(items, mask, scores), scores.dtype)


@checks.named
def position_weighted(weights: npt.ArrayLike) -> PositionWeighted:
    """Weigh the score in slot s by weights[s].

    Its best set is the k best items with the best first, which `oracles.top_k` returns.

    Args:
        weights: (k,) from 1 to 0, never rising; the chance that a user looks at each position, for example.

    >>> import jax.numpy as jnp
    >>> reward = position_weighted([1.0, 0.5])
    >>> float(reward.value(jnp.array([7, 3]), jnp.ones(2, bool), jnp.array([0.25, 0.5])))
    0.5
    """
    return PositionWeighted(weights=falling("position_weighted", "weights", weights))


@checks.named
def mnl_revenue(revenues: npt.ArrayLike) -> MnlRevenue:
    """Expect revenue from one customer who buys at most one item.

    Its best set of at most `size` items is what `oracles.assortment` returns.

    Args:
        revenues: (n,) >= 0, what each item brings in when bought.

    >>> import jax.numpy as jnp
    >>> reward = mnl_revenue([1.0, 2.0, 3.0])
    >>> round(float(reward.value(jnp.array([0, 2]), jnp.ones(2, bool), jnp.zeros(2))), 3)  # 1 / 3 + 3 / 3
    1.333
    """
    where = "mnl_revenue"
    return MnlRevenue(revenues=revenue_per_item(where, revenues))


@checks.named
def function(fn: Worth) -> Function:
    """Let a function of your own be the reward.

    Args:
        fn: takes items (k,), mask (k,) and scores (k,); returns a number. JAX must be able to trace it. The
            environment's oracle must be exact for it: superarm cannot tell.

    >>> import jax.numpy as jnp
    >>> highest = function(lambda items, mask, scores: jnp.max(scores, where=mask, initial=0.0))
    >>> items, mask = jnp.array([4, 2, -1]), jnp.array([True, True, False])
    >>> float(highest.value(items, mask, jnp.array([0.5, 0.25, 9.0])))
    0.5
    """
    if not callable(fn):
        raise TypeError(f"function: fn must be callable, got {type(fn).__name__}")
    return Function(fn=fn)


def reward_of(where: str, reward: Any) -> Reward:
    """Return the reward: one of this module's or a class like them, or a function of the user's."""
    if callable(reward) and not isinstance(reward, type):
        return function(reward)
    if not isinstance(reward, Reward):
        got = f"the class {reward.__name__} itself" if isinstance(reward, type) else type(reward).__name__
        raise TypeError(f"{where}: reward must be a function, or extend superarm.rewards.Reward, got {got}")
    return reward


def mnl_mean(utilities: Array, revenues: Array, mask: Array) -> Array:
    """() sum r w / (1 + sum w) over the mask, with w = exp(utilities), which cannot overflow."""
    highest = jnp.max(utilities, where=mask, initial=0.0)  # 0: the utility of buying nothing
    weights = jnp.where(mask, jnp.exp(utilities - highest), 0.0)
    return jnp.sum(weights * revenues) / (jnp.exp(-highest) + jnp.sum(weights))


def at_slots(where: str, values: Any, scores: Array) -> Array:
    """(k,) the first of the values, one per slot of scores (k,), in their type."""
    slots = scores.shape[0]
    if slots > len(values):
        raise ValueError(f"{where}: a set must have at most {len(values)} slots, got {slots}")
    return jnp.asarray(values, scores.dtype)[:slots]


def falling(where: str, name: str, weights: Any) -> Any:
    """Return weights (k,) of positions as a float64 leaf: between 0 and 1, and never rising."""
    leaf = checks.between(where, name, checks.matrix(where, name, weights, (None,)), 0.0, 1.0)
    rises = np.flatnonzero(np.diff(leaf) > 0.0)
    if rises.size:
        first = rises[0]
        raise ValueError(f"{where}: {name} must never rise, got {leaf[first]:g} before {leaf[first + 1]:g}")
    return leaf


def revenue_per_item(where: str, revenues: Any) -> Any:
    """Return revenues (n,) as a float64 leaf: finite and >= 0."""
    return checks.nonnegative(where, "revenues", checks.matrix(where, "revenues", revenues, (None,)))


checks.public(__name__)
