"""The plans of sun2026's experiments on classes as arms (figure 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.sun2026.methods import TUNED, explored_by, policy_of

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


def _world(name: str) -> Any:
    from superarm import datasets
    from superarm.environments import classification

    rows = getattr(datasets, LOADERS[name])()
    return classification(rows, pool=min(POOL, len(rows.labels)))


def _invented() -> Any:
    import numpy as np

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


def classes_plan(name: str, scale: str) -> Plan:
    """Return the plan of a data set at a scale."""
    if scale == "smoke":
        words = "invented rows, 40 rounds, three methods"
        setting = _setting(name, _invented, ("Lin-ES", "GLM-ES", "Neural-ES"), warmup=10)
        return Plan((setting,), 40, 2, 10, reduced=words)
    setting = _setting(name, partial(_world, name), tuple(METHODS))
    if scale == "quick":
        words = f"600 of {ROUNDS:,} rounds, 2 repetitions instead of {SEEDS}"
        return Plan((setting,), 600, 2, 20, reduced=words)
    return Plan((setting,), ROUNDS, SEEDS, 50, reduced="a cheaper training, see the note")
