"""The plans of hwang2023's experiments: 4 of 20 arms are chosen; the return is the sum of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.hwang2023.methods import LABELS, policy_of

SEEDS = 20


@dataclass(frozen=True)
class TopK:
    """Choosing 4 of 20 arms by scores h(x): `TopK(...)(scale)` is the plan.

    Args:
        score: h.
        dim: d.
        rounds: T.
        written: repetitions of Algorithm 2 as written, at paper scale.
        tuned: how the setting "tuned" differs here: biases of the network, radius.
    """

    score: str
    dim: int
    rounds: int
    written: int = 2
    tuned: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "smoke":
            world = {"score": self.score, "dim": 6, "width": 16}
            words = "6 features, 16 units, 40 rounds, two policies"
            few = {"authors": ("CN-TS", "CombLinUCB")}
            return Plan(self._settings(world, 2, 2, few), 40, 2, 10, reduced=words)
        world = {"score": self.score, "dim": self.dim, "width": 100}
        if scale == "quick":
            words = f"100 of {self.rounds} rounds, 2 repetitions instead of {SEEDS}"
            return Plan(self._settings(world, 2, 2), 100, 2, 10, reduced=words)
        words = f"{self.written or 'no'} repetitions of the setting 'written'"
        return Plan(self._settings(world, SEEDS, self.written), self.rounds, SEEDS, 10, reduced=words)

    def _settings(
        self,
        world: Mapping[str, Any],
        seeds: int,
        written: int,
        labels: Mapping[str, tuple[str, ...]] = LABELS,
    ) -> tuple[Setting, ...]:
        return tuple(
            Setting(
                name=name,
                environment=partial(_world, world["score"], world["dim"]),
                policies={
                    label: partial(policy_of, label, name, world["width"], self._more(name))
                    for label in members
                },
                parameters={
                    **world,
                    "arms": 20,
                    "chosen": 4,
                    "noise": 0.01,
                    "draws": name,
                    **self._more(name),
                },
                seeds=written if name == "written" else seeds,
            )
            for name, members in labels.items()
            if name != "written" or written
        )

    def _more(self, setting: str) -> Mapping[str, Any]:
        return self.tuned if setting == "tuned" else {}


def _world(score: Any, dim: int) -> Any:
    from superarm import top_k
    from superarm.environments import nonlinear_scores

    return nonlinear_scores(top_k(4), score=score, dim=dim, num_arms=20, noise=0.01, hindsight=True)
