"""What the caller says came of a decision, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.selection import Pending
from superarm.features.tables import MAX_NUMBER, Id, bounded, id_of

NDArray = np.ndarray[Any, Any]
Outcome = float | bool | Sequence[float | None] | NDArray | Mapping[Id, float]  # as `Agent.update` takes it


@dataclass(slots=True)
class Feedback:
    """Feedback of decision `number`: values (k,), where they are new (k,), and how many are."""

    number: int
    values: NDArray
    new: NDArray
    count: int


ONE = np.ones(1, bool)
ONE.flags.writeable = False  # one for all


def read_feedback(
    number: int, pending: Pending | None, feedback: Any, *, duel: bool, allowed: tuple[float, float] | None
) -> Feedback:
    """Return what feedback says of a decision, checked; of one that waits no more, nothing new."""
    if pending is None:
        return Feedback(number, np.zeros(1), ~ONE, 0)
    if len(pending.ids) == 1 == len(pending.items) and _is_number(feedback, allowed):  # what it mostly is
        return Feedback(number, np.array([feedback], np.float64), ONE, 1)
    values, known = feedback_of(pending, feedback, duel=duel, allowed=allowed)
    if len(known) == 1:  # it has not come: the decision would not wait for it any more
        return Feedback(number, values, known, 1)
    new = known & ~pending.seen
    return Feedback(number, values, new, int(np.count_nonzero(new)))


def feedback_of(
    pending: Pending, feedback: Any, *, duel: bool, allowed: tuple[float, float] | None
) -> tuple[NDArray, NDArray]:
    """(k,) feedback and (k,) where it is given: a number, one per item (None where unknown), or by id."""
    where = "update"
    ids = pending.ids
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
    if type(feedback) not in (float, int) and not isinstance(feedback, float | np.floating | np.integer):
        return False
    low, high = (-MAX_NUMBER, MAX_NUMBER) if allowed is None else allowed
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
        got = ", ".join(f"{one:g}" if given else "None" for one, given in zip(values, known, strict=True))
        raise ValueError(
            f"{where}: feedback of a duel must be how much the first arm is preferred, from 0 to 1, or two "
            f"such numbers that add up to 1, got {got}"
        )
