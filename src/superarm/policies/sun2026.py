"""Ensemble sampling for linear, generalized linear and neural bandits, and perturbed history.

Sun, Wang & Xu (2026), Provable anytime ensemble sampling algorithms in nonlinear contextual bandits.
"""

from __future__ import annotations

from typing import Any, Unpack

from superarm import checks
from superarm.contract import Explorer, Model, Oracle
from superarm.explorers import EnsembleSampling, Greedy, Responses, Thompson
from superarm.models import Ensemble, Linear, Neural, PerturbedHistory, glm, perceptron
from superarm.models.factory import GlmFitting, NeuralSettings, PenalizedFitting, neural
from superarm.models.links import UNBOUNDED_LINKS, LinkName, UnboundedLink, link_of
from superarm.policies.parts import LinearWidthName, chosen_by, width_of
from superarm.policies.warm_ups import Plan, warm_up
from superarm.policy import Policy
from superarm.widths import Full

__all__ = ["evill", "glm_es", "glm_fpl", "glm_tsl", "lin_es", "lin_phe", "neural_es", "neural_phe"]


@checks.named
def ensemble_figure_model(
    ridge: float = 1.0, *, units: int = 20, depth: int = 3, **fitting: Unpack[NeuralSettings]
) -> Neural:
    """The network of the paper's figures: L = 3, N = 20, 100 steps of 0.01 every round, from the last fit.

    The objective is (sum of squares / 2 + lambda / 2 |theta - theta_0|^2) / t. The paper writes the sum, on
    which steps of 0.01 diverge once t is large, and the penalty lambda N, which belongs to its NTK network.

    Args:
        ridge: lambda.
        units: N.
        depth: L.
        fitting: memory ("all"), learn_every (1), steps (100), learning_rate (0.01): see `superarm.neural`.
    """
    network = perceptron(width=units, depth=depth)
    settings: dict[str, Any] = {"penalty": ridge, "row_scale": 1.0, "reduction": "mean", **fitting}
    return neural(network, ridge=ridge, **settings)


class GlmEsSettings(GlmFitting, total=False):
    """Settings of `glm_es` that neither a horizon nor a theorem sets."""

    model: Neural | None
    link: UnboundedLink
    plan: Plan


@checks.named
def lin_es(
    oracle: Oracle | None = None,
    *,
    size: int = 25,
    perturbation: float = 0.1,
    ridge: float = 1.0,
    width: LinearWidthName = "full",
) -> Policy:
    """Lin-ES: m ridge regressions on rewards with perturbations of their own; a random one decides.

    The members share one covariance, which does not depend on rewards: a round costs O(d^2 + m d), with any
    contexts. Lu & Van Roy (2017), Ensemble sampling, NeurIPS; Lee & Oh (2024), Improved regret of linear
    ensemble sampling, NeurIPS.

    Args:
        oracle: solves the offline problem; None to choose one arm.
        size: m.
        perturbation: sigma_R, standard deviation.
        ridge: lambda.
        width: "full", "diagonal" or "sketched".

    >>> import superarm
    >>> superarm.lin_es(size=10).model.size
    10
    """
    where = "lin_es"
    noise = checks.positive(where, "ridge", ridge) ** -0.5
    return Policy(
        model=_ensemble(where, Linear(prior_scale=noise, noise=noise**0), perturbation, size),
        width=width_of(where, width),
        explorer=EnsembleSampling(),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def glm_es(
    oracle: Oracle | None = None,
    model: Neural | None = None,
    *,
    size: int = 10,
    perturbation: float = 0.1,
    ridge: float = 1.0,
    link: UnboundedLink = "logistic",
    warmup: int = 500,
    plan: Plan = "design",
    **fitting: Unpack[GlmFitting],
) -> Policy:
    """GLM-ES (Algorithm 1 with equation 4.3): m penalized likelihood fits; a random one decides.

    Members are fitted by Newton's method to the optimum that the paper defines. (Its figures take 100
    gradient steps of 0.01 on the summed loss, which are unstable.)

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        model: in place of Newton's: `neural(Coefficients(), loss="logistic", penalty=1.0, reduction="mean",
            ...)` takes gradient steps, for instance. Ridge, link and `fitting` are then the model's own;
            lambda is its `penalty`.
        size: m.
        perturbation: sigma_R, standard deviation.
        ridge: lambda.
        link: "identity", "logistic" or "poisson"; the probit likelihood has no place for perturbed rewards.
        warmup: tau, decisions of the warm-up; 0 for none.
        plan: of the warm-up: "design" (Algorithm 2), for arms that stay; "uniform", for contexts that change;
            "each".
        fitting: memory ("all"; "arms" where arms stay: O(arms) a fit), learn_every (1), tolerance, steps: see
            `superarm.glm`.

    >>> import superarm
    >>> superarm.glm_es(warmup=100, memory="arms").learn_every
    1
    """
    where = "glm_es"
    own: LinkName = link
    if model is None:
        model = glm(link=_perturbable(where, link), ridge=ridge, weights="none", **fitting)
    else:
        checks.keywords(where, fitting, glm_es, glm)
        own = link_of(model.fitting.loss).name
    members = _ensemble(where, model, perturbation, size)
    return _glm_policy(where, members, EnsembleSampling(), oracle, own, warmup, plan)


@checks.named
def neural_es(
    oracle: Oracle | None = None,
    model: Neural | None = None,
    *,
    size: int = 10,
    perturbation: float = 0.1,
    warmup: int | None = None,
    plan: Plan = "each",
    horizon: int | None = None,
) -> Policy:
    """Neural-ES (Algorithm 1 with equation 4.4): m networks with one start; a random one decides.

    Args:
        oracle: solves the offline problem; None to choose one arm.
        model: `neural(...)`; by default that of the paper's figures. With `memory="arms"` a step costs
            O(arms); `parametrization="ntk"` is the form of the theorem.
        size: m.
        perturbation: sigma_R, standard deviation.
        warmup: decisions of the warm-up; None for each arm once, 0 for none.
        plan: of the warm-up: "each", "uniform" or "design".
        horizon: decisions that there will be; a longer warm-up is cut to half of them.

    >>> import superarm
    >>> superarm.neural_es(size=5).model.size
    5
    """
    where = "neural_es"
    network = _network_model(where, model)
    policy = Policy(
        model=_ensemble(where, network, perturbation, size),
        width=None,
        explorer=_rewarded(EnsembleSampling(), oracle, network),
        chooser=chosen_by(where, oracle),
        name=where,
    )
    return policy if warmup == 0 else warm_up(policy, rounds=warmup, plan=plan, horizon=horizon)


@checks.named
def lin_phe(
    oracle: Oracle | None = None,
    *,
    perturbation: float = 0.5,
    ridge: float = 1.0,
    **fitting: Unpack[PenalizedFitting],
) -> Policy:
    """Lin-PHE: ridge regression on rewards with perturbations that are all drawn anew every round.

    Kveton, Szepesvari, Ghavamzadeh & Boutilier (2020), Perturbed-history exploration in stochastic linear
    bandits, UAI; with Gaussian perturbations, as in sun2026.

    Args:
        oracle: solves the offline problem; None to choose one arm.
        perturbation: standard deviation.
        ridge: lambda.
        fitting: memory ("all"; "arms" where arms stay), learn_every (1): see `superarm.glm`.

    >>> import superarm
    >>> superarm.lin_phe(memory="arms").name
    'lin_phe'
    """
    where = "lin_phe"
    model = glm(link="identity", ridge=ridge, weights="none", **fitting)
    return Policy(
        model=PerturbedHistory(model, checks.nonnegative(where, "perturbation", perturbation)),
        width=None,
        explorer=Greedy(),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def glm_fpl(
    oracle: Oracle | None = None,
    *,
    perturbation: float = 0.5,
    ridge: float = 1.0,
    link: UnboundedLink = "logistic",
    warmup: int = 500,
    plan: Plan = "design",
    **fitting: Unpack[PenalizedFitting],
) -> Policy:
    """GLM-FPL: follow the leader of rewards with Gaussian perturbations, all drawn anew every round.

    Kveton, Zaheer, Szepesvari, Li, Ghavamzadeh & Boutilier (2020), Randomized exploration in generalized
    linear bandits, AISTATS.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        perturbation: a, standard deviation.
        ridge: lambda.
        link: "identity", "logistic" or "poisson".
        warmup: decisions of the warm-up; 0 for none.
        plan: of the warm-up: "design", "uniform" or "each".
        fitting: memory ("all"; "arms" where arms stay), learn_every (1): see `superarm.glm`.

    >>> import superarm
    >>> superarm.glm_fpl(memory="arms").name
    'glm_fpl'
    """
    where = "glm_fpl"
    model = glm(link=_perturbable(where, link), ridge=ridge, weights="none", **fitting)
    scale = checks.nonnegative(where, "perturbation", perturbation)
    return _glm_policy(where, PerturbedHistory(model, scale), Greedy(), oracle, link, warmup, plan)


@checks.named
def evill(
    oracle: Oracle | None = None,
    *,
    scale: float = 1.0,
    ridge: float = 1.0,
    link: UnboundedLink = "logistic",
    warmup: int = 500,
    plan: Plan = "design",
    **fitting: Unpack[PenalizedFitting],
) -> Policy:
    """EVILL: the minimizer of the penalized loss minus a random linear term Z'theta.

        Z = a sqrt(lambda) xi_0 + a sum_l sqrt(mu'(x_l'theta_hat)) xi_l x_l,   xi standard normal

    with theta_hat the estimate without the term. Janz, Liu, Ayoub & Szepesvari (2024), Exploration via
    linearly perturbed loss minimisation, AISTATS.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        scale: a.
        ridge: lambda.
        link: "identity", "logistic" or "poisson".
        warmup: decisions of the warm-up; 0 for none.
        plan: of the warm-up: "design", "uniform" or "each".
        fitting: memory ("all"; "arms" where arms stay), learn_every (1): see `superarm.glm`.

    >>> import superarm
    >>> superarm.evill(scale=0.5, memory="arms").name
    'evill'
    """
    where = "evill"
    model = glm(link=_perturbable(where, link), ridge=ridge, weights="none", **fitting)
    perturbed = PerturbedHistory(model, checks.nonnegative(where, "scale", scale), adaptive=True)
    return _glm_policy(where, perturbed, Greedy(), oracle, link, warmup, plan)


@checks.named
def glm_tsl(
    oracle: Oracle | None = None,
    *,
    scale: float = 1.0,
    ridge: float = 1.0,
    link: LinkName = "logistic",
    warmup: int = 500,
    plan: Plan = "design",
    **fitting: Unpack[PenalizedFitting],
) -> Policy:
    """GLM-TSL: Thompson sampling by the Laplace approximation, after a warm-up. See `logistic_ts`.

    Kveton, Zaheer, Szepesvari, Li, Ghavamzadeh & Boutilier (2020), Randomized exploration in generalized
    linear bandits, AISTATS.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        scale: a, multiplies the standard deviation.
        ridge: lambda.
        link: "identity", "logistic", "poisson", "probit" or "exponential".
        warmup: decisions of the warm-up; 0 for none.
        plan: of the warm-up: "design", "uniform" or "each".
        fitting: memory ("all"; "arms" where arms stay), learn_every (1): see `superarm.glm`.

    >>> import superarm
    >>> superarm.glm_tsl(memory="arms").name
    'glm_tsl'
    """
    where = "glm_tsl"
    explorer: Explorer = Thompson(scale=checks.nonnegative(where, "scale", scale))
    policy = Policy(
        model=glm(link=link, ridge=ridge, weights="refit", **fitting),
        width=Full(),
        explorer=explorer if oracle is None else Responses(explorer, link),
        chooser=chosen_by(where, oracle),
        name=where,
    )
    return policy if warmup == 0 else warm_up(policy, rounds=warmup, plan=plan)


@checks.named
def neural_phe(
    oracle: Oracle | None = None,
    model: Neural | None = None,
    *,
    perturbation: float = 0.1,
    warmup: int | None = None,
    plan: Plan = "each",
) -> Policy:
    """Neural-PHE: one network, fitted every round to rewards with perturbations that are all drawn anew.

    Jia, Zhang, Zhou, Gu & Wang (2022), Learning neural contextual bandits through perturbed rewards, ICLR.

    Args:
        oracle: solves the offline problem; None to choose one arm.
        model: `neural(...)`; by default that of sun2026's figures.
        perturbation: standard deviation.
        warmup: decisions of the warm-up; None for each arm once, 0 for none.
        plan: of the warm-up: "each", "uniform" or "design".

    >>> import superarm
    >>> superarm.neural_phe().learn_every
    1
    """
    where = "neural_phe"
    network = _network_model(where, model)
    policy = Policy(
        model=PerturbedHistory(network, checks.nonnegative(where, "perturbation", perturbation)),
        width=None,
        explorer=_rewarded(Greedy(), oracle, network),
        chooser=chosen_by(where, oracle),
        name=where,
    )
    return policy if warmup == 0 else warm_up(policy, rounds=warmup, plan=plan)


def _ensemble(where: str, model: Model, perturbation: float, size: int) -> Ensemble:
    return Ensemble(
        model=model,
        scale=checks.nonnegative(where, "perturbation", perturbation),
        size=checks.count(where, "size", size),
    )


def _network_model(where: str, model: Neural | None) -> Neural:
    return ensemble_figure_model() if model is None else checks.part(where, "model", model, Model)


def _rewarded(explorer: Explorer, oracle: Oracle | None, model: Neural) -> Explorer:
    """The explorer, on the scale of rewards where sets add them up."""
    link = link_of(model.fitting.loss).name
    return explorer if oracle is None or link == "identity" else Responses(explorer, link)


def _perturbable(where: str, link: UnboundedLink) -> UnboundedLink:
    return checks.one_of(where, "link", link, UNBOUNDED_LINKS)


def _glm_policy(
    where: str,
    model: Model,
    explorer: Explorer,
    oracle: Oracle | None,
    link: LinkName,
    warmup: int,
    plan: Plan,
) -> Policy:
    policy = Policy(
        model=model,
        width=None,
        explorer=explorer if oracle is None else Responses(explorer, link),
        chooser=chosen_by(where, oracle),
        name=where,
    )
    return policy if warmup == 0 else warm_up(policy, rounds=warmup, plan=plan)
