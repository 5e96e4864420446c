"""Arguments that several oracles take, checked."""

from __future__ import annotations

from typing import Any

import numpy as np


def whole(where: str, name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return `values` as int64; they must be whole numbers >= 0, and at least one."""
    array = np.asarray(values)
    if array.size == 0:
        raise ValueError(f"{where}: {name} must not be empty, got shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: {name} must be whole numbers, got dtype {array.dtype}")
    if array.min() < 0:
        raise ValueError(f"{where}: {name} must be >= 0, got {array.min()}")
    return array.astype(np.int64)


def edge_list(where: str, edges: Any) -> np.ndarray[Any, Any]:
    """Return `edges` as int64 (L, 2); every row joins two nodes, named by whole numbers >= 0."""
    array = whole(where, "edges", edges)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{where}: edges must have shape (any, 2), got {array.shape}")
    return array


def below(where: str, name: str, nodes: np.ndarray[Any, Any], bound: int) -> None:
    """Refuse nodes that are not < bound."""
    if nodes.max() >= bound:
        raise ValueError(f"{where}: {name} must be < {bound}, got {nodes.max()}")


def one_per_arm(where: str, name: str, count: int, num_arms: int) -> None:
    """Refuse a structure over `count` items for `num_arms` arms."""
    if count != num_arms:
        raise ValueError(f"{where}: {name} must be as many as the arms, {num_arms}, got {count}")
