"""superarm: contextual bandits whose action is one arm, a set of arms, or a duel."""

import importlib as _importlib
import typing as _typing

from superarm import anytime, bounds, config, design, environments, errors, ntk, rewards, types
from superarm.agent import Agent
from superarm.algebra import Policy
from superarm.choosers import oracles
from superarm.choosers.oracles import top_k
from superarm.compile_cache import keep_compiled
from superarm.compose import policy
from superarm.models import glm, network, neural, perceptron, shallow_model
from superarm.policies import (
    ada_ofu_ecolog,
    cn_ts,
    cn_ts_doubling,
    cn_ucb,
    cn_ucb_doubling,
    colstim,
    comb_lin_ts,
    comb_lin_ucb,
    comb_ts,
    comb_ucb1,
    ecolog,
    ensemble_duel,
    epsilon_greedy,
    evill,
    glm_duel,
    glm_es,
    glm_es_anytime,
    glm_es_theory,
    glm_fpl,
    glm_tsl,
    glm_ucb,
    lin_es,
    lin_es_anytime,
    lin_phe,
    lin_ts,
    lin_ucb,
    logistic_ts,
    logistic_ucb_1,
    logistic_ucb_1_original,
    max_inp,
    max_pair_ucb,
    ncbf_ucb,
    ndb_ts,
    ndb_ucb,
    neural_es,
    neural_es_anytime,
    neural_es_theory,
    neural_log_duel,
    neural_log_ts_1,
    neural_log_ts_1_theory,
    neural_log_ts_2,
    neural_log_ts_2_theory,
    neural_log_ucb_1,
    neural_log_ucb_1_theory,
    neural_log_ucb_2,
    neural_log_ucb_2_theory,
    neural_phe,
    neural_ts,
    neural_ucb,
    nldb,
    nvldb,
    nvldb_theory,
    uniform,
    uniform_duel,
    vacdb,
    warm_up,
)
from superarm.selection import Selection
from superarm.serial import low_latency
from superarm.simulate import SimulationError, compare, simulate
from superarm.spread import learn_members
from superarm.store.keeper import Store
from superarm.tune import tune
from superarm.types import Choice, Decision, Event, Spec, State
from superarm.widths import (
    bernstein,
    lemma1_radius,
    lemma7_radius,
    optimistic_draws,
    shallow_radius,
    tail_bound,
)

if _typing.TYPE_CHECKING:
    from superarm import evaluate

__all__ = [
    "Agent",
    "Choice",
    "Decision",
    "Event",
    "Policy",
    "Selection",
    "SimulationError",
    "Spec",
    "State",
    "Store",
    "ada_ofu_ecolog",
    "anytime",
    "bernstein",
    "bounds",
    "cn_ts",
    "cn_ts_doubling",
    "cn_ucb",
    "cn_ucb_doubling",
    "colstim",
    "comb_lin_ts",
    "comb_lin_ucb",
    "comb_ts",
    "comb_ucb1",
    "compare",
    "config",
    "design",
    "ecolog",
    "ensemble_duel",
    "environments",
    "epsilon_greedy",
    "errors",
    "evaluate",
    "evill",
    "glm",
    "glm_duel",
    "glm_es",
    "glm_es_anytime",
    "glm_es_theory",
    "glm_fpl",
    "glm_tsl",
    "glm_ucb",
    "keep_compiled",
    "learn_members",
    "lemma1_radius",
    "lemma7_radius",
    "lin_es",
    "lin_es_anytime",
    "lin_phe",
    "lin_ts",
    "lin_ucb",
    "logistic_ts",
    "logistic_ucb_1",
    "logistic_ucb_1_original",
    "low_latency",
    "max_inp",
    "max_pair_ucb",
    "ncbf_ucb",
    "ndb_ts",
    "ndb_ucb",
    "network",
    "neural",
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
    "ntk",
    "nvldb",
    "nvldb_theory",
    "optimistic_draws",
    "oracles",
    "perceptron",
    "policy",
    "rewards",
    "shallow_model",
    "shallow_radius",
    "simulate",
    "tail_bound",
    "top_k",
    "tune",
    "types",
    "uniform",
    "uniform_duel",
    "vacdb",
    "warm_up",
]


def __getattr__(name: str) -> _typing.Any:
    """Import what takes long when it is first asked for."""
    if name == "evaluate":
        return _importlib.import_module("superarm.evaluate")
    raise AttributeError(f"module 'superarm' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All names, those that are not imported yet, too."""
    return sorted({*globals(), *__all__})
