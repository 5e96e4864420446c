"""Choosers: what may be chosen?"""

from superarm import checks
from superarm.choosers.best import Best
from superarm.choosers.duel import Duel
from superarm.choosers.layered_duel import LayeredDuel
from superarm.choosers.subset import Subset

__all__ = ["Best", "Duel", "LayeredDuel", "Subset"]

checks.public(__name__)
