"""The log of an agent, as offline evaluation reads it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.arms import Offered
from superarm.agent.store.offers import offer_at, offer_of
from superarm.agent.store.state_file import STATE, read_state
from superarm.errors import StoreError
from superarm.evaluate.logs.features import require_room
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.room import Room
from superarm.evaluate.logs.tables import LogError
from superarm.features.tables import Id
from superarm.storage.entries import (
    REPAIR,
    Entry,
    Place,
    entries,
    head_of,
    reader,
)
from superarm.storage.lock import NAME as LOCK
from superarm.storage.lock import Mark, read_mark
from superarm.storage.log_file import LOG

NDArray = np.ndarray[Any, Any]
KEPT = {"items", "chosen", "propensities", "mask", "offer"}  # of a decision's arrays


@dataclass
class Made:
    """A decision whose chances are known: its entry, and what came of its slots (k,)."""

    entry: Entry
    rewards: NDArray
    observed: NDArray

    @property
    def items(self) -> NDArray:
        """(k,) the places that were chosen, -1 in slots not used."""
        return self.entry.arrays["items"]

    @property
    def offer(self) -> int:
        """The entry that had the same offer first."""
        return self.entry.seq if self.entry.offer is None else self.entry.offer


@checks.named
def agent_log(folder: str | Path, *, rows: int | None = None) -> Log:
    """Return the decisions of an agent's store that feedback came for, while the agent may be at work.

    Decisions whose chances are not known are left out, and so is history that was given to `Agent.fit`. Where
    the policy knows arms by their index, every arm stands in its place; otherwise arms stand as they were
    offered. The propensities are those of positions if the agent was told `ranking=True`. To teach another
    agent that knows arms by their index, begin it with `arms=log.arms`.

    Args:
        folder: of `Agent(..., store=folder)`.
        rows: take so many decisions only, the oldest.

    >>> import numpy as np, superarm, tempfile
    >>> folder = tempfile.mkdtemp() + "/agent"
    >>> with superarm.Agent(superarm.epsilon_greedy(epsilon=0.2), store=folder) as agent:
    ...     for reward in (0.0, 1.0, 0.0):
    ...         told = agent.update(agent.select(np.eye(3)), reward)
    >>> agent_log(folder).rewards.tolist()
    [0.0, 1.0, 0.0]
    """
    where = "agent_log"
    if rows is not None:
        checks.count(where, "rows", rows)
    path = Path(folder) / LOG
    mark = read_mark(Path(folder))  # before the log: what is acknowledged then must be there
    with closing(reader(Path(folder))) as base:
        journal = _Journal(base, path, mark)
        made = [one for one in journal.made.values() if one.observed.any()][:rows]
        if not made:
            raise LogError(f"{where}: log must have decisions with chances and feedback, got none")
        # After the log: whatever the state does not know yet, the log that was read does.
        _, content = read_state(path.parent / STATE)
        if content.get("agent") != journal.store:
            raise StoreError(f"{path.name}: is the log of another store than {STATE}")
        most, dim = max(journal.sizes[one.offer] for one in made)
        fixed, places = content["num_arms"], {name: at for at, name in enumerate(content["places"])}
        shape = (len(made), fixed or most, dim)
        require_room(where, _room(path), *shape)
        offers = journal.offers(made, None if fixed is None else places, shape)
    log = _log(made, *offers, ranking=content["settings"]["ranking"])
    return replace(log, arms=None if fixed is None else tuple(places))


def _room(path: Path) -> int:
    """How many numbers the log of a file may have, what is not in it yet included."""
    files = [one for one in (path, path.with_name(f"{path.name}-wal")) if one.exists()]
    return Room.of_file(sum(one.stat().st_size for one in files)).numbers


def _log(made: Sequence[Made], contexts: NDArray, mask: NDArray, *, ranking: bool) -> Log:
    actions, rewards, observed = (
        np.stack([getattr(one, name) for one in made]) for name in ("items", "rewards", "observed")
    )
    propensities = np.ones(actions.shape)
    for row, one in enumerate(made):
        told = one.entry.arrays["propensities"]
        propensities[row, : len(told)] = told
    if actions.shape[1] == 1:
        return event_log(contexts, actions[:, 0], rewards[:, 0], mask=mask, propensities=propensities[:, 0])
    parts: dict[str, Any] = {"mask": mask, "propensities": propensities, "observed": observed}
    return event_log(contexts, actions, rewards, ranking=ranking, **parts)


@dataclass
class _Journal:
    """What a journal tells.

    Attributes:
        mark: how far it must have come; None where nothing says so.
        store: the id of the store.
        made: number -> decision, of those with chances.
        first: offer -> the first decision that it was made in, in the order of decisions.
        sizes: offer -> its arms and their features.
    """

    base: sqlite3.Connection
    path: Path
    mark: Mark | None
    store: str = ""
    made: dict[int, Made] = field(default_factory=dict)
    first: dict[int, Entry] = field(default_factory=dict)
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base.execute("BEGIN")  # one view of all: its agent may forget what is old meanwhile
        store, last = head_of(self.base, self.path)
        self.store = store.hex()
        if self.mark is not None and self.mark.store != store:
            raise StoreError(f"{LOG}: is the log of another store than {LOCK}")
        for entry in entries(self.base, self.path, *last):
            last = Place(entry.seq, entry.chain)
            if self.mark is not None and last.seq == self.mark.seq and last.chain != self.mark.chain:
                raise StoreError(f"{LOG}: entry {last.seq} is not the one that was acknowledged")
            if entry.kind == "decision":
                self._decided(entry)
            elif entry.kind == "feedback" and entry.decision in self.made:
                one, new = self.made[entry.decision], entry.arrays["observed"]
                one.rewards = np.where(new, entry.arrays["feedback"], one.rewards)
                one.observed = one.observed | new
        if self.mark is not None and self.mark.seq > last.seq:
            lost = f"{self.mark.seq - last.seq} acknowledged entries after entry {last.seq} are missing"
            raise StoreError(f"{LOG}: {lost}; {REPAIR}")

    def _decided(self, entry: Entry) -> None:
        # Copies: an array that lies in a row's content would keep all of it, contexts included.
        arrays = {name: entry.arrays[name].copy() for name in KEPT & entry.arrays.keys()}
        one = Made(replace(entry, arrays=arrays, text=""), *_nothing(len(entry.arrays["items"])))
        if one.offer not in self.first:
            self.first[one.offer] = one.entry
            self.sizes[one.offer] = self._size(entry)
        if "propensities" in arrays:
            self.made[entry.decision] = one

    def _size(self, entry: Entry) -> tuple[int, int]:
        arrays = entry.arrays if entry.offer is None else offer_at(self.base, self.path, entry.offer)[0]
        return arrays["contexts"].shape

    def offered(self, entry: Entry) -> Offered:
        """Return what was on offer in a decision."""
        text, arrays = entry.text, entry.arrays
        if entry.offer is None:  # what was kept of the entry has no contexts any more
            found, text = offer_at(self.base, self.path, entry.seq)
            arrays = {**arrays, "contexts": found["contexts"]}
        return offer_of(self.base, self.path, replace(entry, arrays=arrays, text=text))

    def offers(
        self, made: Sequence[Made], places: dict[Id, int] | None, shape: tuple[int, int, int]
    ) -> tuple[NDArray, NDArray]:
        """(n, K, d) what was on offer, and (n, K) where; an offer that comes again is read once.

        Arms stand in their places, and those that have none yet get one as an agent gives it: after the
        others. With places None they stand as they were offered.
        """
        contexts, mask = np.zeros(shape), np.zeros(shape[:2], bool)
        rows: dict[int, list[int]] = {}
        for row, one in enumerate(made):
            rows.setdefault(one.offer, []).append(row)
        for name, entry in self.first.items():
            if places is None and name not in rows:
                continue
            offered = self.offered(entry)
            at = np.arange(len(offered.ids))
            if places is not None:
                at = np.array([places.setdefault(one, len(places)) for one in offered.ids])
            for row in rows.get(name, ()):
                _require_places(self.path, made[row].entry, at)
                contexts[row, at], mask[row, at] = offered.contexts, _available(made[row].entry, len(at))
        return contexts, mask


def _available(entry: Entry, count: int) -> NDArray:
    """(n,) which arms of an offer were available in a decision."""
    return entry.arrays.get("mask", np.ones(count, bool))


def _nothing(slots: int) -> tuple[NDArray, NDArray]:
    """(k,) rewards and (k,) what was observed, before feedback came."""
    return np.zeros(slots), np.zeros(slots, bool)


def _require_places(path: Path, entry: Entry, at: NDArray) -> None:
    items = entry.arrays["items"]
    if not np.array_equal(at[entry.arrays["chosen"]], items[items >= 0]):
        raise StoreError(f"{path.name}: is damaged: decision {entry.decision} chose arms of other places")
