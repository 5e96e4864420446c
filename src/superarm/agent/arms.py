"""Which arms an agent is offered, under the caller's ids, and which place each has for the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.compiled import OfferBuffer, padded
from superarm.features.tables import (
    Contexts,
    Id,
    Ids,
    Mask,
    ids_of,
    is_plain,
    mask_of,
    read_table,
    row_numbers,
)
from superarm.policy import Policy

NDArray = np.ndarray[Any, Any]


# Not frozen: that takes longer to make, and every decision makes one.
@dataclass(slots=True)
class Offered:
    """What the caller offers, checked: contexts (n, d), the arms' ids, which are available (n,).

    Attributes:
        all: whether they are all available.
        columns: names of the features, where a table had some.
        places: (n,) of the arms, for policies that know them by index; None for the first n.
    """

    contexts: NDArray
    ids: tuple[Id, ...]
    mask: NDArray
    all: bool = False
    columns: tuple[str, ...] | None = None
    places: NDArray | None = None

    @property
    def dim(self) -> int:
        """d."""
        return int(self.contexts.shape[1])

    def names(self, items: NDArray) -> tuple[Id, ...]:
        """The ids of chosen places; -1 is none."""
        if len(items) == 1 and self.places is None:  # what it mostly is
            item = items.item(0)
            return (self.ids[item],) if item >= 0 else ()
        chosen = [place for place in items.tolist() if place >= 0]
        if self.places is not None:
            chosen = [int(np.flatnonzero(self.places == place)[0]) for place in chosen]
        return tuple([self.ids[index] for index in chosen])


@dataclass
class Arms:
    """The arms of an agent.

    Attributes:
        fixed: how many places there are, for policies that know arms by their index; None for any number.
        least: slots of a decision.
        same: whether an arm's features must stay as they first were.
        places: id -> place, of arms that have one; in order.
        features: (fixed, d) by place, where they must stay; NaN of arms that have not come.
        columns: the names of the features, once a table came.
    """

    fixed: int | None
    same: bool = False
    least: int = 1
    places: dict[Id, int] = field(default_factory=dict)
    features: NDArray | None = None
    columns: tuple[str, ...] | None = None
    _ids: tuple[Id, ...] = ()  # those asked for last, which mostly come again
    _located: tuple[NDArray, list[Id]] | None = None  # the places of these, and which are new

    def offer(
        self, where: str, contexts: Contexts | None, ids: Ids | None, mask: Mask | None, dim: int | None
    ) -> Offered:
        """Return what is on offer, checked: d must be `dim`, unless that is None."""
        if contexts is None:
            if self.fixed is None:
                raise TypeError(f"{where}: contexts must be given, got None")
            names = self._default(self.fixed) if ids is None else ids_of(where, ids, None)
            return self._known(where, np.zeros((len(names), dim or 1)), names, mask, None)
        columns: tuple[str, ...] | None = None
        labels: tuple[Id, ...] | None = None
        values: Any = contexts
        if not is_plain(contexts):
            table = read_table(where, contexts, self.columns, labels=ids is None)
            columns, labels, values = table.columns, table.ids, table.values
        count, got = values.shape
        if not count or not got:
            raise ValueError(f"{where}: contexts must not be empty, got shape {values.shape}")
        if dim is not None and got != dim:
            raise ValueError(f"{where}: contexts must have {dim} features, as before, got {got}")
        given = labels if ids is None else ids_of(where, ids, count)
        return self._known(where, values, self._default(count) if given is None else given, mask, columns)

    def _default(self, count: int) -> tuple[Id, ...]:
        """The ids of `count` arms that came without: those of old, or their row numbers."""
        return tuple(self.places) if len(self.places) == count else row_numbers(count)

    def placed(self, offered: Offered) -> OfferBuffer:
        """Return the offer with every arm in its place; new arms come after the others."""
        if self.fixed is None:
            count, dim = offered.contexts.shape
            buffer = OfferBuffer(padded(max(count, self.least)), dim)
            buffer.put(slice(count), offered.contexts, offered.mask)
            return buffer
        offered.places = self._located_at(offered.ids)[0]
        buffer = OfferBuffer(self.fixed, offered.dim)
        buffer.put(offered.places, offered.contexts, offered.mask)
        return buffer

    def knows(self, offered: Offered) -> bool:
        """Whether there is nothing to remember of an offer, so that it changes no other."""
        if offered.columns is not None and self.columns is None:
            return False
        if self.fixed is None:
            return True
        places, new = self._located_at(offered.ids)
        return not new and not (self.same and np.isnan(self._features(offered.dim)[places]).any())

    def settle(self, offered: Offered) -> None:
        """Remember the arms and the columns of an offer that was decided on."""
        self.columns = self.columns or offered.columns
        if self.fixed is None:
            return
        places, new = self._located_at(offered.ids)
        if new:
            self.places |= {name: len(self.places) + place for place, name in enumerate(new)}
            self._located = places, []
        if self.same:
            self.remember(places, offered.contexts)

    def remember(self, places: NDArray, contexts: NDArray) -> None:
        """Remember the features (n, d) of arms in their places (n,)."""
        self.features = self._features(contexts.shape[1])
        self.features[places] = contexts

    def remembered(self) -> tuple[NDArray, NDArray]:
        """(n,) places and (n, d) features of the arms that came, where these must stay."""
        if self.features is None:
            return np.zeros(0, int), np.zeros((0, 0))
        places = np.flatnonzero(~np.isnan(self.features[:, 0]))
        return places, self.features[places]

    def require_same(self, where: str, events: Sequence[Any]) -> None:
        """Refuse events in which an arm has other features than it must have."""
        if not self.same or not events:
            return
        found = self._features(events[0].features.shape[1]).copy()
        for one in events:
            for place, row in zip(one.items, one.features, strict=True):
                if place >= 0 and _differ(found[place], row):
                    raise ValueError(
                        f"{where}: the features of arm {int(place)} must stay the same, got others"
                    )
                if place >= 0:
                    found[place] = row

    def given(self, items: NDArray, features: NDArray) -> None:
        """Remember the features (k, d) of arms (k,) that were chosen elsewhere."""
        if self.same:
            self.features = self._features(features.shape[1])
            self.features[items[items >= 0]] = features[items >= 0]

    def _features(self, dim: int) -> NDArray:
        """Those remembered; none, where they are of a first call that failed."""
        if self.features is None or self.features.shape[1] != dim:
            return np.full((self.fixed or 0, dim), np.nan)
        return self.features

    def _located_at(self, ids: tuple[Id, ...]) -> tuple[NDArray, list[Id]]:
        """(n,) the places of arms, and those that are new, whose places come after the others."""
        if self._located is None or ids != self._ids:
            new = [name for name in ids if name not in self.places]
            places = self.places
            if new:
                places = places | {name: len(places) + place for place, name in enumerate(new)}
            self._ids, self._located = ids, (np.array([places[name] for name in ids], int), new)
        return self._located

    def _known(
        self, where: str, contexts: NDArray, ids: tuple[Id, ...], mask: Any, columns: tuple[str, ...] | None
    ) -> Offered:
        """Return the offer; refuse arms for which there is no place."""
        if not ids:
            raise ValueError(f"{where}: ids must not be empty, got none")
        if self.fixed is not None:
            self._require_places(where, contexts, ids)
        return Offered(contexts, ids, mask_of(where, mask, len(ids)), mask is None, columns)

    def _require_places(self, where: str, contexts: NDArray, ids: tuple[Id, ...]) -> None:
        places, new = self._located_at(ids)
        if len(self.places) + len(new) > (self.fixed or 0):
            raise ValueError(f"{where}: ids must be among the {self.fixed} arms, got {new[0]!r} beside them")
        if self.same and (wrong := _differ(self._features(contexts.shape[1])[places], contexts)).any():
            name = ids[int(np.argmax(wrong))]
            raise ValueError(f"{where}: the features of arm {name!r} must stay as they were, got others")


def _differ(known: NDArray, features: NDArray) -> NDArray:
    """(...) whether features (..., d) are others than those that are known; NaN is unknown."""
    differ: NDArray = np.any((known != features) & ~np.isnan(known), axis=-1)
    return differ


def arms_of(where: str, policy: Policy, arms: int | Sequence[Id] | None) -> Arms:
    """Return the arms of a policy; see `Agent`."""
    by_arm, same = policy.traits.by_arm, policy.traits.sums_by_arm
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
    named = log.arms
    if named is not None and tuple(arms)[: len(named)] != named:
        must = "the agent's arms must be those of the log in their order, `log.arms`"
        raise ValueError(f"{where}: {must}, got {list(arms)[:8]}")
