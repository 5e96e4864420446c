"""What was on offer in a decision: kept once in the log, and recognised when it comes again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from superarm.agent.arms import Offered
from superarm.errors import StoreError
from superarm.storage.entries import Entry
from superarm.storage.log_file import worded
from superarm.storage.packing import unpack

NDArray = np.ndarray[Any, Any]
MAX_KNOWN = 10_000  # offers that are recognised when they come again: a catalogue that stays is among them


class KnownOffers:
    """Offers that the log holds, to recognise one that comes again.

    A full hash of a large catalogue takes as long as a choice. So an offer is hashed only when its first and
    its last row are those of an offer that the log holds.
    """

    def __init__(self) -> None:
        """Know none."""
        self._rows: dict[Any, tuple[int, bytes | None]] = {}  # by a glance: the row, and its hash once made

    def find(self, offered: Offered) -> tuple[Any, tuple[int, bytes | None] | None]:
        """What is quickly told of an offer, and the row of one that looks alike.

        With its hash, where one was made.
        """
        contexts = offered.contexts
        glance = contexts.shape, zlib.crc32(contexts[0].tobytes()), zlib.crc32(contexts[-1].tobytes())
        return glance, self._rows.get(glance)

    def add(self, glance: Any, seq: int, digest: bytes | None) -> None:
        """Note that row `seq` holds an offer."""
        if len(self._rows) < MAX_KNOWN or glance in self._rows:
            self._rows[glance] = seq, digest

    def forget(self, upto: int, kept: set[int]) -> None:
        """Drop those whose rows up to `upto` are gone, but for the kept ones."""
        rows = self._rows.items()
        self._rows = {glance: row for glance, row in rows if row[0] > upto or row[0] in kept}


def offer_of(base: sqlite3.Connection, path: Path, entry: Entry) -> Offered:
    """Return what was on offer in a decision."""
    arrays, text = entry.arrays, entry.text
    if entry.offer is not None:
        arrays, text = offer_at(base, path, entry.offer)
        if offer_digest(arrays["contexts"], text) != entry.arrays["offer"].tobytes():
            raise StoreError(f"{path.name}: is damaged: what decision {entry.decision} offered has changed")
    contexts, words = arrays["contexts"], json.loads(text)
    mask = entry.arrays.get("mask")
    columns = words["columns"]
    return Offered(
        contexts=contexts,
        ids=tuple(words["ids"]),
        mask=np.ones(len(contexts), bool) if mask is None else mask,
        columns=None if columns is None else tuple(columns),
    )


def offer_at(base: sqlite3.Connection, path: Path, seq: int) -> tuple[dict[str, NDArray], str]:
    """The arrays and words of the row that had an offer first, which may be forgotten but for them."""
    with worded(path):
        found = base.execute("SELECT content FROM log WHERE seq = ?", (seq,)).fetchone()
        found = found or base.execute("SELECT content FROM offers WHERE seq = ?", (seq,)).fetchone()
    if found is None:
        raise StoreError(f"{path.name}: is damaged: the offer of entry {seq} is missing")
    try:
        arrays, text = unpack(found[0])
        arrays["contexts"]  # what a row that is forgotten leaves has no checksum
    except (TypeError, ValueError, KeyError) as error:
        raise StoreError(f"{path.name}: is damaged: the offer of entry {seq} cannot be read") from error
    return arrays, text


def offer_digest(contexts: NDArray, text: str) -> bytes:
    """A name that only the same contexts, ids and columns have."""
    digest = hashlib.blake2b(contexts.tobytes(), digest_size=16)
    digest.update(f"{contexts.shape}{text}".encode())
    return digest.digest()
