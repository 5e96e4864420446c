"""Finding a data file: in the user's folder, in the cache, or at its publisher."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path, PurePosixPath

import platformdirs

from superarm import checks
from superarm.datasets.content import read_content
from superarm.datasets.download import DownloadError, download
from superarm.datasets.files import FILES, DataError, DataFile

FOLDER_VARIABLE = "SUPERARM_DATA"


def fetch(name: str) -> bytes:
    """Return the verified content of a known file, wherever it is found first.

    1. The folder named by the environment variable SUPERARM_DATA: `<folder>/<name>` or `<folder>/<name>.gz`.
       It is only ever read.
    2. The user's cache: on Linux `$XDG_CACHE_HOME/superarm/data`, or `~/.cache/superarm/data`.
    3. The publisher, over https; the verified content is then kept in the cache.

    A file whose checksum is wrong is refused wherever it lies; it is neither used nor passed over.

    Args:
        name: a name of the table, such as "adult/adult.data".

    Raises:
        DataError: when the file is not to be had, or is damaged.

    >>> fetch("wine")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: fetch: name must be one of 'adult/adult.data', 'adult/adult.test', ..., got 'wine'
    """
    file = FILES[checks.one_of("fetch", "name", name, tuple(FILES))]
    path = _in_folder(file) or _in_cache(file)
    return read_content(file, path) if path else _from_publisher(file)


def cache_folder() -> Path:
    """Return the folder where downloads are kept; it need not exist yet."""
    return platformdirs.user_cache_path("superarm", appauthor=False) / "data"


def _in_folder(file: DataFile) -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE, "")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise DataError(
            f"{FOLDER_VARIABLE} must name a folder, got {folder}; create it, or unset the variable"
        )
    plain = Path(folder, file.name)
    candidates = (plain, plain.with_name(plain.name + ".gz"))
    return next((path for path in candidates if path.is_file()), None)


def _in_cache(file: DataFile) -> Path | None:
    path = cache_folder() / file.name
    return path if path.is_file() else None


def _from_publisher(file: DataFile) -> bytes:
    target = cache_folder() / file.name
    ending = PurePosixPath(file.url).suffix if file.member or file.url.endswith(".gz") else ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as scratch:
            received = Path(scratch, "received" + ending)
            with received.open("wb") as stream:
                download(file.url, stream)
            content = _unpack(file, received)
            _keep(target, content, Path(scratch))
            _keep_siblings(file, received, Path(scratch))
    except DownloadError as error:
        raise DataError(_missing(file, str(error))) from error
    except OSError as error:
        raise DataError(
            f"{file.name} cannot be kept in the cache {cache_folder()}: {error.strerror or error};"
            f" set XDG_CACHE_HOME to a folder that can be written, or {FOLDER_VARIABLE} to one that holds it"
        ) from error
    return content


def _unpack(file: DataFile, received: Path) -> bytes:
    advice = f"try again, or set {FOLDER_VARIABLE} to a folder that holds {file.name}"
    return read_content(file, received, label=f"{file.name} as downloaded from {file.url}", advice=advice)


def _keep(target: Path, content: bytes, scratch: Path) -> None:
    # Renamed into place: another process sees the whole file or none.
    partial = scratch / "content"
    partial.write_bytes(content)
    partial.replace(target)


def _keep_siblings(file: DataFile, received: Path, scratch: Path) -> None:
    """Keep the archive's other known files too; what is wrong with one is said when it is asked for."""
    for sibling in FILES.values():
        if sibling.url == file.url and sibling != file and _in_cache(sibling) is None:
            target = cache_folder() / sibling.name
            with contextlib.suppress(DataError):
                content = _unpack(sibling, received)
                target.parent.mkdir(parents=True, exist_ok=True)
                _keep(target, content, scratch)


def _missing(file: DataFile, reason: str) -> str:
    folder = os.environ.get(FOLDER_VARIABLE, "")
    place = f"{FOLDER_VARIABLE} ({folder or 'not set'})"
    return (
        f"{file.name} is missing: it is not in {place}, not in the cache {cache_folder()}, and {file.url}"
        f" could not be downloaded ({reason}); set {FOLDER_VARIABLE} to a folder that holds {file.name} or"
        f" {file.name}.gz, which is published at {file.source.page}"
    )
