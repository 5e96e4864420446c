"""Parquet, comma-separated text and data frames as Arrow tables, within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]

from superarm.evaluate.logs.tables import MAX_BYTES, MAX_ROWS, LogError

Opened = tuple[tuple[str, ...], Callable[[list[str]], pa.Table]]


def parquet_file(where: str, path: Path, rows: int | None) -> Opened:
    """Open a Parquet file; what its footer says is too large is not read."""
    with _told(where, path):
        file = pyarrow.parquet.ParquetFile(path)
        names = tuple(file.schema_arrow.names)

    def load(wanted: list[str]) -> pa.Table:
        with _told(where, path):
            kept = rows is None and file.metadata.num_rows
            if kept and kept > MAX_ROWS:
                raise _too_many(where, kept)
            schema = pa.schema([file.schema_arrow.field(name) for name in wanted])
            return _gathered(where, file.iter_batches(columns=wanted), schema, rows)

    return names, load


def csv_file(where: str, path: Path, rows: int | None) -> Opened:
    """Open comma-separated text with a header, packed or not; columns are read as text."""

    def reader(options: Any = None) -> Any:
        packed = "gzip" if path.name.lower().endswith(".gz") else None
        stream = pa.input_stream(str(path), compression=packed)
        return pyarrow.csv.open_csv(stream, convert_options=options)

    with _told(where, path):
        names = tuple(reader(pyarrow.csv.ConvertOptions(column_types={}, check_utf8=True)).schema.names)

    def load(wanted: list[str]) -> pa.Table:
        types = dict.fromkeys(wanted, pa.string())
        options = pyarrow.csv.ConvertOptions(
            include_columns=wanted, column_types=types, strings_can_be_null=False
        )
        with _told(where, path):
            return _gathered(where, reader(options), pa.schema(list(types.items())), rows)

    return names, load


def frame(where: str, what: str, source: Any, rows: int | None) -> Opened:
    """Open a data frame."""
    if isinstance(source, pd.DataFrame):
        kept = source if rows is None else source.iloc[:rows]
        names = tuple(str(name) for name in kept.columns)

        def load(wanted: list[str]) -> pa.Table:
            places = [names.index(name) for name in wanted]
            arrays = [_array(kept.iloc[:, place]) for place in places]
            return _bounded(where, pa.table(dict(zip(wanted, arrays, strict=True))))

        return names, load
    with _told(where, what):
        table = pa.table(source)
    cut = table if rows is None else table.slice(0, rows)
    return tuple(cut.schema.names), lambda wanted: _bounded(where, cut.select(wanted))


def _array(column: Any) -> Any:
    """A column of pandas; values of kinds that Arrow cannot hold together are written as text."""
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else repr(value) for value in column], pa.string())


def _gathered(where: str, batches: Iterable[Any], schema: Any, rows: int | None) -> pa.Table:
    """The first rows of a stream, or all, as long as they fit."""
    kept: list[Any] = []
    count, size = 0, 0
    for batch in batches:
        kept.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if rows is not None and count >= rows:
            break
        if count > MAX_ROWS or size > MAX_BYTES:
            raise _too_many(where, count)
    table = pa.Table.from_batches(kept, schema=schema) if kept else schema.empty_table()
    return table if rows is None else table.slice(0, rows)


def _bounded(where: str, table: pa.Table) -> pa.Table:
    if table.num_rows > MAX_ROWS:
        raise _too_many(where, table.num_rows)
    return table


def _too_many(where: str, rows: int) -> LogError:
    bounds = f"{MAX_ROWS} rows and {MAX_BYTES} bytes"
    return LogError(f"{where}: log must have at most {bounds}, got {rows} rows so far; read fewer with rows=")


@contextmanager
def _told(where: str, what: Any) -> Iterator[None]:
    """Turn what Arrow says of a malformed table into one sentence."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        if isinstance(error, LogError):
            raise
        reason = str(error).split("\n", maxsplit=1)[0][:200]
        raise LogError(f"{where}: {what} cannot be read: {reason}") from error
