"""Strict reading of text tables: every row has its columns, and an error names the line."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from superarm.datasets.files import DataError

Row = tuple[int, list[str]]

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_rows(
    name: str, content: bytes, *, separator: str, columns: int, header: str = "", encoding: str = "ascii"
) -> Iterator[Row]:
    """Yield (line number from 1, fields) for each row; only empty lines at the end are passed over.

    Args:
        name: the file's name, for messages.
        content: the file.
        separator: what stands between fields; blanks around a field are dropped.
        columns: fields per row.
        header: the first line, which must be there and is not yielded; "" for none.
        encoding: of the text.
    """
    try:
        # Not splitlines(): in ISO-8859-1 that also splits at control characters inside a field.
        lines = content.decode(encoding).rstrip("\r\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: must be {encoding} text, got byte {content[error.start]:#x}") from error
    first = 1
    if header:
        if lines[0].rstrip("\r") != header:
            raise DataError(f"{name}, line 1: must be the header {header!r}, got {lines[0][:80]!r}")
        first = 2
    if len(lines) < first:
        raise DataError(f"{name}: must have rows below the header, got none")
    for number, line in enumerate(lines[first - 1 :], start=first):
        fields = [field.strip() for field in line.split(separator)]
        if len(fields) != columns:
            raise DataError(f"{name}, line {number}: must have {columns} columns, got {len(fields)}")
        yield number, fields


LONGEST = 1000  # characters of a field that is read: one long field would widen a whole column of words
DIGITS = 18  # of a whole number, so that it fits 64 bits


def read_named(name: str, lines: Iterable[str], columns: Sequence[str]) -> Iterator[Row]:
    """Yield (line number, the fields of `columns`) for each row of comma-separated text with a header.

    Other columns are passed over; so are only empty lines at the end. Lines are read as they are asked for.
    """
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, [])
        places = _places(name, header, columns)
        empty = 0
        for fields in reader:
            if not fields:
                empty = empty or reader.line_num
                continue
            if empty or len(fields) != len(header):
                number, got = (empty, 0) if empty else (reader.line_num, len(fields))
                raise DataError(f"{name}, line {number}: must have {len(header)} columns, got {got}")
            wanted = [fields[place] for place in places]
            if max(map(len, wanted)) > LONGEST:
                size = max(map(len, wanted))
                must = f"fields must have at most {LONGEST} characters"
                raise DataError(f"{name}, line {reader.line_num}: {must}, got {size}")
            yield reader.line_num, wanted
    except csv.Error as error:
        raise DataError(
            f"{name}, line {reader.line_num}: must be comma-separated text, got {error}"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: must be utf-8 text, got byte {error.object[error.start]:#x}") from error


def _places(name: str, header: list[str], columns: Sequence[str]) -> list[int]:
    """Where the columns are."""
    missing = [column for column in columns if column not in header]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise DataError(f"{name}: must have the columns {', '.join(missing[:5])}{more}, got a header without")
    return [header.index(column) for column in columns]


def number(name: str, line: int, column: str, field: str) -> float:
    """Return a field as a float; it must be a finite decimal number."""
    value = _value(field)
    if not math.isfinite(value):
        raise DataError(f"{name}, line {line}: {column} must be a number, got {field!r}")
    return value


# Covertype has 31 million fields, of which 7 thousand are distinct: half the time, and half the memory.
@lru_cache(maxsize=2**14)
def _value(field: str) -> float:
    """Return the number that a field says, NaN when it says none."""
    return float(field) if _NUMBER.fullmatch(field) else math.nan


def whole(name: str, number: int, column: str, field: str) -> int:
    """Return a field as an int; it must be written in the digits 0 to 9 alone."""
    if not (field.isascii() and field.isdigit()):
        raise DataError(f"{name}, line {number}: {column} must be a whole number, got {field!r}")
    if len(field) > DIGITS:
        raise DataError(
            f"{name}, line {number}: {column} must have at most {DIGITS} digits, got {len(field)}"
        )
    return int(field)


def option(name: str, number: int, column: str, field: str, options: Sequence[str]) -> int:
    """Return which of some words a field is: 0, 1, ..."""
    if field not in options:
        raise DataError(f"{name}, line {number}: {column} must be {' or '.join(options)}, got {field!r}")
    return options.index(field)
