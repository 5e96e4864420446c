"""Strict reading of text tables: every row has its columns, and an error names the line."""

from __future__ import annotations

from collections.abc import Iterator

from superarm.datasets.files import DataError

Row = tuple[int, list[str]]


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


def whole(name: str, number: int, column: str, field: str) -> int:
    """Return a field as an int; it must be written in the digits 0 to 9 alone."""
    if not (field.isascii() and field.isdigit()):
        raise DataError(f"{name}, line {number}: {column} must be a whole number, got {field!r}")
    return int(field)


def option(name: str, number: int, column: str, field: str, options: tuple[str, str]) -> int:
    """Return which of two words a field is: 0 or 1."""
    if field not in options:
        raise DataError(f"{name}, line {number}: {column} must be {' or '.join(options)}, got {field!r}")
    return options.index(field)
