"""Logs and state files of schema 1, brought to schema 2.

Schema 1 was written up to version 0.1: its log has no checksums, keeps offers in a table of their own, and
its rows are safetensors; its lock is a database; its state file does not say which store it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from superarm.agent.numpy_linear import COMPILED
from superarm.agent.store.offers import offer_digest
from superarm.agent.store.pending import ids_array
from superarm.errors import StoreError, StoreInUseError
from superarm.storage.log_file import APPLICATION, SCHEMA, START, TABLES, as_one, worded
from superarm.storage.packing import link, pack

NDArray = np.ndarray[Any, Any]
MAX_CURVATURE = 4096  # parameters of a fit whose curvature was kept: networks have more, and keep none


def migrate_state(
    arrays: dict[str, NDArray], content: dict[str, Any]
) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """A state of schema 1 as one of schema 2.

    An agent has an id: that of an old file is a hash of what the file holds. Fits keep the root of a
    curvature, which may begin with any: it saves time, and changes no fit.
    """
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(arrays[name].tobytes())
    roots = {}
    for name, array in arrays.items():
        parent, _, last = name.rpartition(".")
        fitted = name.startswith("state.fit") and last in ("params", "theta") and array.ndim
        if fitted and f"{parent}.root" not in arrays and array.shape[-1] <= MAX_CURVATURE:
            identity = np.eye(array.shape[-1], dtype=array.dtype)
            roots[f"{parent}.root"] = np.broadcast_to(identity, (*array.shape, array.shape[-1])).copy()
    plain = {name: value for name, value in content.items() if name != "pending"}
    new = {"agent": digest.hexdigest(), "chain": None, "form": COMPILED}
    return _stacked(arrays | roots, content), {**plain, **new}


def _stacked(arrays: dict[str, NDArray], content: dict[str, Any]) -> dict[str, NDArray]:
    """Arrays with what waits for feedback stacked, memos too, which schema 1 kept decision by decision."""
    waiting = content["pending"]
    if not waiting:
        return arrays
    found = {name: array for name, array in arrays.items() if not name.startswith("pending.memo.")}
    for name, dtype in (("number", np.int64), ("time", np.float64), ("epoch", np.int64)):
        found[f"pending.{name}"] = np.array([row[name] for row in waiting], dtype)
    found["pending.ids"] = ids_array(tuple(row["ids"]) for row in waiting)
    memos: dict[int, dict[str, NDArray]] = {}
    for name, array in arrays.items():
        if name.startswith("pending.memo."):
            index, path = _memo_name(name)
            memos.setdefault(index, {})[f"pending.memo{path}"] = array
    newest = max(row["epoch"] for row in waiting)
    rows = sorted(index for index in memos if waiting[index]["epoch"] == newest)
    if rows:
        found["pending.remembered"] = np.array(rows, np.int64)
        for name in memos[rows[0]]:
            found[name] = np.stack([memos[index][name] for index in rows])
    return found


def _memo_name(name: str) -> tuple[int, str]:
    """The decision and the path in "pending.memo.3.level" or "pending.memo.3[0]"."""
    found = re.fullmatch(r"pending\.memo\.(\d+)(.*)", name, flags=re.DOTALL)
    if found is None:
        raise KeyError(name)
    return int(found[1]), found[2]


def migrate_log(base: sqlite3.Connection, path: Path, store: bytes, checkpoint: int) -> None:
    """Bring a log of schema 1 to schema 2, whole or not at all; any other is left as it is.

    Args:
        base: the log, open.
        path: its file.
        store: the id that the store gets.
        checkpoint: the entry that the state was written after.
    """
    with worded(path):
        application = base.execute("PRAGMA application_id").fetchone()[0]
        schema = base.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION or schema != 1:
        return
    old_lock = path.with_name("lock.sqlite")
    with worded(path), closing(sqlite3.connect(old_lock, isolation_level=None, timeout=0.0)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise StoreInUseError(f"{path.parent.name}: is in use by another agent") from None
        try:
            with as_one(base):
                _rewrite(base, path, store, checkpoint)
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
            raise StoreError(
                f"{path.name}: is damaged: a row of schema 1 cannot be read ({error})"
            ) from error
    old_lock.unlink(missing_ok=True)


def _rewrite(base: sqlite3.Connection, path: Path, store: bytes, checkpoint: int) -> None:
    run = base.execute
    for name in ("of_decision", "of_offer"):
        run(f"DROP INDEX IF EXISTS {name}")
    run("ALTER TABLE log RENAME TO old_log")
    run("ALTER TABLE offers RENAME TO old_offers")
    for statement in TABLES:
        run(statement)
    run("INSERT INTO head VALUES (?, 0, ?)", (store, START))
    first: dict[bytes, tuple[int, bytes]] = {}  # an offer: the row that has it, and its hash in schema 2
    last, chain = 0, START

    def add(seq: int, kind: str, when: float, decision: int, offer: int | None, content: bytes) -> None:
        nonlocal last, chain
        chain = link(chain, seq, kind, when, decision, None, offer, content)
        row = (seq, kind, when, decision, None, offer, content, chain)
        run("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        last = seq

    def mark_checkpoint() -> None:
        """Stand in for the entry of the checkpoint, which compaction may have taken: its number is used."""
        if last < checkpoint:
            add(checkpoint, "migrated", 0.0, -1, None, pack({}))

    for seq, kind, when, decision, offer, mask, content in run("SELECT * FROM old_log ORDER BY seq"):
        if seq > checkpoint:
            mark_checkpoint()
            if seq != last + 1:
                raise StoreError(f"{path.name}: is damaged: entry {last + 1} is missing")
        arrays, text, refers = _arrays(path, seq, content), "", None
        if offer is not None:
            contexts, text = _offer(base, path, seq, offer)
            if mask is not None:
                bits = np.unpackbits(np.frombuffer(mask, np.uint8), count=len(contexts))
                arrays["mask"] = bits.astype(bool)
            if offer in first:
                refers, digest = first[offer]
                arrays["offer"], text = np.frombuffer(digest, np.uint8), ""
            else:
                first[offer] = seq, offer_digest(contexts, text)
                arrays["contexts"] = contexts
        add(seq, kind, when, -1 if decision is None else decision, refers, pack(arrays, text))
    mark_checkpoint()
    run("DROP TABLE old_log")
    run("DROP TABLE old_offers")
    run(f"PRAGMA user_version = {SCHEMA}")


def _arrays(path: Path, seq: int, content: bytes | None) -> dict[str, NDArray]:
    try:
        return dict(load(content)) if content else {}
    except SafetensorError as error:
        raise StoreError(f"{path.name}: is damaged: entry {seq} cannot be read ({error})") from error


def _offer(base: sqlite3.Connection, path: Path, seq: int, name: bytes) -> tuple[NDArray, str]:
    """The contexts of an offer, and its words; its hash, which schema 1 never compared, must agree."""
    query = "SELECT contexts, num_arms, ids, columns FROM old_offers WHERE hash = ?"
    found = base.execute(query, (name,)).fetchone()
    if found is None:
        raise StoreError(f"{path.name}: is damaged: what entry {seq} offered is missing")
    try:
        contexts = np.frombuffer(found[0], np.float64).reshape(found[1], -1)
        ids, columns = json.loads(found[2]), json.loads(found[3])
    except (TypeError, ValueError) as error:
        raise StoreError(f"{path.name}: is damaged: what entry {seq} offered cannot be read") from error
    digest = hashlib.blake2b(contexts.tobytes(), digest_size=16)
    digest.update(json.dumps([contexts.shape, ids, columns]).encode())
    if digest.digest() != name:
        raise StoreError(f"{path.name}: is damaged: what entry {seq} offered does not agree with its hash")
    return contexts, json.dumps({"ids": ids, "columns": columns})
