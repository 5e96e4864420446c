"""Tables with one row per arm on offer; rows with the same decision id are one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.features import count_features, feature_columns, require_room
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.tables import Columns, LogError, Source, shown

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def long_log(
    source: Source,
    *,
    decision: str,
    chosen: str,
    position: str,
    reward: str,
    propensity: str,
    features: Sequence[str],
    categories: Sequence[str],
) -> Log:
    """Return the log; the arguments are those of `superarm.evaluate.read_log`."""
    where, room = source.where, source.room.numbers
    numeric, worded = source.matching(features), source.matching(categories)
    told = [propensity] if propensity else []
    columns = source.read([decision, position or chosen, reward, *told, *numeric, *worded])
    ids = columns.words(decision)
    owner = ids.codes  # (rows,) the event, in the order of first appearance
    arm = _running(owner)
    events, num_arms = len(ids), int(arm.max()) + 1
    width = count_features(columns, numeric, worded)
    if not width:
        names = ", ".join([*features, *categories])
        raise LogError(f"{where}: log must have feature columns {names}, got none")
    require_room(where, room, events, num_arms, width)
    contexts, mask = np.zeros((events, num_arms, width)), np.zeros((events, num_arms), bool)
    mask[owner, arm] = True
    for place, column in enumerate(feature_columns(columns, numeric, worded)):
        contexts[owner, arm, place] = column
    rows, slot = _chosen(columns, chosen, position, owner)
    require_room(where, room, events, int(slot.max(initial=0)) + 1, 1)
    actions = _filled(owner[rows], slot, arm[rows], -1, events)
    empty = np.flatnonzero((actions < 0).all(axis=1))
    if empty.size:
        name = shown(ids.of_row(int(np.argmax(owner == empty[0]))))
        raise LogError(f"{where}: every {decision} must have a row that was chosen, got none for {name}")
    rewards = _filled(owner[rows], slot, columns.numbers(reward, rows), 0.0, events)
    chances = _filled(owner[rows], slot, columns.chances(propensity, rows), 1.0, events) if told else None
    single = actions.shape[1] == 1
    return event_log(
        contexts,
        actions[:, 0] if single else actions,
        rewards[:, 0] if single else rewards,
        mask=None if mask.all() else mask,
        propensities=chances[:, 0] if single and chances is not None else chances,
        ranking=bool(position),
    )


def _chosen(columns: Columns, chosen: str, position: str, owner: Integers) -> tuple[Integers, Integers]:
    """The rows that were chosen, and the slot of each: its position, or its turn among those of its event."""
    name = position or chosen
    told = columns.numbers(name, missing=0.0)
    bad = np.flatnonzero((told != np.floor(told)) | (told < 0) | (told > (1e6 if position else 1)))
    if bad.size:
        must = "a position from 1, 0 or empty where not chosen" if position else "1 where chosen, else 0"
        raise LogError(f"{columns.where}: {name} must be {must}, got {told[bad[0]]:g} in row {bad[0]}")
    rows = np.flatnonzero(told)
    if not position:
        return rows, _running(owner[rows])
    slot = told[rows].astype(np.int64) - 1
    _, first = np.unique(np.stack([owner[rows], slot]), axis=1, return_index=True)
    if first.size < rows.size:
        row = rows[np.setdiff1d(np.arange(rows.size), first)[0]]
        must = f"{name} must be there once in a decision"
        raise LogError(f"{columns.where}: {must}, got {told[row]:g} again in row {row}")
    return rows, slot


def _running(owner: Integers) -> Integers:
    """(rows,) how many rows of the same owner came before."""
    order = np.argsort(owner, kind="stable")
    sorted_owner = owner[order]
    starts = np.flatnonzero(np.r_[True, sorted_owner[1:] != sorted_owner[:-1]])
    before = np.arange(owner.size) - np.repeat(starts, np.diff(np.r_[starts, owner.size]))
    places = np.empty(owner.size, np.int64)
    places[order] = before
    return places


def _filled(owner: Integers, slot: Integers, values: Any, empty: float, events: int) -> Any:
    """(n, k) the values in their slots."""
    table = np.full((events, int(slot.max(initial=0)) + 1), empty, values.dtype)
    table[owner, slot] = values
    return table
