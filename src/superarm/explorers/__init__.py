"""Explorers: how does doubt become a choice?"""

from superarm.explorers.greedy import EpsilonGreedy, Greedy, Uniform
from superarm.explorers.responses import Responses
from superarm.explorers.thompson import Thompson
from superarm.explorers.ucb import UCB

__all__ = ["UCB", "EpsilonGreedy", "Greedy", "Responses", "Thompson", "Uniform"]
