"""The papers' figures and tables as data: settings, policies, and the claims that must come out.

    from superarm.experiments.runner import run
    summary = run("wen2015/longest-path", scale="quick", out="results")

Importing this package loads neither JAX nor pandas; `runner` does.
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
from superarm.experiments.registry import EXPERIMENTS, lookup, matching

__all__ = [
    "EXPERIMENTS",
    "SCALES",
    "Claim",
    "Experiment",
    "ExperimentError",
    "Figure",
    "Plan",
    "Setting",
    "Tunable",
    "Verdict",
    "lookup",
    "matching",
]
