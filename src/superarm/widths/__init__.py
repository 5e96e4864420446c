"""Widths: how unsure is a score? The radius schedules of confidence bounds are here too."""

from superarm.widths.counts import count_widths
from superarm.widths.diagonal import Diagonal
from superarm.widths.dual import Dual
from superarm.widths.full import Full
from superarm.widths.radius import Constant, Logarithmic, Radius, lemma7_radius

__all__ = ["Constant", "Diagonal", "Dual", "Full", "Logarithmic", "Radius", "count_widths", "lemma7_radius"]
