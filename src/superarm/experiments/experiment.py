"""An experiment is data: settings, policies, rounds and seeds at three scales, and what must come out.

Nothing here holds an array or a compiled function: a worker process rebuilds what it needs from the names
(id, scale, setting, policy, seed) alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from superarm.experiments.claims import Claim

SCALES = ("smoke", "quick", "paper")

# Raised whenever the rows that the same settings produce, or their columns, change.
SCHEMA = 1

# Names become file names; "--" parts them there.
_NAME = re.compile(r"(?!.*--)[A-Za-z0-9][A-Za-z0-9._+-]*")


class ExperimentError(Exception):
    """What the person who runs an experiment can put right, in one sentence."""


@dataclass(frozen=True)
class Setting:
    """One world and the policies that meet it.

    Args:
        name: unique in the plan; letters, digits and . _ + - (it names files).
        environment: builds the world's distribution; `environment()` has an `oracle`.
        policies: label -> function from the environment to a policy.
        parameters: what defines the setting, as JSON; shown in the summary, and part of the fingerprint.
        x: where the setting stands on the axis of a sweep.
        seeds: repetitions, where they differ from the plan's.
    """

    name: str
    environment: Callable[[], Any]
    policies: Mapping[str, Callable[[Any], Any]]
    parameters: Mapping[str, Any]
    x: float | None = None
    seeds: int | None = None

    def __post_init__(self) -> None:
        """Refuse names that cannot name a file."""
        _require_names("Setting", self.name, *self.policies)


@dataclass(frozen=True)
class Tunable:
    """A policy whose real hyperparameters `superarm tune` may choose.

    Args:
        build: function of the environment and, by keyword, of the parameters, that returns a policy.
        grid: parameter -> values to try unless others are asked for.
    """

    build: Callable[..., Any]
    grid: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Plan:
    """What one scale of an experiment runs.

    Args:
        settings: the settings, largest last.
        rounds: rounds of every run.
        seeds: repetitions; setting i meets the same seeds 0, 1, ... under every policy.
        record_every: rounds per recorded row.
        reduced: what is smaller than in the paper, in words; "" when nothing is.
        timed: step rounds one by one, with the seconds of choosing in a column of their own.
    """

    settings: tuple[Setting, ...]
    rounds: int
    seeds: int
    record_every: int = 1
    reduced: str = ""
    timed: bool = False

    @property
    def ends(self) -> list[int]:
        """The last round of every row."""
        return [*range(self.record_every, self.rounds, self.record_every), self.rounds]

    def setting(self, name: str) -> Setting:
        """Return the setting of that name."""
        return next(setting for setting in self.settings if setting.name == name)

    def repetitions(self, setting: Setting, seeds: int | None = None) -> int:
        """Return how often a setting is run: as asked for, or as the setting says, or as the plan says."""
        return seeds or setting.seeds or self.seeds

    def fingerprint(self, setting: Setting) -> str:
        """Return what tells whether rows on disk come from the same settings; seeds do not count."""
        identity = {
            "schema": SCHEMA,
            "rounds": self.rounds,
            "record_every": self.record_every,
            "setting": setting.name,
            "parameters": dict(setting.parameters),
        }
        text = json.dumps(identity, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Aside:
    """Functions drawn in a panel beside the curves: label -> function of x, from `low` to `high`."""

    lines: Mapping[str, Callable[[float], float]]
    low: float
    high: float
    x_label: str
    y_label: str


@dataclass(frozen=True)
class Figure:
    """How an experiment is drawn.

    Args:
        layout: "regret" (cumulative regret by round), "panels" (the same, one panel per setting), "reward"
            (cumulative reward, one panel per setting), "sweep" (total regret by x) or "return" (running mean
            of the return by round, with the optimum's line), or "runtime" (seconds per round, of choosing and
            of updating, by policy).
        x_label: words of the horizontal axis.
        y_label: words of the vertical axis.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axis.
        band: "interval", the mean's 95 % interval, or "deviation", one standard deviation over seeds.
        aside: a panel beside the curves, with the layouts of one panel.
    """

    layout: str
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    band: str = "interval"
    aside: Aside | None = None


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper.

    Args:
        id: such as "wen2015/longest-path".
        title: one line.
        reference: where in which paper.
        plan: scale -> plan.
        claims: what must come out.
        figure: how it is drawn.
        note: what a reader must know to judge the result; "" when there is nothing.
        tunables: label -> policy that can be tuned, on the first setting of a plan.
    """

    id: str
    title: str
    reference: str
    plan: Callable[[str], Plan]
    claims: tuple[Claim, ...]
    figure: Figure
    note: str = ""
    scales: tuple[str, ...] = field(default=SCALES)
    tunables: Mapping[str, Tunable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse labels that cannot name a folder."""
        _require_names("Experiment", *self.tunables)


def _require_names(where: str, *names: str) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ExperimentError(
                f"{where}: a name must be letters, digits and . _ + - without '--', got {name!r}"
            )
