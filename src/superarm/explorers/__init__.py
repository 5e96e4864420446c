"""Explorers: how does doubt become a choice?"""

from superarm.explorers.ensemble import *
from superarm.explorers.greedy import *
from superarm.explorers.pairs import *
from superarm.explorers.responses import *
from superarm.explorers.thompson import *
from superarm.explorers.ucb import *
from superarm.explorers.warm_up import *
from superarm.pytree import exported

__all__ = [*exported(__name__, globals())]
