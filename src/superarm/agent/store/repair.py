"""Looking a store over, and saving what a damaged one still holds.

Nothing here writes to the store itself. `check_store` reads every row, `repair_store` writes what can be
trusted to a new folder, `backup_store` copies a store that is whole, its agent may be at work.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from superarm import checks
from superarm.agent.store.backup import Backup, mark_copy, require_empty
from superarm.agent.store.offers import offer_of
from superarm.agent.store.snapshot import restored, snapshot
from superarm.agent.store.state_file import STATE, Arrays, read_state, write_state
from superarm.errors import StoreError
from superarm.storage.entries import Place, chain_at, entries, head_of
from superarm.storage.lock import NAME, Mark, read_mark
from superarm.storage.log_file import LOG, as_one, make_file, open_file, read_file, worded

TRIES = 5  # to copy a store whose agent writes a checkpoint meanwhile


@dataclass
class StoreReport:
    """What a store holds, and what is wrong with it.

    Attributes:
        folder: the store.
        checkpoint: the entry that the state was written after; None where the state cannot be read.
        first, last: entries of the log that agree with their checksums, one after another; None for none.
        acknowledged: the newest entry that an answer was given for; None where nothing says so.
        problems: a sentence each; none for a store that is whole.
        arrays, content: the state.
        store, head: the id of the store, and the place that its log goes on from.
    """

    folder: Path
    checkpoint: int | None = None
    first: int | None = None
    last: int | None = None
    acknowledged: int | None = None
    problems: list[str] = field(default_factory=list)
    arrays: Arrays = field(default_factory=dict, repr=False)
    content: dict[str, Any] = field(default_factory=dict, repr=False)
    store: bytes = field(default=b"", repr=False)
    head: Place | None = field(default=None, repr=False)

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def plain(self) -> dict[str, Any]:
        """The report as plain data."""
        names = ("checkpoint", "first", "last", "acknowledged", "problems")
        return {
            "folder": self.folder.name,
            "whole": self.whole,
            **{name: getattr(self, name) for name in names},
        }


@checks.named
def check_store(folder: str | Path) -> StoreReport:
    """Read all of a store, and say what is wrong with it. Nothing is changed.

    >>> import numpy as np, superarm, tempfile
    >>> folder = tempfile.mkdtemp() + "/agent"
    >>> with superarm.Agent(superarm.lin_ucb(), store=folder) as agent:
    ...     learned = agent.update(agent.select(np.eye(3)), 1.0)
    >>> check_store(folder).whole
    True
    """
    report = StoreReport(Path(folder))
    if not report.folder.is_dir():
        raise StoreError(f"{report.folder.name}: must be the folder of an agent, got none")
    _check_state(report)
    mark = _check_mark(report)
    try:
        with closing(read_file(report.folder / LOG)) as base:
            _check_log(report, base, mark)
    except StoreError as error:
        report.problems.append(str(error))
    return report


def _check_state(report: StoreReport) -> None:
    try:
        report.arrays, report.content = read_state(report.folder / STATE)
        report.checkpoint = checks.count(STATE, "seq", report.content.get("seq"), low=0)
    except (StoreError, TypeError, ValueError) as error:
        report.problems.append(str(error))


def _check_mark(report: StoreReport) -> Mark | None:
    try:
        mark = read_mark(report.folder)
    except StoreError as error:
        report.problems.append(str(error))
        return None
    if mark is None:
        report.problems.append(f"{NAME}: is missing or empty, so that the end of the log is not known")
    else:
        report.acknowledged = mark.seq
    return mark


def _check_log(report: StoreReport, base: sqlite3.Connection, mark: Mark | None) -> None:
    path = report.folder / LOG
    with worded(path):
        base.execute("BEGIN")  # one view of all
    store, head = head_of(base, path)
    report.store, report.head, report.last = store, head, head.seq
    try:
        for entry in entries(base, path, *head):
            if entry.kind == "decision":
                offer_of(base, path, entry)
            report.first = entry.seq if report.first is None else report.first
            report.last = entry.seq
            if mark is not None and entry.seq == mark.seq and entry.chain != mark.chain:
                raise StoreError(f"{LOG}: entry {entry.seq} is not the one that was acknowledged")
    except StoreError as error:
        report.problems.append(str(error))
    if mark is not None and mark.store != store:
        report.problems.append(f"{LOG}: is the log of another store than {NAME}")
    if mark is not None and mark.seq > report.last:
        lost = mark.seq - report.last
        report.problems.append(f"{LOG}: {lost} acknowledged entries after entry {report.last} are missing")
    if report.checkpoint is not None and not _meets(report, base):
        report.problems.append(f"{STATE}: does not meet the log at entry {report.checkpoint}")


def _meets(report: StoreReport, base: sqlite3.Connection) -> bool:
    """Whether the state was written after an entry of the log that can be trusted."""
    if report.head is None or report.last is None or report.checkpoint is None:
        return False
    inside = report.head.seq <= report.checkpoint <= report.last
    if not inside or report.content["agent"] != report.store.hex():
        return False
    found = chain_at(base, report.folder / LOG, report.checkpoint, report.head)
    return bool(found.hex() == report.content["chain"])


@checks.named
def repair_store(folder: str | Path, out: str | Path) -> StoreReport:
    """Save what a damaged store still holds into a new folder; return what was found in the old one.

    Entries up to the first that is damaged are kept, with the state that they begin from. Where the log does
    not meet the state, the state alone is kept, and what happened after it is lost. Where the state cannot be
    read, it is made again from the log, if that goes back to the beginning.

    Args:
        folder: of the damaged store, which stays as it is.
        out: empty, or not there.

    Raises:
        StoreError: nothing can be saved.
    """
    report, target = check_store(folder), Path(out)
    require_empty(target)
    with closing(_view(report)) as base:
        meets = base.connection is not None and _meets(report, base.connection)
        arrays, content = report.arrays, report.content
        if report.checkpoint is None:
            arrays, content = _first_state(report, base.connection)
            meets = True
        target.mkdir(parents=True, exist_ok=True)
        _write_log(report, base.connection if meets else None, content, target)
    write_state(target / STATE, arrays, content)
    mark_copy(target)
    return report


@dataclass
class _View:
    """A log that is open for reading; None where it cannot be opened."""

    connection: sqlite3.Connection | None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def _view(report: StoreReport) -> _View:
    try:
        return _View(read_file(report.folder / LOG))
    except StoreError:
        return _View(None)


def _first_state(report: StoreReport, base: sqlite3.Connection | None) -> tuple[Arrays, dict[str, Any]]:
    """The state that the log begins from, as its first entry says it."""
    if base is not None and report.head is not None and report.head.seq == 0 and report.first is not None:
        first = next(entries(base, report.folder / LOG, *report.head))
        begun = json.loads(first.text or "{}").get("state")
        if begun is not None:
            arrays, content = snapshot(restored({}, begun, policy=None))
            return arrays, {**content, "agent": begun["agent"], "seq": 0, "chain": report.head.chain.hex()}
    why = "the state cannot be read, and the log does not go back to the beginning"
    raise StoreError(f"{report.folder.name}: cannot be repaired: {why}")


def _write_log(
    report: StoreReport, base: sqlite3.Connection | None, content: dict[str, Any], target: Path
) -> None:
    """Write the entries that can be trusted; without a log, begin one after the state."""
    path = target / LOG
    head = Place(content["seq"], bytes.fromhex(content["chain"]))
    if base is not None and report.head is not None:
        head = report.head
    make_file(path, bytes.fromhex(content["agent"]))
    with closing(open_file(path)) as copy, worded(path), as_one(copy):
        copy.execute("UPDATE head SET seq = ?, chain = ?", head)
        if base is not None:
            copy.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _rows(report, base))
            copy.executemany("INSERT INTO offers VALUES (?, ?)", base.execute("SELECT * FROM offers"))


def _rows(report: StoreReport, base: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    query = "SELECT * FROM log WHERE seq <= ? ORDER BY seq"
    return base.execute(query, (report.last,))


@checks.named
def backup_store(folder: str | Path, out: str | Path) -> Path:
    """Copy a store into another folder, while its agent may be at work; `Agent.backup` does so from inside.

    Args:
        folder: of the store.
        out: empty, or not there.
    """
    source = Path(folder)
    for _ in range(TRIES):
        arrays, content = read_state(source / STATE)
        if content["chain"] is None:
            raise StoreError(f"{source.name}: has schema 1; Agent.open brings it to the schema of today")
        copy = Backup(Path(out), arrays, content, source / LOG)
        if copy.meets(content["seq"]):
            return copy.write()
        copy.close()  # a checkpoint came between the state and the log
    raise StoreError(f"{source.name}: is damaged, or its agent writes too many checkpoints; check the store")
