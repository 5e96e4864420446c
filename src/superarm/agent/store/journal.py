"""The durable log: every decision, feedback and fit of an agent, in the order in which they happened.

One SQLite file in WAL mode. A row is on its way to the disk before the call that made it returns: the death
of the process loses nothing that was acknowledged; that of the machine loses nothing either when the journal
is `power_safe`, which waits for the disk. There is one writer, held by a lock that dies with its process;
anyone may read meanwhile.

What was offered is kept once: contexts and ids that come again are one row of `offers`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from superarm.agent.arms import Offered
from superarm.errors import StoreError

SCHEMA = 1
MIGRATIONS: dict[int, str] = {}  # SQL from a schema to the next
APPLICATION = 0x5A41524D  # of SQLite files that are superarm's
NDArray = np.ndarray[Any, Any]

_TABLES = """
CREATE TABLE offers (
    hash BLOB PRIMARY KEY,
    contexts BLOB NOT NULL,   -- (num_arms, d) float64
    num_arms INTEGER NOT NULL,
    ids TEXT NOT NULL,        -- JSON, and so are the columns' names
    columns TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE log (
    seq INTEGER PRIMARY KEY,  -- the order of all that happened
    kind TEXT NOT NULL,       -- decision, feedback, given or learn
    time REAL NOT NULL,       -- seconds since 1970
    decision INTEGER,         -- its number
    offer BLOB,               -- of a decision: what was on offer
    mask BLOB,                -- and which of it was available; NULL for all
    content BLOB              -- arrays: what was chosen, with what chances; or what came of it
);
CREATE INDEX of_decision ON log (decision);
CREATE INDEX of_offer ON log (offer);
"""


@dataclass(frozen=True)
class Entry:
    """A row of the journal."""

    seq: int
    kind: str
    time: float
    decision: int
    arrays: dict[str, NDArray]
    offer: bytes | None = None
    mask: bytes | None = None


def name_of(offered: Offered) -> bytes:
    """A name that only the same contexts, ids and columns have."""
    digest = hashlib.blake2b(offered.contexts.tobytes(), digest_size=16)
    digest.update(json.dumps([offered.contexts.shape, offered.ids, offered.columns]).encode())
    return digest.digest()


class Journal:
    """The log of one agent, open for writing. Calls must not overlap: the agent's lock sees to that."""

    def __init__(self, folder: Path, *, power_safe: bool = False) -> None:
        """Open or begin the log in a folder."""
        self.path = folder / "log.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder / "lock.sqlite", folder)
        except OSError as error:
            raise StoreError(f"{folder.name}: could not be made: {error.strerror or error}") from error
        try:
            self._base = _opened(self.path)
            self._base.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
            with _worded(self.path):
                self.last = self._base.execute("SELECT ifnull(max(seq), 0) FROM log").fetchone()[0]
            self._known: set[bytes] = set()  # offers known to be there
            self._broken = self._batch = False
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Give the file and the lock back."""
        self._base.close()
        self._lock.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what comes as one.

        If that cannot be written, whoever wrote has acted on what is not there, and nothing more is taken.
        """
        self.require_whole()
        self._batch = True
        try:
            with _worded(self.path):
                self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except StoreError:
                self._give_up()
                raise
            finally:
                if not self._broken:
                    self._commit()
        finally:
            self._batch = False

    def _commit(self) -> None:
        try:
            with _worded(self.path):
                self._base.execute("COMMIT")
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        self._broken = True
        if self._base.in_transaction:
            self._base.execute("ROLLBACK")

    def require_whole(self) -> None:
        """Raise if a batch was lost, or was begun and left open by an interrupt: nothing would be kept."""
        if self._broken or (self._base.in_transaction and not self._batch):
            raise StoreError(f"{self.path.name}: a batch could not be written; open the agent again")

    def append(
        self,
        kind: str,
        arrays: dict[str, NDArray],
        *,
        decision: int,
        now: float,
        offered: Offered | None = None,
    ) -> int:
        """Write a row; it is durable when this returns. Return its place in the order."""
        self.require_whole()
        name = None if offered is None else name_of(offered)
        mask = None if offered is None or offered.mask.all() else np.packbits(offered.mask).tobytes()
        row = (self.last + 1, kind, now, decision, name, mask, save(arrays) if arrays else None)
        insert = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)"
        if offered is None or name is None or name in self._known:
            with _worded(self.path):
                self._base.execute(insert, row)
        else:
            with self._as_one():  # an offer without its decision would stay for good
                self._base.execute("INSERT OR IGNORE INTO offers VALUES (?, ?, ?, ?, ?)", _row(name, offered))
                self._base.execute(insert, row)
            if len(self._known) < 10_000:  # a catalogue that stays is among the first
                self._known.add(name)
        self.last += 1
        return self.last

    @contextmanager
    def _as_one(self) -> Iterator[None]:
        """Some statements, all or none of them; within a batch they are the batch's."""
        if self._batch:
            with _worded(self.path):
                yield
            return
        with _worded(self.path):
            try:
                self._base.execute("BEGIN IMMEDIATE")
                yield
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def tail(self, after: int) -> Iterator[Entry]:
        """Return what happened after a place in the order."""
        return entries(self._base, self.path, after)

    def offered(self, entry: Entry) -> Offered:
        """Return what was on offer in a decision."""
        return offer_of(self._base, self.path, entry)

    def compact(self, *, upto: int, keep: int) -> None:
        """Forget entries up to a place in the order, but for those of the last `keep` decisions."""
        run = self._base.execute
        with self._as_one():
            newest = run("SELECT ifnull(max(decision), -1) FROM log").fetchone()[0]
            old = (upto, newest - keep)
            gone = run("SELECT DISTINCT offer FROM log WHERE seq <= ? AND decision <= ?", old).fetchall()
            run("DELETE FROM log WHERE seq <= ? AND decision <= ?", old)
            unused = "DELETE FROM offers WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM log WHERE offer = hash)"
            self._base.executemany(unused, gone)
        self._known.clear()


def _row(name: bytes, offered: Offered) -> tuple[Any, ...]:
    """An offer as a row of its table."""
    contexts = np.ascontiguousarray(offered.contexts, np.float64).tobytes()
    words = json.dumps(offered.ids), json.dumps(offered.columns)
    return (name, contexts, offered.contexts.shape[0], *words)


def reader(folder: Path) -> sqlite3.Connection:
    """Open a log to read it, while its agent may be writing."""
    path = folder / "log.sqlite"
    if not path.exists():
        raise StoreError(f"{folder.name}: must be the folder of an agent, with log.sqlite, got none")
    with _worded(path):
        base = sqlite3.connect(path, isolation_level=None, timeout=5.0)
        try:
            base.execute("PRAGMA query_only = ON")
            return _known(base, path)
        except BaseException:
            base.close()
            raise


def entries(base: sqlite3.Connection, path: Path, after: int) -> Iterator[Entry]:
    """Return what happened after a place in the order."""
    with _worded(path):
        rows = base.execute("SELECT * FROM log WHERE seq > ? ORDER BY seq", (after,))
        for seq, kind, when, decision, offer, mask, content in rows:
            yield Entry(seq, kind, when, decision, _arrays(path, seq, content), offer, mask)


def _arrays(path: Path, seq: int, content: bytes | None) -> dict[str, NDArray]:
    try:
        return load(content) if content else {}
    except SafetensorError as error:
        raise StoreError(f"{path.name}: is damaged: entry {seq} cannot be read ({error})") from error


def offer_of(base: sqlite3.Connection, path: Path, entry: Entry) -> Offered:
    """Return what was on offer in a decision."""
    with _worded(path):
        query = "SELECT contexts, num_arms, ids, columns FROM offers WHERE hash = ?"
        found = base.execute(query, (entry.offer,)).fetchone()
    if found is None:
        raise StoreError(f"{path.name}: is damaged: what decision {entry.decision} offered is missing")
    contexts, num_arms, ids, columns = found
    mask = np.ones(num_arms, bool)
    if entry.mask is not None:
        mask = np.unpackbits(np.frombuffer(entry.mask, np.uint8), count=num_arms).astype(bool)
    values = np.frombuffer(contexts, np.float64).reshape(num_arms, -1)
    names = json.loads(columns)
    return Offered(values, tuple(json.loads(ids)), mask, None if names is None else tuple(names))


def offer_sizes(base: sqlite3.Connection, path: Path) -> dict[bytes, tuple[int, int]]:
    """Return the arms and the features of every offer, by its name."""
    with _worded(path):
        found = base.execute("SELECT hash, num_arms, length(contexts) FROM offers").fetchall()
    return {name: (count, size // (8 * count)) for name, count, size in found}


def _opened(path: Path) -> sqlite3.Connection:
    with _worded(path):
        base = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
        try:
            return _checked(base, path)
        except BaseException:
            base.close()
            raise


def _checked(base: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return the file with its tables, made if it is new."""
    base.execute("PRAGMA journal_mode = WAL")
    if not base.execute("SELECT * FROM sqlite_master").fetchone():
        base.executescript(
            f"BEGIN; {_TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT;"
        )
    if base.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
        _bring_up(base)
    return _known(base, path)


def _bring_up(base: sqlite3.Connection) -> None:
    """Change the tables of an older schema to those of today, step by step, each whole or not at all."""
    schema = base.execute("PRAGMA user_version").fetchone()[0]
    while schema < SCHEMA and schema in MIGRATIONS:
        schema += 1
        base.executescript(f"BEGIN; {MIGRATIONS[schema - 1]} PRAGMA user_version = {schema}; COMMIT;")


def _known(base: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return the file, if it is one that this version reads."""
    application = base.execute("PRAGMA application_id").fetchone()[0]
    schema = base.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise StoreError(f"{path.name}: is a database of another program")
    if schema != SCHEMA:
        age = "newer" if schema > SCHEMA else "older"
        raise StoreError(f"{path.name}: has schema {schema}, {age} than {SCHEMA}, which this superarm reads")
    return base


def _locked(path: Path, folder: Path) -> sqlite3.Connection:
    """Hold a lock as long as the connection, and so at most as long as the process, lives."""
    with _worded(path):
        lock = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.0)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        raise StoreError(f"{folder.name}: is in use by another agent ({error})") from error
    return lock


@contextmanager
def _worded(path: Path) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path.name}: could not be used: {error}") from error
