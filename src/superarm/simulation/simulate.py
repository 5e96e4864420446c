"""Runs over seeds and policies, spread over worker processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from rich.console import Console

from superarm import checks
from superarm.contract import Environment
from superarm.jobs.engines import EngineName, check_engine, connected, run_jobs
from superarm.jobs.processes import OnRounds
from superarm.jobs.progress import progress_of
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.simulation.result import Result
from superarm.simulation.round import SimulationError, check_meeting
from superarm.simulation.run import run_seed, warn_of_refused_fits

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SimulationError", "compare", "run_seed", "simulate"]


@dataclass(frozen=True)
class Job:
    """One run: a policy, an environment and a seed."""

    policy: Policy | Anytime
    environment: Environment
    rounds: int
    seed: int
    record_every: int
    keep_items: bool


class Running(TypedDict, total=False):
    """Settings of `compare` beside what is run."""

    workers: int | None
    engine: EngineName
    address: str | None
    record_every: int
    keep_items: bool
    progress: bool | None


@checks.named
def simulate(
    policy: Policy | Anytime,
    environment: Environment,
    *,
    rounds: int,
    seeds: int | Sequence[int] = 10,
    **options: Unpack[Running],
) -> Result:
    """Run one policy; see `compare` for the arguments and the other options.

    >>> import superarm
    >>> world = superarm.environments.linear_scores(dim=4, num_arms=6)
    >>> result = superarm.simulate(superarm.lin_ucb(), world, rounds=100, seeds=2, workers=0)
    >>> len(result.table)
    200
    """
    checks.has("simulate", "policy", policy, ("epochs", "check"))
    return _compared("simulate", {policy.name: policy}, environment, rounds=rounds, seeds=seeds, **options)


@checks.named
def compare(
    policies: Mapping[str, Policy | Anytime],
    environment: Environment,
    *,
    rounds: int,
    seeds: int | Sequence[int] = 10,
    workers: int | None = None,
    engine: EngineName = "local",
    address: str | None = None,
    record_every: int = 1,
    keep_items: bool = True,
    progress: bool | None = None,
) -> Result:
    """Run policies on the same worlds, contexts and noise.

    Args:
        policies: label -> policy. Policies that differ in real hyperparameters only share one compilation.
        environment: the world; each seed draws an instance.
        rounds: decisions per run.
        seeds: how many (0, 1, ...), or which.
        workers: single-threaded processes; None for one per core. The results do not depend on it, except
            for 0, which runs in this process with its own thread settings.
        engine: "local", or "ray" for a cluster: the same results from many machines (`superarm[ray]`).
        address: of a running Ray cluster; None for a Ray that is started here, and ended.
        record_every: rounds per row of the table; quantities are summed over them.
        keep_items: keep the chosen items, as a column of arrays (only with record_every=1).
        progress: show a bar; by default when the output is a terminal.

    Returns:
        A `Result` with a tidy table: one row per policy, seed and recorded round.

    >>> import superarm
    >>> world = superarm.environments.linear_scores(dim=4, num_arms=6)
    >>> policies = {"ucb": superarm.lin_ucb(), "chance": superarm.uniform()}
    >>> result = superarm.compare(policies, world, rounds=200, seeds=3, workers=0)
    >>> finals = result.finals()
    >>> bool(finals.loc["ucb", "regret"] < finals.loc["chance", "regret"])
    True
    """
    if not policies:
        raise ValueError("compare: policies must name at least one policy, got none")
    return _compared(
        "compare",
        policies,
        environment,
        rounds=rounds,
        seeds=seeds,
        workers=workers,
        engine=engine,
        address=address,
        record_every=record_every,
        keep_items=keep_items,
        progress=progress,
    )


def _compared(
    where: str,
    policies: Mapping[str, Policy | Anytime],
    environment: Environment,
    *,
    rounds: int,
    seeds: int | Sequence[int],
    workers: int | None = None,
    engine: EngineName = "local",
    address: str | None = None,
    record_every: int = 1,
    keep_items: bool = True,
    progress: bool | None = None,
) -> Result:
    """As `compare`, which `where` names in errors, or another function of the user's."""
    checks.count(where, "rounds", rounds)
    checks.count(where, "record_every", record_every)
    checks.part(where, "environment", environment, Environment)
    check_engine(where, engine, address=address, workers=workers)
    chosen = _seeds(where, seeds)
    environment.check()
    for policy in policies.values():
        check_meeting(where, "policies" if where == "compare" else "policy", policy, environment, rounds)
    keep = keep_items and record_every == 1
    labels = [label for label in policies for _ in chosen]
    jobs = [
        Job(policy, environment, rounds, seed, record_every, keep)
        for policy in policies.values()
        for seed in chosen
    ]
    console, total = Console(stderr=True), rounds * len(jobs)
    shown = console.is_terminal if progress is None else progress
    with (
        connected(where, engine, address=address, workers=workers),
        progress_of("simulate", console) if shown else nullcontext(_silent) as advance,
    ):
        done = run_jobs(
            _run_job, jobs, workers=workers, progress=lambda rounds: advance(rounds, total), engine=engine
        )
        frames = dict(done)
    warn_of_refused_fits((labels[index], frame) for index, frame in frames.items())
    return Result.of([(labels[index], frames[index]) for index in range(len(jobs))])


def _silent(done: int, total: int) -> None:
    """Report to nobody."""


def _seeds(where: str, seeds: int | Sequence[int]) -> list[int]:
    if isinstance(seeds, Sequence | np.ndarray):
        return [checks.count(where, "seeds", seed, low=0) for seed in seeds]
    return list(range(checks.count(where, "seeds", seeds)))


def _run_job(job: Job, on_rounds: OnRounds) -> pd.DataFrame:
    return run_seed(
        job.policy,
        job.environment,
        rounds=job.rounds,
        seed=job.seed,
        record_every=job.record_every,
        keep_items=job.keep_items,
        on_rounds=on_rounds,
    )
