"""Open Bandit Dataset: which item was shown to whom, where, and whether it was clicked (bae2026, J.1)."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.datasets.fetching import fetch
from superarm.datasets.files import DataError
from superarm.datasets.rows import Row, number, option, read_named, whole

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FOLDER = "open-bandit-dataset"
EVENTS = "random/all/all.csv"
ITEMS = "random/all/item_context.csv"
USER_COLUMNS = tuple(f"user_feature_{place}" for place in range(4))
ITEM_COLUMNS = tuple(f"item_feature_{place}" for place in range(4))  # the first is a number
EVENT_COLUMNS = ("item_id", "position", "click", "propensity_score")


@dataclass(frozen=True, eq=False)
class OpenBandit:
    """n events with m items that could be shown. Arrays are read-only.

    Attributes:
        items: (n,) the item that was shown, from 0 to m - 1.
        positions: (n,) where it was shown, from 1.
        clicks: (n,) 1 where it was clicked, else 0.
        propensities: (n,) the probability that it was shown, in (0, 1].
        users: (n, 4) category of each user feature, from 0.
        affinities: (n, m) >= 0, the user's affinity for each item.
        item_numbers: (m, 1) features of the items that are numbers.
        item_codes: (m, 3) category of each of their other features, from 0.
    """

    items: Integers
    positions: Integers
    clicks: Integers
    propensities: Floats
    users: Integers
    affinities: Floats
    item_numbers: Floats
    item_codes: Integers


@checks.named
def load_open_bandit(folder: str | Path | None = None) -> OpenBandit:
    """Load the events of campaign "all" that were shown at random.

    Args:
        folder: the full data set as its publisher packs it: a folder that holds random/all/all.csv and
            random/all/item_context.csv, or the same with .gz. It has 1,374,327 such events, and its files are
            taken as they are. None for the public sample of 10,000 events with 38 clicks, which is fetched
            (see `fetch`) and verified; click rates on so few clicks mean little.

    Raises:
        DataError: when a file is missing or malformed; the message names the columns, or the line.

    Saito, Aihara, Matsutani & Narita (2021), Open Bandit Dataset and Pipeline, arXiv:2008.07146. The sample
    comes with Open Bandit Pipeline, under Apache-2.0.
    """
    names = (EVENTS, ITEMS) if folder is None else (_found(folder, EVENTS), _found(folder, ITEMS))
    with _opened(*names) as (events, items):
        return parse_open_bandit(events, items, labels=(str(names[0]), str(names[1])))


def parse_open_bandit(events: Any, items: Any, *, labels: tuple[str, str] = (EVENTS, ITEMS)) -> OpenBandit:
    """Build the data from the lines of all.csv and item_context.csv; `labels` name them in messages."""
    item_numbers, item_codes = _items(labels[1], items)
    num_items = item_codes.shape[0]
    affinity_columns = tuple(f"user-item_affinity_{item}" for item in range(num_items))
    rows = read_named(labels[0], events, (*EVENT_COLUMNS, *USER_COLUMNS, *affinity_columns))
    known: dict[str, float] = {}
    logged, users, affinities = [], [], []
    for row in rows:
        logged.append(_event(labels[0], row, num_items))
        users.append(row[1][4:8])
        affinities.append(_affinities(labels[0], row, affinity_columns, known))
    if not logged:
        raise DataError(f"{labels[0]}: must have rows below the header, got none")
    shown, positions, clicks, propensities = zip(*logged, strict=True)
    return _frozen(
        items=np.array(shown, np.int64),
        positions=np.array(positions, np.int64),
        clicks=np.array(clicks, np.int64),
        propensities=np.array(propensities),
        users=_codes(users),
        affinities=np.stack(affinities),
        item_numbers=item_numbers,
        item_codes=item_codes,
    )


def _frozen(**arrays: Any) -> OpenBandit:
    for array in arrays.values():
        array.setflags(write=False)
    return OpenBandit(**arrays)


def _event(name: str, row: Row, num_items: int) -> tuple[int, int, int, float]:
    line, (item, position, click, propensity, *_) = row
    shown, place = whole(name, line, "item_id", item), whole(name, line, "position", position)
    if shown >= num_items:
        raise DataError(f"{name}, line {line}: item_id must be below {num_items}, the items, got {shown}")
    if place < 1:
        raise DataError(f"{name}, line {line}: position must be >= 1, got {place}")
    chance = number(name, line, "propensity_score", propensity)
    if not 0 < chance <= 1:
        raise DataError(f"{name}, line {line}: propensity_score must be in (0, 1], got {propensity}")
    return shown, place, option(name, line, "click", click, ("0", "1")), chance


def _affinities(name: str, row: Row, columns: tuple[str, ...], known: dict[str, float]) -> Floats:
    """(m,) the affinities of an event. They are few numbers many times: each is parsed once."""
    line, fields = row
    for column, field in zip(columns, fields[8:], strict=True):
        if field not in known:
            value = number(name, line, column, field)
            if value < 0:
                raise DataError(f"{name}, line {line}: {column} must be >= 0, got {field}")
            known[field] = value
    return np.array([known[field] for field in fields[8:]])


def _items(name: str, lines: Any) -> tuple[Floats, Integers]:
    """(m, 1) numbers and (m, 3) categories of the items, by their item_id."""
    found: dict[int, tuple[float, list[str]]] = {}
    for line, (item, first, *others) in read_named(name, lines, ("item_id", *ITEM_COLUMNS)):
        identity = whole(name, line, "item_id", item)
        if identity in found:
            raise DataError(f"{name}, line {line}: item_id must be there once, got {identity} again")
        found[identity] = number(name, line, ITEM_COLUMNS[0], first), others
    if sorted(found) != list(range(len(found))) or not found:
        raise DataError(f"{name}: item_id must run from 0 without gaps, got {len(found)} other numbers")
    ordered = [found[item] for item in range(len(found))]
    return np.array([[first] for first, _ in ordered]), _codes([others for _, others in ordered])


def _codes(rows: list[list[str]]) -> Integers:
    """Each column's words as numbers from 0, in the order of the words."""
    columns = [np.unique(column, return_inverse=True)[1] for column in np.array(rows).T]
    return np.stack(columns, axis=1).astype(np.int64)


def _found(folder: str | Path, name: str) -> Path:
    plain = Path(folder, name)
    candidates = (plain, plain.with_name(plain.name + ".gz"))
    path = next((one for one in candidates if one.is_file()), None)
    if path is None:
        raise DataError(f"load_open_bandit: folder must hold {name} or {name}.gz, got {folder}")
    return path


@contextlib.contextmanager
def _opened(*names: str | Path) -> Iterator[list[Any]]:
    """The lines of files: known ones by name, the user's by path."""
    with contextlib.ExitStack() as stack:
        try:
            yield [_lines(stack, name) for name in names]
        except (OSError, EOFError, zlib.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise DataError(f"load_open_bandit: {names[0]} or {names[1]} cannot be read: {reason}") from error


def _lines(stack: contextlib.ExitStack, name: str | Path) -> Any:
    if isinstance(name, str):
        return io.StringIO(fetch(f"{FOLDER}/{name}").decode(), newline="")
    if name.suffix == ".gz":
        return stack.enter_context(gzip.open(name, "rt", encoding="utf-8", newline=""))
    return stack.enter_context(name.open(encoding="utf-8", newline=""))
