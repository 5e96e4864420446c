"""The plans of bae2026's experiments: all methods on problems of known log-odds, at every scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.bae2026.methods import PRESETS, TRAININGS, parameters_of, policy_of
from superarm.reproduce.papers.bae2026.tuned import TUNED

ROUNDS, SEEDS = 2000, 10
POOL = 2500  # distinct context vectors, unless said otherwise
LATENTS = ("h1", "h2", "h3", "h4", "h5", "h6")

FORMULAS = {
    "h1": "0.2 (x'theta)^4",
    "h2": "20 cos(x'theta)",
    "h3": "5 x'Theta x",
    "h4": "10 (x'theta)^2",
    "h5": "x'Theta'Theta x",
    "h6": "cos(3 x'theta)",
}

POOLS = {"low": 10, "middle": 50, "high": 10_000}


@dataclass(frozen=True)
class Problem:
    """One world and its name in the table of tuned parameters."""

    name: str
    world: Callable[[], Any]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Panels:
    """All methods in some problems: `Panels(...)(scale)` is the plan.

    Args:
        problems: what is run.
        invented: a small world that needs no file, for the smoke scale.
        trainings: how.
    """

    problems: tuple[Problem, ...]
    invented: Problem
    trainings: tuple[str, ...] = tuple(TRAININGS)

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "smoke":
            small = {"learn_every": 10, "steps": 5}
            setting = setting_of("adam", self.invented, "adam", ("NCBF-UCB", "NeuralLog-UCB-2"), small)
            words = "a small invented problem, 40 rounds, two policies, 5 steps every 10 rounds"
            return Plan((setting,), 40, 2, 10, reduced=words)
        settings = tuple(
            setting_of(training if len(self.problems) == 1 else problem.name, problem, training)
            for problem in self.problems
            for training in self.trainings
        )
        if scale == "quick":
            words = f"200 of {ROUNDS} rounds, 2 repetitions instead of {SEEDS}"
            return Plan(settings, 200, 2, 10, reduced=words)
        return Plan(settings, ROUNDS, SEEDS, 10)


def setting_of(
    name: str,
    problem: Problem,
    training: str,
    labels: tuple[str, ...] = tuple(PRESETS),
    options: Mapping[str, Any] | None = None,
) -> Setting:
    """The methods of `labels` on a problem, with nu and lambda as tuned for the training."""
    chosen = {label: parameters_of(problem.name, training, label) for label in labels}
    settings = {**TRAININGS[training], **(options or {})}
    return Setting(
        name=name,
        environment=problem.world,
        policies={
            label: partial(policy_of, label, nu=nu, ridge=ridge, **settings)
            for label, (nu, ridge) in chosen.items()
        },
        parameters={
            **problem.parameters,
            "training": training,
            "tuned" if problem.name in TUNED else "untuned": {
                label: list(pair) for label, pair in chosen.items()
            },
        },
    )


def latent_problem(name: str, pool: int, dim: int = 20) -> Problem:
    """Binary rewards with log-odds of that name, on `pool` distinct context vectors."""

    def world() -> Any:
        from superarm.environments import logistic_scores

        latent: Any = name
        return logistic_scores(latent=latent, pool=pool, dim=dim)

    parameters = {"latent": name, "dim": dim, "arms": 5, "pool": pool}
    return Problem(name, world, parameters)


SMALL = latent_problem("h1", 10, dim=3)
