"""Fewer rows with the same sums: what is kept of the rounds of a finished experiment."""

from __future__ import annotations

import numpy as np
import pandas as pd

from superarm.experiments.reads import Reads

KEY = ["setting", "policy", "seed"]


def thinned(table: pd.DataFrame, reads: Reads | None) -> pd.DataFrame:
    """Return the rows and columns that are read.

    A number is the sum over the rounds since the number before it in its column; where a row has none (NaN),
    the next number counts those rounds, too. Rows that are thinned already stay as they are.

    Args:
        table: setting, policy, seed, round, and numbers summed over the rounds since the row before.
        reads: column -> the rounds up to which its sums must be known; None keeps everything.
    """
    if reads is None:
        return table
    rows = _summed(table, frozenset().union(*reads.values()), [])
    for ends in dict.fromkeys(reads.values()):  # in an order that stays
        columns = [column for column in table.columns if reads.get(column) == ends]
        if columns:
            rows = rows.merge(_summed(table, ends, columns), how="left", on=[*KEY, "round"])
    return rows[[column for column in table.columns if column in rows]]


def _summed(table: pd.DataFrame, ends: frozenset[int], columns: list[str]) -> pd.DataFrame:
    """Sum columns up to each end; a run that is over before an end is summed up to its own."""
    place = np.searchsorted(sorted(ends), table["round"])
    grouped = table.groupby([*KEY, place], sort=False)
    sums = grouped[columns].sum(min_count=1) if columns else pd.DataFrame(index=grouped["round"].max().index)
    return sums.assign(round=grouped["round"].max()).reset_index(level=KEY).reset_index(drop=True)
