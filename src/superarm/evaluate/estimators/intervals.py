"""Confidence intervals of statistics that are smooth functions of means over events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]

_BLOCK = 2**20  # drawn events that are held at once


@dataclass(frozen=True)
class Statistic:
    """g(mean of rows), with its linear part at the mean.

    Attributes:
        rows: (n, c) one row per event.
        value: g, from means (..., c) to (...).
        influence: (n,) what each event moves: g(mean) is off by their mean, to first order. Its mean is 0.
    """

    rows: Floats
    value: Callable[[Floats], Any]
    influence: Floats

    @property
    def estimate(self) -> float:
        """g at the mean."""
        return float(self.value(self.rows.mean(axis=0)))


@dataclass(frozen=True)
class Interval:
    """From low to high, with the standard error."""

    low: float
    high: float
    error: float


NONE = Interval(np.nan, np.nan, np.nan)


def mean_of(rows: Floats) -> Statistic:
    """The mean of rows (n,)."""
    return Statistic(rows[:, None], lambda means: means[..., 0], rows - rows.mean())


def asymptotic(statistic: Statistic, confidence: float) -> Interval:
    """The normal interval: estimate -+ t s / sqrt(n), s the deviation of the influence, t with n - 1 degrees.

    van der Vaart (1998), Asymptotic Statistics, chapter 3: the delta method.
    """
    size = statistic.influence.size
    error = float(np.std(statistic.influence, ddof=1) / np.sqrt(size))
    half = float(stdtrit(size - 1, 0.5 + confidence / 2)) * error
    return Interval(statistic.estimate - half, statistic.estimate + half, error)


def bootstrap(
    statistics: Sequence[Statistic], confidence: float, resamples: int, rng: np.random.Generator
) -> list[Interval]:
    """Percentile intervals: events are drawn with replacement, the same ones for all statistics.

    Where a resample has no value (a ratio over nothing), neither has the interval: it is NaN.

    Percentiles were chosen over bias correction and acceleration (BCa) by simulation: 1,200 logs of 500
    single choices in each of four settings, IPS alone. Asymptotic intervals held the truth in 91.4, 94.0,
    93.2 and 95.3 % of them, percentiles in 91.0, 93.5, 92.9 and 94.8 %, BCa in 89.8, 91.6, 92.3 and 94.0 %.

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.
    """
    rows = np.hstack([one.rows for one in statistics])
    means = _resampled(rows, resamples, rng)
    ends = np.cumsum([one.rows.shape[1] for one in statistics])
    parts = np.split(means, ends[:-1], axis=1)
    return [_percentile(one.value(part), confidence) for one, part in zip(statistics, parts, strict=True)]


def events_needed(statistic: Statistic) -> float:
    """25 G^2, with G the skewness of the influence: as many events make a 95 % interval hold 94 % or more.

    Cochran (1977), Sampling Techniques, section 2.15.
    """
    spread = np.mean(statistic.influence**2)
    return 25.0 * float(np.mean(statistic.influence**3) ** 2 / spread**3) if spread > 0 else 0.0


def _resampled(rows: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """(resamples, c) means of rows (n, c) over n events drawn with replacement."""
    size = rows.shape[0]
    step = max(1, _BLOCK // size)
    means = []
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = rng.integers(size, size=(count, size)) + size * np.arange(count)[:, None]
        times = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        means.append(times.astype(np.float64) @ rows / size)
    return np.concatenate(means)


def _percentile(drawn: Floats, confidence: float) -> Interval:
    if not np.all(np.isfinite(drawn)):
        return NONE
    low, high = np.quantile(drawn, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return Interval(float(low), float(high), float(np.std(drawn, ddof=1)))
