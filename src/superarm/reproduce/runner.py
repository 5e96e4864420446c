"""Running an experiment: plan -> jobs -> cells -> table -> claims -> summary and figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superarm import checks
from superarm.errors import EngineError
from superarm.experiments.claims import MissingRuns, judge
from superarm.experiments.experiment import Experiment, ExperimentError, Plan
from superarm.experiments.reads import Reads, reads_of
from superarm.experiments.runs import Runs
from superarm.experiments.store import THINNED, Origin, ResultFolder, RunFile
from superarm.experiments.summary import (
    NAME,
    SUMMARY_SCHEMA,
    Final,
    SettingSummary,
    Summary,
    Times,
    read_summary,
)
from superarm.experiments.thinning import thinned
from superarm.jobs.engines import check_engine, connected, run_jobs
from superarm.jobs.processes import OnRounds
from superarm.provenance import commit, cpu_model, versions
from superarm.report.curves import draw, save
from superarm.reproduce.registry import lookup, plan_of, same_paper
from superarm.simulation.run import warn_of_refused_fits
from superarm.simulation.simulate import SimulationError, run_seed
from superarm.statistics import interval

# (id, scale, setting, policy, seed): a worker rebuilds everything from these.
Job = tuple[str, str, str, str, int]

# Called with the rounds done and the rounds to do.
Progress = Callable[[int, int], None]


class Interrupted(KeyboardInterrupt):
    """The run was stopped; what had finished is kept."""

    def __init__(self, finished: int, planned: int) -> None:
        """Count the runs."""
        super().__init__(f"{finished} of {planned} runs are finished and kept")
        self.finished = finished
        self.planned = planned


@dataclass(frozen=True)
class Work:
    """An experiment at a scale, and its folder; `chosen` names the settings to run, None for all."""

    experiment: Experiment
    scale: str
    plan: Plan
    seeds: int | None
    store: ResultFolder
    out: Path
    chosen: frozenset[str] | None = None

    def cells(self) -> list[RunFile]:
        """All runs of the plan, the largest settings first: no worker is left with one at the end.

        Seed 0 of all comes before the rest, so that workers compile different programs, and find those of the
        others in the cache.
        """
        cells = [
            RunFile(setting.name, policy, seed)
            for setting in reversed(self.plan.settings)
            if self.chosen is None or setting.name in self.chosen
            for policy in setting.policies
            for seed in range(self.plan.repetitions(setting, self.seeds))
        ]
        return sorted(cells, key=lambda cell: cell.seed > 0)

    def fingerprints(self) -> dict[str, str]:
        """What marks the rows of each setting."""
        return {setting.name: self.plan.fingerprint(setting) for setting in self.plan.settings}

    def reads(self) -> Reads | None:
        """What is read of the rows; None for all that is there."""
        experiments = [one for one in same_paper(self.experiment.id) if self.scale in one.scales]
        return reads_of(self.experiment.id, {one.id: (one, one.plan(self.scale)) for one in experiments})


def run(
    name: str,
    *,
    scale: str = "quick",
    seeds: int | None = None,
    settings: Sequence[str] | None = None,
    out: str | Path = "results",
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    fresh: bool = False,
    keep_rounds: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Run an experiment, or what is left of it, and write its results below `out`.

    Args:
        name: the id.
        scale: "smoke", "quick" or "paper".
        seeds: repetitions; None for the plan's. Seeds on disk are kept and counted, also beyond that number.
        settings: names of those to run now; None for all. What was run before stays, and the claims about
            what is missing stay open.
        out: the folder of all results.
        workers: processes; None for one per core, 0 to run in this process.
        engine: "local", or "ray" for a cluster: the same numbers from many machines (`superarm[ray]`).
        address: of a running Ray cluster; None for a Ray that is started here, and ended.
        fresh: forget what is on disk.
        keep_rounds: keep all recorded rounds, now and in later runs; else those that are read, with the
            rounds between summed up in them. Claims and figure are the same either way.
        progress: called with the rounds done and the rounds to do, of those that are left.

    Raises:
        ExperimentError: what the caller can put right; no work is lost.
        Interrupted: on Ctrl-C; finished seeds are kept.
    """
    require_engine("run", engine, address=address, workers=workers)
    work = _work(name, scale, seeds, Path(out), settings)
    with work.store.opened():
        done = set() if fresh else work.store.finished(work.fingerprints())
        if keep_rounds and not fresh:
            work.store.require_all()
        todo = [cell for cell in work.cells() if cell not in done]
        needed = connected("run", engine, address=address, workers=workers) if todo else nullcontext()
        try:
            with needed:
                if fresh:  # not before a cluster has answered
                    work.store.clear()
                _run_cells(work, todo, workers, progress or _silent, engine)
        except EngineError as error:
            raise ExperimentError(str(error)) from error
        return _finish(work, keep_rounds=keep_rounds)


def redraw(name: str, *, scale: str = "paper", out: str | Path = "results") -> None:
    """Draw the figure of a finished run again, and thin its rounds if they are not; the summary stays.

    Args:
        name: the id.
        scale: of the run.
        out: the folder of all results.
    """
    work = _work(name, scale, None, Path(out))
    with work.store.opened():
        if not work.store.finished(work.fingerprints()):
            raise ExperimentError(f"redraw: {work.store.folder} holds no rounds; `superarm run` makes them")
        summary = read_summary(work.store.folder / NAME)
        _draw(work, _merged(work)[0], summary)


def require_engine(where: str, engine: str, *, address: str | None, workers: int | None) -> None:
    """Raise an ExperimentError if the engine cannot be used."""
    try:
        check_engine(where, engine, address=address, workers=workers)
    except (EngineError, ValueError) as error:
        raise ExperimentError(str(error)) from error


def _work(name: str, scale: str, seeds: int | None, out: Path, settings: Sequence[str] | None = None) -> Work:
    plan = plan_of(name, scale, where="run")
    if seeds is not None and seeds < 1:
        raise ExperimentError(f"run: seeds must be >= 1, got {seeds}")
    names = [setting.name for setting in plan.settings]
    for one in settings or ():
        if one not in names:
            must = f"a setting of {name} must be one of {', '.join(names)}"
            raise ExperimentError(f"run: {must}, got {one!r}{checks.hint(one, names)}")
    chosen = frozenset(settings) if settings else None
    return Work(lookup(name), scale, plan, seeds, ResultFolder(out / name / scale), out, chosen)


def _silent(done: int, rounds: int) -> None:
    """Report to nobody."""


def _run_cells(
    work: Work, todo: list[RunFile], workers: int | None, progress: Progress, engine: str = "local"
) -> None:
    """Run what is left, and keep each run as it finishes."""
    _prepare(work, todo)
    rounds = work.plan.rounds * len(todo)
    jobs = [(work.experiment.id, work.scale, cell.setting, cell.policy, cell.seed) for cell in todo]
    marks = work.fingerprints()
    tables: list[tuple[str, pd.DataFrame]] = []
    progress(0, rounds)
    try:
        for index, (rows, compile_seconds, refused) in run_jobs(
            run_cell, jobs, workers=workers, progress=lambda done: progress(done, rounds), engine=engine
        ):
            cell = todo[index]
            origin = Origin({cell.setting: marks[cell.setting]}, (commit(),), compile_seconds, refused)
            tables.append((f"{work.experiment.id}, {cell.policy}", rows[:0]))
            work.store.write(cell, rows, origin)
    except KeyboardInterrupt as error:
        # Counted on disk: the interrupt may have come between a cell and a count of it.
        cells = work.cells()
        raise Interrupted(len(work.store.finished(marks) & set(cells)), len(cells)) from error
    warn_of_refused_fits(tables)


def _prepare(work: Work, todo: list[RunFile]) -> None:
    """Build every world once here, so that missing data is said before any work."""
    names = {cell.setting for cell in todo}
    for setting in work.plan.settings:
        if setting.name in names:
            setting.environment().check()


def run_cell(job: Job, on_rounds: OnRounds) -> tuple[pd.DataFrame, float, int]:
    """Run one job in a worker; return its rows, the seconds of compiling, and how many fits were refused."""
    name, scale, setting, policy, seed = job
    plan = plan_of(name, scale)
    environment, built = _built(name, scale, setting, policy)
    try:
        rows = run_seed(
            built,
            environment,
            rounds=plan.rounds,
            seed=seed,
            record_every=plan.record_every,
            timed=plan.timed,
            on_rounds=on_rounds,
        )
    except SimulationError:
        # A claim may be that this never happens; it is judged by the numbers that are missing.
        return _lost(plan, seed), 0.0, 0
    return rows, float(rows.attrs["compile_seconds"]), int(rows.attrs["refused_fits"])


@lru_cache(maxsize=1)
def _environment(name: str, scale: str, setting: str) -> Any:
    return plan_of(name, scale).setting(setting).environment()


@lru_cache(maxsize=1)
def _built(name: str, scale: str, setting: str, policy: str) -> tuple[Any, Any]:
    """Return the environment and the policy; the jobs of one setting follow each other, so one is kept."""
    environment = _environment(name, scale, setting)
    return environment, plan_of(name, scale).setting(setting).policies[policy](environment)


def _lost(plan: Plan, seed: int) -> pd.DataFrame:
    """Return the rows of a run that could not go on."""
    rows = pd.DataFrame({"seed": seed, "round": plan.ends})
    numbers = dict.fromkeys(("regret", "realized_regret", "reward", "value", "best"), np.nan)
    return rows.assign(**numbers, seconds=0.0, **({"choice_seconds": 0.0} if plan.timed else {}))


def _finish(work: Work, *, keep_rounds: bool) -> Summary:
    """Join the cells, judge the claims, write summary and figure."""
    runs, origin = _merged(work, keep_rounds=keep_rounds)
    summary = _summary(work, runs, origin)
    _draw(work, runs, summary)
    summary.write(work.store.folder)
    return summary


def _merged(work: Work, *, keep_rounds: bool = False) -> tuple[Runs, Origin]:
    table, origin = work.store.merge(work.reads(), keep_rounds=keep_rounds)
    return _runs(work, table, origin), origin


def _draw(work: Work, runs: Runs, summary: Summary) -> None:
    layout = work.experiment.figure
    figure = draw(layout, runs, title=work.experiment.title, note=_note(summary, layout.band))
    save(figure, work.store.folder / "figure")


def _runs(work: Work, table: pd.DataFrame, origin: Origin) -> Runs:
    table = table[table["setting"].isin([setting.name for setting in work.plan.settings])]
    met = set(table["setting"])
    axis = {setting.name: setting.x for setting in work.plan.settings if setting.name in met}
    rows = _as_planned(work.plan, table)
    return Runs(rows, axis, lambda name: _other(work, name), thinned=origin.rounds == THINNED)


def _as_planned(plan: Plan, table: pd.DataFrame) -> pd.DataFrame:
    """The rows in the plan's order of settings and policies, which is that of panels and legends."""
    planned = ((setting.name, policy) for setting in plan.settings for policy in setting.policies)
    place = {one: index for index, one in enumerate(planned)}
    places = [
        place.get(one, len(place)) for one in zip(table["setting"], table["policy"], strict=True)
    ]  # those of an earlier plan come last
    return table.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)


def _other(work: Work, name: str) -> Runs:
    """Return the runs of another experiment that was run before, at the same scale into the same folder."""
    other = _work(name, work.scale, None, work.out)
    found = other.store.table(other.fingerprints())
    if found is None:
        raise MissingRuns(f"{name} has not been run at this scale")
    table, origin = found
    return _runs(other, thinned(table, other.reads()), origin)


def _summary(work: Work, runs: Runs, origin: Origin) -> Summary:
    settings = [setting for setting in work.plan.settings if setting.name in runs.axis]
    met = set(zip(runs.table["setting"], runs.table["policy"], strict=True))
    finals = [
        _final(work, runs, setting.name, policy)
        for setting in settings
        for policy in setting.policies
        if (setting.name, policy) in met
    ]
    runs_made = sum(final.seeds for final in finals)
    seconds = float(runs.table["seconds"].sum())
    return Summary(
        schema=SUMMARY_SCHEMA,
        id=work.experiment.id,
        title=work.experiment.title,
        reference=work.experiment.reference,
        scale=work.scale,
        reduced=_reduced(work, finals),
        note=work.experiment.note,
        rounds=work.plan.rounds,
        seeds=max(final.seeds for final in finals),
        settings=[SettingSummary(s.name, s.x, dict(s.parameters)) for s in settings],
        finals=finals,
        claims=judge(work.experiment.claims, runs, toy=work.scale == "smoke"),
        times=Times(seconds, seconds / runs_made, origin.compile_seconds),
        versions=versions(),
        commits=[one for one in origin.commits if one],
        cpu=cpu_model(),
        refused_fits=origin.refused_fits,
    )


def _final(work: Work, runs: Runs, setting: str, policy: str) -> Final:
    rows = runs.rows(setting, policy)
    totals = rows.groupby("seed")[["regret", "value", "best"]].sum(min_count=1)
    regret = interval(totals["regret"].to_numpy())
    per_round = totals.mean() / work.plan.rounds
    return Final(
        setting=setting,
        policy=policy,
        seeds=regret.count,
        regret=regret.mean,
        regret_low=regret.low,
        regret_high=regret.high,
        return_per_round=float(per_round["value"]),
        optimum_per_round=float(per_round["best"]),
    )


def _reduced(work: Work, finals: list[Final]) -> str:
    """Return what was reduced against the paper: by the plan, and by the number of seeds asked for."""
    planned = {setting.name: work.plan.repetitions(setting) for setting in work.plan.settings}
    fewer = [
        (final.seeds, planned[final.setting]) for final in finals if final.seeds < planned[final.setting]
    ]
    asked = "{} of {} repetitions were asked for".format(*min(fewer)) if fewer else ""
    met = {(final.setting, final.policy) for final in finals}
    missing = [
        setting.name
        for setting in work.plan.settings
        if any((setting.name, policy) not in met for policy in setting.policies)
    ]
    left = f"not run, or not all: {', '.join(missing)}" if missing else ""
    return "; ".join(part for part in (work.plan.reduced, asked, left) if part)


def _note(summary: Summary, band: str) -> str:
    words = "95 % of the mean" if band == "interval" else "one standard deviation"
    seeds = f"{summary.id}, {summary.scale} scale, {summary.seeds} repetitions, band: {words}"
    return f"{seeds}; reduced: {summary.reduced}" if summary.reduced else seeds
