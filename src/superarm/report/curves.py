"""Figures: means over seeds with bands, in colours that colour-blind people can tell apart."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image  # comes with Matplotlib
from scipy.special import stdtrit

from superarm.experiments.runs import Runs, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from superarm.experiments.experiment import Aside
    from superarm.experiments.experiment import Figure as Layout

# Okabe & Ito (2008), Color Universal Design; black is kept for the optimum.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
STYLES = ("-", "--", "-.", ":")

STYLE: Any = {
    "font.size": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.hashsalt": "superarm",  # the same figure is the same file
}
PANELS = {"panels": "regret", "reward": "reward"}  # layout -> column
MAX_POINTS = 200  # per curve: more cannot be seen


def plot(
    table: pd.DataFrame,
    column: str = "regret",
    *,
    title: str = "",
    lines: Mapping[str, Callable[[int], float]] | None = None,
) -> Figure:
    """Draw cumulative `column` per policy: the mean over seeds and its 95 % band.

    Args:
        table: rows with policy, seed, round and `column`, as in `Result.table`.
        column: what to sum up over rounds.
        title: above the axes.
        lines: label -> function of the round, drawn beside the curves: a theorem's bound, for instance.
    """
    with blank(title) as (figure, axes):
        for index, (policy, rows) in enumerate(table.groupby("policy", sort=False)):
            _curve(axes, _wide(rows, column).cumsum(), str(policy), index)
        rounds = np.unique(np.linspace(1, table["round"].max(), 200).astype(int))
        for index, (label, line) in enumerate((lines or {}).items()):
            heights = [line(int(one)) for one in rounds]
            axes.plot(rounds, heights, color="black", linestyle=STYLES[1 + index % 3], label=label)
        _finish(axes, "round", f"cumulative {column.replace('_', ' ')}")
    return figure


def draw(layout: Layout, runs: Runs, *, title: str = "", note: str = "") -> Figure:
    """Draw an experiment as its paper does; `note` stands below, in small print."""
    if layout.layout in PANELS:
        return _panels(layout, runs, PANELS[layout.layout], title, note)
    if layout.layout == "runtime":
        return _runtime(layout, runs, title, note)
    with blank(title, note, panels=1 if layout.aside is None else 2) as (figure, axes):
        {"regret": _regret, "sweep": _sweep, "return": _return}[layout.layout](axes, runs, layout.band)
        axes.set_xscale("log" if layout.log_x else "linear")
        axes.set_yscale("log" if layout.log_y else "linear")
        _finish(axes, layout.x_label, layout.y_label)
        if layout.aside is not None:
            _beside(figure.add_subplot(1, 2, 2), layout.aside)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write path.png, in 256 colours: a third of the bytes, and the eye sees no difference."""
    drawn = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(drawn, format="png", dpi=150)
    picture = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    picture.save(path.with_suffix(".png"), optimize=True)


def _panels(layout: Layout, runs: Runs, column: str, title: str, note: str) -> Figure:
    """Cumulative `column` by round, one panel per setting."""
    settings = list(runs.table["setting"].unique())
    columns = min(3, len(settings))
    rows = -(-len(settings) // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.2 + 3.6 * columns, 1.4 + 2.8 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        for place, setting in enumerate(settings):
            axes = figure.add_subplot(rows, columns, place + 1)
            inside = runs.table[runs.table["setting"] == setting]
            for index, (policy, one) in enumerate(inside.groupby("policy", sort=False)):
                _curve(axes, _wide(one, column).cumsum(), str(policy), index, layout.band)
            axes.set_title(setting, fontsize=10.0)
            axes.set_ylim(bottom=0.0)
            axes.set_xlabel(layout.x_label)
            axes.set_ylabel(layout.y_label)
        _legends(figure)
        figure.suptitle(title, fontsize=11.0, x=0.01, ha="left")
        if note:
            figure.supxlabel(note, fontsize=7.0, color="#555555", wrap=True)
    return figure


def _legends(figure: Figure) -> None:
    """One legend beside all panels; where they show different policies, one in each."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    if all(labels == found[0][1] for _, labels in found):
        figure.legend(*found[0], loc="outside right upper")
        return
    for axes in figure.axes:
        axes.legend(fontsize=8.0)


@contextmanager
def blank(title: str, note: str = "", panels: int = 1) -> Iterator[tuple[Figure, Axes]]:
    """Yield an empty figure and its axes, the first of so many side by side.

    No window system is asked, and no global state is left.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.0 + 5.0 * panels, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(1, panels, 1)
        axes.set_title(title, fontsize=11.0, loc="left", wrap=True)
        if note:
            figure.supxlabel(note, fontsize=7.0, color="#555555", wrap=True)
        yield figure, axes


def _beside(axes: Axes, aside: Aside) -> None:
    """Draw functions."""
    x = np.linspace(aside.low, aside.high, 200)
    for index, (label, line) in enumerate(aside.lines.items()):
        heights = [line(float(one)) for one in x]
        axes.plot(x, heights, color=COLOURS[index % len(COLOURS)], label=label)
    axes.set_xlabel(aside.x_label)
    axes.set_ylabel(aside.y_label)
    axes.legend()


def _finish(axes: Axes, x_label: str, y_label: str) -> None:
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0.0)
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _regret(axes: Axes, runs: Runs, band: str) -> None:
    """Cumulative regret by round."""
    for index, (label, rows) in enumerate(_labelled(runs)):
        _curve(axes, _wide(rows, "regret").cumsum(), label, index, band)


def _runtime(layout: Layout, runs: Runs, title: str, note: str) -> Figure:
    """Milliseconds per round, of choosing and of updating, by policy; one pair of panels per setting."""
    settings = list(runs.table["setting"].unique())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 1.2 + 2.6 * len(settings)), layout="constrained")
        FigureCanvasAgg(figure)
        for place, setting in enumerate(settings):
            inside = runs.table[runs.table["setting"] == setting]
            update = inside["seconds"] - inside["choice_seconds"]
            for part, spent in enumerate((inside["choice_seconds"], update)):
                axes = figure.add_subplot(len(settings), 2, 2 * place + part + 1)
                # Of every run: seconds over rounds. Then the mean over runs, with its spread.
                keys = [inside["policy"], inside["seed"]]
                per_round = 1e3 * spent.groupby(keys, sort=False).sum() / inside["round"].max()
                over = per_round.groupby("policy", sort=False)
                means, widths = over.mean(), over.std().fillna(0.0)
                axes.barh(list(means.index), means, xerr=widths, color=COLOURS[part], capsize=3.0)
                axes.invert_yaxis()
                axes.set_xlabel(f"{layout.x_label}, {('choice', 'update')[part]}")
                axes.set_title(setting, fontsize=10.0)
        figure.suptitle(title, fontsize=11.0, x=0.01, ha="left")
        if note:
            figure.supxlabel(note, fontsize=7.0, color="#555555", wrap=True)
    return figure


def _return(axes: Axes, runs: Runs, band: str) -> None:
    """Running mean of the expected return by round (wen2015, equation 10), with the optimum's line."""
    best: Any = None
    for index, (label, rows) in enumerate(_labelled(runs)):
        best = _running_mean(rows, "best") if best is None else best
        _curve(axes, _running_mean(rows, "value"), label, index, band)
    optimum = best.mean(axis=1)
    axes.plot(optimum.index, optimum, color="black", linestyle=":", label="optimum")


def _sweep(axes: Axes, runs: Runs, band: str) -> None:
    """Total regret against x, with error bars."""
    for index, policy in enumerate(runs.table["policy"].unique()):
        points = sweep(str(policy))(runs)
        values = [totals.to_numpy() for totals in points.values()]
        axes.errorbar(
            list(points),
            [float(np.mean(one)) for one in values],
            yerr=[float(_half(one[None, :], band)[0]) for one in values],
            color=COLOURS[index % len(COLOURS)],
            marker="o",
            markersize=4.0,
            capsize=3.0,
            label=str(policy),
        )


def _labelled(runs: Runs) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of every policy in every setting, with a label for the legend."""
    alone = runs.table["setting"].nunique() == 1
    for (setting, policy), rows in runs.table.groupby(["setting", "policy"], sort=False):
        yield str(policy) if alone else f"{policy}, {setting}", rows


def _wide(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return one row per round, one column per seed."""
    return rows.pivot(index="round", columns="seed", values=column)


def _running_mean(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    summed = _wide(rows, column).cumsum()
    return summed.div(summed.index.to_numpy(), axis=0)


def _curve(axes: Axes, wide: pd.DataFrame, label: str, index: int, band: str = "interval") -> None:
    """Draw the mean over seeds and its band."""
    step = -(-len(wide) // MAX_POINTS)
    # Counted from the end, so that the last round is always drawn.
    thinned = wide.iloc[::-1].iloc[::step].iloc[::-1]
    mean = thinned.mean(axis=1).to_numpy()
    half = _half(thinned.to_numpy(), band)
    colour, style = COLOURS[index % len(COLOURS)], STYLES[index // len(COLOURS) % len(STYLES)]
    rounds = thinned.index.to_numpy()
    axes.plot(rounds, mean, color=colour, linestyle=style, label=label)
    axes.fill_between(rounds, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0.0)


def _half(values: np.ndarray[Any, Any], band: str) -> np.ndarray[Any, Any]:
    """(rows,) half of a band over the columns, 0 with one column.

    It is the mean's 95 % t-interval, or one standard deviation to either side.
    """
    count = values.shape[1]
    if count < 2:
        return np.zeros(values.shape[0])
    deviation = np.std(values, axis=1, ddof=1)
    if band == "deviation":
        return np.asarray(deviation)
    return np.asarray(stdtrit(count - 1, 0.975) * deviation / np.sqrt(count))
