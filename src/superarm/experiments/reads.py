"""What is read of an experiment's rows: by claims, by the figure, and in the totals of a summary.

Claims are judged on probes: runs without rows, which note what they are asked for. So the answer depends on
the plans alone, and stays the same when more seeds, or other settings, are run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

import pandas as pd

from superarm.experiments.claims import Claim, MissingRuns
from superarm.experiments.experiment import Experiment, Plan
from superarm.experiments.runs import Runs, Seeds

Reads: TypeAlias = "dict[str, frozenset[int]]"  # column -> the rounds up to which its sums must be known
Planned: TypeAlias = "Mapping[str, tuple[Experiment, Plan]]"  # experiments by id, with what they run
Asked: TypeAlias = "dict[str, set[int]]"  # the same as Reads, while it is gathered

POINTS = 100  # of a stored curve, at most: more are not seen
TOTALS = ("regret", "value", "best", "seconds")  # of a summary
CURVES = {"regret": ("regret",), "panels": ("regret",), "reward": ("reward",), "return": ("value", "best")}


def reads_of(name: str, planned: Planned) -> Reads | None:
    """Return what is read of the rows of an experiment; None for all that is there.

    Args:
        name: the experiment.
        planned: itself, and those whose claims may ask for its runs.
    """
    experiment, plan = planned[name]
    asked: Asked = {column: {plan.rounds} for column in TOTALS}
    if experiment.figure.layout == "runtime":
        asked["choice_seconds"] = {plan.rounds}
    for reader in planned:
        for claim in planned[reader][0].claims:
            found = _asked_by(claim, reader, planned).get(name, {})
            if found is None:
                return None
            _join(asked, found)
    curves = CURVES.get(experiment.figure.layout, ())
    every = _thinned(plan.ends).union(*asked.values())  # a curve has no gaps: its numbers are in every row
    return {column: frozenset(ends) for column, ends in asked.items()} | {
        column: frozenset(every) for column in curves
    }


def _thinned(ends: list[int]) -> set[int]:
    """Return at most `POINTS` of the ends, evenly, counted from the last."""
    return set(ends[:: -math.ceil(len(ends) / POINTS)])


def _join(asked: Asked, more: Asked) -> None:
    for column, ends in more.items():
        asked.setdefault(column, set()).update(ends)


def _asked_by(claim: Claim, reader: str, planned: Planned) -> Mapping[str, Asked | None]:
    """Return what a claim asks for, by experiment; None when it goes past totals, to the rows themselves."""
    asked: dict[str, Asked] = {}
    try:
        claim.rule(_probe(reader, planned, asked))
    except MissingRuns:  # of what no plan has
        return asked
    except Exception:  # there are no rows
        return dict.fromkeys(asked)
    return asked


def _probe(name: str, planned: Planned, asked: dict[str, Asked]) -> Runs:
    if name not in planned:
        raise MissingRuns(f"{name} is not run at this scale")
    _, plan = planned[name]
    axis = {setting.name: setting.x for setting in plan.settings}
    others = partial(_probe, planned=planned, asked=asked)
    return _Probe(cast(Any, None), axis, others, plan=plan, asked=asked.setdefault(name, {}))


@dataclass(frozen=True, kw_only=True)
class _Probe(Runs):
    """All runs of a plan, without rows: they note what they are asked for."""

    plan: Plan
    asked: Asked

    def totals(self, setting: str, policy: str, column: str, first: int, last: int) -> Seeds:
        """Note the ends of the window, and return two seeds."""
        ends = {first - 1, last or self.plan.rounds} - {0}
        known = any(one.name == setting and policy in one.policies for one in self.plan.settings)
        if not known or not ends <= set(self.plan.ends):
            raise MissingRuns(f"{policy} in {setting} is not run, or not recorded, at this scale")
        _join(self.asked, {column: ends})
        return pd.Series([1.0, 2.0])
