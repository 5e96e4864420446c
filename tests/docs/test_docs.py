"""The documentation holds: every example runs, and the public names are what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import sys
import warnings
from collections import Counter
from pathlib import Path

import jax
import matplotlib
import pytest
from typer.testing import CliRunner

import superarm
from superarm.cli.app import app
from superarm.experiments.summary import find_summaries
from superarm.jobs import processes as workers

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    (superarm (?:evaluate|tune --log) .*)$", re.MULTILINE)
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
NEEDS_DATA = {"data.md"}
QUICK = {
    *(
        "README.md",
        "concepts.md",
        "production.md",
        "offline-evaluation.md",
    ),
    *("how-to-ads.md", "oracles.md", "add-a-policy.md", "add-an-oracle.md"),
    *("add-an-explorer.md", "add-an-environment.md"),
}

MODULES = [
    found.name
    for found in pkgutil.walk_packages(superarm.__path__, "superarm.")
    if "__main__" not in found.name
]


def pages():
    """The pages with examples; those that a change seldom breaks in the full tests only."""
    for page in WITH_CODE:
        marks = [] if page.name in QUICK else [pytest.mark.full]
        if page.name not in NEEDS_DATA:
            yield pytest.param(page, id=page.name, marks=marks)


@pytest.mark.parametrize("page", list(pages()))
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers, "core_count", lambda: 1)  # others test on the other cores
    matplotlib.use("Agg")
    names = {"__name__": "__main__"}
    with jax.numpy_rank_promotion("allow"):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            exec(compile(block, str(page), "exec"), names)  # noqa: S102
    run_commands(page)


def run_commands(page):
    """Run the commands of a page that read logs, with the files that its examples have left."""
    for line in COMMAND.findall(page.read_text(encoding="utf-8")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # small examples have few events
            done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert done.exit_code == 0, f"{line}: {done.stderr}"


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_counts_claims_as_the_results_do():
    """Of the committed summaries: a paper's rows in README.md say how many claims hold, fail and are open."""
    counts = {}
    for summary in find_summaries(ROOT / "results"):
        paper = counts.setdefault(summary.id.split("/")[0], Counter())
        paper.update(claim.verdict for claim in summary.claims if summary.scale == "paper")
    row = re.compile(r"^\| \[(\w+)\]\(.*?\|" + r" (\d+) \|" * 3, re.MULTILINE)
    said = {
        paper: dict(zip(("holds", "fails", "open"), map(int, numbers), strict=True))
        for paper, *numbers in row.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    }
    assert said == {paper: dict(count) for paper, count in counts.items()}


def test_public_names_have_words():
    for name in set(dir(superarm)) - {"__version__"}:
        assert getattr(superarm, name).__doc__, name


def test_everything_public_has_words_and_presets_have_references():
    for name in superarm.policies.__all__:
        preset = getattr(superarm.policies, name)
        assert ">>>" in preset.__doc__, name
        words = preset.__doc__ + sys.modules[preset.__module__].__doc__
        assert re.search(r"(19|20)\d\d", words) or name in ("uniform", "uniform_duel"), name
