"""Comma-separated text as Arrow tables, packed or not, within bounds."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]

from superarm.evaluate.logs.files import Opened, gathered, require_columns, worded
from superarm.evaluate.logs.room import Room
from superarm.evaluate.logs.tables import LogError

# Bytes that are parsed at once. A line must fit in: of 50,000 columns it has some 300 bytes for each.
BLOCK = 2**24
MAX_HEADER = 2**22  # bytes of the first line: 50,000 names of 80 letters


class Unpacked:
    """The text of a packed file, as long as it fits: a file that Arrow reads from."""

    closed = False

    def __init__(self, where: str, path: Path, room: Room) -> None:
        """Open it."""
        self._stream = pa.input_stream(str(path), compression="gzip")
        self._where, self._room, self._count = where, room, 0

    def read(self, size: int | None = None) -> bytes:
        """The next bytes."""
        found: bytes = self._stream.read(size)
        self._count += len(found)
        if self._count > self._room.nbytes:
            must = f"log must unpack to at most {self._room.nbytes} bytes"
            raise LogError(f"{self._where}: {must}, got more; unpack it first, or read fewer rows")
        return found

    def close(self) -> None:
        """Close it."""
        self._stream.close()
        self.closed = True


def csv_file(where: str, path: Path, rows: int | None, room: Room) -> Opened:
    """Open comma-separated text with a header, packed or not; columns are read as words."""

    def stream() -> Any:
        if path.name.lower().endswith(".gz"):
            return Unpacked(where, path, room)
        return pa.input_stream(str(path), compression=None)

    with worded(where, path), closing(stream()) as begun:
        names = _header(where, begun.read(MAX_HEADER))

    def load(wanted: list[str], _: bool) -> pa.Table:
        # Words many times take little, and as plain text Arrow asks for a block's size for every column.
        types = dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string()))
        options = pyarrow.csv.ConvertOptions(
            include_columns=wanted, column_types=types, strings_can_be_null=False
        )
        blocks = pyarrow.csv.ReadOptions(block_size=BLOCK, use_threads=False)
        with worded(where, path):
            reader = pyarrow.csv.open_csv(stream(), read_options=blocks, convert_options=options)
            return gathered(where, reader, rows, room)

    return names, load


def _header(where: str, begun: bytes) -> tuple[str, ...]:
    """The names in the first line. Arrow would first make room for as many columns as it has commas."""
    text = io.StringIO(begun.decode("utf-8-sig", errors="replace"), newline="")  # Arrow refuses other text
    try:
        names = next(filter(None, csv.reader(text)), [])
    except csv.Error as error:
        raise ValueError(error) from error
    if not names:
        raise ValueError("Empty CSV file")
    if len(begun) == MAX_HEADER and not text.read(1):
        raise ValueError(f"its first line must have fewer than {MAX_HEADER} bytes, got more")
    require_columns(where, len(names))
    return tuple(names)
