"""Reading a file's content out of its container, never more of it than there should be, and verifying it."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
import zlib
from pathlib import Path

from superarm.datasets import lzw
from superarm.datasets.files import DataError, DataFile


def read_content(file: DataFile, path: Path, label: str = "", advice: str = "") -> bytes:
    """Return the verified content of `file`, stored at `path` as it is, as .gz, or as a member of a .zip.

    A member may be in the .Z or the .gz form.

    Args:
        file: what the content must be.
        path: where it is; the ending says how it is stored.
        label: what to call it in messages; the path unless given.
        advice: what to do when it is damaged.
    """
    label = label or str(path)
    advice = advice or f"delete it and fetch it again from {file.source.page}"
    try:
        content = _read_bounded(file, path)
    except (
        EOFError,
        zlib.error,
        gzip.BadGzipFile,
        zipfile.BadZipFile,
        KeyError,
        RuntimeError,  # encrypted, or packed in an unknown way; lzw's DataError
    ) as error:
        reason = str(error).strip("'\"") or type(error).__name__
        raise DataError(f"{label} is damaged: {reason}; {advice}") from error
    except OSError as error:
        raise DataError(f"{label} cannot be read: {error.strerror or error}; make it readable") from error
    _verify(file, content, label, advice)
    return content


def _read_bounded(file: DataFile, path: Path) -> bytes:
    # One byte more than there should be is enough to know that it is too much: a bomb is never unpacked.
    bound = file.size + 1
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(file.member) as stream:
            if file.member.endswith(".gz"):
                with gzip.open(stream, "rb") as unpacked:
                    return unpacked.read(bound)
            content = stream.read(bound)
            return lzw.unpack(content, bound) if file.member.endswith(".Z") else content
    if path.suffix == ".gz":
        with gzip.open(path, "rb") as stream:
            return stream.read(bound)
    with path.open("rb") as stream:
        return stream.read(bound)


def _verify(file: DataFile, content: bytes, label: str, advice: str) -> None:
    if len(content) > file.size:
        raise DataError(f"{label} is damaged: expected {file.size} bytes, got more; {advice}")
    got = hashlib.sha256(content).hexdigest()
    if got not in (file.sha256, file.unended):
        raise DataError(
            f"{label} is damaged: expected {file.size} bytes with sha256 {file.sha256[:12]}...,"
            f" got {len(content)} with {got[:12]}...; {advice}"
        )
