"""Explorers: how does uncertainty become a choice?"""

from typing import TYPE_CHECKING

from superarm import checks
from superarm.explorers.ensemble import *
from superarm.explorers.greedy import *
from superarm.explorers.pairs import *
from superarm.explorers.responses import *
from superarm.explorers.thompson import *
from superarm.explorers.ucb import *
from superarm.explorers.warm_up import *
from superarm.pytree import exported

if not TYPE_CHECKING:  # a list that a type checker cannot read would hide all names from it
    __all__ = [*exported(__name__, globals())]

checks.public(__name__)
