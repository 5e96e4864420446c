"""Fewer rows with the same sums: what is kept of the rounds of a finished experiment."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from superarm.experiments.reads import Reads
from superarm.statistics import Vector

KEY = ["setting", "policy", "seed"]


def thinned(table: pd.DataFrame, reads: Reads | None) -> pd.DataFrame:
    """Return the rows and columns that are read.

    A number is the sum over the rounds since the number before it in its column; where a row has none (NaN),
    the next number counts those rounds, too. Rows that are thinned already stay as they are.

    Args:
        table: setting, policy, seed, round, and numbers summed over the rounds since the row before; runs one
            after another, rounds in their order.
        reads: column -> the rounds up to which its sums must be known; None keeps everything.
    """
    if reads is None:
        return table
    table = table.reset_index(drop=True)
    rounds, runs = table["round"].to_numpy(), table.groupby(KEY, sort=False).ngroup().to_numpy()
    rows = table.loc[_lasts(runs, rounds, set().union(*reads.values())), [*KEY, "round"]]
    sums = {}
    for column in [name for name in table.columns if name in reads]:
        lasts = _lasts(runs, rounds, reads[column])
        sums[column] = pd.Series(_sums(table[column].to_numpy(), lasts), index=lasts)
    return rows.assign(**sums).reset_index(drop=True)


def _lasts(runs: Vector, rounds: Vector, ends: Collection[int]) -> Vector:
    """Return the last row up to each end, of every run; one that is over before has its own last row."""
    places = np.searchsorted(sorted(ends), rounds)
    return np.flatnonzero(np.diff(runs * (len(ends) + 1) + places, append=-1))


def _sums(values: Vector, lasts: Vector) -> Vector:
    """Sum what lies between the last rows.

    By NumPy: the last digits of pandas' sums of groups depend on whether another group has a NaN.
    """
    starts = np.concatenate([[0], lasts[:-1] + 1])
    known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    return np.where(np.logical_or.reduceat(known, starts), sums, np.nan)
