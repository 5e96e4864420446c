"""What must come out of wen2015's experiments."""

from __future__ import annotations

import math

from superarm.experiments import rules
from superarm.experiments.runs import Points, Quantity, per_round, share, sweep, total
from superarm.reproduce.papers.wen2015.data import AUDIENCES
from superarm.reproduce.papers.wen2015.methods import LABELS, POLICY
from superarm.reproduce.papers.wen2015.plans import EPISODES


def _at(name: str) -> Quantity:
    """Total regret of 150 episodes in a setting."""
    return total(name, POLICY, last=EPISODES)


def _sweep(high: float = math.inf) -> Points:
    """Total regret of 150 episodes over the values of a sweep, up to one."""
    return sweep(POLICY, last=EPISODES, high=high)


def _return(name: str, label: str) -> Quantity:
    """Expected return over all episodes."""
    return total(name, label, column="value")


LONGEST_PATH = (
    rules.within("R(150) = 1.56e4 in the default case", _at("m30-d200"), 1.56e4, relative=0.03),
    rules.below(
        "regret per episode vanishes before episode 150: over the last 30 it is below 1 % of the first",
        per_round("m30-d200", POLICY, first=121, last=150),
        per_round("m30-d200", POLICY, first=1, last=1),
        factor=0.01,
    ),
)

SIZE = (
    rules.linear("R(150) grows linearly in m from 10 to 100", _sweep(high=100)),
    rules.within("R(150) = 6.56e4 at m = 250", _at("m250"), 6.56e4, relative=0.05),
    rules.ratio_within(
        "R(150) at m = 250 is 4.2 times the default case's", _at("m250"), _at("m30"), 4.2, relative=0.05
    ),
)

DIM = (rules.linear("R(150) grows linearly in d from 10 to 510", _sweep()),)

NOISE = (
    rules.flat(
        "R(150) is at most 10 % larger over a wide range of sigma", _sweep(), reference=1.0, decades=4
    ),
    rules.below("R(150) is larger when sigma is too small, 1e-6", _at("sigma1"), _at("sigma1e-06")),
    rules.below(
        "R(150) is larger at 1e-7, where double precision gives out", _at("sigma1"), _at("sigma1e-07")
    ),
    rules.below("R(150) is larger when sigma is too large, 1e4", _at("sigma1"), _at("sigma10000")),
    rules.finite("no number is NaN at any sigma"),
)

PRIOR = (
    rules.below("R(150) is larger when lambda is too small, 0.01", _at("lambda10"), _at("lambda0.01")),
    *(
        rules.not_worse(f"R(150) is no larger when lambda is too large, {words}", _at(name), _at("lambda10"))
        for words, name in (("100", "lambda100"), ("1e5", "lambda100000"))
    ),
    rules.finite("no number is NaN at any lambda"),
)

ADULT = (
    rules.within(
        "over the first 100 episodes CombLinTS earns 70 % of the optimum",
        share("adult", "CombLinTS", last=100),
        0.70,
        absolute=0.05,
    ),
    rules.within(
        "over 1,000 episodes CombLinTS earns 80 % of the optimum",
        share("adult", "CombLinTS", last=1000),
        0.80,
        absolute=0.05,
    ),
    *(
        rules.below(
            f"{label} performs poorly: it earns less than three quarters of CombLinTS's return",
            _return("adult", label),
            _return("adult", "CombLinTS"),
            factor=0.75,
        )
        for label in LABELS[1:]
    ),
)

LASTFM = tuple(
    rules.below(
        f"CombLinTS approaches the optimum faster: {label} earns less over all episodes ({audience})",
        _return(audience, label),
        _return(audience, "CombLinTS"),
    )
    for audience in AUDIENCES
    for label in LABELS[1:]
)
