"""The chance that a policy chooses what it chose: what a log must hold to be evaluated offline.

Of a set, an item's chance is that the set contains it; of a ranking, that it stands where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.choosers.duel import is_duel
from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.pytree import pytree
from superarm.types import Array, State

MOST = 2**20  # scores in memory at once while decisions are drawn


@pytree
@dataclass(frozen=True)
class Propensity:
    """Chances (k,) of a decision's items and their standard errors (k,), which are 0 where they are exact."""

    chance: Array
    error: Array

    def floored(self, share: Array, least: Array, items: Array) -> Propensity:
        """The same where a share of decisions is left to chance, which gives an item the chance `least`."""
        mixed = jnp.minimum((1.0 - share) * self.chance + least, 1.0)
        return Propensity(jnp.where(items >= 0, mixed, 0.0), (1.0 - share) * self.error)


def is_exact(policy: Policy) -> bool:
    """Whether the chances of a policy's choices can be computed without drawing.

    They can where scores are one of finitely many (greedy, epsilon-greedy, uniform, UCB, ensembles), and one
    arm or the k best are chosen: of a set, and of a ranking.

    >>> import superarm
    >>> is_exact(superarm.lin_ucb()), is_exact(superarm.lin_ts())
    (True, False)
    """
    return getattr(policy.chooser, "top", None) is not None and _finite(policy.explorer)


def takes_floor(policy: Policy) -> bool:
    """Whether uniform choices give every arm the same chance: of one arm, or of sets of fixed size."""
    return getattr(policy.chooser, "top", None) is not None and policy.native


@double
def exact_propensity(
    policy: Policy,
    state: State,
    contexts: Array,
    count: Array,
    mask: Array,
    items: Array,
    *,
    ranking: bool = False,
) -> Propensity:
    """Return the chances of items (k,) to be chosen, or to be where they are in a ranking; see `is_exact`."""
    chances = policy.propensities(state, contexts, count, mask, positions=ranking)
    index = jnp.maximum(items, 0)
    of_items = chances[jnp.arange(index.size), index] if ranking else chances[index]
    chance = jnp.where(items >= 0, of_items, 0.0)
    return Propensity(chance, jnp.zeros_like(chance))


@double
def drawn_propensity(
    policy: Policy,
    state: State,
    key: Array,
    contexts: Array,
    count: Array,
    mask: Array,
    items: Array,
    *,
    draws: int,
    ranking: bool = False,
) -> Propensity:
    """Estimate the chances of chosen items (k,) by `draws` more decisions; see `counted`."""

    def again(key: Array) -> Array:
        return policy.select(state, key, contexts, count, mask).items

    cost = contexts.shape[0] ** (2 if is_duel(policy.chooser) else 1)
    at_once = max(1, min(draws, MOST // cost))
    others = jax.lax.map(again, jax.random.split(key, draws), batch_size=at_once)  # (draws, k)
    return counted(others, items, ranking=ranking)


def counted(others: Array, items: Array, *, ranking: bool = False) -> Propensity:
    """Estimate the chances of chosen items (k,) from other decisions (draws, k) that were made alike.

    The decision itself counts as one draw, so that no chance is 0: an estimate is too high by
    (1 - p) / (draws + 1) on average. The standard error is that of draws + 1 trials with one success and one
    failure more (Laplace), so that it is 0 nowhere.
    """
    draws = others.shape[0]
    same = others[:, :, None] == items[None, None, :]  # slot of the draw, slot of the decision
    hits = jnp.diagonal(same, axis1=1, axis2=2) if ranking else jnp.any(same, axis=1)
    found, used = jnp.sum(hits, axis=0, dtype=FLOAT) + 1.0, items >= 0
    likely = (found + 1.0) / (draws + 3.0)
    error = jnp.sqrt(likely * (1.0 - likely) / (draws + 3.0))
    return Propensity(jnp.where(used, found / (draws + 1.0), 0.0), jnp.where(used, error, 0.0))


def _finite(explorer: Any) -> bool:
    """Whether what an explorer passes on is finite, too: of a warm-up, or a floor."""
    inner = getattr(explorer, "explorer", None)
    return hasattr(explorer, "options") and (inner is None or _finite(inner))
