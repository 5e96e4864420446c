"""Widths: how unsure is a score? The radius schedules of confidence bounds are here too."""

from superarm.widths.auto import Auto
from superarm.widths.bernstein import (
    Bernstein,
    BernsteinRadius,
    BernsteinRate,
    BernsteinRidge,
    EffectiveRadius,
    bernstein,
    tail_bound,
)
from superarm.widths.counts import count_widths
from superarm.widths.diagonal import Diagonal
from superarm.widths.dual import Dual
from superarm.widths.full import Full
from superarm.widths.gram import Gram
from superarm.widths.lemma1 import Lemma1, cn_ts_offset, cn_ts_scale, lemma1_radius, optimistic_draws
from superarm.widths.radius import Constant, Logarithmic, Radius, lemma7_radius
from superarm.widths.shallow import ShallowRadius, shallow_radius
from superarm.widths.sketched import Sketched

__all__ = [
    "Auto",
    "Bernstein",
    "BernsteinRadius",
    "BernsteinRate",
    "BernsteinRidge",
    "Constant",
    "Diagonal",
    "Dual",
    "EffectiveRadius",
    "Full",
    "Gram",
    "Lemma1",
    "Logarithmic",
    "Radius",
    "ShallowRadius",
    "Sketched",
    "bernstein",
    "cn_ts_offset",
    "cn_ts_scale",
    "count_widths",
    "lemma1_radius",
    "lemma7_radius",
    "optimistic_draws",
    "shallow_radius",
    "tail_bound",
]
