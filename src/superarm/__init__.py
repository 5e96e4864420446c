"""superarm: contextual bandits whose action is one arm, a set of arms, or a duel."""

from superarm import anytime, bounds, environments, ntk, rewards, types
from superarm.choosers import oracles
from superarm.choosers.oracles import top_k
from superarm.models import network, neural, perceptron
from superarm.policies import (
    cn_ts,
    cn_ucb,
    comb_lin_ts,
    comb_lin_ucb,
    comb_ts,
    comb_ucb1,
    epsilon_greedy,
    lin_ts,
    lin_ucb,
    neural_ts,
    neural_ucb,
    uniform,
)
from superarm.policy import Policy
from superarm.simulate import SimulationError, compare, simulate
from superarm.types import Choice, Decision, Event, Spec, State
from superarm.widths import lemma1_radius, lemma7_radius, optimistic_draws

__all__ = [
    "Choice",
    "Decision",
    "Event",
    "Policy",
    "SimulationError",
    "Spec",
    "State",
    "anytime",
    "bounds",
    "cn_ts",
    "cn_ucb",
    "comb_lin_ts",
    "comb_lin_ucb",
    "comb_ts",
    "comb_ucb1",
    "compare",
    "environments",
    "epsilon_greedy",
    "lemma1_radius",
    "lemma7_radius",
    "lin_ts",
    "lin_ucb",
    "network",
    "neural",
    "neural_ts",
    "neural_ucb",
    "ntk",
    "optimistic_draws",
    "oracles",
    "perceptron",
    "rewards",
    "simulate",
    "top_k",
    "types",
    "uniform",
]
