"""One HTML page of results that opens offline: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from superarm.experiments.claims import number
from superarm.report.style import STYLE

if TYPE_CHECKING:
    from superarm.experiments.summary import Final, SettingSummary, Summary

# A figure of ours is some hundred kilobytes; what is larger is not one.
MAX_FIGURE_BYTES = 20_000_000

# The page may load nothing: whatever got into a name or a figure cannot phone home or run.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Panel:
    """A section that is not an experiment: a title, a sentence, a figure and a table."""

    title: str
    text: str
    figure: Path
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def build_page(
    results: Iterable[tuple[Summary, Path]], *, title: str = "superarm: results", panels: Iterable[Panel] = ()
) -> str:
    """Return the page of results, each a summary and the folder that holds its figure."""
    results = list(results)
    sections = [_panel(panel) for panel in panels] + [_section(*result) for result in results]
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            f'<head><meta charset="utf-8"><title>{_text(title)}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{_text(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head>",
            f"<body><h1>{_text(title)}</h1>",
            _contents([summary for summary, _ in results]),
            *sections,
            "</body></html>",
            "",
        )
    )


def _contents(summaries: Sequence[Summary]) -> str:
    """Return the table of all claims, with links to their sections."""
    rows = [
        f'<tr><td><a href="#{_text(_anchor(summary))}">{_text(summary.id)}</a></td>'
        f"<td>{_text(summary.scale)}</td><td>{_text(claim.claim)}</td><td>{_badge(claim.verdict)}</td></tr>"
        for summary in summaries
        for claim in summary.claims
    ]
    if not rows:
        return ""
    return _raw_table(("experiment", "scale", "claim", "verdict"), rows)


def _section(summary: Summary, folder: Path) -> str:
    note = f"<p><b>Note:</b> {_text(summary.note)}</p>" if summary.note else ""
    refused = (
        f"<p>{summary.refused_fits:,} fits diverged and were refused.</p>" if summary.refused_fits else ""
    )
    reduced = f"<p><b>Reduced against the paper:</b> {_text(summary.reduced)}.</p>" if summary.reduced else ""
    return "\n".join(
        (
            f'<section id="{_text(_anchor(summary))}"><h2>{_text(summary.title)}</h2>',
            f"<p><code>{_text(summary.id)}</code>, {_text(summary.scale)} scale.",
            f"{_text(summary.reference)}.</p>",
            reduced,
            note,
            refused,
            _figure(folder / "figure.png", summary.title),
            "<h3>Claims</h3>",
            _claims(summary),
            "<h3>Totals</h3>",
            _finals(summary.finals),
            "<details><summary>Settings, versions and times</summary>",
            _settings(summary.settings),
            _facts(summary),
            "</details></section>",
        )
    )


def _panel(panel: Panel) -> str:
    rows = ["<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in panel.rows]
    table = _raw_table(panel.header, rows) if rows else ""
    figure = _figure(panel.figure, panel.title)
    return f"<section><h2>{_text(panel.title)}</h2><p>{_text(panel.text)}</p>{figure}{table}</section>"


def _claims(summary: Summary) -> str:
    rows = [
        f"<tr><td>{_text(claim.claim)}</td>"
        f"<td>{_text('' if claim.measured is None else number(claim.measured))}"
        f"<small>{_text(claim.detail)}</small></td>"
        f"<td>{_text(claim.expected)}</td><td>{_badge(claim.verdict)}</td></tr>"
        for claim in summary.claims
    ]
    return _raw_table(("claim", "measured", "expected", "verdict"), rows)


def _finals(finals: Sequence[Final]) -> str:
    header = ("setting", "policy", "seeds", "total regret", "95 % interval", "return per round", "optimum")
    return _table(
        header,
        [
            (
                final.setting,
                final.policy,
                str(final.seeds),
                _optional(final.regret),
                f"{_optional(final.regret_low)} to {_optional(final.regret_high)}",
                _optional(final.return_per_round),
                _optional(final.optimum_per_round),
            )
            for final in finals
        ],
    )


def _settings(settings: Sequence[SettingSummary]) -> str:
    return _table(
        ("setting", "parameters"),
        [
            (setting.name, ", ".join(f"{name} = {value}" for name, value in setting.parameters.items()))
            for setting in settings
        ],
    )


def _facts(summary: Summary) -> str:
    times = summary.times
    return _table(
        ("what", "value"),
        [
            ("rounds", str(summary.rounds)),
            ("seeds", str(summary.seeds)),
            ("run time", f"{number(times.run_seconds)} s, {number(times.run_seconds_per_seed)} s a seed"),
            ("compile time", f"{number(times.compile_seconds)} s"),
            ("processor", summary.cpu),
            ("commits", ", ".join(summary.commits) or "none"),
            ("versions", ", ".join(f"{name} {version}" for name, version in summary.versions.items())),
        ],
    )


def _figure(path: Path, title: str) -> str:
    """Return a PNG as a picture in the page."""
    if not path.is_file() or path.stat().st_size > MAX_FIGURE_BYTES:
        return "<p><i>The figure is missing; run the experiment again to draw it.</i></p>"
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<figure><img alt="{_text(title)}" src="data:image/png;base64,{content}"></figure>'


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = ["<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return _raw_table(header, cells)


def _raw_table(header: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table of rows that are HTML already; wide ones scroll by themselves."""
    names = "".join(f"<th>{_text(name)}</th>" for name in header)
    return f'<div class="wide"><table><tr>{names}</tr>{"".join(rows)}</table></div>'


def _badge(verdict: str) -> str:
    return f'<span class="badge {_text(verdict)}">{_text(verdict)}</span>'


def _anchor(summary: Summary) -> str:
    return f"{summary.id}-{summary.scale}".replace("/", "-").replace(" ", "-")


def _optional(value: float | None) -> str:
    return "none" if value is None else number(value)


def _text(words: str) -> str:
    return html.escape(words, quote=True)
