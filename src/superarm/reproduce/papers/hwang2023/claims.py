"""What must come out of hwang2023's experiments.

Published are the final regrets of the authors' own runs, which count noisy scores; they are compared with
the same count.
"""

from __future__ import annotations

from collections.abc import Mapping

from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.runs import Quantity, elsewhere, total
from superarm.reproduce.papers.hwang2023.methods import LINEAR, NEURAL


def _regret(label: str, rounds: int, *, setting: str = "authors") -> Quantity:
    return total(setting, label, last=rounds)


def _published(numbers: Mapping[str, float], rounds: int) -> tuple[Claim, ...]:
    """Within 15 % of the published regret, or below it, on the authors' count and settings."""
    return tuple(
        rules.at_most(
            f"{label} has at most 1.15 times the published regret of {value:g} (noisy scores)",
            total("authors", label, column="realized_regret", last=rounds),
            1.15 * value,
        )
        for label, value in numbers.items()
    )


def _sublinear(rounds: int) -> tuple[Claim, ...]:
    return tuple(
        rules.below(
            f"{neural}: regret grows sub-linearly, less in the second half than in the first",
            total("authors", neural, first=rounds // 2 + 1, last=rounds),
            total("authors", neural, last=rounds // 2),
        )
        for neural in NEURAL
    )


def _beats_linear(rounds: int, remark: str = "") -> tuple[Claim, ...]:
    return tuple(
        rules.below(
            f"{neural} has less regret than {linear}{remark}",
            _regret(neural, rounds),
            _regret(linear, rounds),
        )
        for neural in NEURAL
        for linear in LINEAR
    )


OURS = " (not in the paper's figure)"
AT_40, AT_80 = "hwang2023/dim-40", "hwang2023/quadratic"
LINEAR_SCORE = (*_published({"CN-UCB": 29.6, "CN-TS": 30.6, "CN-TS-M1": 33.0}, 2000), *_beats_linear(2000))

QUADRATIC_SCORE = (
    *_published({"CN-UCB": 90.6, "CN-TS": 88.1, "CN-TS-M1": 94.3}, 2000),
    *_sublinear(2000),
    *_beats_linear(2000),
)

COSINE_SCORE = (
    *_published({"CN-UCB": 509.3, "CN-TS": 538.7, "CN-TS-M1": 556.6}, 4000),
    *_sublinear(4000),
    *_beats_linear(4000),
)

DIM_40 = _beats_linear(2000, OURS)

DIM_120 = (
    rules.below(
        "CN-TS has less regret than CN-TS(M=1) when d is large",
        _regret("CN-TS", 4000),
        _regret("CN-TS-M1", 4000),
    ),
    *(
        rules.not_worse(
            f"{label}: regret grows no faster than d from 40 to {dim} (at t = 2000)",
            _regret(label, 2000) if dim == 120 else elsewhere(AT_80, _regret(label, 2000)),
            elsewhere(AT_40, _regret(label, 2000)),
            limit=dim / 40,
        )
        for label in NEURAL
        for dim in (80, 120)
    ),
    *_beats_linear(4000, OURS),
)
