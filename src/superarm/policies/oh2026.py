"""Neural dueling bandits with shallow exploration: NVLDB and NLDB.

Oh, Park & Paik (2026), Neural variance-aware dueling bandits with deep representation and shallow
exploration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack, get_args

from superarm import checks
from superarm.choosers import Duel
from superarm.choosers.duel import STRATEGIES, Strategy
from superarm.contract import Explorer
from superarm.explorers import PairThompson, PairUCB
from superarm.models import Coefficients, Neural, full_gradient_model, shallow_model
from superarm.models.networks import INPUTS
from superarm.models.preferences import preferences
from superarm.models.utilities import FullGradientSettings, ShallowSettings, UtilitySettings
from superarm.policies.parts import radius_of, refuse_beside_model
from superarm.policy import Policy
from superarm.schedules import Radius
from superarm.widths import Diagonal, Full
from superarm.widths.gram import Gram

__all__ = ["ndb_ts", "ndb_ucb", "nldb", "nvldb", "nvldb_theory"]

Rule = Literal["ucb", "ts"]
RULES: tuple[Rule, ...] = get_args(Rule)


@checks.named
def nvldb(
    model: Neural | None = None,
    *,
    rule: Rule = "ucb",
    strategy: Strategy = "asymmetric",
    radius: float | Radius = 1.0,
    listing: bool = True,
    self_duels: bool = True,
    **settings: Unpack[ShallowSettings],
) -> Policy:
    """NVLDB (Algorithm 1): a neural utility, variance-weighted, explored over its last layer.

    The paper's six variants are rule "ucb" or "ts" with strategy "asymmetric" (ASYM), "optimistic" (OSYM) or
    "candidate" (CSYM).

    Args:
        model: `shallow_model(...)`, or a `neural(...)`, which is explored over the gradients in all its
            parameters; by default that of the figures, with `settings`.
        rule: "ucb" or "ts".
        strategy: how two arms are chosen, see `choosers.Duel`.
        radius: a_t, a constant or a schedule.
        listing: with rule "ts" and "candidate", draw widths as the paper's listing does, not as its text.
        self_duels: allow an arm to meet itself.
        settings: of `shallow_model`, when `model` is not given.

    >>> import superarm
    >>> superarm.nvldb(strategy="optimistic", units=8).learn_every
    1
    """
    return _shallow("nvldb", model, rule, strategy, radius, listing, self_duels, settings)


@checks.named
def nldb(
    model: Neural | None = None,
    *,
    rule: Rule = "ucb",
    strategy: Strategy = "asymmetric",
    radius: float | Radius = 1.0,
    listing: bool = True,
    self_duels: bool = True,
    **settings: Unpack[UtilitySettings],
) -> Policy:
    """NLDB: NVLDB without variances; all preferences count alike, whatever the model says. See `nvldb`.

    >>> import superarm
    >>> superarm.nldb(rule="ts", units=8).name
    'nldb'
    """
    given: Mapping[str, Any] = settings
    if given.get("least_deviation") is not None:
        must = "least_deviation must be left out, since all count alike; `nvldb` has one"
        raise ValueError(f"nldb: {must}, got {given['least_deviation']}")
    alike: ShallowSettings = {**settings, "least_deviation": None}
    if model is not None:
        model = replace(_given("nldb", model, settings), least_deviation=None)
    return _shallow("nldb", model, rule, strategy, radius, listing, self_duels, alike)


@checks.named
def nvldb_theory(
    *,
    rule: Rule = "ucb",
    strategy: Strategy = "asymmetric",
    radius: float | Radius = 1.0,
    self_duels: bool = True,
    **settings: Unpack[ShallowSettings],
) -> Policy:
    """NVLDB as Algorithm 1 writes it: features of equation 2, theta at the optimum after every fit.

    The features are phi(x) = sqrt(m) relu(W_L ...) in R^d; the steps of line 9 are Adam's, as in the figures.
    A preference has the weight 1 / zeta^2 that the
    fit in force says when it is recorded, in the loss and in V alike. (The paper sets zeta_t by the fit of
    round t, which it makes without that round's preference; here fits take in all preferences so far.)

    Args:
        rule: "ucb" or "ts".
        strategy: "asymmetric", "optimistic" or "candidate".
        radius: a_t, a constant or a schedule, such as Theorem 1's: `superarm.shallow_radius`.
        self_duels: allow an arm to meet itself.
        settings: of `shallow_model`.

    >>> import superarm
    >>> superarm.nvldb_theory(units=8).model.model.network.network.parametrization
    'shallow'
    """
    settings = {
        "features": INPUTS,
        "parametrization": "shallow",
        "restart": False,
        "finish": True,
        **settings,
    }
    return _shallow("nvldb_theory", None, rule, strategy, radius, False, self_duels, settings)


@checks.named
def ndb_ucb(
    model: Neural | None = None,
    *,
    radius: float | Radius = 1.0,
    self_duels: bool = False,
    **settings: Unpack[FullGradientSettings],
) -> Policy:
    """NDB-UCB: a neural utility explored over all parameters; the two arms differ.

    Verma, Dai, Lin, Jaillet & Low (2024), Neural dueling bandits. As their code: standard normal weights,
    every fit from there, the diagonal of a Gram matrix rebuilt every round. Where two arms must differ, even
    a policy that knows all pays for the second best in every round.

    Args:
        model: `neural(...)`; by default as above, with `settings`.
        radius: nu, a constant or a schedule.
        self_duels: allow an arm to meet itself, as the listing of oh2026 does and their code does not.
        settings: of `full_gradient_model`, when `model` is not given.

    >>> import superarm
    >>> superarm.ndb_ucb(units=8).name
    'ndb_ucb'
    """
    where = "ndb_ucb"
    explorer = PairUCB(radius=radius_of(where, radius))
    return _all_parameters(where, model, explorer, self_duels, settings)


@checks.named
def ndb_ts(
    model: Neural | None = None,
    *,
    radius: float | Radius = 1.0,
    self_duels: bool = False,
    **settings: Unpack[FullGradientSettings],
) -> Policy:
    """NDB-TS: NDB-UCB with the challenger drawn. See `ndb_ucb`.

    >>> import superarm
    >>> superarm.ndb_ts(units=8).name
    'ndb_ts'
    """
    where = "ndb_ts"
    explorer = PairThompson(radius=radius_of(where, radius))
    return _all_parameters(where, model, explorer, self_duels, settings)


def _all_parameters(
    where: str, model: Neural | None, explorer: Explorer, self_duels: bool, settings: FullGradientSettings
) -> Policy:
    chosen = full_gradient_model(**settings) if model is None else _given(where, model, settings)
    return Policy(
        model=preferences(where, chosen),
        width=Diagonal(),
        explorer=explorer,
        chooser=Duel("asymmetric", bool(self_duels)),
        name=where,
    )


def _shallow(
    where: str,
    model: Neural | None,
    rule: Rule,
    strategy: Strategy,
    radius: float | Radius,
    listing: bool,
    self_duels: bool,
    settings: ShallowSettings,
) -> Policy:
    chosen = shallow_model(**settings) if model is None else _given(where, model, settings)
    reach = radius_of(where, radius)
    ucb = checks.one_of(where, "rule", rule, RULES) == "ucb"
    return Policy(
        model=preferences(where, chosen),
        width=Gram() if chosen.refresh else Full(),
        explorer=PairUCB(radius=reach) if ucb else PairThompson(radius=reach, listing=bool(listing)),
        chooser=Duel(checks.one_of(where, "strategy", strategy, STRATEGIES), bool(self_duels)),
        name=where,
    )


def _given(where: str, model: Any, settings: Mapping[str, Any]) -> Neural:
    refuse_beside_model(where, settings)
    if not isinstance(model, Neural) or isinstance(model.network, Coefficients):
        raise TypeError(f"{where}: model must be neural(...), got {type(model).__name__}")
    return model
