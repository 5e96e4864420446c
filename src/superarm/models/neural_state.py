"""What a neural model has recorded, and what it has learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from superarm.models.history import History
from superarm.pytree import pytree
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class NeuralRecord:
    """The history, and the width's factor.

    Attributes:
        history: observations for fitting.
        factor: of the gradients seen.
        spread: of the gradients without weights, for the effective dimension; () when it is not kept.
        covered: observations in the factor, where they wait for a fit that weighs them.
        version: of the fit whose factor was last taken over.
    """

    history: History
    factor: Any
    spread: Any
    covered: Array
    version: Array


@pytree
@dataclass(frozen=True)
class NeuralFit:
    """What was learned.

    Attributes:
        params: theta.
        first: theta_0.
        version: fits made so far, those that failed included.
        objective: the last fit's, as it ended.
        diverged: True when the last fit did; then `params` are those of the fit before.
        failures: fits that diverged so far.
        factor: the width's factor as the fit made it, where fits do; () otherwise.
        covered: observations in that factor.
        root: of the curvature that the last fit by Newton's method ended with; () for other fits.
    """

    params: Any
    first: Any
    version: Array
    objective: Array
    diverged: Array
    failures: Array
    factor: Any
    covered: Array
    root: Any
