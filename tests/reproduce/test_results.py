"""The committed results: small enough for a repository, with rounds that give the summaries' numbers."""

from __future__ import annotations

import dataclasses
import math
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from superarm.experiments.reads import POINTS
from superarm.experiments.store import THINNED
from superarm.experiments.summary import read_summary
from superarm.reproduce import runner
from superarm.reproduce.registry import EXPERIMENTS

ROOT = Path(__file__).parents[2]
LIMIT = 12_000  # KiB
BLOCK = 4096
FILES = {"summary.json", "figure.png", "rounds.parquet"}


def committed():
    """The files that git has, or would have; without git, all of the paper scale."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "results"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return sorted(path for path in (ROOT / "results").glob("*/*/paper/*") if path.is_file())
    return sorted(path for name in done.stdout.split("\0") if (path := ROOT / name).is_file())


def name_of(folder):
    return "/".join(folder.parts[-3:-1])


stored = [path.parent for path in committed() if path.name == "rounds.parquet"]
QUICK = {"hwang2023/linear", "oh2026/runtime"}  # the others in the full tests


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


@pytest.mark.parametrize("folder", list(in_full()))
def test_rounds_give_the_numbers_of_the_summary(folder):
    work = runner._work(name_of(folder), "paper", None, ROOT / "results")
    table, origin = work.store.table(work.fingerprints())
    assert origin.rounds == THINNED
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
