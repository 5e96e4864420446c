"""The language of experiments: settings and policies as data, and the claims that must come out.

`superarm.reproduce` has the papers' experiments and runs them. Importing this loads neither JAX nor pandas.
"""

from superarm.experiments.claims import Claim, Verdict
from superarm.experiments.experiment import (
    SCALES,
    Experiment,
    ExperimentError,
    Figure,
    Plan,
    Setting,
    Tunable,
)

__all__ = [
    "SCALES",
    "Claim",
    "Experiment",
    "ExperimentError",
    "Figure",
    "Plan",
    "Setting",
    "Tunable",
    "Verdict",
]
