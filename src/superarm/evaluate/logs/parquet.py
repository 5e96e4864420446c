"""Parquet files as Arrow tables, within bounds.

Words stay in dictionaries, so that one which comes in every row takes no more memory than a number. Columns
are read some at a time: what Arrow needs to unpack a page is needed for these alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from superarm.evaluate.logs.files import Opened, gathered, require_columns, too_many, worded
from superarm.evaluate.logs.parquet_bounds import largest_page, read_footer
from superarm.evaluate.logs.room import Room
from superarm.evaluate.logs.tables import LogError

BATCH = 2**20  # rows that are read at once
MAX_TOGETHER = 2**23  # numbers that are read at once: 64 MB
VALUE = 24  # bytes of a value in lists: itself, and what says where lists begin and end


def parquet_file(where: str, path: Path, rows: int | None, room: Room) -> Opened:
    """Open a Parquet file; what it says is too large is not read."""
    with worded(where, path):
        metadata = read_footer(path)
        schema = pq.ParquetFile(path, metadata=metadata).schema_arrow
    names = tuple(schema.names)
    require_columns(where, len(names))

    def load(wanted: list[str], nested: bool) -> pa.Table:
        with worded(where, path):
            return Pieces(where, path, metadata, schema, wanted, room, nested).table(rows)

    return names, load


class Pieces:
    """Some columns of a file, in its groups of rows."""

    def __init__(
        self,
        where: str,
        path: Path,
        metadata: Any,
        schema: Any,
        wanted: list[str],
        room: Room,
        nested: bool,
    ) -> None:
        """Look at what they say of themselves.

        Attributes:
            leaves: name -> the places of its columns in the file: one, but for lists and structs.
            lists: those that are lists, structs or maps.
            sizes: name -> the bytes of the largest page, unpacked.
        """
        self.where, self.room, self.metadata, self.wanted = where, room, metadata, wanted
        self.leaves, kinds = _leaves(schema)
        paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
        if len(paths) != len(kinds):
            raise ValueError("its columns do not agree with its schema")
        self.lists = {name for name in wanted if pa.types.is_nested(schema.field(name).type)}
        self._require_readable(schema, paths, kinds, nested)
        self._require_apart(path.stat().st_size)
        with path.open("rb") as file:
            self.sizes = {name: self._largest(file, name) for name in wanted}
        words = [paths[place] for place in self._places(wanted) if pa.types.is_string(kinds[place])]
        self.file = pq.ParquetFile(path, metadata=metadata, read_dictionary=words, pre_buffer=False)

    def table(self, rows: int | None) -> pa.Table:
        """The first rows, or all."""
        count = self.metadata.num_rows
        if rows is None and count > self.room.rows:
            raise too_many(self.where, count, self.room)
        batch = max(1, min(BATCH, count, rows or count))
        columns: dict[str, Any] = {}
        left = self.room
        for names in self._together(batch):
            table = gathered(self.where, self._batches(names, batch), rows, left)
            if not table.num_rows:
                return table
            left = replace(left, nbytes=left.nbytes - table.nbytes)
            columns |= dict(zip(names, table.columns, strict=True))
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("its columns do not have the same number of rows")
        return pa.table({name: columns[name] for name in self.wanted})

    def _batches(self, names: list[str], batch: int) -> Iterator[Any]:
        options = {
            "row_groups": range(self.metadata.num_row_groups),
            # By place: the names that `ParquetFile.iter_batches` takes are of other columns, too.
            "column_indices": self._places(names),
            "use_threads": False,
        }
        return self.file.reader.iter_batches(batch, **options)

    def _together(self, batch: int) -> Iterator[list[str]]:
        """The columns that are read together, in the order of the file."""
        names: list[str] = []
        size = 0
        for name in sorted(self.wanted, key=lambda name: self.leaves[name]):
            size += self.sizes[name]
            if names and (size > self.room.page or (len(names) + 1) * batch > MAX_TOGETHER):
                yield names
                names, size = [], self.sizes[name]
            names.append(name)
        yield names

    def _places(self, names: list[str]) -> list[int]:
        return [place for name in names for place in self.leaves[name]]

    def _require_readable(self, schema: Any, paths: list[str], kinds: list[Any], nested: bool) -> None:
        counts = Counter(paths)
        for name in self.wanted:
            kind = schema.field(name).type
            plain = all(_is_plain(kinds[place]) for place in self.leaves[name])
            if not plain or (name in self.lists and not nested):
                raise LogError(f"{self.where}: {name} must be numbers or words, got {kind}")
            if any(counts[paths[place]] > 1 for place in self.leaves[name]):
                raise LogError(f"{self.where}: log must have a column once, got {name} again")

    def _require_apart(self, size: int) -> None:
        """Refuse pieces that lie in each other: a small file would be read many times over."""
        if sum(piece.total_compressed_size for _, piece in self._pieces(self.wanted)) > size:
            raise ValueError("its columns take more bytes than it has")

    def _pieces(self, names: list[str]) -> Iterator[tuple[Any, Any]]:
        """The groups of rows, and the pieces of columns in each."""
        for number in range(self.metadata.num_row_groups):
            group = self.metadata.row_group(number)
            for place in self._places(names):
                yield group, group.column(place)

    def _largest(self, file: Any, name: str) -> int:
        largest = values = 0
        for _, piece in self._pieces([name]):
            size, count = largest_page(file, piece, self.room)
            largest, values = max(largest, size), values + count
        if values * VALUE > self.room.nbytes and name in self.lists:
            raise ValueError(f"{name} must have at most {self.room.nbytes // VALUE} values, got {values}")
        return largest


def _leaves(schema: Any) -> tuple[dict[str, list[int]], list[Any]]:
    """The columns of each field, by place, and what each column is made of."""
    places: dict[str, list[int]] = {}
    kinds: list[Any] = []
    for field in schema:
        own = list(_kinds(field.type))
        places[field.name] = list(range(len(kinds), len(kinds) + len(own)))
        kinds += own
    return places, kinds


def _kinds(kind: Any) -> Iterator[Any]:
    """What the columns of a type are made of, in the order of the file."""
    if pa.types.is_struct(kind):
        inner = [kind.field(place).type for place in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inner = [kind.key_type, kind.item_type]
    elif pa.types.is_list(kind):
        inner = [kind.value_type]
    else:
        yield kind
        return
    for one in inner:
        yield from _kinds(one)


def _is_plain(kind: Any) -> bool:
    """Whether it is numbers or words, each of a bounded size."""
    tests = ("null", "boolean", "integer", "floating", "decimal", "temporal", "string")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)
