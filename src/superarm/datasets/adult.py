"""Adult: whom to show an advertisement (wen2015, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from superarm.datasets.fetching import fetch
from superarm.datasets.rows import option, read_rows, whole

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FILE = "adult/adult.data"
INCOMES = ("<=50K", ">50K")
GROUP_NAMES = ("male", "female")
AGE_BINS = 7  # wen2015, section 6.2
ACCEPTANCE = (0.05, 0.15)  # income up to 50k, above: wen2015, section 6.2
LONG_WEEK = 40  # hours: wen2015, section 6.2
MAX_EDUCATION = 16  # education-num runs from 1 to 16 (doctorate)


@dataclass(frozen=True, eq=False)
class AdultAds:
    """People to whom an advertisement can be shown. Arrays are read-only; n = 32,561 and d = 10.

    Attributes:
        features: (n, d) in [0, 1]: age in 7 bins (one-hot), female, works over 40 hours, education.
        weights: (n,) probability of accepting: 0.15 where income is above 50k, else 0.05.
        groups: (n,) index into `group_names`: 0 male, 1 female.
        names: (d) names of the features.
        group_names: ("male", "female").
    """

    features: Floats
    weights: Floats
    groups: Integers
    names: tuple[str, ...]
    group_names: tuple[str, str] = GROUP_NAMES


@lru_cache(maxsize=1)
def load_adult() -> AdultAds:
    """Load the advertising problem of wen2015, section 6.2: the training part of Adult, "33k people".

    What the paper leaves open, and what is done here:

    - Age is cut at its 1/7 ... 6/7 quantiles, each bin closed above. People of one age stay together, so the
      bins hold 4,338 to 5,069 people each, not exactly the same number.
    - Gender is one column, 1 for women. There is no intercept: the seven age columns sum to one.
    - Years of education are the attribute education-num (1 to 16, a rank of the degree) over 16.
    - "At least 50k" is the data's label >50K. Nobody is left out: no missing value is in a column used.

    The file is fetched (see `fetch`) and read once per process.

    References:
        Wen, Kveton & Ashkan (2015), Efficient Learning in Large-Scale Combinatorial Semi-Bandits, ICML.
        Becker & Kohavi (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20. CC BY 4.0.
    """
    return parse_adult(fetch(FILE))


def parse_adult(content: bytes) -> AdultAds:
    """Build the problem from the text of adult.data; raise DataError, naming the line, if it is malformed."""
    people = np.array([_person(*row) for row in read_rows(FILE, content, separator=",", columns=15)])
    age, education, female, hours, rich = people.T
    bins, bin_names = _age_bins(age)
    features = np.column_stack([bins, female, hours > LONG_WEEK, education / MAX_EDUCATION])
    weights = np.asarray(ACCEPTANCE)[rich]
    groups = female.astype(np.int64)
    for array in (features, weights, groups):
        array.setflags(write=False)
    names = (*bin_names, "female", f"over {LONG_WEEK} hours", "education")
    return AdultAds(features=features, weights=weights, groups=groups, names=names)


def _person(number: int, fields: list[str]) -> tuple[int, int, int, int, int]:
    return (
        whole(FILE, number, "age", fields[0]),
        whole(FILE, number, "education-num", fields[4]),
        option(FILE, number, "sex", fields[9], ("Male", "Female")),
        whole(FILE, number, "hours-per-week", fields[12]),
        option(FILE, number, "income", fields[14], INCOMES),
    )


def _age_bins(age: Integers) -> tuple[Floats, tuple[str, ...]]:
    """(n, 7) one-hot bins of about equal count, and their names."""
    cuts = np.floor(np.quantile(age, np.arange(1, AGE_BINS) / AGE_BINS)).astype(np.int64)
    index = np.searchsorted(cuts, age, side="left")
    middle = [f"age {low + 1}-{high}" for low, high in pairwise(cuts)]
    return np.eye(AGE_BINS)[index], (f"age up to {cuts[0]}", *middle, f"age over {cuts[-1]}")
