"""Lists, structs and maps of Arrow as Python values, row by row, none of them too large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

MAX_VALUES = 100_000  # of a row
MAX_WORD = 1000  # bytes of a word in it: it becomes Python's wherever it comes


def rows_of(column: Any) -> Iterator[Any]:
    """The values of a column; raise ValueError where one is too large."""
    for chunk in column.chunks:
        if pa.types.is_nested(chunk.type):
            _require_small(chunk)
        for value in chunk:
            yield value.as_py()


def _require_small(chunk: Any) -> None:
    sizes = np.diff(_ends(chunk))
    if sizes.max(initial=0) > MAX_VALUES:
        raise ValueError(f"must have at most {MAX_VALUES} values in a row, got {sizes.max()}")
    longest = max(_lengths(chunk), default=0)
    if longest > MAX_WORD:
        raise ValueError(f"must have words of at most {MAX_WORD} bytes, got {longest}")


def _ends(array: Any) -> npt.NDArray[np.int64]:
    """(n + 1,) how many numbers and words come before each row, and in all."""
    if pa.types.is_struct(array.type):
        return sum((_ends(part) for part in array.flatten()), np.arange(len(array) + 1))
    if pa.types.is_map(array.type):
        inner = _ends(array.keys) + _ends(array.items)
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        inner = _ends(array.values)
        if pa.types.is_nested(array.values.type):  # which may be empty, and take memory all the same
            inner = inner + np.arange(len(array.values) + 1)
    else:
        return np.arange(len(array) + 1)
    found: npt.NDArray[np.int64] = inner[np.asarray(array.offsets)]
    return found


def _lengths(array: Any) -> Iterator[int]:
    """The longest word of each part."""
    kind = array.type
    if pa.types.is_struct(kind):
        parts = array.flatten()
    elif pa.types.is_map(kind):
        parts = [array.keys, array.items]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        parts = [array.values]
    else:
        words = array.dictionary if pa.types.is_dictionary(kind) else array
        if pa.types.is_string(words.type) or pa.types.is_large_string(words.type):
            yield pc.max(pc.binary_length(words)).as_py() or 0
        return
    for part in parts:
        yield from _lengths(part)
