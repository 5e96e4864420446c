"""The finitely many scores that an explorer chooses by, where there are such: for exact propensities."""

from __future__ import annotations

from typing import Any

from superarm.types import Array


def options_of(where: str, explorer: Any, beliefs: Any, count: Array) -> tuple[Array, Array]:
    """(j,) the chances of an explorer's options and (j, n) their scores.

    Raise TypeError when its scores are drawn from a continuum.
    """
    if not hasattr(explorer, "options"):
        must = "explorer must choose by one of finitely many scores for exact propensities"
        raise TypeError(f"{where}: {must}, got {type(explorer).__name__}")
    chances, scores = explorer.options(beliefs, count)
    return chances, scores
