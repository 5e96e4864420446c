"""What the command line shows: the claims with their verdicts, and the points of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from superarm.experiments.claims import Verdict, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from superarm.experiments.summary import Summary
    from superarm.simulation.tune import Tuning

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


def tuning_text(tuning: Tuning) -> Text:
    """Return a line a point, in the order of the grid, with the best one marked."""
    text, means = Text(), tuning.means()
    best = tuning.best
    for row in means.to_dict(orient="records"):
        point = {name: row[name] for name in tuning.grid}
        mark = "best" if point == best else ""
        text.append(f"  {mark:<6}", style="green")
        text.append("  ".join(f"{name} {value:<8g}" for name, value in point.items()))
        spread = f"95 % {number(row['regret_low'])} to {number(row['regret_high'])}"
        text.append(f"  regret {number(row['regret'])}, {spread}\n")
    return text
