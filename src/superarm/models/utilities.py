"""Networks of utilities: that of NVLDB and NLDB, and that of NDB.

Oh, Park & Paik (2026), Neural variance-aware dueling bandits with deep representation and shallow
exploration, appendix E.2; Verma, Dai, Lin, Jaillet & Low (2024), Neural dueling bandits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack, get_args

from superarm import checks
from superarm.models.factory import NetworkSettings, NeuralSettings, neural
from superarm.models.links import PREFERENCE_LINKS, PreferenceLink
from superarm.models.networks import Parametrization, perceptron
from superarm.models.neural import Neural
from superarm.models.paired import Paired

# Duels per block of a fit: of a policy that has learned few come, the rest are of an arm with itself.
BLOCK = 128
RowsOf = Literal["last-layer", "gradient"]
ROWS_OF: tuple[RowsOf, ...] = get_args(RowsOf)


class UtilitySettings(NetworkSettings, total=False):
    """Settings of `shallow_model` beside its least deviation."""

    units: int
    hidden: int
    features: int | None
    ridge: float
    link: PreferenceLink
    rows: RowsOf
    parametrization: Parametrization


class ShallowSettings(UtilitySettings, total=False):
    """Settings of `shallow_model`."""

    least_deviation: float | None


class FullGradientSettings(NeuralSettings, total=False):
    """Settings of `full_gradient_model`."""

    units: int
    hidden: int
    ridge: float


@checks.named
def shallow_model(
    *,
    units: int = 32,
    hidden: int = 2,
    features: int | None = None,
    ridge: float = 1.0,
    least_deviation: float | None = 0.1,
    link: PreferenceLink = "logistic",
    rows: RowsOf = "last-layer",
    parametrization: Parametrization = "standard",
    **fitting: Unpack[NetworkSettings],
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
    features of now, too (`refresh=True`), 99, and here 80. Those that are not are near ties, whose weights
    1 / zeta^2 are close to 4, that of a coin.

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

    >>> import superarm
    >>> superarm.nldb(superarm.shallow_model(units=8, learn_every=10)).learn_every
    10
    """
    where = "shallow_model"
    checks.one_of(where, "link", link, PREFERENCE_LINKS)
    given: Mapping[str, Any] = fitting
    if "loss" in given:
        raise ValueError(f"{where}: loss must be left out, the link says it, got {given['loss']!r}")
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
        **fitting,
    }
    kind = checks.one_of(where, "rows", rows, ROWS_OF)
    return replace(neural(Paired(network), **settings), rows=kind)


@checks.named
def full_gradient_model(
    *, units: int = 32, hidden: int = 2, ridge: float = 1.0, **fitting: Unpack[NeuralSettings]
) -> Neural:
    """The model of NDB: a perceptron from standard normal weights, fitted from there by Adam every round.

    Args:
        units: m.
        hidden: layers with relu.
        ridge: lambda, of the penalty and of the Gram matrix.
        fitting: others of `superarm.neural`.

    >>> full_gradient_model(units=8).learn_every
    1
    """
    layers = checks.count("full_gradient_model", "hidden", hidden)
    network = perceptron(width=units, depth=layers + 1, parametrization="gaussian")
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
        **fitting,
    }
    return neural(Paired(network), **settings)
