"""What an agent answers, and what it remembers of it until feedback comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.tables import LARGEST, Id, bounded, id_of

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Selection:
    """A decision of an agent.

    Attributes:
        id: its number; feedback refers to it.
        items: the chosen items under the caller's ids; two in a duel, and one where one is chosen.
        features: (k, d) theirs.
        scores: (k,) by which they were chosen.
        propensities: (k,) the chance that an item was chosen, or chosen for its position in a ranking; None
            when it is not known.
        errors: (k,) standard errors of the chances, 0 where they are exact; None when they are not known.
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

    def told(self, known: NDArray) -> bool:
        """Note feedback that is new, where known (k,); return whether all has come."""
        if len(self.items) == 1:
            return True
        self.seen = self.seen | known
        return bool(self.seen[: len(self.ids)].all())


@dataclass(slots=True)
class Told:
    """Feedback of decision `number`: values (k,), where they are new (k,), and how many are."""

    number: int
    values: NDArray
    new: NDArray
    count: int


ONE = np.ones(1, bool)
ONE.flags.writeable = False  # one for all


def told_of(
    number: int, pending: Pending | None, feedback: Any, *, duel: bool, allowed: tuple[float, float] | None
) -> Told:
    """Return what feedback says of a decision, checked; of one that waits no more, nothing new."""
    if pending is None:
        return Told(number, np.zeros(1), ~ONE, 0)
    values, known = feedback_of(pending, feedback, duel=duel, allowed=allowed)
    if len(known) == 1:  # it has not come: the decision would not wait for it any more
        return Told(number, values, known, 1)
    new = known & ~pending.seen
    return Told(number, values, new, int(np.count_nonzero(new)))


def feedback_of(
    pending: Pending, feedback: Any, *, duel: bool, allowed: tuple[float, float] | None
) -> tuple[NDArray, NDArray]:
    """(k,) feedback and (k,) where it is given: a number, one per item (None where unknown), or by id."""
    where = "update"
    ids = pending.ids
    if len(ids) == 1 == len(pending.items) and _is_number(feedback, allowed):  # what it mostly is
        return np.array([feedback], np.float64), ONE
    if isinstance(feedback, Mapping):
        by_id = {id_of(where, name): value for name, value in feedback.items()}
        if unknown := [name for name in by_id if name not in ids]:
            raise ValueError(f"{where}: feedback must be of {list(ids)}, got {unknown[0]!r}")
        given = [by_id.get(name) for name in ids]
    elif isinstance(feedback, list | tuple | np.ndarray) and np.ndim(feedback):
        given = list(feedback)
    else:
        given = _sides(feedback) if duel else [feedback]
    if len(given) != len(ids):
        raise ValueError(f"{where}: feedback must be one number per item, {len(ids)}, got {len(given)}")
    numbers = [None if one is None else checks.real(where, "feedback", one) for one in given]
    if any(np.ndim(one) for one in numbers if one is not None):
        raise TypeError(f"{where}: feedback must be numbers, got an array in it")
    values, known = np.zeros(len(pending.items)), np.zeros(len(pending.items), bool)
    for slot, one in enumerate(numbers):
        if one is not None:
            values[slot], known[slot] = one, True
    if not known.any():
        raise ValueError(f"{where}: feedback must be given for an item at least, got none")
    if duel:
        require_shares(where, values, known)
    if allowed is not None:
        checks.between(where, "feedback", values[known], *allowed)
    return bounded(where, "feedback", values), known


def _is_number(feedback: Any, allowed: tuple[float, float] | None) -> bool:
    """Whether it is a number that can be taken as it is."""
    if not isinstance(feedback, float | np.floating | np.integer) and type(feedback) is not int:
        return False
    low, high = (-LARGEST, LARGEST) if allowed is None else allowed
    return bool(low <= feedback <= high)  # False where it is not a number


def _sides(feedback: Any) -> list[Any]:
    """How much each arm of a duel is preferred, given the first: True and False are 1 and 0."""
    if feedback is None:
        return [None, None]
    first = float(feedback) if isinstance(feedback, bool | np.bool_) else feedback
    return [first, 1.0 - checks.real("update", "feedback", first)]


def require_shares(where: str, values: NDArray, known: NDArray) -> None:
    """Refuse feedback of a duel that is not how much each of its arms is preferred."""
    if not known.all() or np.any(values < 0) or abs(values.sum() - 1.0) > 1e-6:
        got = ", ".join(f"{one:g}" if told else "None" for one, told in zip(values, known, strict=True))
        raise ValueError(
            f"{where}: feedback of a duel must be how much the first arm is preferred, from 0 to 1, or two "
            f"such numbers that add up to 1, got {got}"
        )
