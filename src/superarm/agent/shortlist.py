"""The best of a large catalogue: scored piece by piece, and selected without sorting.

Linear models score n items with d features in single precision, in one pass over the features: with the full
width in about the time of a product of (n, d) by (d, d), with a diagonal one in less than two reads of them.
Other models take the precision that they always have. No array of n d numbers is made beside the features.

LinUCB with the full width first bounds the scores, in half that time (`shortlist_bounds`), and scores what
may be among the best. Of items in no order the first piece shows whether that is few; if not, all are scored.

A catalogue is taken in pieces of a power of two, the last of which begins in the one before, so that those
that grow compile nothing anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.agent.shortlist_bounds import Bounds, bounded, bounds_of, upper
from superarm.compiler import cpu_options
from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.simulation.round import Keys, round_keys
from superarm.types import Array, State

PIECE_ITEMS = 2**17  # items in a call: what it takes to begin one is lost in them
PIECE_NUMBERS = 2**23  # features in a call, 32 MB: what XLA may keep of them stays small
BLOCK_ITEMS = 512  # items that are scored at once: they stay in the cache
CONTENDERS_PIECE = 2**12  # items in a call for those that bounds leave
MAX_SHARE = 8  # bounds that leave more than 1 / 8 of the items save nothing: to pick rows takes time too
SAMPLE_ITEMS = 2**10  # items by which the bounds are chosen
NDArray = np.ndarray[Any, Any]
Piece = tuple[int, int, int]  # where it begins, its length, and how many of its first items do not count


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
    ready = (*_ready(policy, state, keys, np.int64(number)), np.int64(count))
    if not _on_host(features):
        return _best_rows(ready, features, _pieces(features), size)
    view = np.asarray(features)  # a slice of it is no copy
    # On an accelerator, products may round more than bounds allow for.
    several = len(view) > PIECE_ITEMS and view.dtype == np.float32 and jax.default_backend() == "cpu"
    rows = _contenders(ready, view, size) if several and bounded(policy, view.shape[1], size) else None
    if rows is None:
        return _best_rows(ready, view, _pieces(view), size)
    spare = -len(rows) % CONTENDERS_PIECE  # copies of the first row fill the first call, and do not count
    rows = np.pad(rows, (spare, 0))
    pieces = [
        (first, CONTENDERS_PIECE, 0 if first else spare) for first in range(0, len(rows), CONTENDERS_PIECE)
    ]
    return rows[_best_rows(ready, view[rows], pieces, size)]


def _on_host(features: Any) -> bool:
    return isinstance(features, np.ndarray) or all(one.platform == "cpu" for one in features.devices())


def _pieces(features: Any) -> Iterator[Piece]:
    """All of them alike, of a power of two; the last begins in the one before."""
    num_items, dim = features.shape
    length = min(PIECE_ITEMS, _floored(num_items), _floored(max(1, PIECE_NUMBERS // dim)))
    for start in range(0, num_items, length):
        first = min(start, num_items - length)
        yield first, length, start - first


def _floored(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def _padded(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _best_rows(ready: Any, view: Any, pieces: Iterable[Piece], size: int) -> NDArray:
    """(size,) rows of the highest scores, each computed."""
    score = _best_program()
    found = [
        (first, score(*ready, view[first : first + length], np.int64(skip), size=min(length, _padded(size))))
        for first, length, skip in pieces
    ]
    if not all(sound for _, (_, _, sound) in found):
        raise ValueError("shortlist: contexts must be finite and not too large, got some without a score")
    scores = np.concatenate([np.asarray(scores) for _, (scores, _, _) in found])
    rows = np.concatenate([first + np.asarray(places) for first, (_, places, _) in found])
    return rows[np.argsort(-scores, kind="stable")[:size]]


def _contenders(ready: Any, view: NDArray, size: int) -> NDArray | None:
    """Rows, in their order, that may be among the best; None where these are many, or some have no bound."""
    bound, bounds = (
        _bounds_program(),
        bounds_of(ready[1], view[:: max(1, len(view) // SAMPLE_ITEMS)][:SAMPLE_ITEMS]),
    )
    uppers, scores = np.empty(len(view), np.float32), []
    for first, length, skip in _pieces(view):
        piece = view[first : first + length]
        new, some, sound = bound(*ready, bounds, piece, np.int64(skip), size=min(length, _padded(size)))
        uppers[first + skip : first + length] = np.asarray(new)[skip:]
        scores.append(np.asarray(some))
        if not sound:
            return None
        share = -(-size * length // len(view))  # of the best, in a piece of items in no order
        if first == 0 and len(_reaching(uppers[:length], scores[0], share)) > length // MAX_SHARE:
            return None
    rows = _reaching(uppers, np.concatenate(scores), size)
    return rows if len(rows) <= len(view) // MAX_SHARE else None


def _reaching(uppers: NDArray, scores: NDArray, size: int) -> NDArray:
    """Rows whose bounds reach the size-th of scores."""
    return np.flatnonzero(uppers >= np.partition(scores, -size)[-size])


@jax.jit
def _ready(policy: Policy, state: State, keys: Keys, number: Array) -> tuple[Policy, State, Array]:
    """The policy and its state in the precision of scores, and the key of the decision's scores."""
    key = jax.random.split(round_keys(keys, number)[2])[0]
    if policy.traits.single:
        policy, state = jax.tree.map(_single, (policy, state))
    return policy, state, key


def _single(leaf: Any) -> Any:
    return leaf.astype(jnp.float32) if leaf.dtype == jnp.float64 else leaf


@cache
def _best_program() -> Any:
    """`_best`, compiled; not when this is imported, which must not start JAX."""
    return jax.jit(_best, static_argnames=("size",), compiler_options=cpu_options())


@cache
def _bounds_program() -> Any:
    """`_bounded`, compiled likewise."""
    return jax.jit(_bounded, static_argnames=("size",), compiler_options=cpu_options())


def _best(
    policy: Policy, state: State, key: Array, count: Array, features: Array, skip: Array, *, size: int
) -> tuple[Array, Array, Array]:
    """The `size` best scores of a piece but for the first `skip`, where they are, and if all are finite."""
    scores, sound = _scored(
        lambda rows: _score(policy, state, key, count, rows), features, skip, _block(policy, features)
    )
    return *jax.lax.top_k(scores, size), sound


def _bounded(
    policy: Policy,
    state: State,
    key: Array,
    count: Array,
    bounds: Bounds,
    features: Array,
    skip: Array,
    *,
    size: int,
) -> tuple[Array, Array, Array]:
    """Bounds of a piece but for the first `skip`, scores of the `size` highest, and if all are finite."""
    uppers, sound = _scored(
        lambda rows: upper(policy, state, bounds, key, count, rows), features, skip, _block(policy, features)
    )
    highest, places = jax.lax.top_k(uppers, size)
    scores = _score(policy, state, key, count, features[places])
    return uppers, jnp.where(highest > -jnp.inf, scores, -jnp.inf), sound


def _score(policy: Policy, state: State, key: Array, count: Array, rows: Array) -> Array:
    """(n,) scores of rows (n, d)."""
    precision = jnp.float32 if policy.traits.single else FLOAT
    beliefs = policy.model.beliefs(state, rows.astype(precision), policy.width).in_blocks()
    return policy.explorer.scores(key, beliefs, count).astype(jnp.float32)


def _scored(score: Callable[[Array], Array], features: Array, skip: Array, block: int) -> tuple[Array, Array]:
    """(n,) scores of features, block by block, -inf for the first `skip`; and whether all are finite."""

    def scored(index: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        scores, sound = found
        new = score(jax.lax.dynamic_slice_in_dim(features, index * block, block))
        scores = jax.lax.dynamic_update_slice_in_dim(scores, new, index * block, 0)
        return scores, sound & jnp.all(jnp.isfinite(new))

    blank = jnp.full(features.shape[0], -jnp.inf, jnp.float32)
    scores, sound = jax.lax.fori_loop(
        skip // block, features.shape[0] // block, scored, (blank, jnp.asarray(True))
    )
    return jnp.where(jnp.arange(features.shape[0]) >= skip, scores, -jnp.inf), sound


def _block(policy: Policy, features: Array) -> int:
    """How many items are scored at once, a power of two."""
    products = policy.traits.single and policy.width is not None and policy.width.by_product
    # All by a product with a matrix: XLA would copy a block out of the piece first, and is slow at few rows.
    # Not where it would copy all of them to single precision.
    whole = products and features.dtype == jnp.float32
    return features.shape[0] if whole else min(features.shape[0], BLOCK_ITEMS)
