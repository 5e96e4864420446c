"""The plans of oh2026's experiments: which methods meet which duels, at every scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.oh2026.methods import LINEAR, policy_of

ROUNDS, SEEDS = 2_000, 20
LONG_ROUNDS = 10_000
UTILITIES = ("cosine", "square", "quadratic")
WIDE = {"cosine": 10, "square": 20, "quadratic": 5}  # repetitions with networks of width 100
TINY: dict[str, Any] = {"units": 6, "steps": 3}
RESET = {"restart": True}  # the network of NVLDB goes back to its start before every fit,
WARM = {"restart": False}  # or on from the last one


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


def _duels(utility: Any, **world: Any) -> Any:
    from superarm.environments import duels

    return duels(utility, **world)


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
