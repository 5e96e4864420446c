"""The committed results: small enough for a repository, with rounds that give the summaries' numbers."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pandas as pd
import pytest

from superarm.experiments.reads import POINTS
from superarm.experiments.store import ALL
from superarm.experiments.summary import read_summary
from superarm.reproduce import runner
from superarm.reproduce.registry import EXPERIMENTS

RESULTS = Path(__file__).parents[2] / "results"
LIMIT = 12_000  # KiB
BLOCK = 4096
FILES = {"summary.json", "figure.png", "rounds.parquet"}

stored = sorted(path.parent for path in RESULTS.glob("*/*/paper/rounds.parquet"))
QUICK = {"hwang2023/linear", "oh2026/runtime"}  # the others in the full tests


def name_of(folder):
    return "/".join(folder.parts[-3:-1])


def committed():
    """Files of the paper scale; other scales, pages and runs that go on stay out of the repository."""
    return [path for path in RESULTS.glob("*/*/paper/*") if path.is_file()]


def test_results_are_small_enough_for_a_repository():
    files = committed()
    assert len(files) > 100
    assert sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in files) <= LIMIT * 1024
    assert {path.name for path in files} <= FILES
    assert {name_of(path.parent) for path in files} <= set(EXPERIMENTS)


@pytest.mark.parametrize("folder", [pytest.param(one, id=name_of(one)) for one in stored])
def test_stored_curves_have_few_points(folder):
    keys = pd.read_parquet(folder / "rounds.parquet", columns=["setting", "policy", "seed", "round"])
    assert keys.groupby(["setting", "policy", "seed"]).size().max() <= POINTS + 10


def in_full():
    for folder in stored:
        marks = [] if name_of(folder) in QUICK else [pytest.mark.full]
        yield pytest.param(folder, id=name_of(folder), marks=marks)


@pytest.mark.parametrize("folder", in_full())
def test_rounds_give_the_numbers_of_the_summary(folder):
    work = runner._work(name_of(folder), "paper", None, RESULTS)
    table, origin = work.store.table(work.fingerprints())
    assert origin.rounds != ALL
    found = runner._summary(work, runner._runs(work, table, origin), origin)
    expected = read_summary(folder / "summary.json")
    assert [said(one) for one in found.claims] == [said(one) for one in expected.claims]
    assert [said(one) for one in found.finals] == [said(one) for one in expected.finals]


def said(row):
    """Words, and numbers in ten digits."""
    return [rounded(value) for value in dataclasses.astuple(row)]


def rounded(value):
    if not isinstance(value, float):
        return value
    return f"{value:.10g}" if math.isfinite(value) else None
