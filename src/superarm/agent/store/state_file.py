"""Arrays and plain data in one file: safetensors, with a schema, a checksum and atomic replacement.

Nothing is pickled. A file that is damaged, truncated or of a newer schema is refused in one sentence; one
that cannot be written leaves the file before it as it was. The plain data is JSON in an array of bytes, so
that the header of safetensors stays short; both have a bound that is compared before they are parsed.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from superarm.agent.store.migration import migrate_state
from superarm.errors import StoreError

Arrays = dict[str, np.ndarray[Any, Any]]
Migration = Callable[[Arrays, dict[str, Any]], tuple[Arrays, dict[str, Any]]]
STATE = "state.safetensors"  # in a store's folder
SCHEMA = 2
MIGRATIONS: dict[int, Migration] = {1: migrate_state}  # from a schema to the next
MAX_FILE = 2**34  # bytes: far more than a state that fits a machine's memory should have
MAX_JSON = 24 * 2**20  # bytes: parsed, small lists in lists take thirty times as much
PLAIN = "superarm"  # the array, or in schema 1 the metadata, that holds the plain data


def write_state(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]], content: Mapping[str, Any]) -> None:
    """Write arrays and plain data; the file is whole or, if that fails, as it was before."""
    text = json.dumps({"schema": SCHEMA, **content}, allow_nan=False, sort_keys=True).encode()
    if len(text) > MAX_JSON:
        raise StoreError(f"{path.name}: ids and names must take at most {MAX_JSON} bytes, got {len(text)}")
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    metadata = {"checksum": _checksum(plain, text)}
    try:
        _replace(path, save({**plain, PLAIN: np.frombuffer(text, np.uint8)}, metadata))
    except OSError as error:
        raise StoreError(f"{path.name}: could not be written: {error.strerror or error}") from error


def read_state(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the plain data of a file, brought up to the schema of today."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise StoreError(f"{path.name}: must be at most {MAX_FILE} bytes, got {path.stat().st_size}")
        raw = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path.name}: could not be read: {error.strerror or error}") from error
    try:
        metadata = _metadata(raw)
        arrays: Arrays = load(raw)
        text = arrays.pop(PLAIN).tobytes() if PLAIN in arrays else metadata[PLAIN].encode()
        if len(text) > MAX_JSON:
            raise ValueError(f"its plain data must have at most {MAX_JSON} bytes, got {len(text)}")
        if metadata["checksum"] != _checksum(arrays, text):
            raise StoreError(f"{path.name}: is damaged: its checksum does not agree with what it holds")
        content = json.loads(text)
        schema = content["schema"]
        if type(schema) is not int:
            raise ValueError("the schema is no number")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path.name}: is damaged, or no state of superarm ({error})") from error
    return _migrated(path, arrays, content, schema)


def _migrated(
    path: Path, arrays: Arrays, content: dict[str, Any], schema: int
) -> tuple[Arrays, dict[str, Any]]:
    if schema > SCHEMA:
        raise StoreError(
            f"{path.name}: has schema {schema}, newer than {SCHEMA}, which this superarm reads; upgrade it"
        )
    while schema < SCHEMA:
        if schema not in MIGRATIONS:
            raise StoreError(f"{path.name}: has schema {schema}, which no version of superarm wrote")
        (arrays, content), schema = MIGRATIONS[schema](arrays, content), schema + 1
    return arrays, content


def _metadata(raw: bytes) -> dict[str, str]:
    """The words in the header of a safetensors file, which `load` leaves out."""
    if len(raw) < 8:
        raise ValueError("it is truncated")
    (length,) = struct.unpack("<Q", raw[:8])
    if length > len(raw) - 8:
        raise ValueError("it is truncated")
    if length > MAX_JSON:
        raise ValueError(f"its header must have at most {MAX_JSON} bytes, got {length}")
    header = json.loads(raw[8 : 8 + length])
    metadata = header["__metadata__"]
    if not isinstance(metadata, dict):
        raise ValueError("its header is malformed")
    return metadata


def _checksum(arrays: Mapping[str, np.ndarray[Any, Any]], text: bytes) -> str:
    digest = hashlib.sha256(text)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _replace(path: Path, raw: bytes) -> None:
    """Write beside the file, then take its place: after a crash one of the two is there, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name, too
    finally:
        os.close(folder)
