"""sun2026: ensemble sampling on classes as arms (figure 5): Shuttle, Mushroom, Adult and Covertype."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.experiment import Experiment, Figure, Plan, Setting
from superarm.experiments.runs import Quantity, lowest, total
from superarm.reproduce.papers.sun2026.methods import TUNED, explored_by, policy_of

REFERENCE = "Sun, Wang & Xu (2026), Provable anytime ensemble sampling, figure 5"
ROUNDS, SEEDS, POOL = 10_000, 10, 20_000

# label -> the score whose settings it has, and what differs: contexts change, so warm-ups are uniform.
GLM: dict[str, Any] = {"plan": "uniform", "memory": "all", "learn_every": 50}
LARGE_GLM: dict[str, Any] = {**GLM, "memory": "reservoir", "memory_size": 2000, "learn_every": 100}  # d = 378
NET: dict[str, Any] = {
    "plan": "uniform",
    "warmup": 50,
    "memory": "all",
    "learn_every": 20,
    "optimizer": "adam",
    "learning_rate": 0.003,
    "batch": 256,
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Lin-ES": ("linear", {}),
    "Lin-UCB": ("linear", {}),
    "Lin-TS": ("linear", {}),
    "GLM-ES": ("logistic", GLM),
    "GLM-UCB": ("logistic", GLM),
    "GLM-TSL": ("logistic", GLM),
    "Neural-ES": ("quadratic", NET),
    "Neural-UCB": ("quadratic", NET),
    "Neural-TS": ("quadratic", NET),
    "Neural-PHE": ("quadratic", NET),
}
LOADERS = {
    "shuttle": "load_shuttle",
    "mushroom": "load_mushroom",
    "adult": "load_adult_classes",
    "covertype": "load_covertype",
}
NOTE = (
    "Every class is an arm, with the row's features in a block of its own; a row is drawn per round, "
    f"from {POOL:,} at most that are drawn per seed. Rewards are 1 for the right class and 0 otherwise. "
    "As the paper says, settings are those of the simulated worlds, here with explorations chosen "
    "there. Contexts change, so that warm-ups are uniform (500 rounds for generalized linear models, "
    "which linear ones do not pay, 50 for networks), and sums per arm do not do: a likelihood is fitted "
    "every 50 rounds, and a network every 20 rounds by 100 Adam steps of 0.003 on 256 observations "
    "each. For Covertype, whose features are 378, likelihoods are fitted every 100 rounds to a sample "
    "of 2,000 observations, which lets GLM-ES and GLM-TSL explore for longer than GLM-UCB."
)


def _world(name: str) -> Any:
    from superarm import datasets
    from superarm.environments import classification

    rows = getattr(datasets, LOADERS[name])()
    return classification(rows, pool=min(POOL, len(rows.labels)))


def _invented() -> Any:
    from superarm.environments import classification

    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3))
    return classification(features, (features[:, 0] * features[:, 1] > 0.0).astype(int))


def _policy(label: str, likelihood: dict[str, Any], more: dict[str, Any], world: Any) -> Any:
    score, options = METHODS[label]
    if score == "logistic":
        options = likelihood
    return policy_of(label, score, world, **{**options, **more})


def _setting(name: str, world: Callable[[], Any], labels: tuple[str, ...], **more: Any) -> Setting:
    numbers = {label: TUNED[METHODS[label][0]].get(label) for label in labels if explored_by(label)}
    glm = LARGE_GLM if name == "covertype" else GLM
    return Setting(
        name=name,
        environment=world,
        policies={
            label: partial(_policy, label, glm, {} if METHODS[label][0] == "linear" else more)
            for label in labels
        },
        parameters={"data": name, "pool": POOL, "exploration": numbers, "glm": glm, "network": NET, **more},
    )


def _plan(name: str, scale: str) -> Plan:
    if scale == "smoke":
        words = "invented rows, 40 rounds, three methods"
        setting = _setting(name, _invented, ("Lin-ES", "GLM-ES", "Neural-ES"), warmup=10)
        return Plan((setting,), 40, 2, 10, reduced=words)
    setting = _setting(name, partial(_world, name), tuple(METHODS))
    if scale == "quick":
        words = f"600 of {ROUNDS:,} rounds, 2 repetitions instead of {SEEDS}"
        return Plan((setting,), 600, 2, 20, reduced=words)
    return Plan((setting,), ROUNDS, SEEDS, 50, reduced="a cheaper training, see the note")


def _claims(name: str) -> tuple[Claim, ...]:
    def regret(label: str) -> Quantity:
        return total(name, label)

    families = {
        "Lin-ES": ("Lin-UCB", "Lin-TS"),
        "GLM-ES": ("GLM-UCB", "GLM-TSL"),
        "Neural-ES": ("Neural-UCB", "Neural-TS", "Neural-PHE"),
    }
    return (
        *(
            rules.not_worse(
                f"{ensemble} is not worse than the best of {', '.join(others)}",
                regret(ensemble),
                lowest(*(regret(label) for label in others)),
            )
            for ensemble, others in families.items()
        ),
        rules.below("Neural-ES is below Lin-ES", regret("Neural-ES"), regret("Lin-ES")),
        rules.below("GLM-ES is below Lin-ES", regret("GLM-ES"), regret("Lin-ES")),
    )


EXPERIMENTS = tuple(
    Experiment(
        id=f"sun2026/{name}",
        title=f"Ensemble sampling, classes as arms: {name}",
        reference=f"{REFERENCE}({letter})",
        plan=partial(_plan, name),
        claims=_claims(name),
        figure=Figure("regret", "round", "cumulative regret", band="deviation"),
        note=NOTE,
    )
    for name, letter in zip(LOADERS, "abcd", strict=True)
)
