"""A log: what was on offer, what was chosen, with what chance, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.features.tables import Id
from superarm.pytree import pytree, static
from superarm.types import Array, Spec


@pytree
@dataclass(frozen=True)
class Log:
    """n logged decisions among K arms with d features. Build it with `event_log`, or `read_log` from a table.

    Attributes:
        contexts: (n, K, d) features of the arms that were on offer.
        actions: (n,) which of the K arms was chosen; (n, k) for sets and rankings, -1 in slots not used.
        rewards: (n,) what it earned; (n, k) per slot, 0 where nothing was observed.
        mask: (n, K) which arms were on offer; None for all.
        propensities: (n,) or (n, k) the chance with which the log chose them; None where it is not known.
        observed: (n, k) where feedback was observed; None for all slots in use.
        ranking: whether the propensities of slots are those of an item at its position; otherwise that the
            set has the item.
        arms: the ids of the arms, one after the other, where an agent knew them by their place; else None.
    """

    contexts: Array
    actions: Array
    rewards: Array
    mask: Array | None = None
    propensities: Array | None = None
    observed: Array | None = None
    ranking: bool = static(default=False)
    arms: tuple[Id, ...] | None = static(default=None)

    @property
    def spec(self) -> Spec:
        """d features, K arms."""
        _, num_arms, dim = self.contexts.shape
        return Spec(dim=dim, num_arms=num_arms)

    @property
    def slots(self) -> int | None:
        """k for sets and rankings; None where every event is a single choice."""
        return None if self.actions.ndim == 1 else int(self.actions.shape[1])

    def take(self, rows: Any) -> Log:
        """Return some of the events, by their numbers, a slice or a mask (n,): to learn from, to judge by."""
        leaves = [one.name for one in fields(self) if not one.metadata.get("static")]
        parts = {name: getattr(self, name) for name in leaves}
        kept: dict[str, Any] = {name: None if one is None else one[rows] for name, one in parts.items()}
        return replace(self, **kept)


@checks.named
def event_log(
    contexts: npt.ArrayLike,
    actions: npt.ArrayLike,
    rewards: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    propensities: npt.ArrayLike | None = None,
    observed: npt.ArrayLike | None = None,
    ranking: bool = False,
    binary: bool = False,
) -> Log:
    """Return a log of decisions, checked.

    Args:
        contexts: (n, K, d) features of the arms on offer, finite.
        actions: (n,) the arm chosen in each event, from 0 to K - 1; (n, k) for sets and rankings, with -1 in
            slots that were not used.
        rewards: as actions, what came back, finite where it was observed.
        mask: (n, K) True where an arm was on offer; what was chosen must be.
        propensities: as actions, in (0, 1], the chance with which the log chose: of a single choice, the arm;
            of a ranking, this item at this position; of a set, that the set has the item.
        observed: as actions, True where feedback was observed; by default in all slots in use.
        ranking: whether slots are the positions of a ranking, and propensities those of positions; otherwise
            they are a set. Single choices are neither.
        binary: whether rewards must be 0 or 1.

    >>> import numpy as np
    >>> log = event_log(np.zeros((4, 3, 2)), [0, 1, 2, 0], [0, 1, 0, 0], binary=True)
    >>> log.spec
    Spec(dim=2, num_arms=3, capacity=0)
    >>> event_log(np.zeros((1, 3, 2)), [3], [0.5])
    Traceback (most recent call last):
    ...
    ValueError: event_log: actions must be between 0 and 2, got 3 at 0
    """
    where = "event_log"
    features = checks.matrix(where, "contexts", contexts, (None, None, None))
    if 0 in features.shape:
        raise ValueError(f"{where}: contexts must not be empty, got shape {features.shape}")
    events, num_arms, _ = features.shape
    chosen = _chosen(where, actions, events, num_arms)
    used = chosen >= 0
    seen = used if observed is None else checks.flags(where, "observed", observed, chosen.shape) & used
    earned = _rewards(where, rewards, seen)
    if binary and (bad := np.argwhere((earned != 0) & (earned != 1))).size:
        got = f"{earned[tuple(bad[0])]:g} at {checks.place(bad[0].tolist())}"
        raise ValueError(f"{where}: rewards must be 0 or 1, got {got}")
    logged: Any = None
    if propensities is not None:
        logged = checks.chances(where, "propensities", propensities, used=used, positive=True)
    return Log(
        contexts=features,
        actions=chosen,
        rewards=earned,
        mask=None if mask is None else _offered(where, mask, chosen, num_arms),
        propensities=logged,
        observed=None if np.all(seen == used) else seen,
        ranking=bool(ranking) and chosen.ndim == 2,
    )


def _chosen(where: str, actions: Any, events: int, num_arms: int) -> Any:
    array = np.asarray(actions)
    if array.ndim != 2:
        return checks.indices(where, "actions", actions, events, num_arms)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: actions must be whole numbers, got dtype {array.dtype}")
    if array.shape[0] != events or array.shape[1] < 1:
        raise ValueError(f"{where}: actions must have shape ({events}, any), got {array.shape}")
    bad = np.argwhere((array < -1) | (array >= num_arms))
    if bad.size:
        got = f"{array[tuple(bad[0])]} at {checks.place(bad[0].tolist())}"
        raise ValueError(f"{where}: actions must be between -1 (not used) and {num_arms - 1}, got {got}")
    return array.astype(np.int32)


def _rewards(where: str, rewards: Any, seen: Any) -> Any:
    array = np.asarray(rewards)
    if array.shape == seen.shape and array.dtype.kind in "biuf":
        array = np.where(seen, array, 0.0)  # what was not observed may be NaN
    return checks.matrix(where, "rewards", array, seen.shape)


def _offered(where: str, mask: Any, chosen: Any, num_arms: int) -> Any:
    offered = checks.flags(where, "mask", mask, (chosen.shape[0], num_arms))
    slots = chosen.reshape(chosen.shape[0], -1)
    taken = np.take_along_axis(offered, np.maximum(slots, 0), axis=1) | (slots < 0)
    if not np.all(taken):
        row, slot = np.argwhere(~taken)[0]
        must = "mask must be True for the arms that were chosen"
        raise ValueError(f"{where}: {must}, got False for arm {slots[row, slot]} at {row}")
    return offered
