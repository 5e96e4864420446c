"""Which arms an agent is offered, under the caller's ids, and which place each has for the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from superarm import checks, engine
from superarm.algebra import Policy
from superarm.frames import Id, frame_of, ids_of, mask_of

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Offered:
    """What is on offer: contexts (n, d), the arms' ids, which are available (n,), and names of columns."""

    contexts: NDArray
    ids: tuple[Id, ...]
    mask: NDArray
    columns: tuple[str, ...] | None = None

    @property
    def dim(self) -> int:
        """d."""
        return int(self.contexts.shape[1])


@dataclass(frozen=True)
class Placed:
    """The same with every arm in its place: contexts (N, d), mask (N,), and the ids by place."""

    contexts: NDArray
    mask: NDArray
    ids: Mapping[int, Id] | Sequence[Id]

    def names(self, items: NDArray) -> tuple[Id, ...]:
        """The ids of chosen places; -1 is none."""
        return tuple(self.ids[place] for place in items.tolist() if place >= 0)


@dataclass
class Arms:
    """The arms of an agent.

    Attributes:
        fixed: how many places there are, for policies that know arms by their index; None for any number.
        least: slots of a decision.
        same: whether an arm's features must stay as they first were.
        places: id -> place, of arms that have one.
        features: place -> (d,), where they must stay.
        columns: the names of the features, once a table came.
    """

    fixed: int | None
    same: bool = False
    least: int = 1
    places: dict[Id, int] = field(default_factory=dict)
    features: dict[int, NDArray] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None

    def offer(self, where: str, contexts: Any, ids: Any, mask: Any, dim: int | None) -> Offered:
        """Return what is on offer, checked: d must be `dim`, unless that is None."""
        if contexts is None:
            if self.fixed is None:
                raise TypeError(f"{where}: contexts must be given, got None")
            names = self._default(self.fixed) if ids is None else ids_of(where, ids, None)
            return self._known(where, np.zeros((len(names), dim or 1)), names, mask, None)
        frame = frame_of(where, contexts, self.columns, labels=ids is None)
        count, got = frame.values.shape
        if not count or not got:
            raise ValueError(f"{where}: contexts must not be empty, got shape {frame.values.shape}")
        if dim is not None and got != dim:
            raise ValueError(f"{where}: contexts must have {dim} features, as before, got {got}")
        given = frame.ids if ids is None else ids_of(where, ids, count)
        names = self._default(count) if given is None else given
        return self._known(where, frame.values, names, mask, frame.columns)

    def _default(self, count: int) -> tuple[Id, ...]:
        """The ids of `count` arms that came without: those of old, or their row numbers."""
        return tuple(self.places) if len(self.places) == count else tuple(range(count))

    def placed(self, offered: Offered) -> Placed:
        """Return the offer with every arm in its place; new arms come after the others."""
        count = len(offered.ids)
        size = engine.padded(max(count, self.least)) if self.fixed is None else self.fixed
        contexts, mask = np.zeros((size, offered.dim)), np.zeros(size, bool)
        if self.fixed is None:
            contexts[:count], mask[:count] = offered.contexts, offered.mask
            return Placed(contexts, mask, offered.ids)
        places = self._places(offered.ids)
        contexts[places], mask[places] = offered.contexts, offered.mask
        return Placed(contexts, mask, dict(zip(places, offered.ids, strict=True)))

    def settle(self, offered: Offered) -> None:
        """Remember the arms and the columns of an offer that was decided on."""
        self.columns = self.columns or offered.columns
        if self.fixed is None:
            return
        for name, place, row in zip(offered.ids, self._places(offered.ids), offered.contexts, strict=True):
            self.places[name] = place
            if self.same:
                self.features.setdefault(place, row.copy())

    def require_same(self, where: str, events: Sequence[Any]) -> None:
        """Refuse events in which an arm has other features than it must have; remember them otherwise."""
        if not self.same:
            return
        found = dict(self.features)
        for one in events:
            for place, row in zip(one.items, one.features, strict=True):
                if place >= 0 and not np.array_equal(found.setdefault(int(place), row), row):
                    raise ValueError(
                        f"{where}: the features of arm {int(place)} must stay the same, got others"
                    )
        self.features = found

    def _places(self, ids: tuple[Id, ...]) -> list[int]:
        if self.fixed is None:
            return list(range(len(ids)))
        new = {name: len(self.places) + place for place, name in enumerate(self._new(ids))}
        return [self.places[name] if name in self.places else new[name] for name in ids]

    def _new(self, ids: tuple[Id, ...]) -> list[Id]:
        return [name for name in ids if name not in self.places]

    def _known(
        self, where: str, contexts: NDArray, ids: tuple[Id, ...], mask: Any, columns: tuple[str, ...] | None
    ) -> Offered:
        """Return the offer; refuse arms for which there is no place."""
        if self.fixed is not None and len(self.places) + len(new := self._new(ids)) > self.fixed:
            raise ValueError(f"{where}: ids must be among the {self.fixed} arms, got {new[0]!r} beside them")
        for name, place, row in zip(ids, self._places(ids), contexts, strict=True) if self.same else ():
            known = self.features.get(place)
            if known is not None and not np.array_equal(known, row):
                raise ValueError(f"{where}: the features of arm {name!r} must stay as they were, got others")
        if not ids:
            raise ValueError(f"{where}: ids must not be empty, got none")
        return Offered(contexts, ids, mask_of(where, mask, len(ids)), columns)


def arms_of(where: str, policy: Policy, arms: int | Sequence[Id] | None) -> Arms:
    """Return the arms of a policy; see `Agent`."""
    by_arm, same = engine.by_arm(policy), engine.sums_by_arm(policy)
    if arms is None:
        if by_arm:
            must = f"arms must be given for {policy.name}, which knows arms by their index"
            raise ValueError(f"{where}: {must}, got None")
        return Arms(None, least=policy.chooser.size)
    if not by_arm:
        must = f"arms must be None for {policy.name}, to which features are all that counts"
        raise ValueError(f"{where}: {must}, got {arms!r}")
    if isinstance(arms, int | np.integer):
        found = Arms(checks.count(where, "arms", arms), same)
    else:
        names = ids_of(where, arms, None)
        found = Arms(len(names), same, places={name: place for place, name in enumerate(names)})
    policy.chooser.check(found.fixed or 0)
    return found


def require_places(where: str, arms: Sequence[Id] | Mapping[Id, int], log: Any) -> None:
    """Refuse a log that says its arms, if these have other places."""
    told = getattr(log, "arms", None)
    if told is not None and tuple(arms)[: len(told)] != told:
        must = "the agent's arms must be those of the log in their order, `log.arms`"
        raise ValueError(f"{where}: {must}, got {list(arms)[:8]}")
