"""A copy of a store, made while its agent goes on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from superarm.agent.store.state_file import STATE, write_state
from superarm.errors import StoreError
from superarm.storage.entries import head_of, newest
from superarm.storage.lock import FolderLock, Mark, this_boot
from superarm.storage.log_file import LOG, read_file, worded


class Backup:
    """A copy that has begun: a state, and a view of the log that does not change any more.

    The log goes on beside the view. `write` may take its time, without the agent's lock.
    """

    def __init__(
        self, folder: Path, arrays: Mapping[str, np.ndarray[Any, Any]], content: Mapping[str, Any], log: Path
    ) -> None:
        """Take the view; `content` has the entry that the state is of."""
        require_empty(folder)
        self.folder, self._arrays, self._content = folder, arrays, content
        self._base, self._log = read_file(log), log
        with worded(log):
            self._base.execute("BEGIN")
            self._base.execute("SELECT 1 FROM head").fetchone()  # a view begins with the first row read

    def meets(self, seq: int) -> bool:
        """Whether the view goes on from entry `seq`."""
        return head_of(self._base, self._log)[1].seq <= seq

    def close(self) -> None:
        """Give the view back."""
        self._base.close()

    def write(self) -> Path:
        """Write the copy, and return its folder."""
        log = self.folder / LOG
        with closing(self._base):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                os.close(os.open(log, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            except OSError as error:
                raise StoreError(
                    f"{self.folder.name}: could not be made: {error.strerror or error}"
                ) from error
            with worded(log), closing(sqlite3.connect(log)) as copy:
                self._base.backup(copy)
        write_state(self.folder / STATE, self._arrays, self._content)
        mark_copy(self.folder)
        return self.folder


def require_empty(folder: Path) -> None:
    """Refuse a folder that holds something."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise StoreError(f"{folder.name}: must be empty or not there, got a folder with files")


def mark_copy(folder: Path) -> None:
    """Say in the lock's file of a copied store how far its log has come."""
    log = folder / LOG
    lock = FolderLock(folder)
    try:
        with closing(read_file(log)) as base:
            store, head = head_of(base, log)
            end = newest(base, head)
        lock.settle(Mark(end.seq, end.chain, store, this_boot(), power_safe=True))
    finally:
        lock.close()
