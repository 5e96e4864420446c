"""The experiments by id."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable

from superarm.experiments.experiment import SCALES, Experiment, ExperimentError, Plan
from superarm.reproduce.papers import bae2026, hwang2023, oh2026, sun2026, wen2015

EXPERIMENTS: dict[str, Experiment] = {
    one.id: one for paper in (wen2015, hwang2023, bae2026, sun2026, oh2026) for one in paper.EXPERIMENTS
}


def lookup(name: str, *, where: str = "lookup") -> Experiment:
    """Return the experiment of that id.

    >>> lookup("wen2015/adult").figure.layout
    'return'
    """
    if name not in EXPERIMENTS:
        raise ExperimentError(f"{where}: unknown experiment {name!r}; {_suggestion(name)}")
    return EXPERIMENTS[name]


def matching(patterns: Iterable[str], *, where: str = "lookup") -> list[Experiment]:
    """Return the experiments of ids and patterns such as "wen2015/*", each once, in the order of the list."""
    names: set[str] = set()
    for pattern in patterns:
        found = fnmatch.filter(EXPERIMENTS, pattern) if any(c in pattern for c in "*?[") else []
        names.update(found or [lookup(pattern, where=where).id])
    return [one for name, one in EXPERIMENTS.items() if name in names]


def plan_of(name: str, scale: str, *, where: str = "lookup") -> Plan:
    """Return what an experiment runs at a scale."""
    if scale not in SCALES:
        raise ExperimentError(f"{where}: scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return lookup(name, where=where).plan(scale)


def _suggestion(name: str) -> str:
    # The paper before the slash is easily left off.
    short = {full.split("/")[-1]: full for full in reversed(EXPERIMENTS)}  # of several, the first
    close = [short[one] for one in difflib.get_close_matches(name, short, n=1)]
    close = difflib.get_close_matches(name, EXPERIMENTS, n=1) or close
    return f"did you mean {close[0]!r}?" if close else "`superarm list` shows them all"
