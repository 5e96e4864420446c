"""The folder of an experiment at one scale: finished seeds as cells, then one table.

    <out>/<id>/<scale>/cells/<setting>--<policy>--<seed>.parquet    while it runs
    <out>/<id>/<scale>/rounds.parquet                               the rows that are read, or all
    <out>/<id>/<scale>/summary.json, figure.png

A cell is renamed into place, so it is whole or not there; an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from superarm.experiments.experiment import SCHEMA, ExperimentError
from superarm.experiments.reads import Reads
from superarm.experiments.thinning import KEY, thinned

if sys.platform != "win32":  # there two runs in one folder are not kept apart
    import fcntl

_META = b"superarm"
ALL, THINNED = "all", "thinned"  # rounds that were kept on request, or because all are read; and the others


@dataclass(frozen=True, order=True)
class RunFile:
    """One run: a policy in a setting under a seed."""

    setting: str
    policy: str
    seed: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.setting}--{self.policy}--{self.seed}.parquet"


@dataclass(frozen=True)
class Origin:
    """Where rows come from: the fingerprint of each setting, the commits, and the seconds of compiling.

    refused_fits counts those that diverged and were not taken; None where some runs did not count them.
    rounds says which are kept: ALL, THINNED, or "" where nobody has decided yet.
    """

    fingerprints: Mapping[str, str] = field(default_factory=dict)
    commits: tuple[str, ...] = ()
    compile_seconds: float = 0.0
    refused_fits: int | None = 0
    rounds: str = ""

    def joined(self, other: Origin) -> Origin:
        """Return both together."""
        return Origin(
            fingerprints={**self.fingerprints, **other.fingerprints},
            commits=tuple(dict.fromkeys(self.commits + other.commits)),
            compile_seconds=self.compile_seconds + other.compile_seconds,
            refused_fits=None
            if self.refused_fits is None or other.refused_fits is None
            else self.refused_fits + other.refused_fits,
            rounds=self.rounds or other.rounds,
        )


class ResultFolder:
    """What is on disk of one experiment at one scale."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; nothing is touched yet."""
        self.folder = folder
        self.cells = folder / "cells"
        self.rounds = folder / "rounds.parquet"

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, prove that it can be written, and keep other runs out of it."""
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.cells).close()
        except OSError as error:
            raise ExperimentError(
                f"run: cannot write to {self.folder}: {error.strerror or error}; choose another --out"
            ) from error
        with self._locked():
            yield

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if sys.platform == "win32":
            yield
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise ExperimentError(
                f"run: another run is writing to {self.folder}; wait for its end"
            ) from error
        finally:
            os.close(handle)

    def clear(self) -> None:
        """Forget everything that was run."""
        for path in (*self.cells.glob("*"), self.rounds, *self.folder.glob("figure.*")):
            path.unlink(missing_ok=True)
        (self.folder / "summary.json").unlink(missing_ok=True)

    def finished(self, fingerprints: Mapping[str, str]) -> set[RunFile]:
        """Return the cells on disk; refuse those that other settings produced."""
        found: set[RunFile] = set()
        if self.rounds.exists():
            self._require_same(_origin(self.rounds), fingerprints)
            found.update(_runs_in(self.rounds))
        for path in self.cells.glob("*.parquet"):
            self._require_same(_origin(path), fingerprints)
            found.add(_cell(path))
        return found

    def _require_same(self, origin: Origin, fingerprints: Mapping[str, str]) -> None:
        for setting, mark in origin.fingerprints.items():
            if setting in fingerprints and fingerprints[setting] != mark:
                raise ExperimentError(
                    f"run: {self.folder} holds runs of {setting!r} with other settings (rounds, parameters "
                    "or version); use --fresh to run it anew, or another --out"
                )

    def write(self, cell: RunFile, rows: pd.DataFrame, origin: Origin) -> None:
        """Keep the rows of one run."""
        labelled = rows.assign(setting=cell.setting, policy=cell.policy)
        _write(self.cells / cell.file, labelled, origin)

    def require_all(self) -> None:
        """Refuse to keep all rounds beside runs whose rounds are thinned."""
        if self.rounds.exists() and _origin(self.rounds).rounds == THINNED:
            raise ExperimentError(
                f"run: the rounds in {self.folder} are thinned already, and --keep-rounds cannot bring them "
                "back; use --fresh to run it anew, or another --out"
            )

    def merge(self, reads: Reads | None, *, keep_rounds: bool = False) -> tuple[pd.DataFrame, Origin]:
        """Move all cells into the one table; return what is read of it.

        The table keeps that alone, unless all rounds are asked for, now or before.
        """
        table, origin = self._joined()
        whole = origin.rounds != THINNED and (keep_rounds or reads is None or origin.rounds == ALL)
        read = thinned(table, reads)
        _write(self.rounds, table if whole else read, replace(origin, rounds=ALL if whole else THINNED))
        shutil.rmtree(self.cells)
        return read, origin

    def _joined(self) -> tuple[pd.DataFrame, Origin]:
        """Return the rows of the table and of all cells."""
        kept = [self.rounds] if self.rounds.exists() else []
        # A merge that was cut short leaves cells whose runs are in the table already.
        known = _runs_in(self.rounds) if kept else set()
        paths = kept + [path for path in sorted(self.cells.glob("*.parquet")) if _cell(path) not in known]
        origin = Origin()
        for path in paths:
            origin = origin.joined(_origin(path))
        tables = [_read(path) for path in paths]
        table = pd.concat(tables, ignore_index=True).sort_values([*KEY, "round"], ignore_index=True)
        first = [*KEY, "round"]
        table = table[[*first, *(name for name in table.columns if name not in first)]]
        # What was thinned away of some runs is there of none: a claim must not take them for lost.
        return table[tables[0].columns] if origin.rounds == THINNED else table, origin

    def table(self, fingerprints: Mapping[str, str]) -> tuple[pd.DataFrame, Origin] | None:
        """Return the rows of a finished run with the same settings; None when there is none."""
        if not self.rounds.exists():
            return None
        origin = _origin(self.rounds)
        self._require_same(origin, fingerprints)
        return _read(self.rounds), origin


def _write(path: Path, table: pd.DataFrame, origin: Origin) -> None:
    """Write rows and their origin to a file that is whole or not there."""
    described = {
        "schema": SCHEMA,
        "fingerprints": dict(origin.fingerprints),
        "commits": list(origin.commits),
        "compile_seconds": origin.compile_seconds,
        "refused_fits": origin.refused_fits,
        "rounds": origin.rounds,
    }
    table.attrs = {}
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({_META: json.dumps(described)})
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    numbers = [one.name for one in arrow.schema if pa.types.is_floating(one.type)]
    words = [one for one in arrow.column_names if one not in numbers]
    split = dict.fromkeys(numbers, "BYTE_STREAM_SPLIT")  # a sixth smaller than in one piece
    pq.write_table(arrow, scratch, compression="zstd", use_dictionary=words, column_encoding=split)
    scratch.replace(path)


def _read(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    try:
        table: Any = pq.read_table(path, columns=columns, partitioning=None)
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        raise _damaged(path) from error
    return pd.DataFrame({name: table.column(name).to_numpy() for name in table.column_names})


def _origin(path: Path) -> Origin:
    try:
        described = json.loads((pq.read_schema(path).metadata or {})[_META])
        return Origin(
            fingerprints={str(name): str(mark) for name, mark in described["fingerprints"].items()},
            commits=tuple(str(commit) for commit in described["commits"]),
            compile_seconds=float(described["compile_seconds"]),
            refused_fits=None if (refused := described.get("refused_fits")) is None else int(refused),
            rounds=str(described.get("rounds", "")),
        )
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path) from error


def _runs_in(path: Path) -> set[RunFile]:
    keys = _read(path, KEY).drop_duplicates()
    return {RunFile(str(s), str(p), int(n)) for s, p, n in keys.itertuples(index=False)}


def _cell(path: Path) -> RunFile:
    try:
        setting, policy, seed = path.stem.split("--")
        return RunFile(setting, policy, int(seed))
    except ValueError as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> ExperimentError:
    return ExperimentError(f"run: {path} is damaged; delete it to run those seeds again")
