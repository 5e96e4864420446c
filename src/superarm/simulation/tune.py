"""Grid search on seeds that no experiment reports."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from rich.console import Console

from superarm import checks
from superarm.contract import Environment
from superarm.jobs.engines import EngineName, check_engine, connected, run_jobs
from superarm.jobs.progress import progress_of
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.simulation.batch import Batch, Total, can_join, differing, room, run_batch
from superarm.simulation.round import SimulationError, check_meeting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TUNING_SEEDS = 1000  # the first seed to tune on: experiments report 0, 1, ..., which must stay untouched
# Columns of the tables, which no parameter can be called.
TAKEN = ("seed", "regret", "regret_low", "regret_high", "reward", "refused_fits")
FILE = "tuning"  # of what `save` writes
SCHEMA = 1  # of tuning.json

Point = dict[str, Any]


class GridError(ValueError):
    """A grid that cannot be run, in one sentence."""


@dataclass(frozen=True)
class Tuning:
    """The runs of a grid.

    Attributes:
        table: one row per point and seed: the parameters, seed, regret (expected) and reward in total, and
            refused_fits, which diverged. A run that could not go on has infinite regret.
        grid: the values of each parameter.
        rounds: of every run.
        build: what made the policies.
    """

    table: pd.DataFrame
    grid: Mapping[str, tuple[Any, ...]]
    rounds: int
    build: Callable[..., Policy | Anytime] = field(repr=False)

    @property
    def best(self) -> Point:
        """The point with the lowest mean regret; of equals, the first in the order of the grid."""
        return _product(self.grid)[int(np.argmin(self.means()["regret"]))]

    def policy(self) -> Policy | Anytime:
        """The policy of the best point."""
        return self.build(**self.best)

    def means(self) -> pd.DataFrame:
        """Return one row per point, in the order of the grid.

        Columns: the parameters; regret, its mean over seeds, with its 95 % interval regret_low to
        regret_high; reward, its mean; refused_fits, their sum.
        """
        from superarm.statistics import interval

        rows = []
        size = self.table["seed"].nunique()
        for index, point in enumerate(_product(self.grid)):
            runs = self.table.iloc[index * size : (index + 1) * size]
            regrets = runs["regret"].to_numpy()
            found = interval(regrets) if np.all(np.isfinite(regrets)) else None
            rows.append(
                point
                | {
                    "regret": found.mean if found else math.inf,
                    "regret_low": found.low if found else math.inf,
                    "regret_high": found.high if found else math.inf,
                    "reward": float(runs["reward"].mean()),
                    "refused_fits": int(runs["refused_fits"].sum()),
                }
            )
        import pandas as pd

        return pd.DataFrame(rows)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw mean regret: a line with its 95 % band for one parameter, a heat map for two.

        With more, the first two that have several values are drawn, the others are at their best. With a
        path, the figure is also written there, as its suffix says.
        """
        from superarm.report.grids import plot_grid, write

        figure = plot_grid(self.means(), self.grid, self.best)
        if path is not None:
            write(figure, Path(path))
        return figure

    def to_json(self) -> str:
        """Return the grid, the seeds, the best point, all means and the versions; infinity is null."""
        from superarm.provenance import commit, versions

        points = [
            {name: value if math.isfinite(value) else None for name, value in row.items()}
            for row in self.means().to_dict(orient="records")
        ]
        content = {
            "schema": SCHEMA,
            "rounds": self.rounds,
            "seeds": [int(seed) for seed in self.table["seed"].unique()],
            "grid": {name: list(values) for name, values in self.grid.items()},
            "best": self.best,
            "points": points,
            "versions": versions(),
            "commit": commit(),
        }
        return json.dumps(content, indent=1, allow_nan=False)

    def save(self, folder: str | Path) -> Path:
        """Write tuning.csv (the table), tuning.json (`to_json`) and tuning.png into a folder.

        Each file is whole or not there.
        """
        from superarm.report.curves import save

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".") as scratch:
            made = Path(scratch) / FILE
            self.table.to_csv(made.with_suffix(".csv"), index=False)
            made.with_suffix(".json").write_text(self.to_json() + "\n", encoding="utf-8")
            save(self.plot(), made)
            for path in sorted(Path(scratch).iterdir()):
                os.replace(path, target / path.name)
        return target


@checks.named
def tune(
    build: Callable[..., Policy | Anytime],
    grid: Mapping[str, Iterable[float]],
    environment: Environment,
    *,
    rounds: int,
    seeds: int | Sequence[int] = 5,
    workers: int | None = None,
    engine: EngineName = "local",
    address: str | None = None,
    batch: int | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Run a policy at every point of a grid, and find the one with the lowest mean regret.

    Points may differ in real hyperparameters only. They share one compilation; where the state of a policy is
    small, many points of a seed run at once, mapped over by JAX (`superarm.batches` says when, and what it
    saves). Every point meets the same worlds, contexts and noise, and its regret is that of `simulate` with
    the same seeds, up to rounding.

    Args:
        build: makes the policy of a point from keyword arguments: `lambda radius: lin_ucb(radius=radius)`.
        grid: argument -> values; all combinations are run.
        environment: the world; each seed draws an instance.
        rounds: decisions per run.
        seeds: how many, from `TUNING_SEEDS` = 1000 on; or which. What is reported must be run on others:
            those of `simulate`, `compare` and the experiments are 0, 1, ...
        workers: single-threaded processes; None for one per core, 0 to run in this process. Their number
            changes no result.
        engine: "local", or "ray" for a cluster: the same results from many machines (`superarm[ray]`).
        address: of a running Ray cluster; None for a Ray that is started here, and ended.
        batch: points of a seed to run at once; None to choose by the size of a state, 1 for one after
            another. A policy or an environment that needs the host always runs alone.
        progress: show a bar; by default when the output is a terminal.

    A point whose scores do not stay finite counts as infinite regret, with a warning; the others go on.

    >>> import superarm
    >>> world = superarm.environments.linear_scores(dim=4, num_arms=6)
    >>> found = superarm.tune(
    ...     lambda radius: superarm.lin_ucb(radius=radius, noise=0.1),
    ...     {"radius": [0.1, 1.0, 100.0]},
    ...     world,
    ...     rounds=200,
    ...     seeds=2,
    ...     workers=0,
    ... )
    >>> found.best["radius"] < 100.0, len(found.table)
    (True, 6)
    """
    where = "tune"
    values = _checked(where, build, grid)
    checks.count(where, "rounds", rounds)
    checks.part(where, "environment", environment, Environment)
    if not environment.knows_regret:
        must = "environment must tell the regret of a decision"
        raise TypeError(f"{where}: {must}, got {type(environment).__name__}, which tells logged rewards only")
    if batch is not None:
        checks.count(where, "batch", batch)
    check_engine(where, engine, address=address, workers=workers)
    chosen = _seeds(where, seeds)
    environment.check()
    points = _product(values)
    policies = [_built(where, build, point, environment, rounds) for point in points]
    _require_alike(where, points, policies)
    most, first = 1, policies[0]
    if can_join(first, environment):
        most = room(first, environment, rounds) if batch is None else batch
    empty = Batch(policies=(), count=0, axes=(), environment=environment, rounds=rounds, seed=0)
    jobs = [replace(job, seed=seed) for seed in chosen for job in _jobs(policies, most, empty)]
    with connected(where, engine, address=address, workers=workers):
        totals = _run(jobs, workers, progress, engine)
    rows = [
        point | {"seed": seed} | asdict(totals[number * len(points) + index])
        for index, point in enumerate(points)
        for number, seed in enumerate(chosen)
    ]
    import pandas as pd

    tuning = Tuning(table=pd.DataFrame(rows), grid=values, rounds=rounds, build=build)
    _say_failures(where, tuning.means(), points)
    return tuning


def words(point: Mapping[str, Any]) -> str:
    """Write a point.

    >>> words({"nu": 0.1, "ridge": 1.0})
    'nu=0.1, ridge=1'
    """
    return ", ".join(f"{name}={value:g}" for name, value in point.items())


def _checked(
    where: str, build: Callable[..., Policy | Anytime], grid: Mapping[str, Iterable[float]]
) -> dict[str, tuple[Any, ...]]:
    """Return the grid with plain numbers; refuse one that cannot be run."""
    if not callable(build):
        raise TypeError(
            f"{where}: build must be a function that returns a policy, got {type(build).__name__}"
        )
    if not isinstance(grid, Mapping):
        raise TypeError(f"{where}: grid must map arguments to lists of numbers, got {type(grid).__name__}")
    taken = [name for name in grid if name in TAKEN]
    if not grid or taken:
        must = f"must name at least one argument of build, none of {', '.join(TAKEN)}"
        raise GridError(f"{where}: grid {must}, got {', '.join(taken) or 'none'}")
    values = {name: _numbers(where, name, column) for name, column in grid.items()}
    try:
        inspect.signature(build).bind(**{name: column[0] for name, column in values.items()})
    except TypeError as error:
        known = inspect.signature(build).parameters
        close = next((checks.hint(name, known) for name in values if name not in known), "")
        raise GridError(f"{where}: grid must name the arguments of build: {error}{close}") from error
    return values


def _numbers(where: str, name: str, column: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise TypeError(f"{where}: grid {name} must be a list of numbers, got {type(column).__name__}")
    numbers = []
    for value in column:
        if checks.real(where, f"grid {name}", value).ndim:
            raise TypeError(f"{where}: grid {name} must be a list of numbers, got an array in it")
        numbers.append(value.item() if isinstance(value, np.number | np.ndarray) else value)
    if not numbers or len(set(numbers)) < len(numbers):
        got = f"{len(numbers)} values, {len(set(numbers))} of them different"
        raise GridError(f"{where}: grid {name} must have values, each once, got {got}")
    return tuple(numbers)


def _seeds(where: str, seeds: int | Sequence[int]) -> list[int]:
    if not isinstance(seeds, Sequence | np.ndarray):
        return list(range(TUNING_SEEDS, TUNING_SEEDS + checks.count(where, "seeds", seeds)))
    chosen = [checks.count(where, "seeds", seed, low=0) for seed in seeds]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{where}: seeds must be there, each once, got {list(seeds)}")
    return chosen


def _product(grid: Mapping[str, tuple[Any, ...]]) -> list[Point]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _built(
    where: str, build: Callable[..., Policy | Anytime], point: Point, environment: Environment, rounds: int
) -> Policy | Anytime:
    policy = build(**point)
    check_meeting(where, f"build({words(point)})", policy, environment, rounds)
    return policy


def _require_alike(where: str, points: list[Point], policies: list[Policy | Anytime]) -> None:
    """Refuse policies that cannot share a compilation."""
    first = _shape(policies[0])
    for point, policy in zip(points, policies, strict=True):
        if _shape(policy) != first:
            raise GridError(
                f"{where}: points must differ in real hyperparameters only, got another structure at "
                f"{words(point)} than at {words(points[0])}; whole numbers and switches are structure, to be "
                "tuned one after the other, and parts that are functions must be made outside build"
            )


def _shape(policy: Policy | Anytime) -> Any:
    leaves, structure = jax.tree.flatten(policy)
    return structure, [np.shape(leaf) for leaf in leaves]


def _jobs(policies: list[Policy | Anytime], most: int, empty: Batch) -> list[Batch]:
    """Cut the policies into batches of one size, at most `most`: one compilation serves all of them."""
    size = math.ceil(len(policies) / math.ceil(len(policies) / most))
    axes = differing(policies) if size > 1 else ()
    parts = [policies[start : start + size] for start in range(0, len(policies), size)]
    # The last batch is filled up with copies.
    filled = [(tuple(part + part[-1:] * (size - len(part))), len(part)) for part in parts]
    return [replace(empty, policies=part, count=count, axes=axes) for part, count in filled]


def _run(jobs: list[Batch], workers: int | None, progress: bool | None, engine: str) -> list[Total]:
    console, rounds = Console(stderr=True), sum(job.rounds * job.count for job in jobs)
    shown = console.is_terminal if progress is None else progress
    with progress_of("tune", console) if shown else nullcontext(_silent) as advance:
        found = run_jobs(
            run_batch, jobs, workers=workers, progress=lambda done: advance(done, rounds), engine=engine
        )
        done = dict(found)
    return [total for index in range(len(jobs)) for total in done[index]]


def _silent(done: int, rounds: int) -> None:
    """Report to nobody."""


def _say_failures(where: str, means: pd.DataFrame, points: list[Point]) -> None:
    """Name the points that failed, and those whose fits were refused."""
    failed = [
        words(point) for point, regret in zip(points, means["regret"], strict=True) if regret == math.inf
    ]
    reason = "a score was not finite, or no feasible set was on offer"
    if len(failed) == len(points):
        raise SimulationError(f"{where}: every point failed: {reason}")
    if failed:
        told = f"{where}: regret counts as infinite at {'; '.join(failed)}: {reason}"
        checks.warn(told)
    refused = [words(point) for point, count in zip(points, means["refused_fits"], strict=True) if count]
    if refused:
        told = f"{where}: fits diverged and were refused at {'; '.join(refused)}"
        checks.warn(told)
