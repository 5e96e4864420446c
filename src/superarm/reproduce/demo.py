"""A first look: five policies on a small longest path, and the first figure of wen2015."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import superarm
from superarm.environments.paths import longest_path
from superarm.experiments.claims import number
from superarm.experiments.summary import Summary
from superarm.report.curves import plot, save
from superarm.report.page import Panel, build_page
from superarm.reproduce.runner import run
from superarm.simulation.simulate import compare

ROUNDS = 150
SEEDS = 4
SIZE, DIM = 10, 40
THETA_SCALE, NOISE = 0.3, 3.0  # so noisy that exploring pays
EXPERIMENT = "wen2015/longest-path"
REPETITIONS = 20


def compare_policies(*, rounds: int = ROUNDS, seeds: int = SEEDS, workers: int | None = None) -> Any:
    """Compare five policies on a grid of 10 x 10 with 40 features; the linear ones know prior and noise."""
    world = longest_path(size=SIZE, dim=DIM, theta_scale=THETA_SCALE, noise=NOISE)
    known: dict[str, Any] = {"prior_scale": THETA_SCALE, "noise": NOISE}
    policies = {
        "CombLinTS": superarm.comb_lin_ts(world.oracle, **known),
        "CombLinUCB": superarm.comb_lin_ucb(world.oracle, radius=1.0, **known),
        "epsilon-greedy": superarm.epsilon_greedy(world.oracle, epsilon=0.1, **known),
        "CombUCB1": superarm.comb_ucb1(world.oracle),
        "uniform": superarm.uniform(world.oracle),
    }
    return compare(policies, world, rounds=rounds, seeds=seeds, workers=workers, keep_items=False)


def demo(
    out: Path,
    *,
    scale: str = "quick",
    workers: int | None = None,
    say: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Summary, Path]:
    """Write a comparison, an experiment and a page of both below `out`; return the summary and the page."""
    say(f"Five policies on a {SIZE} x {SIZE} longest path, {SEEDS} seeds ...")
    result = compare_policies(workers=workers)
    figure = out / "comparison"
    save(plot(result.table, title="Five policies on a small longest path"), figure)
    say(f"Figure of wen2015: {EXPERIMENT}, {scale} scale ...")
    summary = run(EXPERIMENT, scale=scale, seeds=REPETITIONS, out=out, workers=workers, progress=progress)
    page = out / "index.html"
    content = build_page(
        [(summary, out / EXPERIMENT / scale)], title="superarm: demo", panels=[_panel(result, figure)]
    )
    page.write_text(content, encoding="utf-8")
    return summary, page


def _panel(result: Any, figure: Path) -> Panel:
    finals = result.finals()
    return Panel(
        title="Five policies on a small longest path",
        text=f"{result.rounds} rounds; the mean over {SEEDS} seeds, with a 95 % band.",
        figure=figure.with_suffix(".png"),
        header=("policy", "total regret"),
        rows=tuple((str(policy), number(float(regret))) for policy, regret in finals["regret"].items()),
    )
