"""Strict reading of IDX files, the format of MNIST: a magic number, the sizes, and the bytes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from superarm.datasets.files import DataError

_BYTES = 8  # the code of unsigned bytes


def read_idx(name: str, content: bytes, *, dims: int) -> npt.NDArray[np.uint8]:
    """Return an array of `dims` dimensions and at least one row from an IDX file of unsigned bytes."""
    magic = 256 * _BYTES + dims
    header = np.frombuffer(content[: 4 + 4 * dims].ljust(4 + 4 * dims, b"\0"), ">u4")
    if header[0] != magic:
        raise DataError(f"{name}: must begin with the magic number {magic}, got {header[0]}")
    shape = tuple(int(size) for size in header[1:])
    expected, got = math.prod(shape), len(content) - 4 - 4 * dims
    if expected != got or expected == 0:
        sizes = " x ".join(map(str, shape))
        raise DataError(f"{name}: must hold {sizes} > 0 bytes below its header, got {max(got, 0)}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dims).reshape(shape)
