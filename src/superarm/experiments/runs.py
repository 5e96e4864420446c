"""The rows of an experiment, asked for one number per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from superarm.experiments.claims import MissingRuns
from superarm.statistics import Vector

if TYPE_CHECKING:
    import pandas as pd

Seeds: TypeAlias = "pd.Series[float]"  # one number per seed, indexed by seed
Quantity: TypeAlias = "Callable[[Runs], Seeds]"
Points: TypeAlias = "Callable[[Runs], dict[float, Seeds]]"  # x -> one number per seed


@dataclass(frozen=True)
class Runs:
    """The table of an experiment, with where each setting stands on the axis of a sweep."""

    table: pd.DataFrame
    axis: Mapping[str, float | None]
    other: Callable[[str], Runs] | None = None  # the runs of another experiment at the same scale
    thinned: bool = False  # rounds, or columns, are missing that no claim read when they were stored

    def rows(self, setting: str, policy: str) -> pd.DataFrame:
        """Return the rows of one policy in one setting."""
        table = self.table
        rows = table[(table["setting"] == setting) & (table["policy"] == policy)]
        if rows.empty:
            raise MissingRuns(f"{policy} in {setting} is not run at this scale")
        return rows

    def totals(self, setting: str, policy: str, column: str, first: int, last: int) -> Seeds:
        """Sum a column over rounds first ... last (0: to the end), per seed."""
        rows = _window(self.rows(setting, policy), column, first, last)
        return rows.groupby("seed")[column].sum(min_count=1)

    def numbers(self, *columns: str) -> Vector:
        """Return all that was recorded in some columns."""
        if self.thinned:
            raise MissingRuns("not all rounds of these runs are kept")
        return self.table[[*columns]].to_numpy(float)


def total(setting: str, policy: str, *, column: str = "regret", first: int = 1, last: int = 0) -> Quantity:
    """Sum a column over rounds first ... last (0: to the end), per seed."""
    return lambda runs: runs.totals(setting, policy, column, first, last)


def lowest(*quantities: Quantity) -> Quantity:
    """The quantity whose mean over seeds is lowest, of those that no seed is lost of."""

    def per_seed(runs: Runs) -> Seeds:
        found = [quantity(runs) for quantity in quantities]
        whole = [seeds for seeds in found if seeds.notna().all()]
        if not whole:
            raise MissingRuns("every one of them has lost a seed")
        return min(whole, key=lambda seeds: seeds.mean())

    return per_seed


def elsewhere(name: str, quantity: Quantity) -> Quantity:
    """Ask another experiment, run at the same scale into the same folder, for a quantity."""

    def per_seed(runs: Runs) -> Seeds:
        if runs.other is None:
            raise MissingRuns(f"{name} is not at hand")
        return quantity(runs.other(name))

    return per_seed


def per_round(setting: str, policy: str, *, column: str = "regret", first: int = 1, last: int) -> Quantity:
    """Average a column over rounds first ... last, per seed."""
    summed = total(setting, policy, column=column, first=first, last=last)
    return lambda runs: summed(runs) / (last - first + 1)


def share(setting: str, policy: str, *, last: int) -> Quantity:
    """Expected return over the first `last` rounds as a share of the optimum's, per seed."""
    value = total(setting, policy, column="value", last=last)
    best = total(setting, policy, column="best", last=last)
    return lambda runs: value(runs) / best(runs)


def relative(own: Quantity, base: Quantity) -> Quantity:
    """The one over the other, of the seeds that both have."""

    def per_seed(runs: Runs) -> Seeds:
        above, below = own(runs), base(runs)
        common = above.index.intersection(below.index)
        return above.loc[common] / below.loc[common]

    return per_seed


def sweep(policy: str, *, last: int = 0, low: float = -math.inf, high: float = math.inf) -> Points:
    """Total regret over rounds 1 ... last (0: to the end) at every x in [low, high], in rising order of x."""

    def points(runs: Runs) -> dict[float, Seeds]:
        names = {x: name for name, x in runs.axis.items() if x is not None and low <= x <= high}
        return {x: total(names[x], policy, last=last)(runs) for x in sorted(names)}

    return points


def _window(rows: pd.DataFrame, column: str, first: int, last: int) -> pd.DataFrame:
    """Return the rows of rounds first ... last; numbers that straddle an end would blur it.

    A number stands for the rounds since the number before it: rows without one are no ends.
    """
    if column not in rows:
        raise MissingRuns(f"{column} of these runs is not kept")
    known = rows.loc[rows[column].notna(), "seed"].nunique()  # the other seeds are lost, and stay so
    for end in {first - 1, last} - {0}:
        there = rows[rows["round"] == end]
        if there.empty or there[column].count() < known:
            raise MissingRuns(f"rounds {first} to {last} are not recorded apart at this scale")
    chosen = rows[rows["round"] >= first]
    return chosen[chosen["round"] <= last] if last else chosen
