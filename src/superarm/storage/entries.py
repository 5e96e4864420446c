"""The rows of a log, read and compared with their checksums."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superarm.errors import StoreError
from superarm.storage.log_file import LOG, read_file, worded
from superarm.storage.packing import link, unpack

NDArray = np.ndarray[Any, Any]
REPAIR = "`superarm store repair` saves what is there into a new folder"
AT_ONCE = 16  # rows that are read: each may hold a large catalogue


class Place(NamedTuple):
    """A place in the log: an entry's number and checksum."""

    seq: int
    chain: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the journal; `chain` is its checksum."""

    seq: int
    kind: str
    time: float
    decision: int
    name: str | None
    offer: int | None
    arrays: dict[str, NDArray]
    text: str
    chain: bytes


def reader(folder: Path) -> sqlite3.Connection:
    """Open the log of a folder to read it, while its agent may be writing."""
    path = folder / LOG
    if not path.exists():
        raise StoreError(f"{folder.name}: must be the folder of an agent, with {LOG}, got none")
    return read_file(path)


def head_of(base: sqlite3.Connection, path: Path) -> tuple[bytes, Place]:
    """The id of the store, and the place that the oldest row goes on from."""
    with worded(path):
        rows = base.execute("SELECT store, seq, chain FROM head").fetchall()
    if len(rows) != 1 or [type(one) for one in rows[0]] != [bytes, int, bytes]:
        raise StoreError(f"{path.name}: is damaged: it does not say where it begins")
    store, seq, chain = rows[0]
    return store, Place(seq, chain)


def newest(base: sqlite3.Connection, head: Place) -> Place:
    """The place of the newest row; without rows the one that the log goes on from."""
    found = base.execute("SELECT seq, chain FROM log ORDER BY seq DESC LIMIT 1").fetchone()
    return head if found is None else Place(*found)


def chain_at(base: sqlite3.Connection, path: Path, seq: int, head: Place) -> bytes:
    """The checksum of the newest row up to `seq`, which may be the one that the log begins after."""
    with worded(path):
        query = "SELECT chain FROM log WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
        found = base.execute(query, (seq,)).fetchone()
    chain: bytes = head.chain if found is None else found[0]
    return chain


def entries(base: sqlite3.Connection, path: Path, after: int, chain: bytes) -> Iterator[Entry]:
    """Return what happened after a place in the order, whose checksum is given.

    Raises:
        StoreError: an entry does not agree with its checksum, or the one before it is missing.
    """
    while rows := _rows(base, path, after):
        for row in rows:
            entry = _entry(path, row, chain)
            after, chain = entry.seq, entry.chain
            yield entry


def _rows(base: sqlite3.Connection, path: Path, after: int) -> list[tuple[Any, ...]]:
    """Some rows; a statement that stayed open between them would keep a log open that is refused."""
    # Columns by name: one that damage took from the schema is missed here.
    columns = "seq, kind, time, decision, name, offer, content, chain"
    query = f"SELECT {columns} FROM log WHERE seq > ? ORDER BY seq LIMIT {AT_ONCE}"  # noqa: S608
    with worded(path):
        return base.execute(query, (after,)).fetchall()


def _entry(path: Path, row: tuple[Any, ...], before: bytes) -> Entry:
    seq, kind, when, decision, name, offer, content, chain = row
    try:
        if link(before, seq, kind, when, decision, name, offer, content) != chain:
            raise StoreError(
                f"{path.name}: is damaged: entry {seq} does not agree with its checksum, or the one before "
                f"it is missing; {REPAIR}"
            )
        return Entry(seq, kind, when, decision, name, offer, *unpack(content), chain)
    except (TypeError, ValueError, AttributeError, struct.error) as error:
        raise StoreError(
            f"{path.name}: is damaged: entry {seq} cannot be read ({error}); {REPAIR}"
        ) from error
