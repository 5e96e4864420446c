"""Does the log say enough about a policy? Weights, how many events they leave, and what to be warned of.

With w the target's chance over the log's, a mean over events counts like one over

    (sum w)^2 / sum w^2

events of equal weight (Kish, 1965, Survey Sampling, section 11.7). Fewer than `MIN_EFFECTIVE_EVENTS` of them
are warned of: a share s of all weight on one event leaves at most 1 / s^2, so with 100 or more no event has
over a tenth. So is less than `SHARE` of the log: then one event in a hundred decides, and small errors of its
propensity are multiplied.

If the propensities are right, and the log can choose whatever the target can, the mean weight is the number
of items that the target chooses, 1 for a single choice. A mean further off than chance explains (three
standard errors for one position) is warned of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Floats = npt.NDArray[np.float64]

MIN_EFFECTIVE_EVENTS = 100.0
SHARE = 0.01
CHANCE = 0.00135  # of a normal number above 3; shared by the positions


@dataclass(frozen=True)
class Overlap:
    """What the weights of a log come to, before clipping.

    Attributes:
        effective: () events of equal weight, in the position where they are fewest.
        largest: () the largest weight.
        empty: whether some position has no weight at all, though the target fills it.
        cautions: what to be warned of, in sentences.
    """

    effective: float
    largest: float
    empty: bool
    cautions: tuple[str, ...]


def overlap(weights: Floats, used: npt.NDArray[np.bool_], sizes: Floats) -> Overlap:
    """Return what weights (n, k) come to; used (n, k) are the slots that count.

    sizes are (n, k), the chance that the target fills each position, or (n, 1), the items in its set.
    """
    events = weights.shape[0]
    per_event = weights if sizes.shape[1] > 1 else weights.sum(axis=1, keepdims=True)
    empty = (per_event.sum(axis=0) == 0) & (sizes.sum(axis=0) > 0)
    effective = _effective(weights, used, sizes)
    cautions = []
    if np.any(empty):
        which = "" if empty.size == 1 else f" at position {np.flatnonzero(empty)[0]}"
        cautions.append(f"the target never chooses what was logged{which}: the log says nothing of it")
    elif effective < MIN_EFFECTIVE_EVENTS and effective > 0.5 * events:  # not for want of overlap
        cautions.append(f"events are few: {events}, which count like {effective:.1f}; log more")
    elif effective < MIN_EFFECTIVE_EVENTS or effective < SHARE * events:
        cautions.append(
            f"overlap is poor: {events} events count like {effective:.1f}, and the largest weight is "
            f"{weights.max():.3g}; log more of what the target chooses, or evaluate one closer to the log"
        )
    if not np.any(empty):
        cautions += _off(per_event, sizes)
    return Overlap(effective, float(weights.max()), bool(np.any(empty)), tuple(cautions))


def _effective(weights: Floats, used: npt.NDArray[np.bool_], sizes: Floats) -> float:
    axis = 0 if sizes.shape[1] > 1 else None
    total, squares = np.sum(weights, axis=axis), np.sum(weights**2, axis=axis)
    counted = np.asarray(total**2 / np.where(squares > 0, squares, 1.0))
    if axis == 0:
        return float(
            np.min(counted[sizes.sum(axis=0) > 0], initial=np.inf)
        )  # positions that the target fills
    return float(counted / max(np.sum(used) / weights.shape[0], 1.0))  # items to events


def _off(per_event: Floats, sizes: Floats) -> list[str]:
    """Say by how much the mean weights are off, where that is more than chance."""
    events, groups = per_event.shape
    gaps = per_event - sizes
    error = np.std(gaps, axis=0, ddof=1) / np.sqrt(events)
    # Weights that are all alike may be off by rounding.
    off = np.abs(gaps.mean(axis=0)) > -ndtri(CHANCE / groups) * error + 1e-6 * sizes.mean(axis=0)
    if not np.any(off):
        return []
    worst = int(np.flatnonzero(off)[0])
    which = "" if groups == 1 else f" at position {worst}"
    return [
        f"the mean weight{which} is {per_event[:, worst].mean():.4g} with a standard error of "
        f"{error[worst]:.2g}, where {sizes[:, worst].mean():.4g} is expected: the propensities or the "
        "target's chances are wrong, or the target chooses what the log never did"
    ]
