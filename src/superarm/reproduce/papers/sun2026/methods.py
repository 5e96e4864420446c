"""The methods of sun2026's figures by their labels, with what the paper leaves open.

The paper gives the settings of ensemble sampling, and none of its baselines'. Each baseline has one number
that sets how much it explores; it was chosen over GRID by `superarm tune ID --policy LABEL`, on seeds from
1000, which are not reported: linear 10,000 rounds and 20 seeds, logistic 10,000 and 10 (GLM-ES: 6), distance
and quadratic 3,000 and 6. "-tuned" is ensemble sampling with its perturbation chosen in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from superarm.experiments.experiment import Tunable

if TYPE_CHECKING:
    from superarm.models.history import MemoryKind
    from superarm.policies.warm_ups import Plan

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

# family -> label -> the number that sets exploration
TUNED: dict[str, dict[str, float]] = {
    "linear": {"Lin-UCB": 1.0, "Lin-TS": 0.3, "Lin-PHE": 0.3, "Lin-ES-tuned": 1.0},
    "logistic": {"GLM-UCB": 0.3, "GLM-TSL": 0.3, "GLM-FPL": 0.1, "EVILL": 0.3, "GLM-ES-tuned": 0.01},
    "distance": {"Neural-UCB": 0.3, "Neural-TS": 0.03, "Neural-PHE": 1.0},
    "quadratic": {"Neural-UCB": 0.3, "Neural-TS": 0.03, "Neural-PHE": 1.0},
}

FAMILIES: dict[str, tuple[str, ...]] = {
    "linear": (
        "Lin-ES",
        "Lin-ES-DT100",
        "Lin-ES-DT300",
        "Lin-UCB",
        "Lin-TS",
        "Lin-PHE",
        "Lin-ES-tuned",
    ),
    "logistic": (
        "GLM-ES",
        "GLM-ES-DT100",
        "GLM-ES-DT300",
        "GLM-UCB",
        "GLM-TSL",
        "GLM-FPL",
        "EVILL",
        "GLM-ES-tuned",
    ),
    "neural": (
        "Neural-ES",
        "Neural-ES-DT100",
        "Neural-ES-DT300",
        "Neural-UCB",
        "Neural-TS",
        "Neural-PHE",
    ),
}

SCORES = {"linear": "linear", "logistic": "logistic", "distance": "neural", "quadratic": "neural"}


def labels_of(score: str) -> tuple[str, ...]:
    """The methods of a score's figure."""
    return FAMILIES[SCORES[score]]


def baselines(score: str) -> tuple[str, ...]:
    """Those that are not ensembles."""
    return tuple(label for label in labels_of(score) if "-ES" not in label)


def explored_by(label: str) -> bool:
    """Whether the label has a number to be tuned."""
    return "-ES" not in label or label.endswith("-tuned")


def tunables(score: str) -> dict[str, Tunable]:
    """The methods of a score that have a number to be tuned."""
    return {
        label: Tunable(partial(_explored, label, score), {"exploration": GRID})
        for label in labels_of(score)
        if explored_by(label)
    }


def _explored(label: str, score: str, world: Any, *, exploration: float) -> Any:
    return policy_of(label, score, world, exploration=exploration)


def policy_of(label: str, score: str, world: Any, *, memory: MemoryKind = "arms", **options: Any) -> Any:
    """Build a method as it is run on a score."""
    if explored_by(label) and "exploration" not in options:
        options = {"exploration": TUNED[score][label], **options}
    return BUILDERS[SCORES[score]](label, world, memory=memory, **options)


def _linear(label: str, world: Any, *, memory: MemoryKind, exploration: float = 0.1, **options: Any) -> Any:
    import superarm

    oracle = world.oracle
    if label in ("Lin-UCB", "Lin-TS"):
        return (
            superarm.lin_ucb(radius=exploration) if label == "Lin-UCB" else superarm.lin_ts(scale=exploration)
        )
    if label == "Lin-PHE":
        return superarm.lin_phe(oracle, perturbation=exploration, memory=memory, **options)
    if "-DT" in label:
        return superarm.lin_es_anytime(oracle, first=_first(label))
    return superarm.lin_es(oracle, perturbation=exploration, **options)


def _logistic(
    label: str, world: Any, *, memory: MemoryKind, exploration: float = 0.1, warmup: int = 500, **options: Any
) -> Any:
    import superarm

    oracle = world.oracle
    plan = options.pop("plan", "design")
    if label == "GLM-UCB":
        plain = superarm.glm_ucb(oracle, radius=exploration, memory=memory, **options)
        return superarm.warm_up(plain, rounds=warmup, plan=plan)
    options = {"warmup": warmup, "plan": plan, "memory": memory, **options}
    if label == "GLM-TSL":
        return superarm.glm_tsl(oracle, scale=exploration, **options)
    if label == "EVILL":
        return superarm.evill(oracle, scale=exploration, **options)
    if label == "GLM-FPL":
        return superarm.glm_fpl(oracle, perturbation=exploration, **options)
    if "-DT" in label:
        return superarm.glm_es_anytime(oracle, **{"first": _first(label), **options})
    return superarm.glm_es(oracle, perturbation=exploration, **options)


def _neural(
    label: str,
    world: Any,
    *,
    memory: MemoryKind,
    exploration: float = 0.1,
    size: int = 10,
    plan: Plan = "each",
    warmup: int | None = None,
    **fitting: Any,
) -> Any:
    import superarm
    from superarm.policies.sun2026 import ensemble_figure_model

    model = ensemble_figure_model(memory=memory, **fitting)
    if label in ("Neural-UCB", "Neural-TS"):
        ucb = label == "Neural-UCB"
        plain = (
            superarm.neural_ucb(model, radius=exploration)
            if ucb
            else superarm.neural_ts(model, scale=exploration)
        )
        return superarm.warm_up(plain, rounds=warmup, plan=plan)
    if "-DT" in label:
        return superarm.neural_es_anytime(None, model, first=_first(label))
    shared: dict[str, Any] = {"perturbation": exploration, "plan": plan, "warmup": warmup}
    if label == "Neural-PHE":
        return superarm.neural_phe(None, model, **shared)
    return superarm.neural_es(None, model, size=size, **shared)


def _first(label: str) -> int:
    """T_0 of a label such as GLM-ES-DT100."""
    return int(label.split("-DT")[1])


BUILDERS: dict[str, Callable[..., Any]] = {"linear": _linear, "logistic": _logistic, "neural": _neural}
