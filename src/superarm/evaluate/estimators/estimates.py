"""What an off-policy evaluation found: one row per method, with its interval."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from superarm import checks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Estimates:
    """The value of a policy as several methods estimate it from one log.

    Attributes:
        table: one row per method: method, estimate, low, high, standard_error, effective_sample_size (of the
            events, by their weights; the smallest over positions), n (events) and max_weight. The direct
            method uses no weights: its last-named columns are NaN.
        confidence: of the intervals from low to high.
        interval: "asymptotic" or "bootstrap".
        clip: the largest weight that was let stand; None where weights are as they are.
        cautions: the sentences that were warned of.
    """

    table: pd.DataFrame
    confidence: float
    interval: str
    clip: float | None = None
    cautions: tuple[str, ...] = ()

    def __getitem__(self, method: str) -> Any:
        """Return a method's row: `found["dr"].estimate`."""
        rows = self.table[self.table["method"] == method]
        if rows.empty:
            known = [*self.table["method"]]
            must = f"method must be one of {', '.join(map(repr, known))}"
            raise KeyError(f"Estimates: {must}, got {method!r}{checks.hint(method, known)}")
        return next(rows.itertuples(index=False))

    def __str__(self) -> str:
        """Write a line per method, what the intervals are, and the cautions."""
        header = f"{'method':<8}{'estimate':>10}{'low':>10}{'high':>10}{'ESS':>10}{'of':>9}{'max weight':>12}"
        lines = [header]
        for row in self.table.to_dict(orient="records"):
            shown = "".join(f"{_short(row[name]):>10}" for name in ("estimate", "low", "high"))
            ess, most = _short(row["effective_sample_size"]), _short(row["max_weight"])
            lines.append(f"{row['method']:<8}{shown}{ess:>10}{row['n']:>9}{most:>12}")
        clipped = "" if self.clip is None else f"; weights clipped at {self.clip:g}"
        lines.append(
            f"{100 * self.confidence:g} % intervals, {self.interval}{clipped}; ESS: effective events"
        )
        return "\n".join([*lines, *(f"caution: {one}" for one in self.cautions)])

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw a point with its interval per method; with a path, also write it, as its suffix says."""
        from superarm.report.estimates import plot_estimates
        from superarm.report.grids import write

        figure = plot_estimates(self.table, self.confidence)
        if path is not None:
            write(figure, Path(path))
        return figure

    def to_json(self) -> str:
        """Return the table, the settings, the cautions and the versions; NaN is null."""
        from superarm.provenance import commit, versions

        rows = [
            {
                name: None if isinstance(value, float) and math.isnan(value) else value
                for name, value in row.items()
            }
            for row in self.table.to_dict(orient="records")
        ]
        content = {
            "schema": SCHEMA,
            "confidence": self.confidence,
            "interval": self.interval,
            "clip": self.clip,
            "estimates": rows,
            "cautions": list(self.cautions),
            "versions": versions(),
            "commit": commit(),
        }
        return json.dumps(content, indent=1, allow_nan=False)


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
