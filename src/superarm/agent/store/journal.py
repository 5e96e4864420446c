"""The durable log: decisions, feedback and fits of an agent, in the order in which they happened.

Fits that were due are made again from the feedback, and are not in it.

One SQLite file in WAL mode. A row is on its way to the disk before the call that made it returns: the death
of the process loses nothing that was acknowledged; that of the machine loses nothing either when the journal
is `power_safe`, which waits for the disk. There is one writer, which holds the folder's lock; anyone may read
meanwhile.

Each row has a checksum over itself and the checksum of the row before, so that the newest one vouches for
all. The lock's file holds the newest acknowledged row's (`lock.Mark`): a tail that is lost is missed.

Contexts that are offered again are kept once: later decisions refer to the row that had them first. When
compaction removes that row, its content moves to the table `offers` as long as a row refers to it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.arms import Offered
from superarm.agent.store.migration import migrate_log
from superarm.agent.store.offers import KnownOffers, offer_at, offer_digest, offer_of
from superarm.errors import StoreError
from superarm.storage.entries import (
    REPAIR,
    Entry,
    Place,
    chain_at,
    entries,
    head_of,
    newest,
)
from superarm.storage.lock import FolderLock, Mark, gone, this_boot
from superarm.storage.log_file import LOG, as_one, close_unchanged, make_file, open_file, unusable, worded
from superarm.storage.packing import link, pack

LOST_BATCH = f"{LOG}: a batch could not be written; open the agent again"
UNCERTAIN = f"{LOG}: whether an entry was acknowledged is not certain; open the agent again"
NDArray = np.ndarray[Any, Any]
PAGE = 4096  # bytes: what SQLite writes for a short row
MAX_WAL = 2**26  # bytes, for agents that write no checkpoints; theirs empty the write-ahead log
_INSERT = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Journal:
    """The log of one agent, open for writing. Calls must not overlap: the agent's lock sees to that.

    Attributes:
        store: the id of the store, 16 bytes.
        head: the place that the oldest row goes on from.
        last, chain: the number and the checksum of the newest row.
        stopped: why nothing more is taken; "" while it is.
    """

    def __init__(self, folder: Path, base: sqlite3.Connection, lock: FolderLock, *, power_safe: bool) -> None:
        """Go on with an open file; `begin` and `reopen` open one."""
        self.folder, self.path = folder, folder / LOG
        self._base, self._lock, self._power_safe = base, lock, power_safe
        with worded(self.path):
            base.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
            base.execute("PRAGMA wal_autocheckpoint = 0")  # `_empty` does it, where the view is closed
            self.store, self.head = head_of(base, self.path)
            self.last, self.chain = newest(base, self.head)
        self._known = KnownOffers()
        self._ids: tuple[Any, str] = ((), "")  # ids and columns that came last, and their text
        self.stopped, self._batch = "", False
        self._view: sqlite3.Cursor | None = None
        self._written = 0  # bytes since the write-ahead log was emptied, roughly

    @classmethod
    def begin(cls, lock: FolderLock, store: bytes, *, power_safe: bool = False) -> Journal:
        """Begin a log in a locked folder that holds none."""
        folder = lock.path.parent
        make_file(folder / LOG, store)
        journal = cls(folder, open_file(folder / LOG), lock, power_safe=power_safe)
        try:
            if journal.last:
                raise StoreError(f"{folder.name}: holds an agent; use Agent.open to go on with it")
            journal._write_head(store)
            journal.settle()
        except BaseException:
            journal._base.close()
            raise
        return journal

    @classmethod
    def reopen(cls, lock: FolderLock, store: bytes, seq: int, *, power_safe: bool = False) -> Journal:
        """Open the log of a locked folder, whose state is of entry `seq`.

        `verify` comes next, then `settle`.
        """
        folder = lock.path.parent
        path = folder / LOG
        if not path.exists():
            must = f"{LOG} is missing: what happened since the last checkpoint is lost"
            raise StoreError(f"{folder.name}: {must}; {REPAIR}")
        base = open_file(path, migrate=lambda base: migrate_log(base, path, store, seq))
        try:
            return cls(folder, base, lock, power_safe=power_safe)
        except BaseException:
            close_unchanged(base, path)
            raise

    def _write_head(self, store: bytes) -> None:
        with worded(self.path):
            self._base.execute("UPDATE head SET store = ?", (store,))
        self.store = store

    def close(self) -> None:
        """Give the file and the lock back."""
        self._close_view()  # SQLite keeps a file open, and its locks, as long as a query is not finished
        self._base.close()
        self._lock.close()

    def refuse(self) -> None:
        """Give the file back as it was found. The lock is given back by whoever took it."""
        close_unchanged(self._base, self.path)

    def leave_to_parent(self) -> None:
        """In a forked child: give back the child's copy of the lock, and touch nothing else."""
        self._lock.close()

    # Writing

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what comes as one.

        If that cannot be written, whoever wrote has acted on what is not there, and nothing more is taken.
        """
        self.require_whole()
        self._batch = True
        try:
            with worded(self.path):
                self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except StoreError:
                self._give_up()
                raise
            finally:
                if not self.stopped:
                    self._commit()
        finally:
            self._batch = False

    def _commit(self) -> None:
        try:
            with worded(self.path):
                self._base.execute("COMMIT")
            self._lock.advance(self.last, self.chain)
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        self.stopped = LOST_BATCH
        if self._base.in_transaction:
            self._base.execute("ROLLBACK")

    def require_whole(self) -> None:
        """Raise if nothing more is taken: a batch was lost or left open, or the folder is gone."""
        if not self.stopped and self._lock.removed:
            self.stopped = gone(self.folder.name)
        if not self.stopped and self._base.in_transaction and not self._batch:
            self.stopped = LOST_BATCH
        if self.stopped:
            raise StoreError(self.stopped)

    def append(
        self,
        kind: str,
        arrays: dict[str, NDArray],
        *,
        decision: int,
        now: float,
        offered: Offered | None = None,
        text: str = "",
    ) -> int:
        """Write a row; it is durable when this returns. Return its place in the order."""
        self.require_whole()
        seq, offer, noted = self.last + 1, None, None
        if offered is not None:
            arrays, text, offer, noted = self._with_offer(arrays, offered)
        content = pack(arrays, text)
        chain = link(self.chain, seq, kind, now, decision, None, offer, content)
        try:
            self._base.execute(_INSERT, (seq, kind, now, decision, None, offer, content, chain))
        except sqlite3.DatabaseError as error:
            self._close_view()  # where another program wrote to the file, the view is of what it was before
            raise unusable(self.path, error) from error
        self.last, self.chain = seq, chain
        self._written += len(content) + PAGE
        if noted is not None:
            self._known.add(noted, seq, None)
        if not self._batch:
            try:
                self._lock.advance(seq, chain)
            except BaseException:  # the row is there, and the caller will not know
                self.stopped = UNCERTAIN
                raise
            if self._written > MAX_WAL:
                self._empty()
        return seq

    def _with_offer(
        self, arrays: dict[str, NDArray], offered: Offered
    ) -> tuple[dict[str, NDArray], str, int | None, Any]:
        """The arrays and words of a decision with its offer, or with the row that has the same.

        Returns:
            What is written, the row that is referred to, and by which glance the offer is known from now on.
        """
        if not (offered.all or offered.mask.all()):
            arrays = {**arrays, "mask": offered.mask}
        text = self._words(offered)
        glance, found = self._known.find(offered)
        if found is not None:
            seq, digest = found
            if digest is None:  # one has come that looks alike: now the first is hashed, too
                digest = offer_digest(*self._offer(seq))
                self._known.add(glance, seq, digest)
            if digest == offer_digest(offered.contexts, text):
                return {**arrays, "offer": np.frombuffer(digest, np.uint8)}, "", seq, None
        return {**arrays, "contexts": offered.contexts}, text, None, glance

    def _words(self, offered: Offered) -> str:
        """Ids and columns as JSON; those that came last mostly come again."""
        key = offered.ids, offered.columns
        if key != self._ids[0]:
            self._ids = key, json.dumps({"ids": offered.ids, "columns": offered.columns})
        return self._ids[1]

    # Reading

    def verify(self, seq: int, chain: bytes) -> None:
        """Compare all that came after entry `seq`, which has this checksum, with its checksums and the mark.

        Raises:
            StoreError: an entry is missing or damaged, or acknowledged entries are missing at the end.
        """
        name = self.path.name
        mark = self._lock.mark()
        if mark is None:
            must = "is missing or empty, so that the end of the log is not known"
            raise StoreError(f"{self._lock.path.name}: {must}; {REPAIR}")
        if mark.store != self.store:
            raise StoreError(f"{name}: is the log of another store than {self._lock.path.name}")
        if seq < self.head.seq:
            raise StoreError(f"{name}: begins after entry {self.head.seq}, and the state is of entry {seq}")
        if seq > self.last:
            raise StoreError(f"{name}: ends at entry {self.last}, and the state is of entry {seq}; {REPAIR}")
        if chain_at(self._base, self.path, seq, self.head) != chain:
            raise StoreError(f"{name}: entry {seq} is not the one that the state was written after")
        if mark.seq < seq:
            raise StoreError(f"{self._lock.path.name}: is older than the state, which is of entry {seq}")
        if mark.seq == seq and mark.chain != chain:
            raise StoreError(f"{name}: entry {seq} is not the one that was acknowledged")
        for entry in self.tail(seq, chain):
            if entry.seq == mark.seq and entry.chain != mark.chain:
                raise StoreError(f"{name}: entry {entry.seq} is not the one that was acknowledged")
        if mark.seq > self.last:
            self._accept_loss(mark)

    def begun_by_schema_1(self, seq: int) -> bytes:
        """The checksum of entry `seq`, after which a state of schema 1 was written.

        Such a state belongs to this log only until this version has opened it.
        """
        with worded(self.path):
            opened = self._base.execute("SELECT 1 FROM log WHERE kind = 'opened' LIMIT 1").fetchone()
        if opened or seq > self.last:
            raise StoreError(f"{self.path.name}: is not the log of this state, which is of schema 1")
        return chain_at(self._base, self.path, seq, self.head)

    def _accept_loss(self, mark: Mark) -> None:
        """Go on without a lost tail where the loss of power explains it; refuse otherwise."""
        lost = f"{mark.seq - self.last} acknowledged entries after entry {self.last} are missing"
        boot = this_boot()
        if mark.power_safe or mark.boot == boot or not any(boot) or not any(mark.boot):
            raise StoreError(f"{self.path.name}: {lost}; {REPAIR}")
        checks.warn(
            f"{self.folder.name}: the machine went down, and {lost}; a store with power_safe=True waits for "
            "the disk"
        )

    def settle(self) -> None:
        """Say in the lock's file how far the log has come, whatever was said before."""
        mark = Mark(self.last, self.chain, self.store, this_boot(), self._power_safe)
        self._lock.settle(mark)
        self._empty()

    def tail(self, after: int, chain: bytes) -> Iterator[Entry]:
        """Return what happened after a place in the order, each entry compared with its checksum."""
        return entries(self._base, self.path, after, chain)

    def offered(self, entry: Entry) -> Offered:
        """Return what was on offer in a decision."""
        return offer_of(self._base, self.path, entry)

    def _offer(self, seq: int) -> tuple[NDArray, str]:
        arrays, text = offer_at(self._base, self.path, seq)
        return arrays["contexts"], text

    # Keeping

    def _empty(self) -> None:
        """Bring the write-ahead log into the file, so that it begins anew, and open a view of the log.

        The view is that of a query which is not finished. SQLite locks a view for each statement that finds
        none, and gives it up again: without it a row takes six locks, with it two, and three quarters of the
        time. As long as it is open the write-ahead log grows.
        """
        self._close_view()
        with worded(self.path):
            self._base.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            self._view = self._base.execute("SELECT seq FROM head UNION ALL SELECT seq FROM head")
            self._view.fetchone()
        self._written = 0

    def _close_view(self) -> None:
        view, self._view = self._view, None
        if view is not None:
            view.close()

    def sync(self) -> None:
        """Bring all rows to the disk, so that no state is ever ahead of them."""
        self.require_whole()
        if not self._lock.here:
            self.stopped = gone(self.folder.name)
            raise StoreError(self.stopped)
        self._empty()

    def compact(self, *, upto: int, decision: int | None) -> None:
        """Forget the oldest entries up to `upto`, and not those from a decision on.

        Its time grows with what is forgotten and with the offers that are referred to, not with the log.
        """
        if decision is not None:
            upto = min(upto, self._before(decision))
        if upto <= self.head.seq:
            return
        run = self._base.execute
        with worded(self.path), as_one(self._base):
            chain = chain_at(self._base, self.path, upto, self.head)
            kept = {seq for seq in self._offers_upto(upto) if self._referred(seq, upto)}
            copy = "INSERT OR IGNORE INTO offers SELECT seq, content FROM log WHERE seq = ?"
            self._base.executemany(copy, [(seq,) for seq in kept])
            unused = [row for row in run("SELECT seq FROM offers").fetchall() if row[0] not in kept]
            self._base.executemany("DELETE FROM offers WHERE seq = ?", unused)
            run("DELETE FROM log WHERE seq <= ?", (upto,))
            run("UPDATE head SET seq = ?, chain = ?", (upto, chain))
        self.head = Place(upto, chain)
        self._known.forget(upto, kept)

    def _offers_upto(self, upto: int) -> Iterator[int]:
        """The rows up to `upto` to whose offers others refer, one step in the index for each."""
        seq = -1
        while True:
            found = self._base.execute("SELECT min(offer) FROM log WHERE offer > ?", (seq,)).fetchone()[0]
            if found is None or found > upto:
                return
            yield (seq := found)

    def _referred(self, offer: int, after: int) -> bool:
        query = "SELECT 1 FROM log WHERE offer = ? AND seq > ? LIMIT 1"
        return self._base.execute(query, (offer, after)).fetchone() is not None

    def _before(self, decision: int) -> int:
        """The newest entry before that of a decision, found by halving: numbers rise with the order."""
        query = "SELECT seq, decision FROM log WHERE seq > ? AND kind IN (?, ?) ORDER BY seq LIMIT 1"
        low, high = self.head.seq, self.last  # the entry lies after `low`, and at most at `high` + 1
        with worded(self.path):
            while low < high:
                middle = (low + high) // 2
                found = self._base.execute(query, (middle, "decision", "given")).fetchone()
                if found is None or found[1] >= decision:
                    high = middle
                else:
                    low = found[0]
        return low
