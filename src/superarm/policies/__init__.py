"""Presets: named algorithms as fixed choices of model, width, explorer and chooser."""

from superarm.policies.baselines import epsilon_greedy, uniform
from superarm.policies.hwang2023 import cn_ts, cn_ucb
from superarm.policies.linear import lin_ts, lin_ucb
from superarm.policies.neural import neural_ts, neural_ucb
from superarm.policies.wen2015 import comb_lin_ts, comb_lin_ucb, comb_ts, comb_ucb1

__all__ = [
    "cn_ts",
    "cn_ucb",
    "comb_lin_ts",
    "comb_lin_ucb",
    "comb_ts",
    "comb_ucb1",
    "epsilon_greedy",
    "lin_ts",
    "lin_ucb",
    "neural_ts",
    "neural_ucb",
    "uniform",
]
