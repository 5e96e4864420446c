"""Tables from files and data frames, read strictly: named columns, bounded size, errors that name the row.

Rows count from 0, below the header. Nothing is guessed: a column is numbers, ids or cells as its reader asks,
and what does not fit is refused. Each word is kept once, and rows refer to it: a word that comes in every row
takes no more memory than a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.evaluate.logs.room import Room
from superarm.features.tables import is_table

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_WORD = 1000  # bytes of an id: messages and features are named by it
MAX_EXACT = 2**53  # above it floats are not all whole numbers any more
ENDINGS = (".parquet", ".csv", ".csv.gz")
_SLICE = 2**16  # values that are Python's at once


class LogError(ValueError):
    """A log cannot be read; the message says what is wrong with it, and where."""


@dataclass(frozen=True)
class Words:
    """Ids of rows.

    Attributes:
        codes: (n,) which of the values each row has.
        values: an array of Arrow, each once, in the order of their first rows.
    """

    codes: Integers
    values: Any

    def __len__(self) -> int:
        """How many different ones there are."""
        return len(self.values)

    def __iter__(self) -> Iterator[str]:
        """The different ones, as text."""
        for start in range(0, len(self.values), _SLICE):
            yield from map(str, self.values.slice(start, _SLICE).to_pylist())

    def of_row(self, row: int) -> str:
        """The id of a row, as text."""
        return str(self.values[int(self.codes[row])].as_py())


@dataclass(frozen=True)
class Columns:
    """Some columns of a table; `where` and `what` stand in messages."""

    where: str
    what: str
    arrays: dict[str, Any]  # name -> pyarrow.ChunkedArray
    rows: int

    def numbers(self, name: str, at: Any = None, missing: float | None = None) -> Floats:
        """(n,) finite numbers, of the rows `at` only; what is empty or null is `missing`, where given."""
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        column = self.arrays[name]
        parse = _words_as_numbers if _is_wordy(column.type) else _as_numbers
        values, bad = parse(column, at, missing is not None)
        found = np.zeros(0)
        if bad is None:
            filled = values if missing is None else pc.fill_null(values, missing)
            found = np.asarray(filled.to_numpy(zero_copy_only=False), np.float64)  # null is NaN
            sound = np.isfinite(found)
            bad = None if sound.all() else int(np.argmin(sound))
        if bad is not None:
            row = bad if at is None else int(at[bad])
            raise self._refused(name, "a finite number", column[row].as_py(), row)
        return found

    def chances(self, name: str, at: Any = None) -> Floats:
        """(n,) probabilities > 0."""
        found = self.numbers(name, at)
        bad = np.flatnonzero((found <= 0) | (found > 1))
        if bad.size:
            row = int(bad[0] if at is None else at[bad[0]])
            raise self._refused(name, "> 0 and at most 1", float(found[bad[0]]), row)
        return found

    def words(self, name: str) -> Words:
        """The ids of every row; 3, 3.0 and "3" are the same id."""
        import pyarrow.compute as pc

        codes, values = encoded(self.arrays[name])
        sound = _are_ids(values)
        bad = (codes < 0) | ~sound[codes] if len(values) else codes < 0
        if bad.any():
            row = int(np.argmax(bad))
            got = self.arrays[name][row].as_py()
            raise self._refused(name, "an id, a word or a whole number", got, row)
        if _is_wordy(values.type):
            sizes = np.asarray(pc.binary_length(values))
            if sizes.max() > MAX_WORD:
                row = int(np.argmax(sizes[codes] > MAX_WORD))
                raise self._refused(name, f"at most {MAX_WORD} bytes", int(sizes[codes[row]]), row)
        else:
            values, places = _whole(values)
            codes = places[codes]
        return Words(codes, values)

    def cells(self, name: str) -> Iterator[Any]:
        """What stands in every row, as Python values."""
        from superarm.evaluate.logs.nested import rows_of

        try:
            yield from rows_of(self.arrays[name])
        except ValueError as error:
            raise LogError(f"{self.where}: {name} {error}") from error

    def _refused(self, name: str, must: str, got: Any, row: int) -> LogError:
        return LogError(f"{self.where}: {name} must be {must}, got {shown(got)} in row {row}")


@dataclass(frozen=True)
class Source:
    """A table that is open: the names of its columns, what reads some of them, and how much may be read."""

    where: str
    what: str
    names: tuple[str, ...]
    load: Callable[[list[str], bool], pa.Table]
    room: Room

    def read(self, wanted: Sequence[str], *, nested: bool = False) -> Columns:
        """Read columns; all must be there, once. `nested` ones, of lists and the like, are not expected."""
        self.require(wanted)
        names = list(dict.fromkeys(wanted))
        table = self.load(names, nested)
        if not table.num_rows:
            raise LogError(f"{self.where}: {self.what} must have rows, got none")
        arrays = dict(zip(names, table.columns, strict=True))
        return Columns(self.where, self.what, arrays, table.num_rows)

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self.names)

    def require(self, wanted: Sequence[str]) -> None:
        """Raise LogError if columns are not there."""
        named = list(dict.fromkeys(wanted))
        missing = [name for name in named if name not in self._counts]
        if missing:
            must = f"{self.what} must have columns {_listed(named)}"
            close = checks.hint(missing[0], self.names)
            raise LogError(f"{self.where}: {must}; missing {_listed(missing)}{close}")
        twice = [name for name in named if self._counts[name] > 1]
        if twice:
            raise LogError(f"{self.where}: {self.what} must have a column once, got {twice[0]} again")

    def matching(self, patterns: Sequence[str]) -> list[str]:
        """The columns that are named, or begin as a name that ends in * does, in the order of the table."""
        found = []
        for pattern in patterns:
            if pattern.endswith("*"):
                found += [name for name in self.names if name.startswith(pattern[:-1])]
            else:
                found.append(pattern)
        return list(dict.fromkeys(found))


def opened(where: str, what: str, source: Any, rows: int | None = None) -> Source:
    """Open a path that ends in .parquet, .csv or .csv.gz, or a data frame: pandas, polars, Arrow.

    Data frames are read through Arrow's C stream (`__arrow_c_stream__`), which all of them offer; of pandas
    also columns of mixed Python values, as text. `rows` are read, or all.
    """
    if isinstance(source, str | Path):
        return _opened_file(where, what, Path(source), rows)
    if not is_table(source):
        must = "a path, or a table of pandas, polars or Arrow"
        raise TypeError(f"{where}: {what} must be {must}, got {type(source).__name__}")
    from superarm.evaluate.logs.files import frame

    room = Room.of_frame()
    return Source(where, what, *frame(where, what, source, rows, room), room)


def _opened_file(where: str, what: str, path: Path, rows: int | None) -> Source:
    ending = next((one for one in ENDINGS if path.name.lower().endswith(one)), None)
    if ending is None:
        raise LogError(f"{where}: {what} must end in {', '.join(ENDINGS)}, got {path.name}")
    if not path.is_file():
        raise LogError(f"{where}: {what} must be a file, got {path}")
    from superarm.evaluate.logs.csv_files import csv_file
    from superarm.evaluate.logs.parquet import parquet_file

    room = Room.of_file(path.stat().st_size)
    open_file = parquet_file if ending == ".parquet" else csv_file
    return Source(where, what, *open_file(where, path, rows, room), room)


def encoded(column: Any) -> tuple[Integers, Any]:
    """(n,) which value each row of a column of Arrow has, -1 for null; and the values: see `Words`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0)
    indices = whole.indices.cast(pa.int64())
    if whole.dictionary.null_count:
        indices = pc.if_else(pc.take(whole.dictionary.is_valid(), indices), indices, None)
    return _used(np.asarray(pc.fill_null(indices, -1)), whole.dictionary)


def _used(codes: Integers, values: Any) -> tuple[Integers, Any]:
    """Codes and what they stand for, without values that no row has, and in the order of the rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    once = np.asarray(pc.unique(pa.array(codes)))
    once = once[once >= 0]
    places = np.full(len(values) + 1, -1)  # the last is that of null
    places[once] = np.arange(len(once))
    return places[codes], values.take(pa.array(once))


def _is_wordy(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _as_numbers(column: Any, at: Any, empty: bool) -> tuple[Any, int | None]:
    """The numbers of a column, an array of Arrow, of the rows `at` only; or the first that is none.

    `empty` words are null, where that is said.
    """
    import pyarrow as pa

    if at is not None:
        column = column.take(pa.array(at, pa.int64()))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _casts(column):
        return None, _first_uncast(column)
    return column.cast(pa.float64()), None


def _words_as_numbers(column: Any, at: Any, empty: bool) -> tuple[Any, int | None]:
    """As `_as_numbers`, of words: each is parsed once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes, values = encoded(column)
    if at is not None:
        codes, values = _used(codes[at], values)
    if empty:
        values = pc.if_else(pc.equal(values, ""), None, values)
    if not _casts(values):
        return None, int(np.argmax(codes == _first_uncast(values)))
    return values.cast(pa.float64()).take(pa.array(codes, mask=codes < 0)), None


def _casts(column: Any) -> bool:
    """Whether all of a column of Arrow are numbers."""
    import pyarrow as pa

    try:
        column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _first_uncast(column: Any) -> int:
    """The first value of a column of Arrow that is no number, if not all are."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        if _casts(column.slice(low, middle - low)):
            low = middle
        else:
            high = middle
    return low


def _are_ids(values: Any) -> npt.NDArray[np.bool_]:
    """(m,) which of the values are words or whole numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_wordy(values.type):
        return np.asarray(pc.not_equal(values, ""))
    if pa.types.is_integer(values.type):
        return np.ones(len(values), bool)
    if not pa.types.is_floating(values.type):
        return np.zeros(len(values), bool)
    floats = values.cast(pa.float64()).to_numpy()
    return np.asarray((np.abs(floats) <= MAX_EXACT) & (floats == np.floor(floats)))  # False where it is NaN


def _whole(values: Any) -> tuple[Any, Integers]:
    """Whole numbers, each once, and (m,) where each value is among them: -0.0 is 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type):
        return values, np.arange(len(values))
    once = values.cast(pa.int64()).dictionary_encode()
    return once.dictionary, np.asarray(pc.cast(once.indices, pa.int64()))


def shown(value: Any) -> str:
    """Write what was got, and not all of it where that is long."""
    text = repr(value[:100] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:80] + "..."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(name if len(name) <= 80 else name[:80] + "..." for name in names[:8]) + more
