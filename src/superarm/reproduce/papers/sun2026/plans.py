"""The plans of sun2026's experiments on arms that stay: which methods meet which arms, at every scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.sun2026.methods import SCORES, TUNED, labels_of, policy_of

ROUNDS, SEEDS = 10_000, 50
SMALL = {"dim": 4, "num_arms": 6}
NORMAL = {"dim": 20, "num_arms": 50}
LARGE = {"dim": 50, "num_arms": 500}


@dataclass(frozen=True)
class Case:
    """Methods on one score: label -> options of `policy_of` beside the label's own method."""

    score: str
    methods: Mapping[str, tuple[str, Mapping[str, Any]]]
    world: Mapping[str, Any] = field(default_factory=lambda: NORMAL)

    @classmethod
    def figure(cls, score: str, world: Mapping[str, Any] = NORMAL, **options: Any) -> Case:
        """All methods of a score's figure."""
        return cls(score, {label: (label, options) for label in labels_of(score)}, world)

    @classmethod
    def variants(cls, score: str, method: str, **options: Mapping[str, Any]) -> Case:
        """One method with several options, by labels."""
        return cls(score, {label.replace("_", "-"): (method, one) for label, one in options.items()})

    def setting(
        self, name: str, world: Mapping[str, Any], labels: tuple[str, ...] | None = None, **more: Any
    ) -> Setting:
        """The case as a setting of a plan, with more options for every method."""
        chosen = {label: self.methods[label] for label in labels or tuple(self.methods)}
        tuned = TUNED[self.score]
        numbers = {label: tuned[label] for label in chosen if label in tuned}
        options = {label: {**one, **more} for label, (_, one) in chosen.items() if one or more}
        return Setting(
            name=name,
            environment=partial(_world, self.score, **world),
            policies={
                label: partial(_policy, method, self.score, options.get(label, {}))
                for label, (method, _) in chosen.items()
            },
            parameters={"score": self.score, **world, "noise": 0.5, "exploration": numbers, **options},
        )


def _world(score: Any, **world: Any) -> Any:
    from superarm.environments import fixed_scores

    return fixed_scores(score=score, **world)


def _policy(method: str, score: str, options: Mapping[str, Any], world: Any) -> Any:
    return policy_of(method, score, world, **options)


@dataclass(frozen=True)
class Cases:
    """A plan of cases.

    Args:
        cases: setting -> case.
        seeds: repetitions at paper scale.
        rounds: at paper scale.
        smoke: how many methods the smoke scale runs.
        words: what is reduced at paper scale beside the repetitions.
        timed: take the time of choosing and of updating apart.
    """

    cases: Mapping[str, Case]
    seeds: int = SEEDS
    rounds: int = ROUNDS
    smoke: int = 2
    words: str = ""
    timed: bool = False

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "smoke":
            settings = tuple(
                case.setting(
                    name,
                    SMALL,
                    tuple(case.methods)[: self.smoke],
                    **({"warmup": 10} if case.score == "logistic" else {}),
                )
                for name, case in self.cases.items()
            )
            words = f"6 arms, 4 features, 40 rounds, {self.smoke} methods"
            return Plan(settings, 40, 2, 10, reduced=words, timed=self.timed)
        settings = tuple(case.setting(name, case.world) for name, case in self.cases.items())
        if scale == "quick":
            rounds = 600 if any(SCORES[case.score] != "neural" for case in self.cases.values()) else 100
            words = f"{rounds} of {ROUNDS:,} rounds, 2 repetitions instead of {SEEDS}"
            return Plan(settings, rounds, 2, 20, reduced=words, timed=self.timed)
        fewer = f"{self.seeds} repetitions instead of {SEEDS}" if self.seeds < SEEDS else ""
        shorter = f"{self.rounds:,} of {ROUNDS:,} rounds" if self.rounds < ROUNDS else ""
        words = "; ".join(part for part in (shorter, fewer, self.words) if part)
        return Plan(settings, self.rounds, self.seeds, 50, reduced=words, timed=self.timed)


TIMED_NEURAL = ("Neural-ES", "Neural-UCB", "Neural-TS", "Neural-PHE")
TIMED_GLM = ("GLM-ES", "GLM-UCB", "GLM-TSL", "GLM-FPL", "EVILL")


def timed_cases(score: str, labels: tuple[str, ...]) -> dict[str, Case]:
    """Sums per arm, and plain histories with one member, as m machines in parallel would have."""
    ensemble = labels[0]
    one: dict[str, Any] = {"memory": "all", "size": 1}
    whole: dict[str, Any] = {"memory": "all"}
    plain = {label: (label, whole) for label in labels if label.endswith(("-PHE", "-FPL"))}
    plain |= {f"{ensemble}-member": (ensemble, one)}
    return {
        "sums-per-arm": Case(score, {label: (label, {}) for label in labels}),
        "plain-history": Case(score, plain),
    }
