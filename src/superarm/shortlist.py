"""The best of a large catalogue: scored block by block, and selected without sorting.

Linear models score n items with d features in single precision, in one pass over the features: with the full
width in about the time of a product of (n, d) by (d, d), with a diagonal one in that of reading them. Other
models take the precision that they always have. No array of n d numbers is made beside the features.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.algebra import Policy
from superarm.explorers.greedy import Greedy
from superarm.explorers.responses import Responses
from superarm.explorers.thompson import Thompson
from superarm.explorers.ucb import UCB
from superarm.models.linear import Linear
from superarm.precision import FLOAT, double
from superarm.types import Array, State

BLOCK = 4096  # items: scores and a product of them stay in the cache


def one_by_one(policy: Policy) -> bool:
    """Whether an item's score does not depend on which others are scored with it."""
    explorer: Any = policy.explorer
    while isinstance(explorer, Responses):
        explorer = explorer.explorer
    if isinstance(explorer, Thompson):  # others may draw scores where linear models draw parameters
        return isinstance(policy.model, Linear) and explorer.joint and not explorer.squared
    return isinstance(explorer, UCB | Greedy)


@double
def best_of(
    policy: Policy, state: State, key: Array, count: int, features: np.ndarray[Any, Any], size: int
) -> np.ndarray[Any, Any]:
    """(size,) rows of features (n, d) with the highest scores, the best first."""
    if isinstance(policy.model, Linear):
        policy, state = jax.tree.map(_single, (policy, state))
    rows, sound = _best(policy, state, key, np.int64(count), features, size=size)
    if not sound:
        raise ValueError("shortlist: contexts must be finite and not too large, got some without a score")
    return np.asarray(rows)


def _single(leaf: Any) -> Any:
    return leaf.astype(np.float32) if leaf.dtype == np.float64 else leaf


@partial(jax.jit, static_argnames=("size",))
def _best(
    policy: Policy, state: State, key: Array, count: Array, features: Array, *, size: int
) -> tuple[Array, Array]:
    """The best of all items, which are scored block by block, and whether all scores are finite."""
    num_items = features.shape[0]
    precision = jnp.float32 if isinstance(policy.model, Linear) else FLOAT
    block = min(BLOCK, num_items)
    starts = jnp.arange(0, num_items, block)
    firsts = jnp.minimum(starts, num_items - block)  # the last block begins in the one before

    def scored(at: tuple[Array, Array]) -> tuple[Array, Array]:
        start, first = at
        rows = jax.lax.dynamic_slice_in_dim(features, first, block).astype(precision)
        beliefs = policy.model.beliefs(state, rows, policy.width)
        scores = policy.explorer.scores(key, beliefs, count).astype(jnp.float32)
        return jnp.where(first + jnp.arange(block) >= start, scores, -jnp.inf), jnp.all(jnp.isfinite(scores))

    scores, sound = jax.lax.map(scored, (starts, firsts))
    found = jax.lax.top_k(scores.reshape(-1), size)[1].astype(jnp.int64)
    return firsts[found // block] + found % block, jnp.all(sound)
