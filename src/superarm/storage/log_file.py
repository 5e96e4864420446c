"""The file of a log: its tables, its schema, and SQLite's errors in our words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from superarm.errors import StoreError

LOG = "log.sqlite"
SCHEMA = 2
APPLICATION = 0x5A41524D  # of SQLite files that are superarm's
START = bytes(16)  # the checksum before the first row

TABLES = (
    """CREATE TABLE head (
    store BLOB NOT NULL,       -- the id of the store, 16 bytes
    seq INTEGER NOT NULL,      -- rows up to here are forgotten
    chain BLOB NOT NULL        -- the checksum of the last of them
)""",
    """CREATE TABLE log (
    seq INTEGER PRIMARY KEY,   -- the order of all that happened
    kind TEXT NOT NULL,        -- opened, decision, feedback, given, learn, ...: more may come
    time REAL NOT NULL,        -- seconds since 1970
    decision INTEGER NOT NULL, -- its number; -1 where there is none
    name TEXT,                 -- the caller's own id of a decision
    offer INTEGER,             -- the row that had the same offer first; NULL for its own
    content BLOB NOT NULL,     -- arrays and words: see packing.py
    chain BLOB NOT NULL        -- the checksum of this row and of the one before
)""",
    "CREATE UNIQUE INDEX of_name ON log (name) WHERE name IS NOT NULL",
    "CREATE INDEX of_offer ON log (offer) WHERE offer IS NOT NULL",
    """CREATE TABLE offers (
    seq INTEGER PRIMARY KEY,   -- a row that is forgotten, to whose offer later rows refer
    content BLOB NOT NULL
)""",
)


def make_file(path: Path, store: bytes) -> None:
    """Make the file, for its owner alone, with empty tables; what was hardly begun is begun again."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"{path.name}: could not be made: {error.strerror or error}") from error
    with worded(path):
        base = sqlite3.connect(path, isolation_level=None)
        try:
            if not base.execute("SELECT * FROM sqlite_master").fetchone():
                base.execute("PRAGMA journal_mode = WAL")
                with as_one(base):
                    for statement in TABLES:
                        base.execute(statement)
                    base.execute("INSERT INTO head VALUES (?, 0, ?)", (store, START))
                    base.execute(f"PRAGMA application_id = {APPLICATION}")
                    base.execute(f"PRAGMA user_version = {SCHEMA}")
        finally:
            base.close()


def open_file(
    path: Path, *, migrate: Callable[[sqlite3.Connection], None] | None = None
) -> sqlite3.Connection:
    """Open a log to write to it; `migrate` brings an older one to the schema of today."""
    with worded(path):
        base = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
        try:
            base.execute("PRAGMA journal_mode = WAL")
            if migrate is not None:
                migrate(base)
            return known_schema(base, path)
        except BaseException:
            base.close()
            raise


def read_file(path: Path) -> sqlite3.Connection:
    """Open a log to read it, while its agent may be writing. The connection cannot write."""
    with worded(path):
        name = f"{path.resolve().as_uri()}?mode=ro"
        base = sqlite3.connect(name, uri=True, isolation_level=None, timeout=5.0)
        try:
            return known_schema(base, path)
        except BaseException:
            base.close()
            raise


def known_schema(base: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return the file, if it is one that this version reads."""
    application = base.execute("PRAGMA application_id").fetchone()[0]
    schema = base.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise StoreError(f"{path.name}: is a database of another program")
    if schema > SCHEMA:
        raise StoreError(
            f"{path.name}: has schema {schema}, newer than {SCHEMA}, which this superarm reads; upgrade it"
        )
    if schema < SCHEMA:
        raise StoreError(f"{path.name}: has schema {schema}; Agent.open brings it to schema {SCHEMA}")
    return base


@contextmanager
def as_one(base: sqlite3.Connection) -> Iterator[None]:
    """Some statements, all or none of them."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:
            base.execute("ROLLBACK")
        raise


@contextmanager
def worded(path: Path) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    """An error of SQLite's in our words."""
    return StoreError(f"{path.name}: could not be used: {error}")
