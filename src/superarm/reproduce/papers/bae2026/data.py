"""The data sets of bae2026: the classes of their rows are the arms."""

from __future__ import annotations

from typing import Any

from superarm.reproduce.papers.bae2026.plans import POOL, Problem

DATA = {
    "mnist": "2",
    "mushroom": "2",
    "shuttle": "2",
    "magic": "5",
    "banknote": "5",
    "phoneme": "5",
}


def class_problem(name: str) -> Problem:
    """The rows of a data set, drawn at random; each class is an arm."""

    def world() -> Any:
        from superarm import datasets
        from superarm.environments import classification

        rows = getattr(datasets, f"load_{name}")()
        return classification(rows, pool=min(POOL, len(rows.labels)))

    return Problem(name, world, {"data": name, "pool": POOL})


def invented_classes() -> Problem:
    """Rows made up on the spot, for the smoke scale."""

    def world() -> Any:
        import numpy as np

        from superarm.environments import classification

        rng = np.random.default_rng(0)
        features = rng.normal(size=(60, 3))
        return classification(features, (features[:, 0] * features[:, 1] > 0.0).astype(int))

    return Problem("invented", world, {"data": "invented"})
