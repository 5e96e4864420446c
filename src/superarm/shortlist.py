"""The best of a large catalogue: scored block by block, and selected without sorting.

Linear models score n items with d features in single precision, in one pass over the features: with the full
width in about the time of a product of (n, d) by (d, d), with a diagonal one in less than two reads of them.
Other models take the precision that they always have. No array of n d numbers is made beside the features.

A catalogue is taken in pieces of a power of two, the last of which begins in the one before, so that those
that grow compile nothing anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.algebra import Policy
from superarm.explorers.greedy import Greedy
from superarm.explorers.responses import Responses
from superarm.explorers.thompson import Thompson
from superarm.explorers.ucb import UCB
from superarm.models.linear import Gaussian, Linear
from superarm.precision import FLOAT, double
from superarm.rounds import Keys, round_keys
from superarm.serial import serial
from superarm.types import Array, State
from superarm.widths.diagonal import DiagonalFactor

PIECE = 2**17  # items in a call: what it takes to begin one is lost in them
BLOCK = 512  # items: scores and a product of them stay in the cache
NDArray = np.ndarray[Any, Any]


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
    policy: Policy, state: State, keys: Keys, number: int, count: int, features: Any, size: int
) -> NDArray:
    """(size,) rows of features (n, d) with the highest scores, the best first.

    Args:
        policy: what scores; state: its own.
        keys: of all chance; number: of the decision, of all; count: of the policy's.
        features: an array of NumPy or JAX.
        size: how many.
    """
    ready = _ready(policy, state, keys, np.int64(number))
    score = _program()
    view = np.asarray(features) if _on_host(features) else features  # a slice of it is no copy
    found = [
        (first, score(*ready, np.int64(count), view[first : first + length], np.int64(skip), size=most))
        for first, length, skip, most in _pieces(len(features), size)
    ]
    if not all(sound for _, (_, _, sound) in found):
        raise ValueError("shortlist: contexts must be finite and not too large, got some without a score")
    scores = np.concatenate([np.asarray(scores) for _, (scores, _, _) in found])
    rows = np.concatenate([first + np.asarray(places) for first, (_, places, _) in found])
    return rows[np.argsort(-scores, kind="stable")[:size]]


def _on_host(features: Any) -> bool:
    return isinstance(features, np.ndarray) or all(one.platform == "cpu" for one in features.devices())


def _pieces(num_items: int, size: int) -> Iterator[tuple[int, int, int, int]]:
    """Where each begins, its length, how many of its items another has, and how many of its best to find."""
    length = min(PIECE, 1 << (num_items.bit_length() - 1))
    most = min(length, 1 << (size - 1).bit_length())
    for start in range(0, num_items, length):
        first = min(start, num_items - length)
        yield first, length, start - first, most


@jax.jit
def _ready(policy: Policy, state: State, keys: Keys, number: Array) -> tuple[Policy, State, Array]:
    """The policy and its state in the precision of scores, and the key of the decision's scores."""
    key = jax.random.split(round_keys(keys, number)[2])[0]
    if isinstance(policy.model, Linear):
        policy, state = jax.tree.map(_single, (policy, state))
    return policy, state, key


def _single(leaf: Any) -> Any:
    return leaf.astype(jnp.float32) if leaf.dtype == jnp.float64 else leaf


@cache
def _program() -> Any:
    """`_best`, compiled; not when this is imported, which must not start JAX."""
    return jax.jit(_best, static_argnames=("size",), compiler_options=serial())


def _best(
    policy: Policy, state: State, key: Array, count: Array, features: Array, skip: Array, *, size: int
) -> tuple[Array, Array, Array]:
    """The `size` best scores of a piece but for the first `skip`, where they are, and if all are finite."""
    precision = jnp.float32 if isinstance(policy.model, Linear) else FLOAT
    block = min(BLOCK, features.shape[0])

    def scored(index: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        scores, sound = found
        rows = jax.lax.dynamic_slice_in_dim(features, index * block, block).astype(precision)
        beliefs = policy.model.beliefs(state, rows, policy.width)
        beliefs = _Block(beliefs) if isinstance(beliefs, Gaussian) else beliefs
        new = policy.explorer.scores(key, beliefs, count).astype(jnp.float32)
        scores = jax.lax.dynamic_update_slice_in_dim(scores, new, index * block, 0)
        return scores, sound & jnp.all(jnp.isfinite(new))

    blank = jnp.full(features.shape[0], -jnp.inf, jnp.float32)
    scores, sound = jax.lax.fori_loop(
        skip // block, features.shape[0] // block, scored, (blank, jnp.asarray(True))
    )
    scores = jnp.where(jnp.arange(features.shape[0]) >= skip, scores, -jnp.inf)
    return *jax.lax.top_k(scores, size), sound


@dataclass(frozen=True)
class _Block:
    """What a linear model believes of a block, as vectors times the rows turned.

    XLA reads the rows in place for these. For the rows times vectors it would copy them first, and the
    squares to an array of their own: three times as long.
    """

    gaussian: Gaussian

    @property
    def mean(self) -> Array:
        return self.gaussian.theta @ self.gaussian.features.T

    @property
    def logdet(self) -> Array:
        return self.gaussian.logdet

    def norms(self) -> Array:
        factor = self.gaussian.factor
        if isinstance(factor, DiagonalFactor):
            return jnp.sqrt((1.0 / factor.precision) @ self.gaussian.features.T**2)
        return self.gaussian.norms()

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        gaussian = self.gaussian
        thetas = gaussian.theta[None] + scale * gaussian.width.deviations(gaussian.factor, key, num)
        return thetas @ gaussian.features.T
