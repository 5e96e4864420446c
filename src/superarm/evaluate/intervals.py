"""Confidence intervals of statistics that are smooth functions of means over events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

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
    """BCa intervals: events are drawn with replacement, the same ones for all statistics.

    Bias correction from the share of resamples below the estimate, acceleration from the influence:

        a = sum psi^3 / (6 (sum psi^2)^{3/2}),   level of z:  Phi(z0 + (z0 + z) / (1 - a (z0 + z)))

    Where a resample has no value (a ratio over nothing), neither has the interval: it is NaN.

    Efron (1987), Better Bootstrap Confidence Intervals, JASA 82, equations 2.3, 6.6 and 7.3.
    """
    rows = np.hstack([one.rows for one in statistics])
    means = _resampled(rows, resamples, rng)
    ends = np.cumsum([one.rows.shape[1] for one in statistics])
    parts = np.split(means, ends[:-1], axis=1)
    return [_bca(one, one.value(part), confidence) for one, part in zip(statistics, parts, strict=True)]


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


def _bca(statistic: Statistic, drawn: Floats, confidence: float) -> Interval:
    spread = np.sum(statistic.influence**2)
    if not np.all(np.isfinite(drawn)):
        return NONE
    if spread == 0.0:
        return Interval(statistic.estimate, statistic.estimate, 0.0)
    # Half of what equals the estimate counts as below: for rewards of 0 and 1 many do.
    below = np.mean(drawn < statistic.estimate) + 0.5 * np.mean(drawn == statistic.estimate)
    edge = 0.5 / drawn.size  # the correction stays finite
    shift = ndtri(np.clip(below, edge, 1 - edge))
    bend = np.sum(statistic.influence**3) / (6.0 * spread**1.5)
    sides = shift + ndtri(np.array([0.5 - confidence / 2, 0.5 + confidence / 2]))
    low, high = np.quantile(drawn, ndtr(shift + sides / (1.0 - bend * sides)))
    return Interval(float(low), float(high), float(np.std(drawn, ddof=1)))
