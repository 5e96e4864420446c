"""Settings of the documentation; `make docs` builds it with warnings as errors."""

import re
import sys
from pathlib import Path
from typing import Any

from superarm.experiments.summary import find_summaries
from superarm.report.console import measured_words

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import policy_pages  # noqa: E402 (found through the line above)

project = "superarm"
copyright = "2026, the superarm developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "superarm"
exclude_patterns = ["_build", "generated/*.md"]  # parts that pages include; those of policies are pages
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
suppress_warnings = ["docutils"]  # formulas in docstrings are indented text, which need not be valid reST


def write_gallery(docs: Path) -> None:
    """Write the figures and claims of the committed results as a page to include."""
    parts = []
    for summary in find_summaries(docs.parent / "results"):
        reduced = f" Reduced: {summary.reduced}." if summary.reduced else ""
        if summary.refused_fits:
            reduced += f" {summary.refused_fits:,} fits diverged and were refused."
        scale = f"{summary.scale} scale, {summary.seeds} repetitions.{reduced}"
        parts += [
            f"## {summary.id}",
            f"{summary.title}. {summary.reference}; {scale} {summary.note}",
            f"![{summary.title}](../results/{summary.id}/{summary.scale}/figure.png)",
            "| claim | verdict | measured | expected |\n|---|---|---|---|\n"
            + "\n".join(
                f"| {one.claim} | **{one.verdict}** | {measured_words(one)} | {one.expected} |"
                for one in summary.claims
            ),
        ]
    folder = docs / "generated"
    folder.mkdir(exist_ok=True)
    (folder / "gallery.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def plain_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let |x| in a docstring be a norm: reST takes it for the name of something else."""
    lines[:] = [line if ">>>" in line else re.sub(r"\|(?=\S)|(?<=\S)\|", r"\\|", line) for line in lines]


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", plain_bars)


write_gallery(DOCS)
policy_pages.write(DOCS, DOCS / "generated")
