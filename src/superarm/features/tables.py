"""Tables as they come, from NumPy, pandas, polars or Arrow, as matrices of numbers with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypedDict, runtime_checkable

import numpy as np
import numpy.typing as npt

from superarm import checks


@runtime_checkable
class Table(Protocol):
    """A table of pandas, polars or Arrow: each can give itself as Arrow's stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object:
        """The rows."""


def is_table(value: Any) -> bool:
    """Whether it is a table of pandas, polars or Arrow."""
    return isinstance(value, Table)


@runtime_checkable
class ArrayGiver(Protocol):
    """What NumPy can make an array of, such as a column of a table."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        """The array."""


Id = str | int
Contexts = npt.ArrayLike | Table  # (n, d) features of arms
Ids = Sequence[Id] | npt.NDArray[Any]
Mask = Sequence[bool] | npt.NDArray[Any]
MAX_NUMBER = (
    1e9  # of a feature or of feedback: its square is finite in single precision, summed over features
)
FLOAT64 = np.dtype(np.float64)


class OnOffer(TypedDict, total=False):
    """The arguments of a decision."""

    contexts: Contexts | None
    ids: Ids | None
    mask: Mask | None


@dataclass(slots=True)
class FeatureTable:
    """values: (n, d); columns: (d,) their names, where they have some; ids: (n,) of the rows' labels, too."""

    values: np.ndarray[Any, Any]
    columns: tuple[str, ...] | None
    ids: tuple[Id, ...] | None


def read_table(
    where: str, contexts: Any, columns: tuple[str, ...] | None = None, *, labels: bool = True
) -> FeatureTable:
    """Return a table of features, its columns in the order of `columns` when they are given.

    Args:
        where: who asks.
        contexts: (n, d) numbers: an array, nested lists, or a table of pandas, polars or Arrow. The labels of
            a pandas index are ids, unless they just count.
        columns: the names that a table must have; an array has none, and is taken as it is.
        labels: whether to read ids.

    >>> import pandas as pd
    >>> read_table("select", pd.DataFrame({"b": [1.0], "a": [2.0]}), ("a", "b")).values.tolist()
    [[2.0, 1.0]]
    """
    if is_plain(contexts):
        return FeatureTable(contexts, None, None)
    names = _names(contexts)
    ids = None
    if names is None:
        values = checks.matrix(where, "contexts", contexts, (None, None))
    else:
        ids = _labels(where, contexts) if labels else None
        order = names if columns is None else columns
        missing = [name for name in order if name not in names]
        extra = [name for name in names if name not in order]
        if missing or extra or len(set(names)) < len(names):
            got = ", ".join(names[:20])
            raise ValueError(
                f"{where}: contexts must have the columns {', '.join(order[:20])}, once each, got {got}"
            )
        found = dict(zip(names, _own_names(contexts), strict=True))
        values = _columns(where, contexts, {name: found[name] for name in order})
        values = checks.matrix(where, "contexts", values, (None, None))
        names = tuple(order)
    return FeatureTable(bounded(where, "contexts", values), names, ids)


def is_plain(contexts: Any) -> bool:
    """Whether it is a matrix of numbers that can be taken as it is."""
    if type(contexts) is not np.ndarray or contexts.dtype != FLOAT64 or contexts.ndim != 2:
        return False
    if not contexts.size:
        return False
    # False where one is not a number. The places of the least and of the largest take less time than these.
    least, most = contexts.item(contexts.argmin()), contexts.item(contexts.argmax())
    return bool(least >= -MAX_NUMBER and most <= MAX_NUMBER)


def bounded(where: str, name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the values; none may be larger than what sums of squares hold."""
    if values.size and np.max(np.abs(values)) > MAX_NUMBER:
        raise ValueError(
            f"{where}: {name} must lie within +-{MAX_NUMBER:g}, got {np.max(np.abs(values)):g}; rescale"
        )
    return values


def ids_of(where: str, ids: Any, length: int | None) -> tuple[Id, ...]:
    """Return ids as words and whole numbers, each once; there must be `length`, unless that is None.

    >>> ids_of("select", ["a", "b"], 2)
    ('a', 'b')
    """
    if type(ids) is not list:  # what they mostly are
        if isinstance(ids, str) or not isinstance(ids, (Sequence, ArrayGiver)):
            must = "ids must be a list of words or whole numbers"
            raise TypeError(f"{where}: {must}, got {type(ids).__name__}")
        ids = ids if isinstance(ids, Sequence) else np.asarray(ids).tolist()
    plain = _plain_ids(where, tuple(ids))
    if length is not None and len(plain) != length:
        raise ValueError(f"{where}: ids must be one per row of contexts, {length}, got {len(plain)}")
    if len(set(plain)) < len(plain):
        twice = next(one for one in plain if plain.count(one) > 1)
        raise ValueError(f"{where}: ids must differ, got {twice!r} twice")
    return plain


def _plain_ids(where: str, ids: tuple[Any, ...]) -> tuple[Id, ...]:
    kinds = set(map(type, ids))
    if kinds == {str} or (kinds == {int} and min(ids) >= -(2**63) and max(ids) < 2**63):
        return ids  # what they mostly are; one by one a thousand would take longer than their scores
    return tuple(id_of(where, one) for one in ids)


def id_of(where: str, value: Any) -> Id:
    """Return an id as a word or a whole number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if not -(2**63) <= int(value) < 2**63:
            raise ValueError(f"{where}: ids must fit 64 bits, got {value}")
        return int(value)
    raise TypeError(f"{where}: ids must be words or whole numbers, got {type(value).__name__}")


def mask_of(where: str, mask: Any, length: int) -> np.ndarray[Any, Any]:
    """Return which of `length` arms are on offer; at least one must be."""
    if mask is None:
        return all_of(length)
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"{where}: mask must be True or False, got dtype {array.dtype}")
    if array.shape != (length,):
        raise ValueError(f"{where}: mask must have shape ({length},), got {array.shape}")
    if not array.any():
        raise ValueError(f"{where}: mask must leave an arm on offer, got none")
    return array


@lru_cache(maxsize=64)
def all_of(length: int) -> np.ndarray[Any, Any]:
    """A mask that leaves all arms on offer; it is handed out again, and cannot be written."""
    every = np.ones(length, bool)
    every.flags.writeable = False
    return every


@lru_cache(maxsize=64)
def row_numbers(length: int) -> tuple[int, ...]:
    """The ids of arms that came without."""
    return tuple(range(length))


def _names(contexts: Any) -> tuple[str, ...] | None:
    found = _own_names(contexts)
    return None if found is None else tuple(str(name) for name in found)


def _own_names(contexts: Any) -> Any:
    """The names as the table has them, which need not be words."""
    found = getattr(contexts, "column_names", None)  # of Arrow, whose `columns` are data
    found = getattr(contexts, "columns", None) if found is None else found
    return None if found is None or callable(found) else list(found)


def _labels(where: str, contexts: Any) -> tuple[Id, ...] | None:
    index = getattr(contexts, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return ids_of(where, list(index), len(index))


def _columns(where: str, contexts: Any, names: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """(n, d) the columns of names, which may be words for others."""
    columns = []
    for name, own in names.items():
        column = np.asarray(contexts[own])
        if column.dtype.kind not in "fiub" or column.ndim != 1:
            raise TypeError(f"{where}: column {name} must be numbers, got dtype {column.dtype}")
        columns.append(column.astype(np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))
