"""Widths: how unsure is a score?"""

from superarm import checks
from superarm.widths.auto import Auto
from superarm.widths.counts import count_widths
from superarm.widths.diagonal import Diagonal
from superarm.widths.dual import Dual
from superarm.widths.full import Full
from superarm.widths.gram import Gram
from superarm.widths.sketched import Sketched

__all__ = ["Auto", "Diagonal", "Dual", "Full", "Gram", "Sketched", "count_widths"]

checks.public(__name__)
