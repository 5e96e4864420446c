"""What the command line shows: the claims, with their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from superarm.experiments.claims import Verdict, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from superarm.experiments.summary import Summary

COLOURS = {"holds": "green", "fails": "red", "open": "yellow"}


def claims_text(summaries: Sequence[Summary]) -> Text:
    """Return the claims of experiments with their verdicts, two lines a claim."""
    text = Text()
    for summary in summaries:
        text.append(f"{summary.id} ({summary.scale} scale)\n", style="bold")
        for claim in summary.claims:
            text.append(f"  {claim.verdict:<6}", style=COLOURS[claim.verdict])
            text.append(f"{claim.claim}\n")
            text.append(f"        {measured_words(claim)}; expected {claim.expected}\n", style="dim")
    return text


def measured_words(claim: Verdict) -> str:
    """Say what was measured, and how surely."""
    if claim.measured is None:
        return claim.detail
    return f"measured {number(claim.measured)}, {claim.detail}"
