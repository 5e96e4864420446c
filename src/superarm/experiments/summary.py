"""The summary of a run: what was run, where, how long it took, and what came out."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from superarm.experiments.claims import Verdict
from superarm.experiments.experiment import SCALES, ExperimentError

SUMMARY_SCHEMA = 1
NAME = "summary.json"

# A summary holds some hundred settings at most; what is larger is not one.
MAX_BYTES = 4_000_000


@dataclass(frozen=True)
class SettingSummary:
    """A setting as it was run."""

    name: str
    x: float | None
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Final:
    """A policy at the end of its runs: means over seeds, with the 95 % interval of the total regret."""

    setting: str
    policy: str
    seeds: int
    regret: float | None
    regret_low: float | None
    regret_high: float | None
    return_per_round: float | None
    optimum_per_round: float | None


@dataclass(frozen=True)
class Times:
    """Seconds of computing, compiling apart; sums over all workers."""

    run_seconds: float
    run_seconds_per_seed: float
    compile_seconds: float


@dataclass(frozen=True)
class Summary:
    """Everything a page needs, the figure aside."""

    schema: int
    id: str
    title: str
    reference: str
    scale: str
    reduced: str
    note: str
    rounds: int
    seeds: int
    settings: list[SettingSummary]
    finals: list[Final]
    claims: list[Verdict]
    times: Times
    versions: dict[str, str]
    commits: list[str]
    cpu: str
    refused_fits: int | None = None  # those that diverged; None where some runs did not count them

    def write(self, folder: Path) -> None:
        """Write summary.json, whole or not at all."""
        text = json.dumps(_plain(dataclasses.asdict(self)), indent=1, allow_nan=False, ensure_ascii=False)
        scratch = folder / f".{NAME}"
        scratch.write_text(text + "\n", encoding="utf-8")
        scratch.replace(folder / NAME)


def read_summary(path: Path) -> Summary:
    """Read a summary strictly: nothing missing, nothing unknown, every value of its type."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ExperimentError(f"{path} is damaged: it is larger than {MAX_BYTES} bytes")
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExperimentError(f"{path} is damaged: it is not JSON in UTF-8") from error
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror or error}") from error
    if not isinstance(content, dict) or content.get("schema") != SUMMARY_SCHEMA:
        raise ExperimentError(f"{path} is damaged, or of another version: its schema is not {SUMMARY_SCHEMA}")
    summary: Summary = _built(Summary, content, path)
    if summary.scale not in SCALES:
        raise ExperimentError(f"{path} is damaged: unknown scale {summary.scale!r}")
    return summary


def find_summaries(folder: Path) -> list[Summary]:
    """Return the summaries below a folder: of each experiment the largest finished scale, sorted by id."""
    found: dict[str, Summary] = {}
    for path in sorted(folder.glob(f"**/{NAME}")):
        summary = read_summary(path)
        known = found.get(summary.id)
        if known is None or SCALES.index(summary.scale) > SCALES.index(known.scale):
            found[summary.id] = summary
    return [found[name] for name in sorted(found)]


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _built(cls: type[Any], content: Any, path: Path) -> Any:
    """Return the dataclass `cls` from parsed JSON."""
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    names = [one.name for one in fields]
    needed = {one.name for one in fields if one.default is dataclasses.MISSING}  # others came later
    if not isinstance(content, dict) or not needed <= set(content) <= set(names):
        raise ExperimentError(f"{path} is damaged: {cls.__name__} must have {', '.join(names)}")
    return cls(**{name: _value(hints[name], value, name, path) for name, value in content.items()})


def _value(hint: Any, value: Any, name: str, path: Path) -> Any:
    """Return one value, checked against its type hint."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _built(hint, value, path)
    if origin is list and isinstance(value, list):
        return [_value(arguments[0], one, name, path) for one in value]
    if origin is dict and isinstance(value, dict):
        return {key: _value(arguments[1], one, name, path) for key, one in value.items()}
    if origin is types.UnionType and value is None:
        return None
    if origin is typing.Literal and value in arguments:
        return value
    wanted = next((one for one in arguments if one is not type(None)), hint) if origin else hint
    if wanted is Any or _is(value, wanted):
        return value
    raise ExperimentError(f"{path} is damaged: {name} must be {_words(hint)}, got {type(value).__name__}")


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or not isinstance(wanted, type):
        return False
    return isinstance(value, int | float) if wanted is float else isinstance(value, wanted)


def _words(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
