"""Features of arms from those of the context and of the items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.tables import Columns, LogError, Words

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Join:
    """How the features of the context and of the items come together.

    Attributes:
        cross: whether to multiply: items x (1, context); else context and items stand side by side.
        bare: whether items are one-hot: crossed, they leave nothing for the context alone to say.
    """

    cross: bool
    bare: bool

    def width(self, dim: int, size: int) -> int:
        """How many features an arm has, of dim of the context and `size` of the item."""
        return self._own(dim) + (size * (dim + 1) if self.cross else size)

    def _own(self, dim: int) -> int:
        """How many are those of the context alone, which come first."""
        return 0 if self.cross and self.bare else dim

    def fill(self, contexts: Floats, context: Iterable[Floats], dim: int, items: Floats) -> None:
        """Write the features of the arms into the first columns of (n, K, d).

        Args:
            contexts: to write to.
            context: dim columns (n,), one after the other, so that not all are in memory twice.
            dim: how many.
            items: (1, K, q) of the arms, or (n, K, q) where they differ between events.
        """
        size, start = items.shape[2], self._own(dim)
        contexts[:, :, start : start + size] = items
        for place, column in enumerate(context):
            if self._own(dim):
                contexts[:, :, place] = column[:, None]
            if self.cross:
                start += size
                np.multiply(items, column[:, None, None], out=contexts[:, :, start : start + size])


def require_room(where: str, most: int, events: int, num_arms: int, width: int) -> None:
    """Raise LogError if so many features do not fit."""
    if events * num_arms * width > most:
        raise LogError(
            f"{where}: log must have at most {most} numbers (events x arms x features), got "
            f"{events} x {num_arms} x {width}; read fewer with rows=, name fewer features, or set cross=False"
        )


def count_features(columns: Columns, numeric: Sequence[str], worded: Sequence[str]) -> int:
    """How many columns `feature_columns` has."""
    return len(numeric) + sum(len(columns.words(name)) for name in worded)


def feature_columns(columns: Columns, numeric: Sequence[str], worded: Sequence[str]) -> Iterator[Floats]:
    """(n,) columns, one after the other: numbers as they are, words one-hot."""
    for name in numeric:
        yield columns.numbers(name)
    for name in worded:
        yield from one_hot(columns.words(name))


def one_hot(words: Words) -> Iterator[Floats]:
    """(n,) one column per word, in the order of `ordered`."""
    names = list(words)
    code = {name: code for code, name in enumerate(names)}
    for name in ordered(names):
        yield (words.codes == code[name]).astype(np.float64)


def ordered(words: Sequence[Any]) -> list[str]:
    """The words, each once: by number if all are whole numbers, else by letter.

    >>> ordered(["10", "9", "10"]), ordered(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    known = set(words)
    if all(word.lstrip("-").isdecimal() for word in known):
        return sorted(known, key=lambda word: (int(word), word))
    return sorted(known)
