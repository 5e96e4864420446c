"""What an agent answers, and what it remembers of it until feedback comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.features.tables import Id

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Selection:
    """A decision of an agent.

    Attributes:
        id: its number; feedback refers to it.
        items: the chosen items under the caller's ids; two in a duel, and one where one is chosen.
        features: (k, d) theirs.
        scores: (k,) by which they were chosen.
        propensities: (k,) the probability that an item was chosen, or chosen for its position in a ranking;
            None when it is not known.
        errors: (k,) standard errors of the propensities, 0 where they are exact; None where not known.
    """

    id: int
    items: tuple[Id, ...]
    features: NDArray
    scores: NDArray
    propensities: NDArray | None
    errors: NDArray | None

    @property
    def item(self) -> Id:
        """The item, where one is chosen."""
        if len(self.items) != 1:
            raise ValueError(f"selection: there must be one item to ask for it, got {len(self.items)}")
        return self.items[0]


@dataclass
class Pending:
    """A decision whose feedback has not come, or not for all of its items.

    Attributes:
        ids: of the slots that are used, which come first.
        items: (k,) indices, -1 in slots that are not used; features: (k, d).
        seen: (k,) True where feedback came.
        memo: what returns with the event.
        time: when it was made, in seconds since 1970.
        epoch: of the policy, when it was made.
    """

    ids: tuple[Id, ...]
    items: NDArray
    features: NDArray
    seen: NDArray
    memo: Any
    time: float
    epoch: int

    def note(self, known: NDArray) -> bool:
        """Note feedback that is new, where known (k,); return whether all has come."""
        if len(self.items) == 1:
            return True
        self.seen = self.seen | known
        return bool(self.seen[: len(self.ids)].all())
