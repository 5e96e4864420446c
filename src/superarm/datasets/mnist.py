"""MNIST: which digit an image shows (bae2026)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from superarm.datasets.classes import ClassData, class_data
from superarm.datasets.fetching import fetch
from superarm.datasets.files import DataError
from superarm.datasets.idx import read_idx

IMAGES = "mnist/train-images-idx3-ubyte"
LABELS = "mnist/train-labels-idx1-ubyte"
SIDE = 28  # pixels
DIGITS = 10


@lru_cache(maxsize=1)
def load_mnist() -> ClassData:
    """Load the training part of MNIST at 14 x 14 pixels: 60,000 rows, 196 features, 10 classes.

    A feature is the mean of 2 x 2 pixels, from 0 to 255, row by row. bae2026 says both "resize to 7 x 7" and
    "196-dimensional"; 14 x 14 is 196. The files are fetched (see `fetch`) and read once per process.

    LeCun, Bottou, Bengio & Haffner (1998), Gradient-based learning applied to document recognition,
    Proceedings of the IEEE 86(11).
    """
    return parse_mnist(fetch(IMAGES), fetch(LABELS))


def parse_mnist(images: bytes, labels: bytes) -> ClassData:
    """Read the two IDX files; raise DataError if one is malformed or they do not fit each other."""
    pixels, digits = read_idx(IMAGES, images, dims=3), read_idx(LABELS, labels, dims=1)
    count = pixels.shape[0]
    if pixels.shape[1:] != (SIDE, SIDE):
        got = " x ".join(map(str, pixels.shape[1:]))
        raise DataError(f"{IMAGES}: must hold images of {SIDE} x {SIDE} pixels, got {got}")
    if digits.size != count:
        raise DataError(f"{LABELS}: must hold one label per image, {count}, got {digits.size}")
    if digits.max() >= DIGITS:
        row = int(np.argmax(digits >= DIGITS))
        raise DataError(f"{LABELS}, row {row + 1}: label must be from 0 to {DIGITS - 1}, got {digits[row]}")
    half = SIDE // 2
    sums = pixels.reshape(count, half, 2, half, 2).sum(axis=(2, 4), dtype=np.uint16)
    return class_data(
        sums.reshape(count, half * half) / 4.0,
        digits.astype(np.int64),
        names=tuple(f"pixel {row},{column}" for row in range(half) for column in range(half)),
        class_names=tuple(str(digit) for digit in range(DIGITS)),
    )
