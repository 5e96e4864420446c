"""The Open Bandit Dataset as a log with few arms: bae2026, appendix J.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.datasets import OpenBandit
from superarm.evaluate.logs.log import Log, event_log

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BLOCK = 2**15  # events whose arms are sorted at once: bounds the memory for the full data set


@checks.named
def open_bandit_log(
    data: OpenBandit,
    *,
    num_arms: int = 5,
    user_dim: int = 16,
    item_dim: int = 8,
    events: int | None = None,
    seed: int = 0,
) -> Log:
    """Return the log of bae2026, appendix J.1: K arms, and 2 user_dim + item_dim + 2 = 42 features.

    The arms of an event are the item that was shown and the K - 1 others for which the user has the highest
    affinity, ties broken at random, in random order. An arm's features are

        user       16   one-hot categories of the user, compressed by a truncated SVD
        item        8   one-hot categories and numbers of the item, compressed by a truncated SVD
        position    1   where the item was shown, rescaled to [-1, 1]
        affinity    1   log(1 + affinity), rescaled to [-1, 1] over all events and items
        both       16   user times affinity

    Args:
        data: of `superarm.datasets.load_open_bandit`.
        num_arms: K, from 2 to the number of items.
        user_dim: at most the rank of the users' one-hot matrix: 21 in the public sample.
        item_dim: at most the rank of the items' matrix: 33 in the public sample.
        events: keep so many, drawn at random; None for all. The log holds events K d numbers of 8 bytes.
        seed: of ties, orders and kept events.

    What the paper leaves open, and what is done here: the SVD is of the matrix as it is, not centred, over
    all events, and the entry of a component that is largest in size is positive. The items' one number is
    rescaled to [-1, 1] and stands beside their one-hot columns.

    An item with little affinity is among the arms only when it was the one shown: among such arms the log's
    choice is not uniform, and replay is not unbiased. That is the paper's protocol. In the public sample 96 %
    of the events have no affinity at all, and their other arms are drawn at random.

    Bae & Lee (2026), Neural Logistic Bandits, ICML; Saito, Aihara, Matsutani & Narita (2021), Open Bandit
    Dataset and Pipeline, arXiv:2008.07146.

    >>> from superarm.datasets import load_open_bandit
    >>> log = open_bandit_log(load_open_bandit())  # doctest: +SKIP
    >>> log.spec  # doctest: +SKIP
    Spec(dim=42, num_arms=5, capacity=0)
    """
    where = "open_bandit_log"
    checks.has(where, "data", data, ("items", "positions", "clicks", "propensities", "users", "affinities"))
    size, num_items = data.affinities.shape
    checks.between(where, "num_arms", checks.count(where, "num_arms", num_arms), 2, num_items)
    _require_uniform(where, data.propensities)
    rng = np.random.default_rng(checks.count(where, "seed", seed, low=0))
    kept = np.arange(size)
    if events is not None:
        checks.between(where, "events", checks.count(where, "events", events), 1, size)
        kept = np.sort(rng.choice(size, events, replace=False))
    arms = _arms(rng, data, kept, num_arms)
    return event_log(
        _features(where, data, kept, arms, user_dim, item_dim),
        np.argmax(arms == data.items[kept, None], axis=1),
        data.clicks[kept],
        binary=True,
    )


def _require_uniform(where: str, propensities: Floats) -> None:
    low, high = propensities.min(), propensities.max()
    if high > 1.001 * low:
        must = "propensities must be equal, a log of uniform chance"
        raise ValueError(f"{where}: {must}, got values from {low:g} to {high:g}")


def _arms(rng: np.random.Generator, data: OpenBandit, kept: Integers, num_arms: int) -> Integers:
    """(r, K) the items on offer in the events kept: the one shown and those of highest affinity, shuffled."""
    blocks = []
    for start in range(0, kept.size, _BLOCK):
        rows = kept[start : start + _BLOCK]
        ranked = np.array(data.affinities[rows])
        ranked[np.arange(rows.size), data.items[rows]] = np.inf
        order = np.lexsort((rng.random(ranked.shape), -ranked), axis=-1)
        blocks.append(rng.permuted(order[:, :num_arms], axis=1))
    return np.concatenate(blocks)


def _features(
    where: str, data: OpenBandit, kept: Integers, arms: Integers, user_dim: int, item_dim: int
) -> Floats:
    """(r, K, d) the features of arms (r, K)."""
    people, who, counts = np.unique(data.users, axis=0, return_inverse=True, return_counts=True)
    users = compressed(where, "user_dim", _one_hot(people), counts, user_dim)[who.ravel()[kept]]
    columns = np.hstack([_one_hot(data.item_codes), _rescaled(data.item_numbers)])
    items = compressed(where, "item_dim", columns, np.ones(len(columns)), item_dim)
    affinity = _rescaled(np.log1p(data.affinities).reshape(-1, 1)).reshape(data.affinities.shape)
    affinity = affinity[kept[:, None], arms][:, :, None]
    position = _rescaled(data.positions[:, None].astype(np.float64))[kept]
    shape = arms.shape
    user = np.broadcast_to(users[:, None], (*shape, user_dim))
    place = np.broadcast_to(position[:, None], (*shape, 1))
    return np.concatenate([user, items[arms], place, affinity, user * affinity], axis=2)


def compressed(where: str, name: str, rows: Floats, counts: Any, dim: int) -> Floats:
    """(n, dim) the rows (n, c), each as often as `counts` says, in their first singular directions.

    The directions are eigenvectors of the c x c matrix of the columns, so rows that repeat cost nothing.
    """
    values, vectors = np.linalg.eigh((rows * counts[:, None]).T @ rows)
    rank = int(np.sum(values > values[-1] * 1e-10))
    checks.between(where, name, checks.count(where, name, dim), 1, rank)
    directions = vectors[:, ::-1][:, :dim]
    size = np.abs(directions)
    largest = np.argmax(size > size.max(axis=0) * (1 - 1e-6), axis=0)  # the first, where some are as large
    return np.asarray(rows @ (directions * np.sign(directions[largest, np.arange(dim)])))


def _one_hot(codes: Integers) -> Floats:
    """(n, c) one column per category, for codes (n, f) from 0."""
    return np.hstack([np.eye(column.max() + 1)[column] for column in codes.T])


def _rescaled(columns: Floats) -> Floats:
    """(n, c) each column from -1 to 1; 0 where it never changes."""
    low, high = columns.min(axis=0), columns.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.where(high > low, 2.0 * (columns - low) / spread - 1.0, 0.0)
