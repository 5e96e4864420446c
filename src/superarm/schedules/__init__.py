"""Schedules: how many widths a confidence bound lies above the mean, as the theorems say."""

from superarm import checks
from superarm.schedules.bernstein_tails import (
    Bernstein,
    BernsteinRadius,
    BernsteinRate,
    BernsteinRidge,
    EffectiveRadius,
    bernstein,
    tail_bound,
)
from superarm.schedules.lemma1 import Lemma1, cn_ts_offset, cn_ts_scale, lemma1_radius, optimistic_draws
from superarm.schedules.radius import Constant, Logarithmic, Radius, is_schedule, lemma7_radius
from superarm.schedules.shallow import ShallowRadius, shallow_radius

__all__ = [
    "Bernstein",
    "BernsteinRadius",
    "BernsteinRate",
    "BernsteinRidge",
    "Constant",
    "EffectiveRadius",
    "Lemma1",
    "Logarithmic",
    "Radius",
    "ShallowRadius",
    "bernstein",
    "cn_ts_offset",
    "cn_ts_scale",
    "is_schedule",
    "lemma1_radius",
    "lemma7_radius",
    "optimistic_draws",
    "shallow_radius",
    "tail_bound",
]

checks.public(__name__)
