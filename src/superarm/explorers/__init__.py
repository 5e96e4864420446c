"""Explorers: how does doubt become a choice?"""

from superarm.explorers.ensemble import EnsembleSampling
from superarm.explorers.greedy import EpsilonGreedy, Greedy, Uniform
from superarm.explorers.pairs import (
    PairColstim,
    PairEnsemble,
    PairLayers,
    PairThompson,
    PairUCB,
    PairUniform,
)
from superarm.explorers.responses import Responses
from superarm.explorers.thompson import Thompson
from superarm.explorers.ucb import UCB
from superarm.explorers.warm_up import WarmUp

__all__ = [
    "UCB",
    "EnsembleSampling",
    "EpsilonGreedy",
    "Greedy",
    "PairColstim",
    "PairEnsemble",
    "PairLayers",
    "PairThompson",
    "PairUCB",
    "PairUniform",
    "Responses",
    "Thompson",
    "Uniform",
    "WarmUp",
]
