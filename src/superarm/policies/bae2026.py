"""Neural logistic bandits as in the experiments of Bae & Lee (2026), ICML, section 7 and appendices A, I, J.

All methods share one recipe: a latent score f(x; theta), by a network or linear, fitted every 50 rounds by
100 gradient steps on the mean logistic loss with penalty lambda |theta|^2 / t; gradients g of the current
network as they are; the diagonal of a matrix

    V_t = kappa lambda I + sum g g'    or    W_t = lambda I + sum mu'(f) g g',   mu' = mu (1 - mu);

the effective dimension d_t = log det(I + c sum g g') of the same diagonal; and a radius

    beta_t = nu (s sqrt(d_t) + sqrt(lambda) S).

| preset | score | bonus | c | s |
|---|---|---|---|---|
| ncbf_ucb | f + bonus | kappa beta ||g||_{V^-1} | 1 / kappa | 1 |
| logistic_ucb_1 (linear) | mu(f) + bonus | R sqrt(kappa) beta ||g||_{V^-1} | R | 1 |
| neural_log_ucb_1 | mu(f) + bonus | R sqrt(kappa) beta ||g||_{V^-1} | R | 1 + S + S^2 |
| ada_ofu_ecolog (linear) | f + bonus | beta ||g||_{W^-1} | R | 1 |
| neural_log_ucb_2 | f + bonus | beta ||g||_{W^-1} | R | 1 + S + S^2 |
| neural_log_ts_1 | draw around f | sd sqrt(kappa) beta ||g||_{V^-1} | R | 1 + S + S^2 |
| neural_log_ts_2 | draw around f | sd beta ||g||_{W^-1} | R | 1 + S + S^2 |

with R = 1/4. The paper prints no radius, only its orders in lambda, S, kappa and d_t; it writes a summed
loss, which diverges at its step of 0.01. The weight mu'(f) is that of the fit in force when feedback is
recorded.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from superarm import checks
from superarm.contract import Oracle
from superarm.policies.bae2026_recipe import LINEAR, NETWORK, Recipe, RecipeTraining, V, W
from superarm.policy import Policy
from superarm.schedules.bernstein_tails import VARIANCE

__all__ = [
    "ada_ofu_ecolog",
    "logistic_ucb_1",
    "ncbf_ucb",
    "neural_log_ts_1",
    "neural_log_ts_2",
    "neural_log_ucb_1",
    "neural_log_ucb_2",
]


@checks.named
def neural_log_ucb_1(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    units: int = 20,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """NeuralLog-UCB-1 as in the experiments; `neural_log_ucb_1_theory` is Algorithm 1 as written.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        nu: exploration.
        ridge: lambda.
        kappa: 1 / the least variance of a reward.
        norm_bound: S.
        units: m, hidden units.
        training: learning_rate (0.01), optimizer ("gd"), steps (100), learn_every (50), memory ("all"),
            memory_size, and width, "diagonal" or "full".

    >>> import superarm
    >>> superarm.neural_log_ucb_1(nu=0.1, ridge=10.0).learn_every
    50
    """
    where = "neural_log_ucb_1"
    recipe = Recipe(where, NETWORK, V, nu, ridge, kappa, norm_bound, own=True)
    return recipe.ucb(oracle, VARIANCE * np.sqrt(recipe.kappa), "logistic", units, training)


@checks.named
def neural_log_ucb_2(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    units: int = 20,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """NeuralLog-UCB-2 as in the experiments; `neural_log_ucb_2_theory` is Algorithm 2 as written.

    Arguments as in `neural_log_ucb_1`; kappa is not used, since W_t has the network's own variances.

    >>> import superarm
    >>> superarm.neural_log_ucb_2(superarm.top_k(3)).chooser.size
    3
    """
    where = "neural_log_ucb_2"
    recipe = Recipe(where, NETWORK, W, nu, ridge, kappa, norm_bound, own=True)
    return recipe.ucb(oracle, np.float64(1.0), None, units, training)


@checks.named
def neural_log_ts_1(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    units: int = 20,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """NeuralLog-TS-1 as in the experiments (appendices I and J). Arguments as in `neural_log_ucb_1`.

    >>> import superarm
    >>> superarm.neural_log_ts_1().name
    'neural_log_ts_1'
    """
    where = "neural_log_ts_1"
    recipe = Recipe(where, NETWORK, V, nu, ridge, kappa, norm_bound, own=True)
    return recipe.thompson(oracle, np.sqrt(recipe.kappa), units, training)


@checks.named
def neural_log_ts_2(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    units: int = 20,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """NeuralLog-TS-2 as in the experiments (appendices I and J). Arguments as in `neural_log_ucb_1`.

    >>> import superarm
    >>> superarm.neural_log_ts_2().name
    'neural_log_ts_2'
    """
    where = "neural_log_ts_2"
    recipe = Recipe(where, NETWORK, W, nu, ridge, kappa, norm_bound, own=True)
    return recipe.thompson(oracle, np.float64(1.0), units, training)


@checks.named
def ncbf_ucb(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    units: int = 20,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """NCBF-UCB as in bae2026's experiments. Arguments as in `neural_log_ucb_1`.

    Verma, Dai, Lin, Jaillet & Low (2025), Neural dueling bandits: preference-based optimization with human
    feedback, ICLR, for binary feedback.

    >>> import superarm
    >>> superarm.ncbf_ucb().name
    'ncbf_ucb'
    """
    where = "ncbf_ucb"
    share = 1.0 / checks.positive(where, "kappa", kappa)
    recipe = Recipe(where, NETWORK, V, nu, ridge, kappa, norm_bound, share=share)
    return recipe.ucb(oracle, recipe.kappa, None, units, training)


@checks.named
def logistic_ucb_1(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """Logistic-UCB-1 in the form of bae2026's experiments: linear scores. See `logistic_ucb_1_original`.

    Faury, Abeille, Calauzenes & Fercoq (2020), Improved optimistic algorithms for logistic bandits, ICML.
    Arguments as in `neural_log_ucb_1`.

    >>> import superarm
    >>> superarm.logistic_ucb_1(kappa=50.0).learn_every
    50
    """
    recipe = Recipe("logistic_ucb_1", LINEAR, V, nu, ridge, kappa, norm_bound)
    return recipe.ucb(oracle, VARIANCE * np.sqrt(recipe.kappa), "logistic", 0, training)


@checks.named
def ada_ofu_ecolog(
    oracle: Oracle | None = None,
    *,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """Ada-OFU-ECOLog in the form of bae2026's experiments: linear, variance-weighted. See `ecolog`.

    Faury, Abeille, Jun & Calauzenes (2022), Jointly efficient and optimal algorithms for logistic bandits,
    AISTATS. Arguments as in `neural_log_ucb_1`; kappa is not used.

    >>> import superarm
    >>> superarm.ada_ofu_ecolog().learn_every
    50
    """
    recipe = Recipe("ada_ofu_ecolog", LINEAR, W, nu, ridge, kappa, norm_bound)
    return recipe.ucb(oracle, np.float64(1.0), None, 0, training)
