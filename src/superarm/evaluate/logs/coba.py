"""Logged interactions of coba: context, actions, action, reward, probability.

A context is None, a number, a word, or a list or dict of them; so is an action, and `actions` is the list of
those on offer. In Parquet and data frames these are values; in text they are written as JSON or as Python
literals, and are parsed as such, never evaluated.

Rucker, Ash, Langford, Mineiro & Momennejad, coba, https://github.com/VowpalWabbit/coba (LoggedInteraction).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.features import joined, require_room
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.tables import LogError, Source

Floats = npt.NDArray[np.float64]
Name = tuple[int | str, ...]  # keys and places down to a value; a word is one more step

LONGEST = 100_000  # characters of a cell
DEEPEST = 4  # lists in lists


def coba_log(
    source: Source, *, action: str, reward: str, propensity: str, arms: Sequence[Any] | None, cross: bool
) -> Log:
    """Return the log; the arguments are those of `superarm.evaluate.read_log`.

    `arms` stand for a column `actions` that the table does not have.
    """
    where = source.where
    offered = "actions" if arms is None or "actions" in source.names else ""
    told = [propensity] if propensity else []
    columns = source.read(["context", action, reward, *told, *([offered] if offered else [])])
    parsed = [_parsed(where, "context", row, cell) for row, cell in enumerate(columns.cells("context"))]
    if offered:
        lists = [_actions(where, row, cell) for row, cell in enumerate(columns.cells(offered))]
    else:
        lists = [tuple(_frozen(arm) for arm in arms or ())] * columns.rows
    chosen = [_place(where, action, row, cell, lists[row]) for row, cell in enumerate(columns.cells(action))]
    context = _matrix(where, [_flat(where, "context", row, _frozen(cell)) for row, cell in enumerate(parsed)])
    num_arms = max(map(len, lists))
    items, mask = _described(where, lists, num_arms)
    return event_log(
        joined(where, context, items, None, cross=cross, bare=False) * mask[:, :, None],
        np.array(chosen),
        columns.numbers(reward),
        mask=None if mask.all() else mask,
        propensities=columns.chances(propensity) if propensity else None,
    )


def _actions(where: str, row: int, cell: Any) -> tuple[Any, ...]:
    found = _frozen(_parsed(where, "actions", row, cell))
    if not isinstance(found, tuple) or not found or len(set(found)) < len(found):
        must = "actions must be a list of what was on offer, each once"
        raise LogError(f"{where}: {must}, got {str(cell)[:80]!r} in row {row}")
    return found


def _place(where: str, name: str, row: int, cell: Any, offered: tuple[Any, ...]) -> int:
    """Which of the actions on offer was taken. Text may be the action itself, or say it."""
    for candidate in (_frozen(cell), _frozen(_parsed(where, name, row, cell))):
        if candidate in offered:
            return offered.index(candidate)
    raise LogError(f"{where}: {name} must be one of actions, got {str(cell)[:80]!r} in row {row}")


def _described(where: str, lists: list[tuple[Any, ...]], num_arms: int) -> tuple[Floats, Any]:
    """(n, K, q) features of the actions on offer, 0 where there is none, and (n, K) where there is one."""
    flat: dict[Any, dict[Name, float]] = {}
    for row, offered in enumerate(lists):
        for one in offered:
            if one not in flat:
                flat[one] = _flat(where, "actions", row, one)
    table = _matrix(where, flat.values())
    places = {one: place for place, one in enumerate(flat)}
    require_room(where, len(lists), num_arms, table.shape[1])
    index = np.full((len(lists), num_arms), -1)
    for row, offered in enumerate(lists):
        index[row, : len(offered)] = [places[one] for one in offered]
    return np.where((index >= 0)[:, :, None], table[index], 0.0), index >= 0


def _matrix(where: str, rows: Iterable[dict[Name, float]]) -> Floats:
    """(n, p) one column per name, in order."""
    kept = list(rows)
    names = sorted(
        {name for row in kept for name in row}, key=lambda name: [(isinstance(s, str), s) for s in name]
    )
    places = {name: place for place, name in enumerate(names)}
    require_room(where, len(kept), 1, len(names))
    matrix = np.zeros((len(kept), len(names)))
    for place, row in enumerate(kept):
        for name, value in row.items():
            matrix[place, places[name]] = value
    return matrix


def _flat(where: str, column: str, row: int, value: Any, name: Name = ()) -> dict[Name, float]:
    """The numbers in a frozen value by name; a word is 1 at its own name."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {(*name, value): 1.0}
    if isinstance(value, int | float) and np.isfinite(value):
        return {name: float(value)}
    if isinstance(value, _Pairs | tuple) and len(name) < DEEPEST:
        pairs = value if isinstance(value, _Pairs) else enumerate(value)
        return {
            key: number
            for step, inner in pairs
            for key, number in _flat(where, column, row, inner, (*name, step)).items()
        }
    must = "made of finite numbers, words, lists and dicts"
    raise LogError(f"{where}: {column} must be {must}, got {str(value)[:80]!r} in row {row}")


class _Pairs(tuple[tuple[str, Any], ...]):
    """A dict that can be compared and hashed, without what is None: Arrow fills in keys that others have."""

    __slots__ = ()


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        kept = ((str(key), _frozen(one)) for key, one in value.items() if one is not None)
        return _Pairs(sorted(kept, key=lambda pair: pair[0]))
    return tuple(_frozen(one) for one in value) if isinstance(value, list | tuple) else value


def _parsed(where: str, column: str, row: int, cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    if len(cell) > LONGEST:
        must = f"at most {LONGEST} characters"
        raise LogError(f"{where}: {column} must have {must}, got {len(cell)} in row {row}")
    found = _literal(cell)
    if isinstance(found, str) and found == cell and cell[0] in "[({":
        must = "JSON, or a Python literal"
        raise LogError(f"{where}: {column} must be {must}, got {cell[:80]!r} in row {row}")
    return found


@lru_cache(maxsize=2**12)  # the actions of a log are few lists many times
def _literal(text: str) -> Any:
    """What a text says as JSON or as a Python literal; the text itself, a word, where it is neither."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None if text in ("", "None") else text


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)
