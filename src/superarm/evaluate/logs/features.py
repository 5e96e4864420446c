"""Features of arms from those of the context and of the items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.tables import LogError

Floats = npt.NDArray[np.float64]

MAX_NUMBERS = 2**28  # events x arms x features: 2 GiB


def joined(
    where: str, context: Floats, items: Floats, own: Floats | None, *, cross: bool, bare: bool
) -> Floats:
    """(n, K, d) features of the arms.

    Args:
        where: the name in messages.
        context: (n, p) of the events.
        items: (1, K, q) of the arms, or (n, K, q) where they differ between events.
        own: (n, K, r) of an arm in an event; None for none.
        cross: whether to multiply: items x (1, context); else context and items stand side by side.
        bare: whether items are one-hot: crossed, they leave nothing for the context alone to say.
    """
    events, dim = context.shape
    num_arms, size = items.shape[1:]
    width = size * (dim + 1) + (0 if bare else dim) if cross else size + dim
    width += 0 if own is None else own.shape[2]
    require_room(where, events, num_arms, width)
    contexts = np.empty((events, num_arms, width))
    end = 0 if cross and bare else dim
    contexts[:, :, :end] = context[:, None, :end]
    start = end
    for one in (None, *range(dim)) if cross else (None,):
        factor = 1.0 if one is None else context[:, one, None, None]
        contexts[:, :, start : start + size] = items * factor
        start += size
    if own is not None:
        contexts[:, :, start:] = own
    return contexts


def require_room(where: str, events: int, num_arms: int, width: int) -> None:
    """Raise LogError if so many features do not fit."""
    if events * num_arms * width > MAX_NUMBERS:
        raise LogError(
            f"{where}: log must have at most {MAX_NUMBERS} numbers (events x arms x features), got "
            f"{events} x {num_arms} x {width}; read fewer with rows=, name fewer features, or set cross=False"
        )


def one_hot(words: Sequence[str]) -> Floats:
    """(n, c) one column per word, in the order of `ordered`."""
    known = ordered(words)
    places = {word: place for place, word in enumerate(known)}
    rows = np.zeros((len(words), len(known)))
    rows[np.arange(len(words)), [places[word] for word in words]] = 1.0
    return rows


def ordered(words: Sequence[Any]) -> list[str]:
    """The words, each once: by number if all are whole numbers, else by letter.

    >>> ordered(["10", "9", "10"]), ordered(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    known = set(words)
    if all(word.lstrip("-").isdecimal() for word in known):
        return sorted(known, key=lambda word: (int(word), word))
    return sorted(known)
