"""Data frames as Arrow tables, and what is common to all that Arrow reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]

from superarm.evaluate.logs.room import Room
from superarm.evaluate.logs.tables import LogError

Opened = tuple[tuple[str, ...], Callable[[list[str], bool], pa.Table]]
MAX_COLUMNS = 50_000  # of a file: Arrow takes some 8 kB for each, whatever is in it


def frame(where: str, what: str, source: Any, rows: int | None, room: Room) -> Opened:
    """Open a data frame."""
    if isinstance(source, pd.DataFrame):
        kept = source if rows is None else source.iloc[:rows]
        names = tuple(str(name) for name in kept.columns)
        places = {name: place for place, name in enumerate(names)}

        def load(wanted: list[str], _: bool) -> pa.Table:
            arrays = [_array(kept.iloc[:, places[name]]) for name in wanted]
            return _bounded(where, pa.table(dict(zip(wanted, arrays, strict=True))), room)

        return names, load
    with worded(where, what):
        table = pa.table(source)
    cut = table if rows is None else table.slice(0, rows)
    return tuple(cut.schema.names), lambda wanted, _: _bounded(where, cut.select(wanted), room)


def _array(column: Any) -> Any:
    """A column of pandas; values of kinds that Arrow cannot hold together are written as text."""
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else repr(value) for value in column], pa.string())


def gathered(where: str, batches: Iterable[Any], rows: int | None, room: Room) -> pa.Table:
    """The first rows of a stream, or all, as long as they fit."""
    kept: list[Any] = []
    count, size = 0, 0
    for batch in batches:
        kept.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if rows is not None and count >= rows:
            break
        if count > room.rows or size > room.nbytes:
            raise too_many(where, count, room)
    table = pa.Table.from_batches(kept) if kept else pa.table({})
    return table if rows is None else table.slice(0, rows)


def _bounded(where: str, table: pa.Table, room: Room) -> pa.Table:
    if table.num_rows > room.rows:
        raise too_many(where, table.num_rows, room)
    return table


def require_columns(where: str, count: int) -> None:
    """Raise LogError if a file has more columns than are read."""
    if count > MAX_COLUMNS:
        raise LogError(f"{where}: log must have at most {MAX_COLUMNS} columns, got {count}")


def too_many(where: str, rows: int, room: Room) -> LogError:
    """What to raise where more was to be read than there is room for."""
    bounds = f"{room.rows} rows and {room.nbytes} bytes"
    return LogError(f"{where}: log must have at most {bounds}, got {rows} rows so far; read fewer with rows=")


@contextmanager
def worded(where: str, what: Any) -> Iterator[None]:
    """Turn what Arrow says of a malformed table into one sentence."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, ValueError, LookupError) as error:
        if isinstance(error, LogError):
            raise
        reason = str(error).split("\n", maxsplit=1)[0][:200]
        raise LogError(f"{where}: {what} cannot be read: {reason}") from error
