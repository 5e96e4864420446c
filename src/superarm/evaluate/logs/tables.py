"""Tables from files and data frames, read strictly: named columns, bounded size, errors that name the row.

Rows count from 0, below the header. Nothing is guessed: a column is numbers, ids or cells as its reader asks,
and what does not fit is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.features.tables import is_table

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

MAX_ROWS = 50_000_000
MAX_BYTES = 4 * 2**30  # of the columns that are read, unpacked
ENDINGS = (".parquet", ".csv", ".csv.gz")


class LogError(ValueError):
    """A log cannot be read; the message says what is wrong with it, and where."""


@dataclass(frozen=True)
class Columns:
    """Some columns of a table; `where` and `what` stand in messages."""

    where: str
    what: str
    arrays: dict[str, Any]  # name -> pyarrow.ChunkedArray
    rows: int

    def numbers(self, name: str, at: Any = None, missing: float | None = None) -> npt.NDArray[np.float64]:
        """(n,) finite numbers, of the rows `at` only; what is empty or null is `missing`, where given."""
        import pyarrow as pa
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        column = self.arrays[name] if at is None else self.arrays[name].take(pa.array(at, pa.int64()))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            if missing is not None:
                column = pc.if_else(pc.equal(column, ""), None, column)
        elif pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        try:
            values = column.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            place, got = _first_word(column)
            raise self._refused(name, "a finite number", got, place, at) from None
        filled = values if missing is None else pc.fill_null(values, missing)
        found = np.asarray(filled.to_numpy(), np.float64)  # null is NaN
        bad = np.flatnonzero(~np.isfinite(found))
        if bad.size:
            raise self._refused(name, "a finite number", column[int(bad[0])].as_py(), int(bad[0]), at)
        return found

    def chances(self, name: str, at: Any = None) -> npt.NDArray[np.float64]:
        """(n,) probabilities > 0."""
        found = self.numbers(name, at)
        bad = np.flatnonzero((found <= 0) | (found > 1))
        if bad.size:
            raise self._refused(name, "> 0 and at most 1", float(found[bad[0]]), int(bad[0]), at)
        return found

    def words(self, name: str) -> list[str]:
        """The ids of every row as text; 3, 3.0 and "3" are the same id."""
        found = [_word(value) for value in self.arrays[name].to_pylist()]
        for row, word in enumerate(found):
            if word is None:
                got = self.arrays[name][row].as_py()
                raise self._refused(name, "an id, a word or a whole number", got, row, None)
        return [str(word) for word in found]

    def cells(self, name: str) -> list[Any]:
        """What stands in every row, as Python values."""
        return list(self.arrays[name].to_pylist())

    def _refused(self, name: str, must: str, got: Any, place: int, at: Any) -> LogError:
        row = place if at is None else int(at[place])
        return LogError(f"{self.where}: {name} must be {must}, got {_shown(got)} in row {row}")


@dataclass(frozen=True)
class Source:
    """A table that is open: the names of its columns, and what reads some of them."""

    where: str
    what: str
    names: tuple[str, ...]
    load: Callable[[list[str]], pa.Table]

    def read(self, wanted: Sequence[str]) -> Columns:
        """Read columns; all must be there, once."""
        self.require(wanted)
        names = list(dict.fromkeys(wanted))
        table = self.load(names)
        if not table.num_rows:
            raise LogError(f"{self.where}: {self.what} must have rows, got none")
        return Columns(self.where, self.what, {name: table.column(name) for name in names}, table.num_rows)

    def require(self, wanted: Sequence[str]) -> None:
        """Raise LogError if columns are not there."""
        named = list(dict.fromkeys(wanted))
        missing = [name for name in named if name not in self.names]
        if missing:
            must = f"{self.what} must have columns {_listed(named)}"
            close = checks.hint(missing[0], self.names)
            raise LogError(f"{self.where}: {must}; missing {_listed(missing)}{close}")
        twice = [name for name in named if self.names.count(name) > 1]
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
        path = Path(source)
        ending = next((one for one in ENDINGS if path.name.lower().endswith(one)), None)
        if ending is None:
            raise LogError(f"{where}: {what} must end in {', '.join(ENDINGS)}, got {path.name}")
        if not path.is_file():
            raise LogError(f"{where}: {what} must be a file, got {path}")
        from superarm.evaluate.logs.files import csv_file, parquet_file

        names, load = (parquet_file if ending == ".parquet" else csv_file)(where, path, rows)
        return Source(where, what, names, load)
    if not is_table(source):
        must = "a path, or a table of pandas, polars or Arrow"
        raise TypeError(f"{where}: {what} must be {must}, got {type(source).__name__}")
    from superarm.evaluate.logs.files import frame

    names, load = frame(where, what, source, rows)
    return Source(where, what, names, load)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _word(value: Any) -> str | None:
    """An id as text; None when it is none."""
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) else None
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        return None
    return str(value)


def _first_word(column: Any) -> tuple[int, Any]:
    """Where in a column the first value is that is no number, and what it is."""
    for place, value in enumerate(column.to_pylist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return place, value
    return 0, column[0].as_py()


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
