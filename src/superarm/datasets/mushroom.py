"""Mushroom: edible or poisonous, by 22 characters (bae2026)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from superarm.datasets.classes import ClassData, class_data
from superarm.datasets.fetching import fetch
from superarm.datasets.files import DataError
from superarm.datasets.rows import option, read_rows

FILE = "mushroom/agaricus-lepiota.data"
NAMES = (
    *("cap-shape", "cap-surface", "cap-color", "bruises?", "odor"),
    *("gill-attachment", "gill-spacing", "gill-size", "gill-color", "stalk-shape", "stalk-root"),
    *("stalk-surface-above-ring", "stalk-surface-below-ring", "stalk-color-above-ring"),
    *("stalk-color-below-ring", "veil-type", "veil-color", "ring-number", "ring-type"),
    *("spore-print-color", "population", "habitat"),
)
WORDS = ("p", "e")  # bae2026: the label is 1 for edible
CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz?")


@lru_cache(maxsize=1)
def load_mushroom() -> ClassData:
    """Load Mushroom: 8,124 rows, 22 categorical features, 2 classes (0 poisonous, 1 edible).

    A feature is the code point of its character; "?", the missing stalk-root of 2,480 rows, is one like the
    others. `environments.classification` gives characters their values. The file is fetched (see `fetch`) and
    read once per process.

    Mushroom (1981), UCI Machine Learning Repository, doi:10.24432/C5959T. CC BY 4.0.
    """
    return parse_mushroom(fetch(FILE))


def parse_mushroom(content: bytes) -> ClassData:
    """Read agaricus-lepiota.data; raise DataError, naming the line, if it is malformed."""
    rows = read_rows(FILE, content, separator=",", columns=1 + len(NAMES))
    parsed = [(_codes(*row), option(FILE, row[0], "label", row[1][0], WORDS)) for row in rows]
    features, labels = zip(*parsed, strict=True)
    return class_data(
        np.array(features, np.int64),
        np.array(labels, np.int64),
        names=NAMES,
        class_names=("poisonous", "edible"),
        categorical=True,
    )


def _codes(line: int, fields: list[str]) -> list[int]:
    for name, field in zip(NAMES, fields[1:], strict=True):
        if field not in CHARACTERS:
            raise DataError(f"{FILE}, line {line}: {name} must be a letter from a to z or ?, got {field!r}")
    return [ord(field) for field in fields[1:]]
