"""Presets: named algorithms as fixed choices of model, width, explorer and chooser."""

from superarm.policies.bae2026 import (
    ada_ofu_ecolog,
    logistic_ucb_1,
    ncbf_ucb,
    neural_log_ts_1,
    neural_log_ts_2,
    neural_log_ucb_1,
    neural_log_ucb_2,
)
from superarm.policies.bae2026_theory import (
    neural_log_ts_1_theory,
    neural_log_ts_2_theory,
    neural_log_ucb_1_theory,
    neural_log_ucb_2_theory,
)
from superarm.policies.baselines import epsilon_greedy, uniform
from superarm.policies.hwang2023 import cn_ts, cn_ucb
from superarm.policies.linear import lin_ts, lin_ucb
from superarm.policies.logistic import ecolog, glm_ucb, logistic_ts, logistic_ucb_1_original
from superarm.policies.neural import neural_ts, neural_ucb
from superarm.policies.wen2015 import comb_lin_ts, comb_lin_ucb, comb_ts, comb_ucb1

__all__ = [
    "ada_ofu_ecolog",
    "cn_ts",
    "cn_ucb",
    "comb_lin_ts",
    "comb_lin_ucb",
    "comb_ts",
    "comb_ucb1",
    "ecolog",
    "epsilon_greedy",
    "glm_ucb",
    "lin_ts",
    "lin_ucb",
    "logistic_ts",
    "logistic_ucb_1",
    "logistic_ucb_1_original",
    "ncbf_ucb",
    "neural_log_ts_1",
    "neural_log_ts_1_theory",
    "neural_log_ts_2",
    "neural_log_ts_2_theory",
    "neural_log_ucb_1",
    "neural_log_ucb_1_theory",
    "neural_log_ucb_2",
    "neural_log_ucb_2_theory",
    "neural_ts",
    "neural_ucb",
    "uniform",
]
