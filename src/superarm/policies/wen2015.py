"""Combinatorial linear semi-bandits, and their baselines without generalization.

Wen, Kveton & Ashkan (2015), Efficient Learning in Large-Scale Combinatorial Semi-Bandits, ICML.
"""

from __future__ import annotations

from superarm import checks
from superarm.contract import Oracle
from superarm.explorers import UCB, Thompson
from superarm.models import ItemBetas, ItemMeans
from superarm.policies.parts import LinearWidthName, chosen_by, linear_model, radius_of, width_of
from superarm.policy import Policy
from superarm.schedules import Logarithmic, Radius

__all__ = ["comb_lin_ts", "comb_lin_ucb", "comb_ts", "comb_ucb1"]


@checks.named
def comb_lin_ts(
    oracle: Oracle, *, prior_scale: float = 1.0, noise: float = 1.0, width: LinearWidthName = "full"
) -> Policy:
    """CombLinTS (Algorithm 2): draw theta from the posterior, choose the best set for it.

        theta_t ~ N(mean_t, Sigma_t),   A_t = ORACLE(Phi theta_t),   update by Algorithm 1

    Args:
        oracle: solves the offline problem; see `superarm.oracles`.
        prior_scale: lambda; the prior is N(0, lambda^2 I). Too small explores too little.
        noise: sigma, standard deviation of an item's feedback. Too small settles too soon.
        width: "full", the paper's; or "diagonal".

    The posterior is updated by one factorization per set, equal to the paper's item-by-item recursion.

    >>> import superarm
    >>> superarm.comb_lin_ts(superarm.top_k(2), prior_scale=10.0).name
    'comb_lin_ts'
    """
    where = "comb_lin_ts"
    return Policy(
        model=linear_model(where, prior_scale, noise),
        width=width_of(where, width),
        explorer=Thompson(scale=checks.real(where, "scale", 1.0)),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def comb_lin_ucb(
    oracle: Oracle,
    *,
    radius: float | Radius = 1.0,
    prior_scale: float = 1.0,
    noise: float = 1.0,
    width: LinearWidthName = "full",
) -> Policy:
    """CombLinUCB (Algorithm 3): score mean + c * width, choose the best set for it.

        w_t(e) = <phi_e, mean_t> + c sqrt(phi_e' Sigma_t phi_e),   A_t = ORACLE(w_t)

    Args:
        oracle: solves the offline problem; see `superarm.oracles`.
        radius: c; a constant, `lemma7_radius(...)` for which Theorem 2 holds, or a schedule.
        prior_scale: lambda.
        noise: sigma.
        width: "full", the paper's; or "diagonal".

    >>> import superarm
    >>> superarm.comb_lin_ucb(superarm.top_k(2), radius=0.5).name
    'comb_lin_ucb'
    """
    where = "comb_lin_ucb"
    return Policy(
        model=linear_model(where, prior_scale, noise),
        width=width_of(where, width),
        explorer=UCB(radius=radius_of(where, radius)),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def comb_ucb1(oracle: Oracle, *, scale: float = 1.5) -> Policy:
    """CombUCB1: each item's mean plus sqrt(scale ln t / n), items never seen first.

    Kveton, Wen, Ashkan & Szepesvari (2015), Tight Regret Bounds for Stochastic Combinatorial Semi-Bandits,
    AISTATS. Feedback is taken to lie in [0, 1].

    >>> import superarm
    >>> superarm.comb_ucb1(superarm.top_k(2)).name
    'comb_ucb1'
    """
    where = "comb_ucb1"
    return Policy(
        model=ItemMeans(),
        width=None,
        explorer=UCB(radius=Logarithmic(scale=checks.positive(where, "scale", scale))),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def comb_ts(oracle: Oracle, *, prior_wins: float = 1.0, prior_losses: float = 1.0) -> Policy:
    """CombTS: an independent Beta posterior per item, one draw each.

    wen2015, section 6.2, where it is CombLinTS without generalization. Feedback lies in [0, 1].

    >>> import superarm
    >>> superarm.comb_ts(superarm.top_k(2)).name
    'comb_ts'
    """
    where = "comb_ts"
    return Policy(
        model=ItemBetas(
            prior_wins=checks.positive(where, "prior_wins", prior_wins),
            prior_losses=checks.positive(where, "prior_losses", prior_losses),
        ),
        width=None,
        explorer=Thompson(scale=checks.real(where, "scale", 1.0)),
        chooser=chosen_by(where, oracle),
        name=where,
    )
