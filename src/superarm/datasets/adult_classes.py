"""Adult: income above 50k or not, by 14 attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from superarm.datasets.adult import FILE, INCOMES
from superarm.datasets.classes import ClassData, class_data
from superarm.datasets.fetching import fetch
from superarm.datasets.files import DataError
from superarm.datasets.rows import Row, option, read_rows, whole

NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)
CATEGORIES = frozenset(
    {
        *("workclass", "education", "marital-status", "occupation"),
        *("relationship", "race", "sex", "native-country"),
    }
)
_WORD = re.compile(r"[A-Za-z0-9&()-]+|\?")


@lru_cache(maxsize=1)
def load_adult_classes() -> ClassData:
    """Load the training part of Adult: 32,561 rows, 14 features, 2 classes (0 up to 50k, 1 above).

    Six features are numbers as they are in the data: age, fnlwgt, education-num, capital-gain, capital-loss
    and hours-per-week. Eight are categories: workclass, education, marital-status, occupation, relationship,
    race, sex and native-country. A category is numbered from 0 in the sorted order of its names; "?", missing
    in 2,399 rows, is a name like the others, and sorts first.

    `categorical` is False although eight features are codes: `environments.classification` is to rescale all
    14 to [-1, 1], each by its least and largest value. Were it True, numbers too would be codes without
    order. Of the rows 76 % are of the first class. `load_adult` has the same people as an advertising
    problem. The file is fetched (see `fetch`) and read once per process.

    Becker & Kohavi (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20. CC BY 4.0.
    """
    return parse_adult_classes(fetch(FILE))


def parse_adult_classes(content: bytes) -> ClassData:
    """Read adult.data; raise DataError, naming the line, if it is malformed."""
    rows = list(read_rows(FILE, content, separator=",", columns=len(NAMES) + 1))
    columns = [
        (_codes if name in CATEGORIES else _numbers)(rows, name, place) for place, name in enumerate(NAMES)
    ]
    labels = [option(FILE, line, "income", fields[-1], INCOMES) for line, fields in rows]
    return class_data(
        np.array(columns, np.float64).T.copy(),
        np.array(labels, np.int64),
        names=NAMES,
        class_names=INCOMES,
    )


def _numbers(rows: Sequence[Row], name: str, place: int) -> list[int]:
    return [whole(FILE, line, name, fields[place]) for line, fields in rows]


def _codes(rows: Sequence[Row], name: str, place: int) -> list[int]:
    for line, fields in rows:
        if not _WORD.fullmatch(fields[place]):
            raise DataError(f"{FILE}, line {line}: {name} must be a word or ?, got {fields[place]!r}")
    words = [fields[place] for _, fields in rows]
    code = {word: number for number, word in enumerate(sorted(set(words)))}
    return [code[word] for word in words]
