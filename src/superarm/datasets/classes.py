"""Rows that each belong to one of K classes: what the classification data sets have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ClassData:
    """Rows and their classes. Arrays are read-only.

    Attributes:
        features: (n, d) numbers as they are in the data, and the codes of categories and characters.
        labels: (n,) the class of each row, from 0 to K - 1.
        names: (d) names of the features.
        class_names: (K) names of the classes.
        categorical: True when every feature is a code without order.
    """

    features: npt.NDArray[Any]
    labels: npt.NDArray[np.int64]
    names: tuple[str, ...]
    class_names: tuple[str, ...]
    categorical: bool = False


def class_data(
    features: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    *,
    names: tuple[str, ...],
    class_names: tuple[str, ...],
    categorical: bool = False,
) -> ClassData:
    """Return the data, made read-only."""
    for array in (features, labels):
        array.setflags(write=False)
    return ClassData(features, labels, names, class_names, categorical)
