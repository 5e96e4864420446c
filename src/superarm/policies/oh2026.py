"""Neural dueling bandits with shallow exploration: NVLDB and NLDB.

Oh, Park & Paik (2026), Neural variance-aware dueling bandits with deep representation and shallow
exploration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from superarm import checks
from superarm.algebra import Policy
from superarm.choosers import Duel
from superarm.choosers.duel import STRATEGIES
from superarm.explorers import PairThompson, PairUCB
from superarm.models import Neural, Paired, Preferences, neural, perceptron
from superarm.models.links import PREFERENCE_LINKS
from superarm.models.networks import INPUTS
from superarm.policies.parts import radius_of
from superarm.types import Explorer
from superarm.widths import Diagonal, Full, Radius
from superarm.widths.gram import Gram

RULES = ("ucb", "ts")
BLOCK = (
    128  # duels per block of a fit; of a policy that has learned few come, the rest are of an arm with itself
)


def shallow_model(
    *,
    units: int = 32,
    hidden: int = 2,
    features: int | None = None,
    ridge: float = 1.0,
    least_deviation: float | None = 0.1,
    link: str = "logistic",
    rows: str = "last-layer",
    parametrization: str = "standard",
    **fitting: Any,
) -> Neural:
    """The model of the paper's figures (appendix E.2): u(x) = theta'phi(x), all trained by Adam.

    Two hidden layers of 32 with relu, the second of which is phi; every round the network is set back to its
    start and takes 20 Adam steps of 0.01 on the summed, weighted loss of all preferences, with the penalty on
    theta alone; the Gram matrix grows by the features that a duel had when it was recorded (equation 6).

    Appendix E.2 sets "the parameter set V" back every round. We read it of the network, as its rival NDB does
    and as it calls (theta, W) two sentences before: so features stay close to those of the start, and those
    of earlier duels comparable with those of now. A network that goes on from fit to fit (`restart=False`)
    grows sure of itself when it is fitted in every round: of 2,000 duels with square utilities 97 in 100 were
    of an arm with itself in our trials, from which nothing is learned, with the Gram matrix rebuilt from the
    features of now, too (`refresh=True`), 99, and here 80. In return, utilities of a network that takes 20
    steps from its start hardly part: weights 1 / zeta^2 stay close to 4, that of a coin.

    Args:
        units: m.
        hidden: layers with relu.
        features: D, of a linear layer between the hidden ones and theta, as in appendix E.2; INPUTS (-1) for
            as many as there are inputs, None for no such layer, which was best in our trials.
        ridge: lambda, of the penalty and of the Gram matrix.
        least_deviation: epsilon, the least that sigma counts for in the weight of a preference, by the fit in
            force when it is recorded; None to count all alike.
        link: "logistic", "probit" or "exponential" (noise).
        rows: what the Gram matrix is made of: features of the "last-layer", or the "gradient" in all
            parameters, which costs O(p^2) an observation.
        parametrization: "standard", or "shallow" for that of the theorems; see `perceptron`.
        fitting: others of `superarm.neural`, such as learn_every, steps, batch, memory, learning_rate.
    """
    where = "shallow_model"
    checks.one_of(where, "link", link, PREFERENCE_LINKS)
    if "loss" in fitting:
        raise ValueError(f"{where}: loss must be left out, the link says it, got {fitting['loss']!r}")
    layers = checks.count(where, "hidden", hidden)
    network = perceptron(
        width=units,
        depth=layers + (1 if features is None else 2),
        features=features,
        parametrization=parametrization,
    )
    settings: dict[str, Any] = {
        "loss": link,
        "ridge": ridge,
        "penalty": ridge,
        "penalized": "last",
        "row_scale": 1.0,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "steps": 20,
        "restart": True,
        "least_deviation": least_deviation,
        "block": BLOCK,
    }
    kind = checks.one_of(where, "rows", rows, ("last-layer", "gradient"))
    return replace(neural(Paired(network), **{**settings, **fitting}), rows=kind)


def nvldb(
    model: Neural | None = None,
    *,
    rule: str = "ucb",
    strategy: str = "asymmetric",
    radius: float | Radius = 1.0,
    listing: bool = True,
    self_duels: bool = True,
    **settings: Any,
) -> Policy:
    """NVLDB (Algorithm 1): a neural utility, variance-weighted, explored over its last layer.

    The paper's six variants are rule "ucb" or "ts" with strategy "asymmetric" (ASYM), "optimistic" (OSYM) or
    "candidate" (CSYM).

    Args:
        model: `shallow_model(...)`, or a `neural(...)` whose network is `Paired`; by default that of the
            figures, with `settings`.
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


def nldb(
    model: Neural | None = None,
    *,
    rule: str = "ucb",
    strategy: str = "asymmetric",
    radius: float | Radius = 1.0,
    listing: bool = True,
    self_duels: bool = True,
    **settings: Any,
) -> Policy:
    """NLDB: NVLDB without variances; all preferences count alike, whatever the model says. See `nvldb`.

    >>> import superarm
    >>> superarm.nldb(rule="ts", units=8).name
    'nldb'
    """
    if settings.get("least_deviation") is not None:
        must = "least_deviation must be left out, since all count alike; `nvldb` has one"
        raise ValueError(f"nldb: {must}, got {settings['least_deviation']}")
    if model is None:
        settings = {**settings, "least_deviation": None}
    else:
        model = replace(_given("nldb", model, settings), least_deviation=None)
    return _shallow("nldb", model, rule, strategy, radius, listing, self_duels, settings)


def nvldb_theory(
    *,
    rule: str = "ucb",
    strategy: str = "asymmetric",
    radius: float | Radius = 1.0,
    self_duels: bool = True,
    **settings: Any,
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


def ndb_ucb(model: Neural | None = None, *, radius: float | Radius = 1.0, **settings: Any) -> Policy:
    """NDB-UCB: a neural utility explored over all parameters; the two arms differ.

    Verma, Dai, Lin, Jaillet & Low (2024), Neural dueling bandits. As their code: standard normal weights,
    every fit from there, the diagonal of a Gram matrix rebuilt every round.

    Args:
        model: `neural(...)` whose network is `Paired`; by default as above, with `settings`.
        radius: nu, a constant or a schedule.
        settings: of `full_gradient_model`, when `model` is not given.

    >>> import superarm
    >>> superarm.ndb_ucb(units=8).name
    'ndb_ucb'
    """
    where = "ndb_ucb"
    explorer = PairUCB(radius=radius_of(where, radius))
    return _all_parameters(where, model, explorer, settings)


def ndb_ts(model: Neural | None = None, *, radius: float | Radius = 1.0, **settings: Any) -> Policy:
    """NDB-TS: NDB-UCB with the challenger drawn. See `ndb_ucb`.

    >>> import superarm
    >>> superarm.ndb_ts(units=8).name
    'ndb_ts'
    """
    where = "ndb_ts"
    explorer = PairThompson(radius=radius_of(where, radius))
    return _all_parameters(where, model, explorer, settings)


def full_gradient_model(*, units: int = 32, hidden: int = 2, ridge: float = 1.0, **fitting: Any) -> Neural:
    """The model of NDB: a perceptron from standard normal weights, fitted from there by Adam every round.

    Args:
        units: m.
        hidden: layers with relu.
        ridge: lambda, of the penalty and of the Gram matrix.
        fitting: others of `superarm.neural`.
    """
    network = perceptron(width=units, depth=hidden + 1, parametrization="gaussian")
    settings: dict[str, Any] = {
        "loss": "logistic",
        "ridge": ridge,
        "penalty": ridge,
        "anchored": False,
        "row_scale": 1.0,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "steps": 20,
        "restart": True,
        "refresh": True,
        "block": BLOCK,
    }
    return neural(Paired(network), **{**settings, **fitting})


def _all_parameters(where: str, model: Neural | None, explorer: Explorer, settings: dict[str, Any]) -> Policy:
    chosen = full_gradient_model(**settings) if model is None else _given(where, model, settings)
    return Policy(
        model=Preferences(chosen),
        width=Diagonal(),
        explorer=explorer,
        chooser=Duel("asymmetric", self_duels=False),
        name=where,
    )


def _shallow(
    where: str,
    model: Neural | None,
    rule: str,
    strategy: str,
    radius: float | Radius,
    listing: bool,
    self_duels: bool,
    settings: dict[str, Any],
) -> Policy:
    chosen = shallow_model(**settings) if model is None else _given(where, model, settings)
    reach = radius_of(where, radius)
    ucb = checks.one_of(where, "rule", rule, RULES) == "ucb"
    return Policy(
        model=Preferences(chosen),
        width=Gram() if chosen.refresh else Full(),
        explorer=PairUCB(radius=reach) if ucb else PairThompson(radius=reach, listing=bool(listing)),
        chooser=Duel(checks.one_of(where, "strategy", strategy, STRATEGIES), bool(self_duels)),
        name=where,
    )


def _given(where: str, model: Any, settings: dict[str, Any]) -> Neural:
    named = {name for name in settings if settings[name] is not None}
    if named:
        raise ValueError(f"{where}: {', '.join(sorted(named))} must be left out with a model, got both")
    if not isinstance(getattr(model, "network", None), Paired):
        raise TypeError(f"{where}: model must be neural(Paired(...)), got {type(model).__name__}")
    chosen: Neural = model
    return chosen
