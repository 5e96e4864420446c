"""Means over seeds and their intervals, by hand."""

from __future__ import annotations

import math

import numpy as np

from superarm.statistics import interval, ratio_interval


def test_interval_by_hand():
    found = interval(np.array([1.0, 2.0, 3.0]))
    # t(0.975, 2 degrees) = 4.3027; half = 4.3027 * 1 / sqrt(3)
    assert (found.mean, found.count) == (2.0, 3)
    np.testing.assert_allclose([found.low, found.high], [2 - 2.48414, 2 + 2.48414], atol=1e-4)
    assert interval(np.array([5.0])).high == math.inf


def test_ratio_interval_by_hand():
    found = ratio_interval(np.array([2.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0]))
    # ratio 5 / 2; residuals (a - 2.5 b) / 2 = -0.25, -0.5, 0.75, deviation sqrt(0.4375)
    half = 4.30265 * math.sqrt(0.4375) / math.sqrt(3)
    np.testing.assert_allclose([found.mean, found.low, found.high], [2.5, 2.5 - half, 2.5 + half], atol=1e-4)
