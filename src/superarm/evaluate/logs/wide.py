"""Tables with one row per decision: the context, the id of what was chosen, and what it earned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.features import (
    Join,
    count_features,
    feature_columns,
    one_hot,
    ordered,
    require_room,
)
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.tables import Columns, LogError, Source, opened, shown

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
    given = [propensity] if propensity else []
    columns = source.read([action, reward, *given, *numeric, *worded, *own])
    known, chosen = _choices(source, columns, action, arms, [name.removeprefix(per_arm[:-1]) for name in own])
    described = None if items is None else _items(source, items, action, known)
    join, size = Join(cross, bare=items is None), len(known) if described is None else described.shape[1]
    dim = count_features(columns, numeric, worded)
    width = join.width(dim, size) + bool(own)
    require_room(where, source.room.numbers, columns.rows, len(known), width)
    contexts = np.zeros((columns.rows, len(known), width))
    described = np.eye(len(known)) if described is None else described
    join.fill(contexts, feature_columns(columns, numeric, worded), dim, described[None])
    if own:
        _fill_per_arm(contexts, columns, per_arm, known)
    return event_log(
        contexts,
        chosen,
        columns.numbers(reward),
        propensities=columns.chances(propensity) if propensity else None,
    )


def _choices(
    source: Source, columns: Columns, action: str, arms: Sequence[Any] | None, named: list[str]
) -> tuple[list[str], Any]:
    """The ids of the arms in order, as given, as columns are named, or all that were ever chosen; and
    (n,) which of them was chosen.
    """
    words = columns.words(action)
    if arms is None and not named:  # before they are Python's words, which take more room
        require_room(source.where, source.room.numbers, columns.rows, len(words), 1)
    known = [str(arm) for arm in arms] if arms is not None else ordered(named or list(words))
    if len(set(known)) < len(known) or not known:
        raise LogError(f"{source.where}: arms must be there, each once, got {shown(known[:8])}")
    places = {word: place for place, word in enumerate(known)}
    chosen = np.array([places.get(word, -1) for word in words])[words.codes]
    if chosen.min() < 0:
        row = int(np.argmin(chosen >= 0))
        must = f"{action} must be one of the {len(known)} arms"
        raise LogError(f"{source.where}: {must}, got {shown(words.of_row(row))} in row {row}")
    return known, chosen


def _fill_per_arm(contexts: Floats, columns: Columns, per_arm: str, arms: list[str]) -> None:
    """Write the column of each arm into the last feature of (n, K, d)."""
    names = [per_arm[:-1] + arm for arm in arms]
    missing = [name for name in names if name not in columns.arrays]
    if missing:
        raise LogError(
            f"{columns.where}: log must have a column {per_arm} for every arm; missing {missing[0]}"
        )
    for arm, name in enumerate(names):
        contexts[:, arm, -1] = columns.numbers(name)


def _items(log: Source, items: Any, action: str, arms: list[str]) -> Floats:
    """(K, q) features of the arms: numbers as they are, other columns one-hot."""
    where = log.where
    source = opened(where, "items", items)
    # A column without a name is the index that pandas writes.
    names = [name for name in source.names if name and name != action and not name.startswith("Unnamed")]
    columns = source.read([action, *names])
    ids = columns.words(action)
    if len(ids) < columns.rows:
        before = np.append(-1, np.maximum.accumulate(ids.codes)[:-1])
        again = ids.of_row(int(np.argmax(ids.codes <= before)))
        raise LogError(f"{where}: items must have an arm once, got {action} {again} again")
    rows = {word: row for row, word in enumerate(ids)}
    missing = [arm for arm in arms if arm not in rows]
    if missing:
        raise LogError(f"{where}: items must have a row for every arm; missing {action} {missing[0]}")
    if not names:
        raise LogError(f"{where}: items must have columns beside {action}, got none")
    places, parts, width = np.array([rows[arm] for arm in arms]), [], 0
    for name in names:
        for part in _item_column(columns, name):
            width += 1
            require_room(where, log.room.numbers, len(arms), 1, width)
            parts.append(part[places])
    return np.stack(parts, axis=1)


def _item_column(columns: Columns, name: str) -> Iterator[Floats]:
    try:
        yield columns.numbers(name)
    except LogError:
        yield from one_hot(columns.words(name))
