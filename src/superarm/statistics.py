"""Means over seeds, with their intervals.

NumPy and SciPy are imported when a number is asked for: the claims of experiments import this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Vector: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % t-interval; infinite with fewer than two seeds."""

    mean: float
    low: float
    high: float
    count: int


def interval(values: Vector) -> Interval:
    """Return the mean and its 95 % t-interval.

    >>> import numpy as np
    >>> found = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(found.low, 3), found.mean
    (-0.484, 2.0)
    """
    import numpy as np
    from scipy.special import stdtrit

    count = len(values)
    mean = float(np.mean(values)) if count else math.nan
    if count < 2:
        return Interval(mean, -math.inf, math.inf, count)
    half = float(stdtrit(count - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(count))
    return Interval(mean, mean - half, mean + half, count)


def ratio_interval(above: Vector, below: Vector) -> Interval:
    """Return the ratio of the means of paired values, with its 95 % t-interval by the delta method.

    >>> import numpy as np
    >>> ratio_interval(np.array([2.0, 4.0]), np.array([1.0, 2.0])).high
    2.0
    """
    import numpy as np

    mean = float(np.mean(below)) if len(below) else math.nan
    if not mean > 0:
        return Interval(math.nan, -math.inf, math.inf, len(below))
    ratio = float(np.mean(above)) / mean
    spread = interval((above - ratio * below) / mean)
    return Interval(ratio, ratio + spread.low, ratio + spread.high, spread.count)
