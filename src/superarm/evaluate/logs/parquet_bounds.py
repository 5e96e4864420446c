"""What a Parquet file says of its own size, read before Arrow takes memory for it.

A file of some kilobytes may say that it has a billion rows, or pages of two gigabytes. Its footer is read
here, and the headers of the pages: see `thrift`.

https://parquet.apache.org/docs/file-format
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from superarm.evaluate.logs.files import MAX_COLUMNS
from superarm.evaluate.logs.room import Room
from superarm.evaluate.logs.thrift import LIST, WHOLE, Thrift

MAGIC = b"PAR1"
MAX_FOOTER = 2**24  # bytes: Arrow takes up to 35 times as much for most of what it holds, ...
MAX_CHUNKS = 500_000  # ... and 700 bytes for each column of a group of rows, which may take three
MAX_DEPTH = 16  # lists and structs in each other
MAX_NAME = 1000  # bytes of a column's name: the time that Arrow takes grows with the square of its dots
MAX_PAGE_HEADER = 2**16  # bytes: a page's least and largest word are in it, which Arrow cuts at 4 kB
MAX_ENTRIES = 2**22  # of a dictionary: Arrow takes 50 bytes to find a word again
PADDING = 100  # bytes that old writers left out of the size of a column; Arrow reads them
DICTIONARY = 2  # the kind of a page
# Encodings of words whose sizes are not known before they are unpacked; seldom written.
REFUSED = {6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}


def read_footer(path: Path) -> Any:
    """Return Arrow's metadata of a file; raise ValueError where its footer is out of bounds."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - 8, 0))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or length > size - 12:
            raise ValueError("it does not end as a Parquet file does")
        if length > MAX_FOOTER:
            raise ValueError(f"its footer must have at most {MAX_FOOTER} bytes, got {length}")
        file.seek(size - 8 - length)
        footer = _checked(file.read(length))
    whole = MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC
    return pq.read_metadata(pa.BufferReader(whole))


def _checked(raw: bytes) -> bytes:
    """The footer without notes for programs: Arrow's is a second schema, for which there are no bounds."""
    thrift, last = Thrift(raw), 0
    kept: list[bytes] = []
    for number, kind in thrift.fields():
        begin = thrift.at
        if number <= last or number - last > 15:
            raise ValueError("its footer is malformed")
        if (number, kind) == (2, LIST):
            _check_schema(thrift)
        elif (number, kind) == (4, LIST):
            _check_groups(thrift)
        else:
            thrift.skip(kind)
        if number != 5:
            kept += [bytes([(number - last) << 4 | kind]), raw[begin : thrift.at]]
            last = number
    return b"".join([*kept, b"\0"])


def _check_schema(thrift: Thrift) -> None:
    count, _ = thrift.size_of_list()
    if count > 2 * MAX_COLUMNS:
        raise ValueError(f"its schema must have at most {2 * MAX_COLUMNS} entries, got {count}")
    left: list[int] = []  # how many entries are to come of each group that is open
    for _ in range(count):
        children = _children(thrift)
        while left and not left[-1]:
            left.pop()
        if left:
            left[-1] -= 1
        if children > 0:
            left.append(children)
        if len(left) > MAX_DEPTH:
            raise ValueError(f"its schema must be at most {MAX_DEPTH} deep, got more")


def _children(thrift: Thrift) -> int:
    """How many of the entries that follow in a schema belong to its next one."""
    children = 0
    for number, kind in thrift.fields():
        begin = thrift.at
        if number == 5 and kind in WHOLE:
            children = thrift.whole()
        else:
            thrift.skip(kind)
        if number == 4 and thrift.at - begin > MAX_NAME:
            raise ValueError(f"the name of a column must have at most {MAX_NAME} bytes, got more")
    return children


def _check_groups(thrift: Thrift) -> None:
    chunks, _ = thrift.size_of_list()  # a group without columns takes memory, too
    for _ in range(chunks):
        for number, kind in thrift.fields():
            if (number, kind) == (1, LIST):
                begin = thrift.at
                chunks += thrift.size_of_list()[0]
                thrift.at = begin
            if chunks > MAX_CHUNKS:
                raise ValueError(f"it must have at most {MAX_CHUNKS} pieces of columns, got more")
            thrift.skip(kind)


def largest_page(file: IO[bytes], column: Any, room: Room) -> tuple[int, int]:
    """Return the bytes of the largest page of a piece of a column, unpacked, and how many values it has."""
    largest = values = 0
    words = column.physical_type == "BYTE_ARRAY"
    for page in _pages(file, column):
        size = page.get(2, -1)
        if not 0 <= size <= room.page:
            raise ValueError(f"a page must have at most {room.page} bytes, got {size}")
        largest = max(largest, size)
        if page.get(1) == DICTIONARY:
            entries = page.get(7, {}).get(1, -1)
            if not 0 <= entries <= (most := min(size, MAX_ENTRIES)):
                raise ValueError(f"a dictionary must have at most {most} entries, got {entries}")
            continue
        header = page.get(5) or page.get(8) or {}
        values += header.get(1, 0)
        encoding = header.get(2 if 5 in page else 4)
        if words and encoding in REFUSED:
            must = f"words must be plain or in a dictionary, got the encoding {REFUSED[encoding]}"
            raise ValueError(f"{must}; read it with pandas, and pass that")
    return largest, values


def _pages(file: IO[bytes], column: Any) -> Iterator[dict[int, Any]]:
    """The headers of a column's pages, as far as Arrow reads them."""
    at = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset:
        at = min(at, column.dictionary_page_offset)
    end, seen = at + column.total_compressed_size + PADDING, 0
    while at < end and seen < column.num_values:
        page, length = _page(file, at)
        yield page
        at += length + max(page.get(3, 0), 0)
        seen += max((page.get(5) or page.get(8) or {}).get(1, 0), 0)


def _page(file: IO[bytes], at: int) -> tuple[dict[int, Any], int]:
    """The header of a page, and its bytes; most have fewer than a hundred."""
    file.seek(max(at, 0))
    raw = file.read(256)
    try:
        thrift = Thrift(raw)
        return thrift.numbers(5, 7, 8), thrift.at
    except (IndexError, ValueError):
        thrift = Thrift(raw + file.read(MAX_PAGE_HEADER))
        return thrift.numbers(5, 7, 8), thrift.at
