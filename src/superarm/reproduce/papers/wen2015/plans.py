"""The plans of section 6.1: CombLinTS on the longest path of a grid, one parameter of it varied at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.wen2015.methods import POLICY, path_policy

# The paper's default case: the sextuple (m, d, lambda_true, sigma_true, lambda, sigma).
DEFAULT: dict[str, float] = {
    "size": 30,
    "dim": 200,
    "theta_scale": 10.0,
    "true_noise": 1.0,
    "prior_scale": 10.0,
    "noise": 1.0,
}

EPISODES = 150
REPETITIONS = 200

# What the smoke scale runs instead.
TINY = DEFAULT | {"size": 4, "dim": 20}
TINY_EPISODES = 20
TINY_SEEDS = 3
TINY_WORDS = "a toy: m = 4 and d = 20 unless varied, 20 episodes, 3 repetitions"


@dataclass(frozen=True)
class Sweep:
    """One parameter of the default case varied, the others kept: `Sweep(...)(scale)` is the plan.

    Args:
        parameter: its name in `DEFAULT`.
        symbol: the paper's letter for it.
        paper: its values in the paper.
        quick: its values at the quick scale.
        smoke: its values at the smoke scale.
        quick_seeds: repetitions at the quick scale.
    """

    parameter: str
    symbol: str
    paper: Sequence[float]
    quick: Sequence[float]
    smoke: Sequence[float]
    quick_seeds: int

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "paper":
            return Plan(self._settings(self.paper, DEFAULT), EPISODES, REPETITIONS, record_every=15)
        if scale == "quick":
            values = ", ".join(f"{value:g}" for value in self.quick)
            words = f"{self.symbol} = {values} only; {self.quick_seeds} of {REPETITIONS} repetitions"
            settings = self._settings(self.quick, DEFAULT)
            return Plan(settings, EPISODES, self.quick_seeds, record_every=15, reduced=words)
        settings = self._settings(self.smoke, TINY)
        return Plan(settings, TINY_EPISODES, TINY_SEEDS, record_every=5, reduced=TINY_WORDS)

    def _settings(self, values: Sequence[float], base: Mapping[str, float]) -> tuple[Setting, ...]:
        return tuple(
            _setting(f"{self.symbol}{value:g}", {**base, self.parameter: value}, value) for value in values
        )


def default_plan(scale: str) -> Plan:
    """Return the plan of the default case at a scale."""
    if scale == "smoke":
        return Plan((_setting("toy", TINY),), TINY_EPISODES, TINY_SEEDS, reduced=TINY_WORDS)
    default = (_setting("m30-d200", DEFAULT),)
    if scale == "quick":
        return Plan(default, EPISODES, seeds=40, reduced=f"40 of {REPETITIONS} repetitions")
    return Plan(default, EPISODES, REPETITIONS)


def _setting(name: str, parameters: dict[str, float], x: float | None = None) -> Setting:
    return Setting(
        name=name,
        environment=partial(_world, parameters),
        policies={POLICY: partial(path_policy, parameters)},
        parameters=parameters,
        x=x,
    )


def _world(parameters: Mapping[str, float]) -> Any:
    from superarm.environments.paths import longest_path

    return longest_path(
        size=int(parameters["size"]),
        dim=int(parameters["dim"]),
        theta_scale=parameters["theta_scale"],
        noise=parameters["true_noise"],
    )
