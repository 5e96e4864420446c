"""Why an agent chose what it chose, as far as scores and beliefs say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from superarm import checks
from superarm.agent import inspection
from superarm.agent.compiled import padded
from superarm.agent.selection import Selection
from superarm.agent.session import Session

if TYPE_CHECKING:
    import pandas as pd


def explain(session: Session, decision: Selection) -> pd.DataFrame:
    """One row per chosen item: the score that it was chosen by, and what is believed of it now."""
    if not isinstance(decision, Selection):
        raise TypeError(f"explain: decision must be a Selection, got {type(decision).__name__}")
    state, dim = session.state, decision.features.shape[1]
    learner = state.learner
    if learner is None or learner.spec.dim != dim or decision.id >= learner.decisions:
        raise ValueError(f"explain: decision must be one of this agent's, got number {decision.id}")
    # A duel may be of an arm with itself.
    places = {name: place for place, name in enumerate(dict.fromkeys(decision.items))}
    places = places if state.arms.fixed is None else state.arms.places
    if unknown := [name for name in decision.items if name not in places]:
        raise ValueError(f"explain: decision must be one of this agent's, got arm {unknown[0]!r}")
    index = [places[name] for name in decision.items]
    rows = np.zeros((state.arms.fixed or padded(len(index)), dim))
    rows[index] = decision.features
    mean, width = (values[index] for values in inspection.beliefs(learner.policy, learner.state, rows))
    columns = {"item": list(decision.items), "score": decision.scores, "mean": mean, "width": width}
    pd = checks.installed("explain", "pandas")  # a third of a second, for those who look
    return pd.DataFrame(columns | {"bonus": decision.scores - mean})
