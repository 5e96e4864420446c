"""Tables with one row per decision: the context, the id of what was chosen, and what it earned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.features import joined, one_hot, ordered
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.tables import Columns, LogError, Source, opened

Floats = npt.NDArray[np.float64]


def wide_log(
    source: Source,
    *,
    action: str,
    reward: str,
    propensity: str,
    features: Sequence[str],
    categories: Sequence[str],
    per_arm: str,
    arms: Sequence[Any] | None,
    items: Any,
    cross: bool,
) -> Log:
    """Return the log; the arguments are those of `superarm.evaluate.read_log`."""
    where = source.where
    numeric, worded = source.matching(features), source.matching(categories)
    own = source.matching([per_arm]) if per_arm else []
    told = [propensity] if propensity else []
    columns = source.read([action, reward, *told, *numeric, *worded, *own])
    chosen = columns.words(action)
    known = _arms(where, chosen, arms, [name.removeprefix(per_arm[:-1]) for name in own])
    places = {word: place for place, word in enumerate(known)}
    lost = next((row for row, word in enumerate(chosen) if word not in places), None)
    if lost is not None:
        raise LogError(
            f"{where}: {action} must be one of the {len(known)} arms, got {chosen[lost]!r} in row {lost}"
        )
    context = np.hstack(
        [
            np.zeros((columns.rows, 0)),
            *(columns.numbers(name)[:, None] for name in numeric),
            *(one_hot(columns.words(name)) for name in worded),
        ]
    )
    described = np.eye(len(known)) if items is None else _items(where, items, action, known)
    return event_log(
        joined(
            where,
            context,
            described[None],
            _per_arm(columns, per_arm, known) if own else None,
            cross=cross,
            bare=items is None,
        ),
        np.array([places[word] for word in chosen]),
        columns.numbers(reward),
        propensities=columns.chances(propensity) if propensity else None,
    )


def _arms(where: str, chosen: list[str], arms: Sequence[Any] | None, named: list[str]) -> list[str]:
    """The ids of the arms in order: as told, as columns are named, or all that were ever chosen."""
    known = [str(arm) for arm in arms] if arms is not None else ordered(named or chosen)
    if len(set(known)) < len(known) or not known:
        raise LogError(f"{where}: arms must be there, each once, got {known[:8]}")
    return known


def _per_arm(columns: Columns, per_arm: str, arms: list[str]) -> Floats:
    """(n, K, 1) the column of each arm."""
    names = [per_arm[:-1] + arm for arm in arms]
    missing = [name for name in names if name not in columns.arrays]
    if missing:
        raise LogError(
            f"{columns.where}: log must have a column {per_arm} for every arm; missing {missing[0]}"
        )
    return np.stack([columns.numbers(name) for name in names], axis=1)[:, :, None]


def _items(where: str, items: Any, action: str, arms: list[str]) -> Floats:
    """(K, q) features of the arms: numbers as they are, other columns one-hot."""
    source = opened(where, "items", items)
    # A column without a name is the index that pandas writes.
    names = [name for name in source.names if name and name != action and not name.startswith("Unnamed")]
    columns = source.read([action, *names])
    ids = columns.words(action)
    rows = {word: row for row, word in enumerate(ids)}
    if len(rows) < len(ids):
        twice = next(word for word in ids if ids.count(word) > 1)
        raise LogError(f"{where}: items must have an arm once, got {action} {twice} again")
    missing = [arm for arm in arms if arm not in rows]
    if missing:
        raise LogError(f"{where}: items must have a row for every arm; missing {action} {missing[0]}")
    parts = [_item_column(columns, name) for name in names]
    if not parts:
        raise LogError(f"{where}: items must have columns beside {action}, got none")
    return np.hstack(parts)[[rows[arm] for arm in arms]]


def _item_column(columns: Columns, name: str) -> Floats:
    try:
        return columns.numbers(name)[:, None]
    except LogError:
        return one_hot(columns.words(name))
