"""The duels of data sets' classes (figure E.1 of oh2026, and section 6's numbers of Statlog)."""

from __future__ import annotations

from functools import partial
from typing import Any

from superarm.reproduce.papers.oh2026.plans import RESET, TINY, Problem

# Data set -> loader, whether its classes are ordered, repetitions with features rescaled and as they are.
DATA = {
    "statlog": ("load_shuttle", True, (10, 20)),
    "magic": ("load_magic", False, (20, 10)),
    "covertype": ("load_covertype", False, (8, 3)),
}


def classes(
    name: str, loader: str, *, ordered: bool, rescale: bool = True, seeds: int | None = None
) -> Problem:
    """The duels of a data set's classes."""
    world = partial(_classes, loader, ordered, rescale)
    told = {} if rescale else {"rescale": False}
    return Problem(world, {"data": name, "pool": 20_000, **told, "NVLDB": dict(RESET)}, {}, seeds=seeds)


def invented(*, ordered: bool) -> Problem:
    """Rows made up on the spot, for the smoke scale."""
    return Problem(partial(_invented, ordered), {"data": "invented"}, TINY)


def _classes(loader: str, ordered: bool, rescale: bool) -> Any:
    from superarm import datasets
    from superarm.environments import class_duels

    rows = getattr(datasets, loader)()
    return class_duels(rows, pool=min(20_000, len(rows.labels)), ordered=ordered, rescale=rescale)


def _invented(ordered: bool) -> Any:
    import numpy as np

    from superarm.environments import class_duels

    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3))
    return class_duels(features, (features[:, 0] > 0.0).astype(int), ordered=ordered)
