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
from superarm.policies.duels import colstim, ensemble_duel, glm_duel, max_inp, max_pair_ucb, uniform_duel
from superarm.policies.hwang2023 import cn_ts, cn_ucb
from superarm.policies.hwang2023_doubling import cn_ts_doubling, cn_ucb_doubling
from superarm.policies.linear import lin_ts, lin_ucb
from superarm.policies.logistic import ecolog, glm_ucb, logistic_ts, logistic_ucb_1_original
from superarm.policies.neural import neural_ts, neural_ucb
from superarm.policies.neural_log_duel import neural_log_duel
from superarm.policies.oh2026 import ndb_ts, ndb_ucb, nldb, nvldb, nvldb_theory
from superarm.policies.sun2026 import evill, glm_es, glm_fpl, glm_tsl, lin_es, lin_phe, neural_es, neural_phe
from superarm.policies.sun2026_anytime import glm_es_anytime, lin_es_anytime, neural_es_anytime
from superarm.policies.sun2026_theory import glm_es_theory, neural_es_theory
from superarm.policies.vacdb import vacdb
from superarm.policies.warm_up import warm_up
from superarm.policies.wen2015 import comb_lin_ts, comb_lin_ucb, comb_ts, comb_ucb1

__all__ = [
    "ada_ofu_ecolog",
    "cn_ts",
    "cn_ts_doubling",
    "cn_ucb",
    "cn_ucb_doubling",
    "colstim",
    "comb_lin_ts",
    "comb_lin_ucb",
    "comb_ts",
    "comb_ucb1",
    "ecolog",
    "ensemble_duel",
    "epsilon_greedy",
    "evill",
    "glm_duel",
    "glm_es",
    "glm_es_anytime",
    "glm_es_theory",
    "glm_fpl",
    "glm_tsl",
    "glm_ucb",
    "lin_es",
    "lin_es_anytime",
    "lin_phe",
    "lin_ts",
    "lin_ucb",
    "logistic_ts",
    "logistic_ucb_1",
    "logistic_ucb_1_original",
    "max_inp",
    "max_pair_ucb",
    "ncbf_ucb",
    "ndb_ts",
    "ndb_ucb",
    "neural_es",
    "neural_es_anytime",
    "neural_es_theory",
    "neural_log_duel",
    "neural_log_ts_1",
    "neural_log_ts_1_theory",
    "neural_log_ts_2",
    "neural_log_ts_2_theory",
    "neural_log_ucb_1",
    "neural_log_ucb_1_theory",
    "neural_log_ucb_2",
    "neural_log_ucb_2_theory",
    "neural_phe",
    "neural_ts",
    "neural_ucb",
    "nldb",
    "nvldb",
    "nvldb_theory",
    "uniform",
    "uniform_duel",
    "vacdb",
    "warm_up",
]
