"""The methods of bae2026's figures by their labels, with nu and lambda as tuned.

Two trainings stand side by side. "descent" is as the paper writes: 100 gradient steps of 0.01 every 50 rounds
(on the mean loss, since the summed one diverges). "adam" has Adam in its place, at the same rate: gradient
steps that small leave the networks all but untrained after 2,000 rounds. nu and lambda are chosen for each
method, problem and training over the paper's grid, on seeds that are not reported.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from superarm.experiments.experiment import Tunable
from superarm.reproduce.papers.bae2026.tuned import TUNED

PRESETS = {
    "NCBF-UCB": "ncbf_ucb",
    "Logistic-UCB-1": "logistic_ucb_1",
    "ada-OFU-ECOLog": "ada_ofu_ecolog",
    "NeuralLog-UCB-1": "neural_log_ucb_1",
    "NeuralLog-UCB-2": "neural_log_ucb_2",
    "NeuralLog-TS-1": "neural_log_ts_1",
    "NeuralLog-TS-2": "neural_log_ts_2",
}

LINEAR = ("Logistic-UCB-1", "ada-OFU-ECOLog")
UCBS = ("NCBF-UCB", *LINEAR, "NeuralLog-UCB-1", "NeuralLog-UCB-2")
SAMPLERS = ("NeuralLog-TS-1", "NeuralLog-TS-2")
TRAININGS = {"descent": {"optimizer": "gd"}, "adam": {"optimizer": "adam"}}
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)


def policy_of(label: str, world: Any, **arguments: Any) -> Any:
    """Build a method by its label; linear ones have no units."""
    import superarm

    if label in LINEAR:
        arguments.pop("units", None)
    return getattr(superarm, PRESETS[label])(**arguments)


def parameters_of(problem: str, training: str, label: str) -> tuple[float, float]:
    """(nu, lambda) as tuned; 0.01 and 1 where that was not done."""
    return TUNED.get(problem, {}).get(training, {}).get(label, (0.01, 1.0))


def tunables() -> dict[str, Tunable]:
    """All methods with both trainings, over the paper's grid."""
    return {
        f"{label}.{training}": Tunable(
            build=partial(policy_of, label, **options), grid={"nu": GRID, "ridge": GRID}
        )
        for label in PRESETS
        for training, options in TRAININGS.items()
    }
