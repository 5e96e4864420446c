"""Replay on the Open Bandit data (appendix J.1 of bae2026): its plan, and the published click rates."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.bae2026.methods import PRESETS
from superarm.reproduce.papers.bae2026.plans import ROUNDS, Problem, setting_of

FULL = "SUPERARM_OPEN_BANDIT"  # the environment variable that names the folder of the full data set
EVENTS = 200_000  # of it, drawn at random: 340 MB

# Table 2: final click rates after 2,000 accepted events, by width m, kappa and S.
REPLAYS: dict[str, dict[str, Any]] = {
    "m-20": {},
    "m-50": {"units": 50},
    "m-100": {"units": 100},
    "kappa-100": {"kappa": 100.0},
    "kappa-200": {"kappa": 200.0},
    "S-10": {"norm_bound": 10.0},
    "S-100": {"norm_bound": 100.0},
}

RATES = {  # in the order of PRESETS
    "m-20": (0.0020, 0.0021, 0.0024, 0.0017, 0.0025, 0.0050, 0.0041),
    "m-50": (0.0017, 0.0021, 0.0024, 0.0024, 0.0028, 0.0052, 0.0051),
    "m-100": (0.0022, 0.0021, 0.0024, 0.0026, 0.0020, 0.0051, 0.0049),
    "kappa-100": (0.0017, 0.0020, 0.0024, 0.0022, 0.0025, 0.0050, 0.0041),
    "kappa-200": (0.0014, 0.0015, 0.0024, 0.0023, 0.0025, 0.0051, 0.0041),
    "S-10": (0.0023, 0.0018, 0.0021, 0.0023, 0.0013, 0.0051, 0.0050),
    "S-100": (0.0021, 0.0016, 0.0022, 0.0023, 0.0015, 0.0051, 0.0050),
}


def replay_plan(scale: str) -> Plan:
    """Replay on the Open Bandit data; the smoke scale reads an invented log."""
    if scale == "smoke":
        words = "an invented log, 40 accepted events, two policies"
        setting = _replay("m-20", _invented_log, ("NCBF-UCB", "NeuralLog-TS-1"))
        return Plan((setting,), 40, 2, 10, reduced=words)
    names = ("m-20",) if scale == "quick" else tuple(REPLAYS)
    settings = tuple(_replay(name, _open_bandit) for name in names)
    if scale == "quick":
        words = f"200 of {ROUNDS} accepted events, 2 repetitions instead of 5, one of 7 settings"
        return Plan(settings, 200, 2, 10, reduced=words)
    return Plan(settings, ROUNDS, 5, 10)


def _replay(name: str, world: Callable[[], Any], labels: tuple[str, ...] = tuple(PRESETS)) -> Setting:
    options: dict[str, Any] = {"kappa": 50.0, "norm_bound": 1.0, "units": 20, **REPLAYS[name]}
    data = "open-bandit, full" if os.environ.get(FULL) else "open-bandit, sample"
    problem = Problem("h1", world, {"data": data, **options})
    return setting_of(name, problem, "descent", labels, options)


def _open_bandit() -> Any:
    from superarm.datasets import load_open_bandit
    from superarm.evaluate import logged_world, open_bandit_log

    data = load_open_bandit(os.environ.get(FULL) or None)
    return logged_world(open_bandit_log(data, events=min(EVENTS, len(data.items))), passes=5)


def _invented_log() -> Any:
    import numpy as np

    from superarm.evaluate import event_log, logged_world

    rng = np.random.default_rng(0)
    contexts, actions = rng.normal(size=(200, 3, 2)), rng.integers(3, size=200)
    clicks = (contexts[np.arange(200), actions, 0] > 0.5).astype(float)
    return logged_world(event_log(contexts, actions, clicks, binary=True), passes=5)


def published_rates() -> str:
    """Table 2 in a sentence."""
    rows = "; ".join(
        f"{name}: " + ", ".join(f"{rate:.4f}" for rate in rates) for name, rates in RATES.items()
    )
    return f"The paper's click rates (table 2), in the order {', '.join(PRESETS)}: {rows}. "
