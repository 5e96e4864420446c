"""Logged interactions of coba: context, actions, action, reward, probability.

A context is None, a number, a word, or a list or dict of them; so is an action, and `actions` is the list of
those on offer. In Parquet and data frames these are values; in text they are written as JSON or as Python
literals, and are parsed as such, never evaluated. Rows are taken one after another: Python's values take many
times the memory of their text.

Rucker, Ash, Langford, Mineiro & Momennejad, coba, https://github.com/VowpalWabbit/coba (LoggedInteraction).
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from superarm.evaluate.logs.features import Join, require_room
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.tables import LogError, Source

Floats = npt.NDArray[np.float64]
Name = tuple[int | str, ...]  # keys and places down to a value; a word is one more step

LONGEST = 100_000  # characters of a cell
SHORT = 4_000  # characters of a cell that is kept parsed
DEEPEST = 4  # lists in lists
MAX_NAMES = 50_000  # features: as many as columns of a table
BLOCK = 2**10  # events whose features are written at once
MAX_KNOWN = 2**18  # lists of actions that are recognised when they come again
NUMBERS_PER_VALUE = 8  # of the log, for each that is kept until all names are known


def coba_log(
    source: Source, *, action: str, reward: str, propensity: str, arms: Sequence[Any] | None, cross: bool
) -> Log:
    """Return the log; the arguments are those of `superarm.evaluate.read_log`.

    `arms` stand for a column `actions` that the table does not have.
    """
    where, room = source.where, source.room.numbers
    given = [propensity] if propensity else []
    offered = ["actions"] if arms is None or "actions" in source.names else []
    columns = source.read(["context", action, reward, *given, *offered], nested=True)
    cells = columns.cells("actions") if offered else repeat(_frozen(list(arms or ())), columns.rows)
    context, offers, chosen = Numbers(where, "context", room), Offers(where, room), array("q")
    rows = zip(columns.cells("context"), cells, columns.cells(action), strict=True)
    for row, (about, actions, taken) in enumerate(rows):
        context.add(row, row, 0, _value(where, "context", row, about))
        on_offer = offers.add(row, actions)
        chosen.append(_place(where, action, row, taken, on_offer))
    rewards = columns.numbers(reward)
    propensities = columns.chances(propensity) if propensity else None
    del columns, rows, cells  # their memory is for the log now
    contexts, mask = _joined(context, offers, Join(cross, bare=False), room)
    return event_log(
        contexts,
        np.array(chosen),
        rewards,
        mask=None if mask.all() else mask,
        propensities=propensities,
    )


def _joined(context: Numbers, offers: Offers, join: Join, room: int) -> tuple[Floats, Any]:
    """(n, K, d) features of the actions on offer, 0 where there is none, and (n, K) where there is one."""
    lists, sizes = np.array(offers.lists), np.array(offers.sizes)
    dim, size, num_arms = len(context.names), len(offers.numbers.names), int(sizes.max())
    width = join.width(dim, size)
    require_room(context.where, room, lists.size, num_arms, width)
    require_room(context.where, room // 2, sizes.size, num_arms, size)
    about, items = context.dense(lists.size, 1)[:, 0], offers.numbers.dense(sizes.size, num_arms)
    mask = np.arange(num_arms) < sizes[lists][:, None]
    contexts = np.zeros((lists.size, num_arms, width))
    for start in range(0, lists.size, BLOCK):
        part = slice(start, start + BLOCK)
        join.fill(contexts[part], about[part].T, dim, items[lists[part]])
        contexts[part] *= mask[part, :, None]
    return contexts, mask


class Numbers:
    """Named numbers of rows, kept as they come until all names are known."""

    def __init__(self, where: str, column: str, room: int) -> None:
        """Begin; `where` and `column` stand in messages."""
        self.where, self.column, self.most = where, column, room // NUMBERS_PER_VALUE
        self.names: dict[Name, int] = {}
        self._rows, self._arms, self._places, self._values = array("i"), array("i"), array("i"), array("d")

    def add(self, row: int, event: int, arm: int, value: Any) -> None:
        """Take in a frozen value; `row` is that of the table."""
        for name, number in _flat(self.where, self.column, row, value):
            self._rows.append(event)
            self._arms.append(arm)
            self._places.append(self.names.setdefault(name, len(self.names)))
            self._values.append(number)
        if len(self.names) > MAX_NAMES or len(self._values) > self.most:
            must = f"{self.column} must have at most {MAX_NAMES} features, and {self.most} numbers in all"
            raise LogError(f"{self.where}: {must}, got more by row {row}; read fewer with rows=")

    def dense(self, rows: int, arms: int) -> Floats:
        """(n, K, p) one column per name, in order."""
        names = sorted(self.names, key=lambda name: [(isinstance(step, str), step) for step in name])
        order = np.empty(len(names), int)
        order[[self.names[name] for name in names]] = np.arange(len(names))
        table = np.zeros((rows, arms, len(names)))
        if names:
            places = order[np.array(self._places)]
            table[np.array(self._rows), np.array(self._arms), places] = np.array(self._values)
        return table


class Offers:
    """Lists of actions on offer: those that come again are kept once.

    Attributes:
        numbers: of the actions, by list and place.
        sizes: of the lists; lists: which of them each row has.
    """

    def __init__(self, where: str, room: int) -> None:
        """Begin."""
        self.where, self.numbers = where, Numbers(where, "actions", room)
        self.sizes, self.lists = array("q"), array("q")
        self._known: dict[bytes, int] = {}
        self._last: tuple[Any, int] = None, -1

    def add(self, row: int, cell: Any) -> tuple[Any, ...]:
        """Take in the actions of a row, and return them."""
        actions = _value(self.where, "actions", row, cell)
        if actions is not self._last[0]:
            self._last = actions, self._number(row, cell, actions)
        self.lists.append(self._last[1])
        offered: tuple[Any, ...] = actions
        return offered

    def _number(self, row: int, cell: Any, actions: Any) -> int:
        """Which list it is."""
        digest = hashlib.blake2b(repr(actions).encode(), digest_size=16).digest()
        number = self._known.get(digest)
        if number is not None:
            return number
        if not isinstance(actions, tuple) or not actions or len(set(actions)) < len(actions):
            must = "actions must be a list of what was on offer, each once"
            raise LogError(f"{self.where}: {must}, got {str(cell)[:80]!r} in row {row}")
        number = len(self.sizes)
        if number < MAX_KNOWN:
            self._known[digest] = number
        self.sizes.append(len(actions))
        for arm, action in enumerate(actions):
            self.numbers.add(row, number, arm, action)
        return number


def _place(where: str, name: str, row: int, cell: Any, offered: tuple[Any, ...]) -> int:
    """Which of the actions on offer was taken. Text may be the action itself, or say it."""
    for read in (_plain, _value):
        candidate = read(where, name, row, cell)
        if candidate in offered:
            return offered.index(candidate)
    raise LogError(f"{where}: {name} must be one of actions, got {str(cell)[:80]!r} in row {row}")


def _flat(where: str, column: str, row: int, value: Any, name: Name = ()) -> Iterator[tuple[Name, float]]:
    """The numbers in a frozen value by name; a word is 1 at its own name."""
    if value is None:
        return
    if isinstance(value, str):
        yield (*name, value), 1.0
    elif isinstance(value, int | float) and math.isfinite(number := _float(value)):
        yield name, number
    elif isinstance(value, _Pairs | tuple) and len(name) < DEEPEST:
        for step, inner in value if isinstance(value, _Pairs) else enumerate(value):
            yield from _flat(where, column, row, inner, (*name, step))
    else:
        raise _malformed(where, column, row, value)


def _malformed(where: str, column: str, row: int, value: Any) -> LogError:
    must = "made of finite numbers, words, lists and dicts"
    return LogError(f"{where}: {column} must be {must}, got {_text(value)[:80]!r} in row {row}")


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # of a number with thousands of digits
        return type(value).__name__


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


class _List(tuple[Any, ...]):
    """A list that can be compared and hashed, and is as a tuple."""

    __slots__ = ()


class _Pairs(tuple[tuple[str, Any], ...]):
    """A dict that can be compared and hashed, without what is None: Arrow fills in keys that others have."""

    __slots__ = ()


def _value(where: str, column: str, row: int, cell: Any) -> Any:
    """A cell, frozen; text is parsed."""
    if not isinstance(cell, str):
        return _plain(where, column, row, cell)
    if len(cell) > LONGEST:
        must = f"at most {LONGEST} characters"
        raise LogError(f"{where}: {column} must have {must}, got {len(cell)} in row {row}")
    try:
        found = _kept(cell) if len(cell) <= SHORT else _read(cell)
    except RecursionError:
        raise _malformed(where, column, row, cell) from None
    if isinstance(found, str) and found == cell and cell[0] in "[({":
        must = "JSON, or a Python literal"
        raise LogError(f"{where}: {column} must be {must}, got {cell[:80]!r} in row {row}")
    return found


def _plain(where: str, column: str, row: int, cell: Any) -> Any:
    """A cell, frozen; text is a word."""
    try:
        return _frozen(cell)
    except RecursionError:
        raise _malformed(where, column, row, cell) from None


def _frozen(value: Any, depth: int = 0) -> Any:
    if isinstance(value, _Pairs | _List) or not isinstance(value, dict | list | tuple):
        return value
    if depth > DEEPEST + 1:  # no list of actions goes deeper
        raise RecursionError
    if isinstance(value, dict):
        kept = ((str(key), _frozen(one, depth + 1)) for key, one in value.items() if one is not None)
        return _Pairs(sorted(kept, key=lambda pair: pair[0]))
    return _List(_frozen(one, depth + 1) for one in value)


def _read(text: str) -> Any:
    """What a text says as JSON or as a Python literal, frozen; the text itself where it is neither."""
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None if text in ("", "None") else text
    return _frozen(found)


_kept = lru_cache(maxsize=2**8)(_read)  # the actions of a log are few lists many times


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)
