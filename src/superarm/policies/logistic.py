"""Generalized linear bandits: GLM-UCB, Logistic-UCB-1, ECOLog, and Thompson sampling by Laplace."""

from __future__ import annotations

from typing import Unpack

from superarm import checks
from superarm.contract import Explorer, Oracle
from superarm.explorers import UCB, Responses, Thompson
from superarm.models import OnePassLogistic, glm
from superarm.models.factory import GlmFitting, NewtonFitting, PenalizedFitting
from superarm.models.links import LinkName
from superarm.policies.parts import LinearWidthName, chosen_by, radius_of, width_of
from superarm.policy import Policy
from superarm.schedules import Radius
from superarm.schedules.radius import LogGrowth
from superarm.widths import Full

__all__ = ["ecolog", "glm_ucb", "logistic_ts", "logistic_ucb_1_original"]


@checks.named
def glm_ucb(
    oracle: Oracle | None = None,
    *,
    radius: float | Radius = 1.0,
    link: LinkName = "logistic",
    ridge: float = 1.0,
    width: LinearWidthName = "full",
    **fitting: Unpack[GlmFitting],
) -> Policy:
    """GLM-UCB: mu(x'theta) + radius ||x||_{M^-1} with M = ridge I + sum x x', theta by maximum likelihood.

    Filippi, Cappe, Garivier & Szepesvari (2010), Parametric bandits: the generalized linear case, NeurIPS.
    The likelihood is penalized by the same ridge, in place of their projection.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        radius: a constant, or a schedule.
        link: "identity", "logistic", "poisson", "probit" or "exponential".
        ridge: lambda.
        width: "full", "diagonal" or "sketched".
        fitting: learn_every (1), memory ("all"), memory_size, tolerance, steps: see `superarm.glm`.

    >>> import superarm
    >>> superarm.glm_ucb(radius=0.5, link="poisson").learn_every
    1
    """
    where = "glm_ucb"
    return Policy(
        model=glm(link=link, ridge=ridge, weights="none", **fitting),
        width=width_of(where, width),
        explorer=UCB(radius=radius_of(where, radius), link=link),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def logistic_ts(
    oracle: Oracle | None = None,
    *,
    scale: float = 1.0,
    link: LinkName = "logistic",
    ridge: float = 1.0,
    draws: int = 1,
    width: LinearWidthName = "full",
    **fitting: Unpack[PenalizedFitting],
) -> Policy:
    """Thompson sampling by the Laplace approximation: theta ~ N(theta_hat, scale^2 H^-1).

    H = ridge I + sum mu'(x'theta_hat) x x' is the Hessian of the penalized likelihood at its optimum.
    Chapelle & Li (2011), An empirical evaluation of Thompson sampling, NeurIPS; Dong, Ma & Van Roy (2019),
    On the performance of Thompson sampling on logistic bandits, COLT.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        scale: multiplies the standard deviation.
        link: "identity", "logistic", "poisson", "probit" or "exponential".
        ridge: lambda.
        draws: each arm is scored by its best of this many draws.
        width: "full", "diagonal" or "sketched".
        fitting: learn_every (1), memory ("all"), memory_size, tolerance, steps: see `superarm.glm`.

    >>> import superarm
    >>> superarm.logistic_ts(learn_every=10).learn_every
    10
    """
    where = "logistic_ts"
    explorer: Explorer = Thompson(
        scale=checks.nonnegative(where, "scale", scale), draws=checks.count(where, "draws", draws)
    )
    return Policy(
        model=glm(link=link, ridge=ridge, weights="refit", **fitting),
        width=width_of(where, width),
        explorer=explorer if oracle is None else Responses(explorer, link),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def logistic_ucb_1_original(
    oracle: Oracle | None = None, *, dim: int, radius: float | Radius = 1.0, **fitting: Unpack[NewtonFitting]
) -> Policy:
    """Logistic-UCB-1 as its authors run it: mu(x'theta) + radius ||x||_{V^-1}, V = d I + sum x x'.

    theta maximizes the likelihood with penalty (d log(2 + t) / 2) |theta|^2 after t observations, without the
    paper's projection. Faury, Abeille, Calauzenes & Fercoq (2020), Improved optimistic algorithms for
    logistic bandits, ICML. `logistic_ucb_1` is the form of bae2026's experiments.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        dim: d, features per arm.
        radius: a constant, or a schedule; it takes in the paper's sqrt(kappa).
        fitting: learn_every (1), memory ("all"), memory_size, tolerance, steps: see `superarm.glm`.

    >>> import superarm
    >>> superarm.logistic_ucb_1_original(dim=5).name
    'logistic_ucb_1_original'
    """
    where = "logistic_ucb_1_original"
    size = float(checks.count(where, "dim", dim))
    penalty = LogGrowth(scale=checks.positive(where, "dim", size))
    return Policy(
        model=glm(ridge=size, penalty=penalty, weights="none", **fitting),
        width=Full(),
        explorer=UCB(radius=radius_of(where, radius), link="logistic"),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def ecolog(
    oracle: Oracle | None = None,
    *,
    radius: float | Radius = 1.0,
    ridge: float = 1.0,
    norm_bound: float = 1.0,
    width: LinearWidthName = "full",
) -> Policy:
    """ECOLog as published: one pass, constant memory, x'theta + radius ||x||_{W^-1}.

    Faury, Abeille, Jun & Calauzenes (2022), Jointly efficient and optimal algorithms for logistic bandits,
    AISTATS. `ada_ofu_ecolog` is the form of bae2026's experiments.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        radius: a constant, or a schedule.
        ridge: lambda.
        norm_bound: S; theta* lies in the ball of this radius, of diameter D = 2 S.
        width: "full", "diagonal" or "sketched".

    >>> import superarm
    >>> superarm.ecolog(radius=0.5).learn_every is None
    True
    """
    where = "ecolog"
    explorer: Explorer = UCB(radius=radius_of(where, radius))
    return Policy(
        model=OnePassLogistic(
            ridge=checks.positive(where, "ridge", ridge),
            diameter=2.0 * checks.positive(where, "norm_bound", norm_bound),
        ),
        width=width_of(where, width),
        explorer=explorer if oracle is None else Responses(explorer, "logistic"),
        chooser=chosen_by(where, oracle),
        name=where,
    )
