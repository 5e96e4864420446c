"""Figures of a grid search: a line with a band for one parameter, a heat map for two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator

from superarm.experiments.claims import number
from superarm.report.curves import COLOURS, STYLE, blank

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Grid = Mapping[str, tuple[Any, ...]]

SHADES = "cividis_r"  # Nunez, Anderton & Renslow (2018): the same to colour-blind people; dark is worse
FAILED = "#DDDDDD"


def plot_grid(means: pd.DataFrame, grid: Grid, best: Mapping[str, Any]) -> Figure:
    """Draw the mean regret of the points.

    Args:
        means: as of `Tuning.means`.
        grid: parameter -> values; the first two that have several are drawn, the others at their best.
        best: the point to mark.
    """
    drawn = [name for name, values in grid.items() if len(values) > 1][:2] or list(grid)[:1]
    rest = [name for name in grid if name not in drawn]
    for name in rest:
        means = means[means[name] == best[name]]
    fixed = f", at {_point(best, rest)}" if rest else ""
    with blank(f"Mean regret; best at {_point(best, drawn)}{fixed}") as (figure, axes):
        if len(drawn) == 1:
            _line(axes, means, drawn[0], best)
        else:
            _heat_map(axes, means, grid, drawn, best)
    return figure


def write(figure: Figure, path: Path) -> None:
    """Write one file, in the format of its suffix."""
    with mpl.rc_context(STYLE):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def _point(point: Mapping[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} = {point[name]:g}" for name in names)


def _line(axes: Axes, means: pd.DataFrame, name: str, best: Mapping[str, Any]) -> None:
    """Mean regret against a parameter with its band; points that failed are left out."""
    rows = means[np.isfinite(means["regret"])].sort_values(name)
    values, regret = rows[name].to_numpy(), rows["regret"].to_numpy()
    # With one seed the interval is infinite, and there is no band to draw.
    low, high = (
        np.where(np.isfinite(rows[side]), rows[side], regret) for side in ("regret_low", "regret_high")
    )
    axes.plot(values, regret, color=COLOURS[0], marker="o", markersize=4.0)
    axes.fill_between(values, low, high, color=COLOURS[0], alpha=0.2, linewidth=0.0)
    axes.plot(
        best[name], rows.loc[rows[name] == best[name], "regret"], "*", color=COLOURS[1], markersize=14.0
    )
    axes.set_xscale("log" if np.all(values > 0) else "linear")
    axes.xaxis.set_major_locator(FixedLocator(values.tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(values.tolist(), [f"{value:g}" for value in values])
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(name)
    axes.set_ylabel("mean regret")


def _heat_map(axes: Axes, means: pd.DataFrame, grid: Grid, drawn: list[str], best: Mapping[str, Any]) -> None:
    """Cells of equal size in rising order of the values, so that powers of ten are as on a log axis."""
    x, y = (sorted(grid[name]) for name in drawn)
    cells = means.pivot(index=drawn[1], columns=drawn[0], values="regret").loc[y, x].to_numpy()
    finite = cells[np.isfinite(cells)]
    # Shades by ratio: a bad corner must not make the good cells look alike.
    norm = (LogNorm if finite.min() > 0 else Normalize)(finite.min(), finite.max())
    shades = mpl.colormaps[SHADES].with_extremes(bad=FAILED)
    masked = np.ma.masked_invalid(cells)
    axes.imshow(masked, norm=norm, cmap=shades, origin="lower", aspect="auto")
    light = shades(norm(masked))[..., :3] @ (0.2126, 0.7152, 0.0722) > 0.5  # Rec. 709 weights
    for (row, column), value in np.ndenumerate(cells):
        text, colour = (
            number(value) if math.isfinite(value) else "failed",
            "black" if light[row, column] else "white",
        )
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=9.0)
    corner = (x.index(best[drawn[0]]) - 0.5, y.index(best[drawn[1]]) - 0.5)
    axes.add_patch(
        Rectangle(corner, 1.0, 1.0, fill=False, edgecolor=COLOURS[1], linewidth=3.0, clip_on=False)
    )
    axes.set_xticks(range(len(x)), [f"{value:g}" for value in x])
    axes.set_yticks(range(len(y)), [f"{value:g}" for value in y])
    axes.grid(visible=False)
    axes.set_xlabel(drawn[0])
    axes.set_ylabel(drawn[1])
