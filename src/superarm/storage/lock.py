"""The lock of a store's folder, and how far its log has come, in one file that is not the log.

The operating system holds the lock (flock) as long as the process that took it lives: copying the folder, or
opening the file again, does not drop it. The file also holds the log's high-water mark: the number and the
checksum of the newest acknowledged entry. A log that lost its tail ends before the mark, which nothing in the
log itself could say.

The mark has two places, written in turn, each with a checksum: a write that is cut short leaves the other.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from superarm.errors import StoreError, StoreInUseError

NAME = "lock"
_MARK = struct.Struct("<8sq16s16s16s?7x")  # magic, seq, chain, store, boot, power safe
_MAGIC = b"superarm"
_SUM = 16  # bytes of the checksum behind it
_PLACE = 256  # bytes from one place of the mark to the other
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Mark:
    """How far a log has come.

    Attributes:
        seq: the number of its newest acknowledged entry; chain: that entry's checksum.
        store: the id of the store.
        boot: the run of the machine in which it was written; zeros where the system does not say.
        power_safe: whether entries were on the disk before they were acknowledged.
    """

    seq: int
    chain: bytes
    store: bytes
    boot: bytes
    power_safe: bool


def this_boot() -> bytes:
    """An id of this run of the machine; zeros where the system has none."""
    try:
        return bytes.fromhex(_BOOT.read_text(encoding="ascii").strip().replace("-", ""))
    except (OSError, ValueError):
        return bytes(16)


class FolderLock:
    """The lock of a folder, held until `close` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Take the lock; raise StoreInUseError where another agent has it."""
        self.path = folder / NAME
        self._file = -1
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise StoreInUseError(f"{folder.name}: is in use by another agent") from None
        except OSError as error:
            self.close()
            raise StoreError(f"{folder.name}: could not be locked: {error.strerror or error}") from error

    def mark(self) -> Mark | None:
        """The mark; None where the file holds none.

        Raises:
            StoreError: there was one, and it is damaged.
        """
        return _newest(os.pread(self._file, 2 * _PLACE, 0))

    def settle(self, mark: Mark) -> None:
        """Say how far the log has come, whatever was said before, and wait for the disk."""
        self._fixed = (mark.store, mark.boot, mark.power_safe)
        raw = _packed(mark.seq, mark.chain, *self._fixed)
        try:
            os.pwrite(self._file, raw.ljust(_PLACE, b"\0") + raw, 0)
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(f"{self.path.name}: could not be written: {error.strerror or error}") from error

    def advance(self, seq: int, chain: bytes) -> None:
        """Say that the log has come further. `settle` was first."""
        try:
            os.pwrite(self._file, _packed(seq, chain, *self._fixed), _PLACE * (seq % 2))
        except OSError as error:
            raise StoreError(f"{self.path.name}: could not be written: {error.strerror or error}") from error

    @property
    def removed(self) -> bool:
        """Whether the file is gone: what is written beside it would be lost."""
        return os.fstat(self._file).st_nlink == 0

    @property
    def here(self) -> bool:
        """Whether the file is still in the folder that it was opened in."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            return False

    def close(self) -> None:
        """Give the lock back. In a forked child that only closes its copy: the parent keeps the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _packed(seq: int, chain: bytes, store: bytes, boot: bytes, power_safe: bool) -> bytes:
    raw = _MARK.pack(_MAGIC, seq, chain, store, boot, power_safe)
    return raw + hashlib.blake2b(raw, digest_size=_SUM).digest()


def read_mark(folder: Path) -> Mark | None:
    """The mark of a folder that an agent may have open; None where there is none."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            return _newest(file.read(2 * _PLACE))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{NAME}: could not be read: {error.strerror or error}") from error


def _newest(raw: bytes) -> Mark | None:
    if not raw:
        return None
    found = [mark for place in (0, _PLACE) if (mark := _read(raw[place : place + _PLACE])) is not None]
    if not found:
        raise StoreError(f"{NAME}: is damaged: it does not say how far the log has come")
    return max(found, key=lambda mark: mark.seq)


def gone(folder: str) -> str:
    """The sentence for a folder that was removed, moved or replaced."""
    return f"{folder}: was removed or replaced while an agent had it open; nothing more is taken"


def _read(raw: bytes) -> Mark | None:
    body = raw[: _MARK.size]
    if len(body) < _MARK.size:
        return None
    if hashlib.blake2b(body, digest_size=_SUM).digest() != raw[_MARK.size : _MARK.size + _SUM]:
        return None
    magic, *fields = _MARK.unpack(body)
    return Mark(*fields) if magic == _MAGIC else None
