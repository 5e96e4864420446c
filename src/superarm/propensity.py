"""The chance that a policy chooses what it chose: what a log must hold to be evaluated offline.

Of a set, an item's chance is that the set contains it; of a ranking, that it stands where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.pytree import pytree
from superarm.types import Array, Choice, Offer, State

MAX_SCORES = 2**20  # in memory at once while decisions are drawn


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
    return policy.traits.exact_propensities


def takes_floor(policy: Policy) -> bool:
    """Whether uniform choices give every arm the same chance: of one arm, or of sets of fixed size."""
    return policy.traits.takes_floor


@double
def exact_propensity(
    policy: Policy,
    state: State,
    offer: Offer,
    count: Array,
    items: Array,
    *,
    ranking: bool = False,
) -> Propensity:
    """Return the probabilities of items (k,) to be chosen, or to stand where they do; see `is_exact`."""
    chances = policy.propensities(state, offer, count, positions=ranking)
    index = jnp.maximum(items, 0)
    of_items = chances[jnp.arange(index.size), index] if ranking else chances[index]
    chance = jnp.where(items >= 0, of_items, 0.0)
    return Propensity(chance, jnp.zeros_like(chance))


@double
def drawn_propensity(
    policy: Policy,
    state: State,
    key: Array,
    offer: Offer,
    count: Array,
    items: Array,
    *,
    draws: int,
    ranking: bool = False,
) -> Propensity:
    """Estimate the chances of chosen items (k,) by `draws` more decisions; see `counted`."""

    def again(key: Array) -> Array:
        return policy.select(state, key, offer, count).items

    cost = offer.contexts.shape[0] ** (2 if policy.chooser.compares else 1)
    at_once = max(1, min(draws, MAX_SCORES // cost))
    others = jax.lax.map(again, jax.random.split(key, draws), batch_size=at_once)  # (draws, k)
    return counted(others, items, ranking=ranking)


@double
def draw_on_host(policy: Policy, state: State, keys: Array, offer: Offer, count: Array) -> list[Choice]:
    """Return what a chooser that runs on the host takes in decisions with keys (draws,), made alike."""
    data, scores = _drawn_scores(policy, state, keys, offer, count)
    rows = zip(np.asarray(data), jax.tree.map(np.asarray, scores), strict=True)
    generator = jax.random.key_impl(keys)
    mask: Any = np.asarray(offer.mask)
    return [
        policy.chooser.choose(jax.random.wrap_key_data(key, impl=generator), row, mask) for key, row in rows
    ]


@jax.jit
def _drawn_scores(policy: Policy, state: State, keys: Array, offer: Offer, count: Array) -> tuple[Array, Any]:
    """(draws, any) the data of keys to choose by, and (draws, n) scores."""
    both = jax.vmap(jax.random.split)(keys)
    beliefs = policy.believe(state, offer)
    scores = jax.lax.map(lambda key: policy.explorer.scores(key, beliefs, count), both[:, 0])
    return jax.random.key_data(both[:, 1]), scores


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
