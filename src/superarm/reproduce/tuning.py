"""Tuning a policy of an experiment: on its first setting, and on seeds that it does not report."""

from __future__ import annotations

import inspect
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from superarm import checks
from superarm.errors import EngineError
from superarm.experiments.experiment import ExperimentError, Tunable
from superarm.jobs.engines import EngineName
from superarm.reproduce.registry import EXPERIMENTS, lookup, plan_of
from superarm.reproduce.runner import require_engine
from superarm.simulation.simulate import SimulationError
from superarm.simulation.tune import GridError, Tuning, tune, words

WHERE = "tune"


def tune_policy(
    name: str,
    label: str,
    grid: Mapping[str, Sequence[float]],
    *,
    scale: str = "quick",
    rounds: int | None = None,
    seeds: int = 5,
    out: Path,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    progress: bool | None = None,
) -> tuple[Tuning, Path]:
    """Tune a policy of an experiment on its first setting, and write the results to out/name/label.

    Args:
        name: the id.
        label: of a policy among the experiment's `tunables`.
        grid: parameter -> values, in place of those that the experiment would try.
        scale: whose first setting is taken.
        rounds: of every run; None for the plan's.
        seeds: how many, from `TUNING_SEEDS` on.
        out: the folder of all tunings; nothing is written before all runs are finished.
        workers: processes; None for one per core, 0 to run in this process.
        engine: "local" or "ray".
        address: of a running Ray cluster; None for a Ray that is started here, and ended.
        progress: show how far it is.

    Raises:
        ExperimentError: what the caller can put right.
    """
    require_engine(WHERE, engine, address=address, workers=workers)
    plan = plan_of(name, scale, where=WHERE)
    tunable = _tunable(name, label)
    chosen = dict(tunable.grid) | _known(name, label, tunable, grid)
    folder = out / name / label
    _require_writable(folder)
    environment = plan.settings[0].environment()

    def build(**point: Any) -> Any:
        try:
            return tunable.build(environment, **point)
        except (TypeError, ValueError) as error:
            raise ExperimentError(f"{WHERE}: {label} cannot be built at {words(point)}: {error}") from error

    try:
        tuning = tune(
            build,
            chosen,
            environment,
            rounds=rounds or plan.rounds,
            seeds=seeds,
            workers=workers,
            engine=cast(EngineName, engine),  # which is checked
            address=address,
            progress=progress,
        )
    except (EngineError, GridError, SimulationError) as error:
        raise ExperimentError(str(error)) from error
    tuning.save(folder)
    return tuning, folder


def parse_grid(texts: Iterable[str]) -> dict[str, list[float]]:
    """Read a grid from words such as "nu=0.01,0.1,1".

    >>> parse_grid(["nu=0.01,0.1", "ridge=1"])
    {'nu': [0.01, 0.1], 'ridge': [1.0]}
    """
    grid: dict[str, list[float]] = {}
    for text in texts:
        name, sign, values = (part.strip() for part in text.partition("="))
        if not name or not sign:
            raise ExperimentError(f"{WHERE}: --grid must read NAME=NUMBER,NUMBER,..., got {text!r}")
        if not values:
            raise ExperimentError(f"{WHERE}: --grid {name} must list at least one number, got none")
        if name in grid:
            raise ExperimentError(f"{WHERE}: --grid {name} must be given once, with all its numbers")
        grid[name] = [_number(name, value) for value in values.split(",")]
    return grid


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ExperimentError(f"{WHERE}: --grid {name} must list finite numbers, got {text.strip()!r}")
    return value


def _tunable(name: str, label: str) -> Tunable:
    tunables = lookup(name, where=WHERE).tunables
    if not tunables:
        known = ", ".join(one.id for one in EXPERIMENTS.values() if one.tunables)
        raise ExperimentError(f"{WHERE}: {name} has no policy that can be tuned; these have: {known}")
    if label not in tunables:
        known, close = ", ".join(tunables), checks.hint(label, tunables)
        raise ExperimentError(f"{WHERE}: {name} cannot tune a policy {label!r}; it can tune {known}{close}")
    return tunables[label]


def _known(
    name: str, label: str, tunable: Tunable, grid: Mapping[str, Sequence[float]]
) -> dict[str, Sequence[float]]:
    """Return the grid; refuse a parameter that the policy does not have."""
    _, *arguments = inspect.signature(tunable.build).parameters.values()  # the first is the environment
    named = [one.name for one in arguments if one.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters = dict.fromkeys([*named, *tunable.grid])
    for unknown in (one for one in grid if one not in parameters):
        known, close = ", ".join(parameters), checks.hint(unknown, parameters)
        has = f"{label} of {name} has no parameter {unknown!r}; it has {known}"
        raise ExperimentError(f"{WHERE}: {has}{close}")
    return dict(grid)


def _require_writable(folder: Path) -> None:
    """Prove before all work that the results can be kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ExperimentError(
            f"{WHERE}: cannot write to {folder}: {error.strerror or error}; choose another --out"
        ) from error
