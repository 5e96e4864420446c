"""Settings of the documentation; `make docs` builds it with warnings as errors."""

from pathlib import Path

from superarm.experiments.summary import find_summaries
from superarm.report.console import measured_words

project = "superarm"
copyright = "2026, the superarm developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "superarm"
exclude_patterns = ["_build", "generated"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
suppress_warnings = ["docutils"]  # formulas in docstrings are indented text, which need not be valid reST


def write_gallery(docs: Path) -> None:
    """Write the figures and claims of the committed results as a page to include."""
    parts = []
    for summary in find_summaries(docs.parent / "results"):
        reduced = f" Reduced: {summary.reduced}." if summary.reduced else ""
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


write_gallery(Path(__file__).parent)
