"""What `superarm evaluate` and `superarm tune --log` do: a log and a policy, both from files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from superarm.agent.agent import Agent
from superarm.config import from_config, load_policy, read_config
from superarm.errors import ConfigError
from superarm.evaluate.estimators.estimates import Estimates
from superarm.evaluate.judgement import Judged, judge, judge_grid
from superarm.evaluate.logs.agent_log import agent_log
from superarm.evaluate.logs.log import Log
from superarm.evaluate.logs.read import read_log
from superarm.evaluate.logs.tables import LogError

WORDED = re.compile(r"[\w.-]+: .*\bmust\b")


@dataclass(frozen=True)
class Source:
    """A log on disk: a table, whose columns `read_log` is told, or the folder of an agent."""

    path: Path
    columns: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> Log:
        """Return the log."""
        if self.path.is_dir():
            if extra := self.columns.keys() - {"layout", "rows"}:
                raise LogError(
                    f"{self.path}: an agent's folder must be read without columns, got {min(extra)}"
                )
            return agent_log(self.path, rows=self.columns.get("rows"))
        if not self.path.exists():
            raise LogError(f"{self.path}: there is no such file")
        return read_log(self.path, **self.columns)


def evaluate_file(source: Source, policy: Path, **options: Any) -> Estimates:
    """Judge the policy of a file by a log: .toml and .json are policies, .safetensors agents' states."""
    given = Agent.load(policy) if policy.suffix == ".safetensors" else load_policy(policy)
    with _refusals():
        return judge(given, source.read(), **options)


def tune_file(source: Source, policy: Path, grid: Mapping[str, Sequence[float]], **options: Any) -> Judged:
    """Judge the preset of a file at every point of a grid by a log."""
    config = read_config(policy)
    if "preset" not in config:
        raise ConfigError(f"{policy.name}: must name a preset, whose arguments the grid changes")

    def build(**point: Any) -> Any:
        return from_config({**config, **point})

    with _refusals():
        return judge_grid(build, grid, source.read(), **options)


@contextmanager
def _refusals() -> Iterator[None]:
    """Let what superarm refuses in its own words, as `checks` has them, be an error of the input.

    Any other ValueError or TypeError is a fault of superarm, and stays one.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        if isinstance(error, ConfigError | LogError) or not WORDED.match(str(error)):
            raise
        raise LogError(str(error)) from error


def write_estimates(found: Estimates, folder: Path) -> None:
    """Write evaluation.json and evaluation.png into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluation.json").write_text(found.to_json() + "\n", encoding="utf-8")
    found.plot(folder / "evaluation.png")


def judged_lines(judged: Judged) -> list[str]:
    """One JSON object per point of a grid; NaN is null."""
    rows = judged.table.to_dict(orient="records")
    return [
        json.dumps(
            {str(name): _plain(value) for name, value in row.items()} | {"best": _is(row, judged.best)}
        )
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _is(row: Mapping[Any, Any], point: Mapping[str, Any]) -> bool:
    return all(row[name] == value for name, value in point.items())
