"""What a log says of a policy, as arrays over events and slots: rewards, weights, and a model's part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from superarm import checks

Floats = npt.NDArray[np.float64]

Kind = Literal["ranking", "set"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Evidence:
    """n events with k slots; build it with `evidence`.

    Attributes:
        used: (n, k) which slots count.
        rewards: (n, k) 0 in slots not used.
        weights: (n, k) the target's chance over the log's, 0 in slots not used.
        sizes: (n, k) the chance that the target fills each position; (n, 1) the items in its set.
        values: (n,) the target's expected reward by a model; None without.
        predictions: (n, k) the model's for the logged items, 0 in slots not used; None without.
        influence: (n,) what every event moved in `values` through the model's fit; None where not known.
    """

    used: npt.NDArray[np.bool_]
    rewards: Floats
    weights: Floats
    sizes: Floats
    values: Floats | None
    predictions: Floats | None
    influence: Floats | None

    @property
    def by_position(self) -> bool:
        """Whether slots are positions to be summed up apart."""
        return self.sizes.shape[1] > 1

    def clipped(self, largest: float) -> Evidence:
        """The same with no weight above the largest."""
        return replace(self, weights=np.minimum(self.weights, largest))


def evidence(
    where: str,
    rewards: Any,
    propensities: Any,
    chances: Any,
    *,
    observed: Any = None,
    values: Any = None,
    predictions: Any = None,
    influence: Any = None,
    kind: str = "ranking",
    sizes: Any = None,
) -> Evidence:
    """Check and weigh; the arguments are those of `superarm.evaluate.estimate`."""
    shape = np.shape(rewards)
    if len(shape) not in (1, 2) or shape[0] < 2 or 0 in shape:
        raise ValueError(f"{where}: rewards must have shape (n,) or (n, k) with n >= 2, got {shape}")
    used = np.ones(shape, bool) if observed is None else checks.flags(where, "observed", observed, shape)
    logged = checks.chances(where, "propensities", propensities, used=used, positive=True)
    wanted = checks.chances(where, "chances", chances, used=used)
    slots = used.reshape(shape[0], -1)
    return Evidence(
        used=slots,
        rewards=_per_slot(where, "rewards", rewards, slots),
        weights=np.where(used, wanted / logged, 0.0).reshape(slots.shape),
        sizes=_sizes(where, sizes, shape, checks.one_of(where, "kind", kind, KINDS)),
        values=None if values is None else checks.matrix(where, "values", values, shape[:1]),
        predictions=None if predictions is None else _per_slot(where, "predictions", predictions, slots),
        influence=None if influence is None else checks.matrix(where, "influence", influence, shape[:1]),
    )


def _per_slot(where: str, name: str, value: Any, used: Any) -> Floats:
    """(n, k) finite, 0 in slots not used."""
    array = np.asarray(value)
    if array.ndim == 1 and used.shape[1] == 1:
        array = array[:, None]
    if array.shape == used.shape and array.dtype.kind in "biuf":
        array = np.where(used, array, 0.0)  # whatever stands where nothing was observed
    return np.asarray(checks.matrix(where, name, array, used.shape))


def _sizes(where: str, sizes: Any, shape: tuple[int, ...], kind: str) -> Floats:
    """(n, k) for positions, (n, 1) for sets."""
    events, slots = shape[0], 1 if len(shape) == 1 else shape[1]
    wanted = (events,) if kind == "set" or len(shape) == 1 else shape
    default = float(slots) if kind == "set" else 1.0
    given = np.full(wanted, default) if sizes is None else checks.matrix(where, "sizes", sizes, wanted)
    return np.asarray(checks.nonnegative(where, "sizes", given)).reshape(events, -1)
