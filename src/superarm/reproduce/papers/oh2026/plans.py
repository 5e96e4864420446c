"""The plans of oh2026's experiments: which methods meet which duels, at every scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from superarm.experiments.experiment import Plan, Setting

ROUNDS, SEEDS = 2_000, 20
STRATEGIES = {"ASYM": "asymmetric", "OSYM": "optimistic", "CSYM": "candidate"}
LINEAR = ("uniform", "ColSTIM", "MaxPairUCB", "VACDB")
TINY: dict[str, Any] = {"units": 6, "steps": 3}
RESET = {"restart": True}  # the network of NVLDB goes back to its start before every fit,
WARM = {"restart": False}  # or on from the last one


def policy_of(label: str, world: Any, rounds: int, **options: Any) -> Any:
    """Build a method by its label, such as NVLDB-UCB-ASYM; a "+" and what follows only names it."""
    import superarm

    name = label.split("+", maxsplit=1)[0]
    if name == "VACDB":
        return superarm.vacdb(rounds, radius=2.0 * math.sqrt(world.spec.dim * math.log(rounds)))
    plain = {
        "uniform": superarm.uniform_duel,
        "ColSTIM": superarm.colstim,
        "MaxPairUCB": superarm.max_pair_ucb,
        "NDB-UCB": superarm.ndb_ucb,
        "NDB-TS": superarm.ndb_ts,
    }
    if name in plain:
        return plain[name](**options)
    family, rule, short = name.split("-")
    build = superarm.nvldb if family == "NVLDB" else superarm.nldb
    return build(rule=rule.lower(), strategy=STRATEGIES[short], **options)


@dataclass(frozen=True)
class Problem:
    """A world, its parameters as JSON, and options for the networks.

    Args:
        world: builds it.
        parameters: what a reader must know of it.
        options: of all neural methods.
        own: of NVLDB and NLDB alone.
        seeds: repetitions at paper scale; None for the plan's.
    """

    world: Callable[[], Any]
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]
    own: Mapping[str, Any] = field(default_factory=lambda: RESET)
    seeds: int | None = None

    def options_of(self, label: str) -> dict[str, Any]:
        """What the method of that label is built with."""
        if label in LINEAR:
            return {}
        return {**self.options, **({} if label.startswith("NDB") else self.own)}


def synthetic(
    utility: str,
    *,
    dim: int = 5,
    num_arms: int = 5,
    own: Mapping[str, Any] = RESET,
    seeds: int | None = None,
    **options: Any,
) -> Problem:
    """The duels of section 6."""
    world = {"dim": dim, "num_arms": num_arms}
    parameters = {"utility": utility, **world, **options, "NVLDB": dict(own)}
    return Problem(partial(_duels, utility, **world), parameters, options, own, seeds)


def classes(
    name: str, loader: str, *, ordered: bool, rescale: bool = True, seeds: int | None = None
) -> Problem:
    """The duels of a data set's classes."""
    world = partial(_classes, loader, ordered, rescale)
    told = {} if rescale else {"rescale": False}
    return Problem(world, {"data": name, "pool": 20_000, **told, "NVLDB": dict(RESET)}, {}, seeds=seeds)


def invented(*, ordered: bool) -> Problem:
    """Rows made up on the spot, for the smoke scale."""
    return Problem(partial(_invented, ordered), {"data": "invented"}, TINY)


def _duels(utility: str, **world: Any) -> Any:
    from superarm.environments import duels

    return duels(utility, **world)


def _classes(loader: str, ordered: bool, rescale: bool) -> Any:
    from superarm import datasets
    from superarm.environments import class_duels

    rows = getattr(datasets, loader)()
    return class_duels(rows, pool=min(20_000, len(rows.labels)), ordered=ordered, rescale=rescale)


def _invented(ordered: bool) -> Any:
    from superarm.environments import class_duels

    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3))
    return class_duels(features, (features[:, 0] > 0.0).astype(int), ordered=ordered)


def _policy(label: str, rounds: int, options: Mapping[str, Any], world: Any) -> Any:
    return policy_of(label, world, rounds, **options)


@dataclass(frozen=True)
class Panels:
    """A plan of problems, all with the same methods.

    Args:
        problems: setting -> problem.
        labels: method -> options of its own.
        small: what the smoke scale runs in place of each problem.
        seeds: repetitions at paper scale.
        rounds: at paper scale.
        words: what is reduced at paper scale.
        timed: take the time of choosing and of updating apart.
    """

    problems: Mapping[str, Problem]
    labels: Mapping[str, Mapping[str, Any]]
    small: Problem = field(default_factory=lambda: synthetic("square", dim=3, num_arms=3, **TINY))
    seeds: int = SEEDS
    rounds: int = ROUNDS
    words: str = ""
    timed: bool = False

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "smoke":
            few = dict(list(self.labels.items())[:1] + list(self.labels.items())[-1:])
            first = next(iter(self.problems))
            setting = self._setting(first, self.small, few, 20)
            return Plan((setting,), 20, 2, 10, reduced="20 rounds, one world, two methods", timed=self.timed)
        if scale == "quick":
            name, problem = next(iter(self.problems.items()))
            words = f"50 of {self.rounds:,} rounds, 2 repetitions instead of {SEEDS}"
            setting = self._setting(name, problem, self.labels, 50)
            return Plan((setting,), 50, 2, 10, reduced=words, timed=self.timed)
        settings = tuple(
            self._setting(name, problem, self.labels, self.rounds) for name, problem in self.problems.items()
        )
        return Plan(settings, self.rounds, self.seeds, 20, reduced=self._reduced(), timed=self.timed)

    def _reduced(self) -> str:
        """Say what a reader must know, such as '10 repetitions instead of 20, 2 in figure-2'."""
        instead = f"repetitions instead of {SEEDS}"
        counts = {name: problem.seeds or self.seeds for name, problem in self.problems.items()}
        fewer = [f"{self.seeds} {instead}"] if self.seeds < SEEDS else []
        for name, count in counts.items():
            if count != self.seeds:
                fewer.append(f"{count} in {name}" if fewer else f"{count} {instead} in {name}")
        return "; ".join(part for part in (", ".join(fewer), self.words) if part)

    def _setting(
        self, name: str, problem: Problem, labels: Mapping[str, Mapping[str, Any]], rounds: int
    ) -> Setting:
        options = {label: {**problem.options_of(label), **more} for label, more in labels.items()}
        return Setting(
            name=name,
            environment=problem.world,
            policies={label: partial(_policy, label, rounds, one) for label, one in options.items()},
            parameters={**problem.parameters, "methods": {one: dict(more) for one, more in labels.items()}},
            seeds=problem.seeds,
        )
