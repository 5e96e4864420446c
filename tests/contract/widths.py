"""One row per width: what it keeps of the information matrix, and whether it knows the parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superarm.contract import Width
from superarm.widths import Auto, Diagonal, Dual, Full, Gram, Sketched
from support.row_streams import SEEN, layer_rows, matrix_rows

Draw = Callable[..., object]


def whole(matrices: np.ndarray) -> np.ndarray:
    """All of it: the width is exact."""
    return matrices


def diagonal(matrices: np.ndarray) -> np.ndarray:
    """(b, p, p) the diagonal of each matrix."""
    return matrices * np.eye(matrices.shape[-1])


@dataclass(frozen=True)
class Row:
    """A width, whose class is the first word of the name.

    Args:
        keeps: what the width keeps of the information matrix, block by block.
        shifts: whether absorbing moves parameters; not where rows are kept in their place.
        rows: what the shared tests draw for it; both kinds are compared with plain NumPy.
    """

    name: str
    width: Width
    keeps: Callable[[np.ndarray], np.ndarray] = whole
    shifts: bool = True
    rows: Draw = matrix_rows


ROWS = [
    Row("Full", Full()),
    Row("Diagonal", Diagonal(), keeps=diagonal),
    Row("Sketched", Sketched(SEEN)),  # exact while the rows seen have its rank or less
    Row("Gram", Gram()),
    Row("Dual", Dual(), shifts=False, rows=layer_rows),
    Row("Auto full", Auto()),
    Row("Auto dual", Auto(), shifts=False, rows=layer_rows),
]
