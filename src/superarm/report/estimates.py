"""Figures of an off-policy evaluation: a point with its interval per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from superarm.report.curves import COLOURS, blank

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def plot_estimates(table: pd.DataFrame, confidence: float) -> Figure:
    """Draw estimates with their intervals, first method on top; what is not known is left out.

    Args:
        table: as of `Estimates.table`.
        confidence: of the intervals.
    """
    with blank(f"Value of the policy, with {100 * confidence:g} % intervals") as (figure, axes):
        places = range(len(table))
        axes.hlines(
            places, table["low"].to_numpy(), table["high"].to_numpy(), color=COLOURS[0], linewidth=2.0
        )
        axes.plot(table["estimate"].to_numpy(), places, "o", color=COLOURS[0])
        axes.set_yticks(places, list(table["method"]))
        axes.set_ylim(len(table) - 0.5, -0.5)
        axes.set_xlabel("reward per event")
    return figure
