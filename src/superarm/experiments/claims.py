"""Claims: a sentence of a paper, a rule on the runs, and the verdict.

A claim **holds** or **fails** when the 95 % intervals over seeds say so, and is **open** when they do not, or
when the scale is a toy or does not run what the claim is about. Comparisons are paired by seed: every policy
meets the same worlds and noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from superarm.experiments.runs import Runs

Answer = Literal["holds", "fails", "open"]


class MissingRuns(Exception):  # noqa: N818  (not an error: the claim stays open)
    """The runs do not hold what a claim asks for."""


@dataclass(frozen=True)
class Finding:
    """What a rule found: the number measured, the verdict, and how sure it is."""

    measured: float
    verdict: Answer
    detail: str


@dataclass(frozen=True)
class Claim:
    """A sentence, what is expected, and the rule that decides."""

    sentence: str
    expected: str
    rule: Callable[[Runs], Finding]


@dataclass(frozen=True)
class Verdict:
    """A claim with what was measured; `measured` is None when there is no number."""

    claim: str
    measured: float | None
    expected: str
    verdict: Answer
    detail: str


def judge(claims: Iterable[Claim], runs: Runs, *, toy: bool = False) -> list[Verdict]:
    """Return the verdict on every claim; of a toy, which is not the paper's problem, all stay open."""
    verdicts = [_judge(claim, runs) for claim in claims]
    if not toy:
        return verdicts
    return [replace(one, verdict="open", detail=f"{one.detail}; a toy decides nothing") for one in verdicts]


def _judge(claim: Claim, runs: Runs) -> Verdict:
    try:
        finding = claim.rule(runs)
    except MissingRuns as missing:
        finding = Finding(math.nan, "open", str(missing))
    measured = finding.measured if math.isfinite(finding.measured) else None
    return Verdict(claim.sentence, measured, claim.expected, finding.verdict, finding.detail)


def number(value: float) -> str:
    """Write a number in four digits.

    >>> number(15612.3), number(0.0421), number(0.0)
    ('15612', '0.0421', '0')
    """
    if not math.isfinite(value):
        return str(value)
    if 1e4 <= abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.4g}"
