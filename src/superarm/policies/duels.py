"""Dueling bandits with linear utilities: MaxInP, MaxPairUCB, CoLSTIM; and duels of ensembles."""

from __future__ import annotations

from typing import Unpack

from superarm import checks
from superarm.choosers import Duel
from superarm.choosers.duel import STRATEGIES, Strategy
from superarm.contract import Explorer, Model
from superarm.explorers import PairColstim, PairEnsemble, PairThompson, PairUCB, PairUniform
from superarm.models import Ensemble, ItemMeans, Preferences, glm
from superarm.models.factory import GlmFitting, PenalizedFitting
from superarm.models.links import PREFERENCE_LINKS, PreferenceLink
from superarm.models.preferences import preferences
from superarm.policies.oh2026 import RULES, Rule
from superarm.policies.parts import radius_of, refuse_beside_model
from superarm.policy import Policy
from superarm.schedules import Radius
from superarm.widths import Full

__all__ = ["colstim", "ensemble_duel", "glm_duel", "max_inp", "max_pair_ucb", "uniform_duel"]


class UtilityFitting(PenalizedFitting, total=False):
    """Settings of the linear model of `ensemble_duel`."""

    ridge: float


@checks.named
def glm_duel(
    *,
    rule: Rule = "ucb",
    strategy: Strategy = "asymmetric",
    radius: float | Radius = 1.0,
    link: PreferenceLink = "logistic",
    ridge: float = 1.0,
    self_duels: bool = True,
    **fitting: Unpack[GlmFitting],
) -> Policy:
    """A duel with linear utilities x'theta, fitted by maximum likelihood to the differences of features.

    Widths are those of V = ridge I + sum (x_1 - x_2)(x_1 - x_2)'. `max_inp` and `max_pair_ucb` are two of the
    six combinations of rule and strategy. The model is that of Saha (2021), Optimal algorithms for stochastic
    contextual preference bandits, NeurIPS; the strategies are those of Oh, Park & Paik (2026).

    Args:
        rule: "ucb" or "ts".
        strategy: "asymmetric", "optimistic" or "candidate".
        radius: a constant, or a schedule.
        link: "logistic" (Bradley-Terry), "probit" (Thurstone-Mosteller) or "exponential" (noise).
        ridge: lambda.
        self_duels: allow an arm to meet itself.
        fitting: learn_every (1), memory ("all"), memory_size, least_deviation, to weigh preferences by their
            variance as NVLDB does: see `superarm.glm`.

    >>> import superarm
    >>> superarm.glm_duel(rule="ts", strategy="optimistic").chooser.size
    2
    """
    where = "glm_duel"
    reach = radius_of(where, radius)
    ucb = checks.one_of(where, "rule", rule, RULES) == "ucb"
    explorer: Explorer = PairUCB(radius=reach) if ucb else PairThompson(radius=reach)
    return _linear_duel(where, explorer, strategy, link, ridge, self_duels, fitting)


@checks.named
def max_inp(
    *,
    radius: float | Radius = 1.0,
    link: PreferenceLink = "logistic",
    ridge: float = 1.0,
    self_duels: bool = True,
    **fitting: Unpack[GlmFitting],
) -> Policy:
    """MaxInP: of the arms that no other is surely better than, the two that differ most in information.

    `glm_duel` with rule "ucb" and strategy "candidate"; the arguments are its. Saha (2021), Optimal
    algorithms for stochastic contextual preference bandits, NeurIPS.

    >>> import superarm
    >>> superarm.max_inp(learn_every=5).learn_every
    5
    """
    where = "max_inp"
    explorer = PairUCB(radius=radius_of(where, radius))
    return _linear_duel(where, explorer, "candidate", link, ridge, self_duels, fitting)


@checks.named
def max_pair_ucb(
    *,
    radius: float | Radius = 1.0,
    link: PreferenceLink = "logistic",
    ridge: float = 1.0,
    self_duels: bool = True,
    **fitting: Unpack[GlmFitting],
) -> Policy:
    """MaxPairUCB: the pair with the highest sum of utilities and width.

    `glm_duel` with rule "ucb" and strategy "optimistic"; the arguments are its. Di, Jin, Wu, Zhao, Farnoud &
    Gu (2023), Variance-aware regret bounds for stochastic contextual dueling bandits.

    >>> import superarm
    >>> superarm.max_pair_ucb(radius=0.5).name
    'max_pair_ucb'
    """
    where = "max_pair_ucb"
    explorer = PairUCB(radius=radius_of(where, radius))
    return _linear_duel(where, explorer, "optimistic", link, ridge, self_duels, fitting)


@checks.named
def colstim(
    *,
    radius: float | Radius = 1.0,
    threshold: float = 1.0,
    link: PreferenceLink = "logistic",
    ridge: float = 1.0,
    self_duels: bool = True,
    **fitting: Unpack[GlmFitting],
) -> Policy:
    """CoLSTIM: the first arm by perturbed utilities, the second by its optimistic challenge to the first.

        i = argmax x'theta + e ||x||_{M^-1},   j = argmax x_j'theta + c ||x_j - x_i||_{M^-1}

    with e drawn per arm and round from the Gumbel law, whose differences are logistic, and cut off at the
    threshold. (The original also has rounds in which all arms share one e, ever more of them, and a phase of
    exploration before; the regularized fit needs no such phase.)
    Bengs, Saha & Huellermeier (2022), Stochastic contextual dueling bandits under linear stochastic
    transitivity models, ICML.

    Args:
        radius: c, a constant or a schedule.
        threshold: the largest |e|.
        link: "logistic", "probit" or "exponential" (noise).
        ridge: lambda.
        self_duels: allow an arm to meet itself.
        fitting: learn_every (1), memory ("all"), memory_size: see `superarm.glm`.

    >>> import superarm
    >>> superarm.colstim().name
    'colstim'
    """
    where = "colstim"
    explorer = PairColstim(
        radius=radius_of(where, radius), threshold=checks.nonnegative(where, "threshold", threshold)
    )
    return _linear_duel(where, explorer, "asymmetric", link, ridge, self_duels, fitting)


@checks.named
def ensemble_duel(
    model: Model | None = None,
    *,
    size: int = 10,
    perturbation: float = 0.3,
    self_duels: bool | None = None,
    **fitting: Unpack[UtilityFitting],
) -> Policy:
    """A duel of two members of an ensemble, drawn at random: each names its best arm.

    What falls out of ensembles (Sun, Wang & Xu, 2026) and preferences (Oh, Park & Paik, 2026); no paper has
    it.

    Args:
        model: of utilities: `neural(...)` or `shallow_model(...)` for a network, of logistic loss, which
            any real number has; by default a logistic linear model.
        size: m.
        perturbation: standard deviation of what is added to a preference (0 or 1) for every member.
        self_duels: allow an arm to meet itself; None for yes, unless the model is a network: its members
            start alike, and while they agree nothing is learned.
        fitting: of the linear model: ridge (1), learn_every (1), memory ("all"), memory_size; see
            `superarm.glm`.

    >>> import superarm
    >>> superarm.ensemble_duel(size=5).learn_every
    1
    """
    where = "ensemble_duel"
    if model is not None:
        refuse_beside_model(where, fitting)
        checks.part(where, "model", model, Model)
        if model.loss is not None:  # with its perturbation a preference may be less than 0 or more than 1
            checks.one_of(where, "loss", model.loss, ("logistic",))
    chosen = glm(weights="none", **fitting) if model is None else model
    members = Ensemble(
        model=chosen,
        scale=checks.nonnegative(where, "perturbation", perturbation),
        size=checks.count(where, "size", size),
    )
    utilities = preferences(where, members)
    return Policy(
        model=utilities,
        width=None,
        explorer=PairEnsemble(),
        chooser=Duel("asymmetric", not utilities.deep if self_duels is None else bool(self_duels)),
        name=where,
    )


@checks.named
def uniform_duel(*, self_duels: bool = True) -> Policy:
    """Two arms by chance: what a policy must beat.

    >>> import superarm
    >>> superarm.uniform_duel().learn_every is None
    True
    """
    return Policy(
        model=ItemMeans(),
        width=None,
        explorer=PairUniform(),
        chooser=Duel("optimistic", bool(self_duels)),
        name="uniform_duel",
    )


def _linear_duel(
    where: str,
    explorer: Explorer,
    strategy: Strategy,
    link: PreferenceLink,
    ridge: float,
    self_duels: bool,
    fitting: GlmFitting,
) -> Policy:
    checks.one_of(where, "link", link, PREFERENCE_LINKS)
    return Policy(
        model=Preferences(glm(link=link, ridge=ridge, weights="none", **fitting)),
        width=Full(),
        explorer=explorer,
        chooser=Duel(checks.one_of(where, "strategy", strategy, STRATEGIES), bool(self_duels)),
        name=where,
    )
