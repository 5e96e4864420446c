"""The table of a simulation, and what people ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from superarm import checks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

QUANTITIES = ("regret", "realized_regret", "reward", "value", "best", "seconds")  # the columns to sum up


@dataclass(frozen=True)
class Result:
    """A tidy table: one row per policy, seed and recorded round.

    Columns: policy, seed, round, regret (expected), realized_regret, reward, value (expected return), best
    (the optimum's expected return), seconds, and items where they were kept. Quantities are per row, not
    cumulative.
    """

    table: pd.DataFrame
    compile_seconds: float = 0.0

    @classmethod
    def of(cls, runs: Sequence[tuple[str, pd.DataFrame]]) -> Result:
        """Join the tables of (label, run)."""
        import pandas as pd

        table = pd.concat([frame.assign(policy=label) for label, frame in runs], ignore_index=True)
        first = ["policy", "seed", "round"]
        table = table[first + [name for name in table.columns if name not in first]]
        return cls(table=table, compile_seconds=sum(frame.attrs["compile_seconds"] for _, frame in runs))

    @property
    def rounds(self) -> int:
        """Rounds per run."""
        return int(self.table["round"].max())

    @checks.named
    def cumulative(self, column: str = "regret") -> pd.DataFrame:
        """Return `column` summed up to each recorded round: rows are rounds, columns (policy, seed)."""
        checks.one_of("cumulative", "column", column, QUANTITIES)
        wide = self.table.pivot_table(index="round", columns=["policy", "seed"], values=column, sort=False)
        return wide.cumsum()

    def finals(self) -> pd.DataFrame:
        """Return per policy the mean over seeds of total regret, its standard error, and total reward."""
        runs = self.table.groupby(["policy", "seed"], sort=False)[["regret", "reward", "seconds"]]
        totals = runs.sum(min_count=1)  # the regret of a replayed log is not known, which is not 0
        by_policy = totals.groupby("policy", sort=False)
        finals = by_policy.mean()
        finals.insert(1, "regret_sem", by_policy["regret"].sem())
        return finals

    @checks.named
    def scaled_regret(self, factor: float) -> pd.Series[float]:
        """Return best - value / factor: the regret against an oracle that guarantees `factor` of the optimum.

        wen2015, equation 47, with factor = 1 - gamma.
        """
        if not 0.0 < factor <= 1.0:
            raise ValueError(f"scaled_regret: factor must be > 0 and <= 1, got {factor}")
        return self.table["best"] - self.table["value"] / factor

    @checks.named
    def plot(
        self, column: str = "regret", *, lines: Mapping[str, Callable[[int], float]] | None = None
    ) -> Figure:
        """Draw cumulative `column` per policy: mean over seeds, and a 95 % band.

        `lines` maps labels to functions of the round, drawn beside the curves: a bound of `superarm.bounds`.
        """
        from superarm.report.curves import plot

        checks.one_of("plot", "column", column, QUANTITIES)
        return plot(self.table, column, lines=lines)
