"""What must come out of oh2026's experiments."""

from __future__ import annotations

from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.runs import Quantity, per_round, relative, total
from superarm.reproduce.papers.oh2026.methods import (
    AGNOSTIC,
    ALL,
    AWARE,
    BASELINES,
    LAST,
    SELDOM,
    VARIANTS,
)
from superarm.reproduce.papers.oh2026.plans import LONG_ROUNDS, ROUNDS, UTILITIES

# Table E.2: (strategy, m) -> R(t) / t at t = 2,000, 6,000 and 10,000; table E.3: the same by strategy.
WIDTHS = {
    ("ASYM", 500): (1.66, 0.82, 0.54),
    ("OSYM", 500): (0.97, 0.51, 0.39),
    ("CSYM", 500): (1.13, 0.61, 0.46),
    ("ASYM", 1000): (1.37, 0.65, 0.42),
    ("OSYM", 1000): (1.73, 0.81, 0.52),
    ("CSYM", 1000): (1.54, 0.73, 0.51),
}

HIGH = {"ASYM": (9.33, 6.79, 6.05), "OSYM": (9.49, 6.82, 6.07), "CSYM": (10.76, 7.69, 6.73)}

FREED = {
    "NDB that may let an arm meet itself": ("NDB-UCB+self", "NDB-TS+self"),
    "NDB that may, and whose network goes on": ("NDB-UCB+self-on",),
}


def share(setting: str, label: str, *, last: int = 0) -> Quantity:
    """Regret as a share of that of chance, per seed."""
    return relative(*(total(setting, one, last=last) for one in (label, "uniform")))


def below_rivals(setting: str, label: str) -> Claim:
    """The claim that a method is below all rivals of the paper."""
    return rules.chain(
        f"{label} is below VACDB, ColSTIM and both NDB ({setting})",
        {label: share(setting, label)},
        {other: share(setting, other) for other in BASELINES},
    )


def falls(setting: str, label: str, rounds: int) -> Claim:
    """The claim that a method loses less in the second half of the rounds."""
    half = rounds // 2
    return rules.below(
        f"R(T)/T falls: {label} loses less in the second half ({setting})",
        per_round(setting, label, first=half + 1, last=rounds),
        per_round(setting, label, last=half),
    )


def on_utility(utility: str) -> tuple[Claim, ...]:
    """Claims about one utility."""
    return (
        *(below_rivals(setting, label) for setting in ("d-5", "d-10", "K-10", "figure-2") for label in AWARE),
        *(falls("d-5", label, ROUNDS) for label in AWARE),
        rules.not_worse(
            "NVLDB-UCB-ASYM fitted every 10 rounds is not worse than fitted every round (d-5)",
            share("d-5", SELDOM),
            share("d-5", "NVLDB-UCB-ASYM"),
        ),
    )


COMPARED = (
    *(
        rules.below(
            f"NVLDB-{variant} is below NLDB-{variant} ({utility})",
            share(utility, f"NVLDB-{variant}"),
            share(utility, f"NLDB-{variant}"),
        )
        for utility in UTILITIES
        for variant in VARIANTS
    ),
    *(falls(utility, label, ROUNDS) for utility in UTILITIES for label in AGNOSTIC),
)

RADIUS = tuple(
    rules.below(
        f"a moderate a_t is best: 1 against {other:g} ({utility})",
        share(utility, "NVLDB-UCB-ASYM+a-1"),
        share(utility, f"NVLDB-UCB-ASYM+a-{other:g}"),
    )
    for utility in UTILITIES
    for other in (0.01, 100.0)
)

ALIKE = tuple(
    rules.chain(
        f"NVLDB-UCB-ASYM is below {words} ({setting})",
        {"NVLDB-UCB-ASYM": share(setting, "NVLDB-UCB-ASYM")},
        {rival: share(setting, rival) for rival in rivals},
    )
    for setting in (*UTILITIES, "figure-2")
    for words, rivals in FREED.items()
)


def on_classes(setting: str, *, ordered: bool) -> tuple[Claim, ...]:
    """Claims about the classes of a data set; `ordered` ones have certain outcomes."""
    below = tuple(below_rivals(setting, label) for label in AWARE)
    if not ordered:
        return below
    return (
        *below,
        rules.at_most(
            "NVLDB-UCB-OSYM has an average regret of at most 0.017 a round over 200 rounds, up to 10 % "
            f"({setting})",
            per_round(setting, "NVLDB-UCB-OSYM", last=200),
            1.1 * 0.017,
        ),
        rules.within(
            f"NLDB-UCB-OSYM has one of 0.199, up to 10 % ({setting})",
            per_round(setting, "NLDB-UCB-OSYM", last=200),
            0.199,
            relative=0.1,
        ),
        *(
            rules.below(
                f"with certain outcomes NVLDB-{variant} is far below NLDB-{variant} (200 rounds, {setting})",
                share(setting, f"NVLDB-{variant}", last=200),
                share(setting, f"NLDB-{variant}", last=200),
                factor=0.5,
            )
            for variant in VARIANTS
        ),
    )


def _both_arms(setting: str, label: str, last: int) -> Quantity:
    """Total regret a round: twice the average one."""
    average = per_round(setting, label, last=last)
    return lambda runs: 2.0 * average(runs)


def _table(setting: str, short: str, numbers: tuple[float, ...]) -> tuple[Claim, ...]:
    """The table's numbers, met or beaten up to a tenth, and that they fall."""
    label = f"NVLDB-UCB-{short}"
    met = tuple(
        rules.at_most(
            f"{label} has R(t)/t of at most {number:g} at t = {last:,}, up to 10 % ({setting})",
            _both_arms(setting, label, last),
            1.1 * number,
        )
        for last, number in zip((2_000, 6_000, LONG_ROUNDS), numbers, strict=True)
    )
    return (*met, falls(setting, label, LONG_ROUNDS))


WIDTH = tuple(
    claim for (short, units), numbers in WIDTHS.items() for claim in _table(f"width-{units}", short, numbers)
)

DIMENSION = tuple(
    claim
    for setting in ("d-20", "d-20-seldom", "d-100-seldom", "d-100-reset-seldom")
    for short, numbers in HIGH.items()
    for claim in _table(setting, short, numbers)
)

RUNTIME = (
    rules.below(
        "NVLDB-UCB-ASYM takes at most 1/28 of the time of NDB-UCB",
        total("square", LAST, column="seconds"),
        total("square", "NDB-UCB", column="seconds"),
        factor=1 / 28,
    ),
    rules.below(
        "features of the last layer take less time than gradients in all parameters",
        total("square", LAST, column="seconds"),
        total("square", ALL, column="seconds"),
    ),
)
