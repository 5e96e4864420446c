"""The tables of duels on the page of the papers are those of the committed results."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from superarm.reproduce.papers.oh2026.claims import HIGH, WIDTHS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
STRATEGIES = ("ASYM", "OSYM", "CSYM")
UTILITIES = {"square": "10 (Theta'x)^2", "cosine": "cos(3 Theta'x)", "quadratic": "x'Theta Theta'x"}
TIMES = (2_000, 6_000, 10_000)


@cache
def rounds(name):
    columns = ["setting", "policy", "seed", "round", "regret"]
    return pd.read_parquet(ROOT / "results" / "oh2026" / name / "paper" / "rounds.parquet", columns=columns)


def of(name, setting, policy, last=None):
    table = rounds(name)
    table = table[(table.setting == setting) & (table.policy == policy)]
    return table if last is None else table[table["round"] <= last]


def mean(name, setting, policy):
    """Total regret, on average."""
    return f"{of(name, setting, policy).groupby('seed').regret.sum().mean():.0f}"


def a_round(name, setting, short):
    """Both arms' regret a round up to three times, on average."""
    found = (of(name, setting, f"NVLDB-UCB-{short}", last).groupby("seed").regret.sum() for last in TIMES)
    return " / ".join(f"{2 * one.mean() / last:.2f}" for one, last in zip(found, TIMES, strict=True))


def runs(name, setting, policy="NVLDB-UCB-ASYM"):
    return of(name, setting, policy).seed.nunique()


def between(name, setting):
    """The least and the largest mean of the six variants of NVLDB."""
    found = [float(mean(name, setting, f"NVLDB-{rule}-{s}")) for rule in ("UCB", "TS") for s in STRATEGIES]
    return f"{min(found):.0f} to {max(found):.0f}"


def means(name, setting, *cells):
    """A cell for each of `cells`: the means of its policies."""
    return (", ".join(mean(name, setting, one) for one in policies) for policies in cells)


def utility_row(name):
    ours = [[f"NVLDB-{rule}-{short}" for short in STRATEGIES] for rule in ("UCB", "TS")]
    cells = (*ours, ["NVLDB-UCB-ASYM+seldom"], ["ColSTIM"], ["NDB-UCB", "NDB-TS"], ["VACDB"], ["uniform"])
    return row((UTILITIES[name], *means(name, "d-5", *cells), str(runs(name, "d-5"))))


def data_row(name, setting, words):
    cells = (["ColSTIM"], ["MaxPairUCB"], ["NDB-UCB", "NDB-TS"], ["VACDB"], ["uniform"])
    return row((words, between(name, setting), *means(name, setting, *cells), str(runs(name, setting))))


def row(cells):
    return f"| {' | '.join(cells)} |"


def numbers(values):
    return " / ".join(f"{one:.2f}" for one in values)


def rows():
    for name in UTILITIES:
        yield f"utility-{name}", lambda name=name: utility_row(name)
    for short, paper in HIGH.items():
        yield (
            f"E.3-{short}",
            lambda short=short, paper=paper: row(
                (short, numbers(paper), *(a_round("high-dim", one, short) for one in ("d-20", "d-20-seldom")))
            ),
        )
    for short in STRATEGIES:
        yield (
            f"E.2-{short}",
            lambda short=short: row(
                (
                    short,
                    *(
                        cell
                        for units in (500, 1000)
                        for cell in (numbers(WIDTHS[short, units]), a_round("width", f"width-{units}", short))
                    ),
                )
            ),
        )
    for name, words in {"statlog": "Statlog", "magic": "MAGIC", "covertype": "Covertype"}.items():
        yield f"data-{name}", lambda name=name, words=words: data_row(name, name, words)
        yield (
            f"data-{name}-raw",
            lambda name=name, words=words: data_row(name, f"{name}-raw", f"{words}, as it comes"),
        )


@pytest.mark.parametrize("expected", [pytest.param(made, id=name) for name, made in rows()])
def test_a_row_of_the_page_is_that_of_the_results(expected):
    assert expected() in PAGE


@pytest.mark.parametrize(
    ("name", "setting", "words"),
    [
        ("high-dim", "d-20", "fitted every round as the paper's ({} runs)"),
        ("high-dim", "d-20-seldom", "fitted every 10 rounds ({} runs)"),
        ("width", "width-500", "the paper, m = 500 | ours ({} runs)"),
        ("width", "width-1000", "the paper, m = 1000 | ours ({} runs)"),
    ],
)
def test_the_page_tells_how_many_runs(name, setting, words):
    assert words.format(runs(name, setting)) in PAGE
