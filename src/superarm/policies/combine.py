"""Any policy of the algebra: a model, a width, an explorer and a chooser, by name.

    superarm.combine("neural", explorer="ensemble", chooser=superarm.top_k(3))

What no paper has falls out of it. A combination that makes no sense is refused when it is made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack, get_args

from superarm import checks
from superarm.choosers import Best, Duel, Subset
from superarm.choosers.duel import STRATEGIES, Strategy
from superarm.contract import Chooser, Explorer, Model, Oracle, Width
from superarm.explorers import (
    UCB,
    EnsembleSampling,
    EpsilonGreedy,
    Greedy,
    PairEnsemble,
    PairThompson,
    PairUCB,
    PairUniform,
    Responses,
    Thompson,
    Uniform,
)
from superarm.models import Coefficients, Ensemble, Neural, OnePassLogistic, PerturbedHistory, glm, perceptron
from superarm.models.factory import GlmSettings, NeuralSettings, neural
from superarm.models.links import LINKS, LinkName
from superarm.models.preferences import preferences
from superarm.policies.parts import LINEAR_WIDTHS, NEURAL_WIDTHS, NeuralWidthName, linear_model, radius_of
from superarm.policy import Policy, require_scores
from superarm.schedules import Constant, Radius

WHERE = "combine"
TAILS = ("probit", "exponential")  # whose losses want rewards in [0, 1]
ModelName = LinkName | Literal["linear", "one-pass", "neural", "neural-logistic"]
MODELS: tuple[ModelName, ...] = ("linear", *LINKS, "one-pass", "neural", "neural-logistic")
ExplorerName = Literal["ucb", "ts", "ensemble", "perturbed", "greedy", "epsilon-greedy", "uniform"]
EXPLORERS: tuple[ExplorerName, ...] = get_args(ExplorerName)
CHOOSERS = ("one arm", "a set", "a duel")
OF_DUELS = ("logistic", *TAILS, "one-pass", "neural-logistic")  # what a preference can be a reward of
WIDE: tuple[ExplorerName, ...] = ("ucb", "ts")  # explorers that ask for a width
# Options, and the explorers that they are for.
OPTIONS: dict[str, tuple[ExplorerName, ...]] = {
    "radius": WIDE,
    "draws": ("ts",),
    "epsilon": ("epsilon-greedy",),
    "perturbation": ("ensemble", "perturbed"),
    "members": ("ensemble",),
}


class LinearSettings(TypedDict, total=False):
    """Settings of "linear"."""

    prior_scale: float
    noise: float


class OnePassSettings(TypedDict, total=False):
    """Settings of "one-pass"."""

    ridge: float
    norm_bound: float


class PerceptronSettings(NeuralSettings, total=False):
    """Settings of "neural" and "neural-logistic"."""

    units: int
    depth: int
    ridge: float


class CombineSettings(LinearSettings, OnePassSettings, PerceptronSettings, total=False):
    """Settings of the named models; those of `superarm.glm` have the names of a network's."""


SETTINGS: dict[ModelName, type[Any]] = {
    "linear": LinearSettings,
    "one-pass": OnePassSettings,
    **dict.fromkeys(LINKS, GlmSettings),
    "neural": PerceptronSettings,
    "neural-logistic": PerceptronSettings,
}


@dataclass(frozen=True)
class Exploring:
    """What an explorer is made of: see `combine`."""

    radius: Radius
    draws: int
    epsilon: Any
    perturbation: Any
    members: int


def combine(
    model: ModelName | Model = "linear",
    *,
    explorer: ExplorerName | Explorer = "ucb",
    chooser: Oracle | Chooser | Strategy | None = None,
    width: NeuralWidthName | Width | None = None,
    radius: float | Radius = 1.0,
    draws: int = 1,
    epsilon: float = 0.1,
    perturbation: float = 0.3,
    members: int = 10,
    **settings: Unpack[CombineSettings],
) -> Policy:
    """Return the policy of four parts. Docs: "Combinations" lists which there are.

    Args:
        model: "linear"; "identity", "logistic", "poisson", "probit" or "exponential", a generalized linear
            model by its link; "one-pass", a logistic one in constant memory; "neural"; "neural-logistic",
            for rewards 0 and 1; or a model of `superarm.neural` or `superarm.glm`.
        explorer: "ucb"; "ts", Thompson sampling; "ensemble"; "perturbed", perturbed history; "greedy";
            "epsilon-greedy"; "uniform"; or an explorer of your own.
        chooser: None for one arm; an oracle for a set, which is given expected rewards, or utilities where
            it wants these (`assortment`); "asymmetric", "optimistic" or "candidate" for a duel.
        width: of "ucb" and "ts": "full", "diagonal", "sketched", and for networks "dual", "last-layer" and
            "auto", which is their default.
        radius: of "ucb", and what multiplies the deviation of "ts": a number, or a schedule.
        draws: of "ts": an arm is scored by its best of so many.
        epsilon: of "epsilon-greedy".
        perturbation: of "ensemble" and "perturbed": standard deviation of what is added to rewards.
        members: of "ensemble".
        settings: of the model: prior_scale and noise of "linear"; ridge and norm_bound of "one-pass"; those
            of `superarm.glm`; units and depth of a network, and those of `superarm.neural`.

    >>> import superarm
    >>> superarm.combine("logistic", explorer="ts", chooser=superarm.top_k(2)).chooser.size
    2
    >>> superarm.combine("logistic", explorer="greedy", chooser="optimistic")
    Traceback (most recent call last):
    ...
    ValueError: combine: explorer of a duel must be one of 'ucb', 'ts', 'ensemble', 'uniform', got 'greedy'
    """
    exploring = Exploring(
        radius=radius_of(WHERE, radius),
        draws=checks.count(WHERE, "draws", draws),
        epsilon=checks.between(WHERE, "epsilon", epsilon, 0.0, 1.0),
        perturbation=checks.nonnegative(WHERE, "perturbation", perturbation),
        members=checks.count(WHERE, "members", members),
    )
    named = isinstance(explorer, str)
    kind = _kind(explorer) if isinstance(explorer, str) else "ucb"
    given = {"radius": radius, "draws": draws, "epsilon": epsilon}
    _require_used(explorer, given | {"perturbation": perturbation, "members": members})
    chosen = _chooser(chooser)
    duel = chosen.compares
    if isinstance(chosen, Duel) and isinstance(chooser, str) and kind == "ensemble":
        if chooser == "candidate":  # the best arm would meet the one that it differs most from, for ever
            must = "chooser of an ensemble must be 'asymmetric' or 'optimistic'"
            raise ValueError(f"{WHERE}: {must} among duels, got 'candidate'")
        # Members start alike: while they agree, an arm would meet itself, and nothing would be learned.
        chosen = replace(chosen, self_duels=False)
    part = _model(model, kind, duel, dict(settings))
    part, chosen_width = _with_width(part, kind, width)
    part = _explored(part, kind, duel, exploring)
    part = preferences(WHERE, part) if duel else part
    if not named:
        scorer: Any = checks.part(WHERE, "explorer", explorer, Explorer)
        require_scores(WHERE, scorer, chosen)
    else:
        scorer = (_pairs if duel else _scores)(kind, exploring)
    if not duel:
        scorer = _on_scale(scorer, chosen, part.link)
    return Policy(model=part, width=chosen_width, explorer=scorer, chooser=chosen, name=WHERE)


def _kind(explorer: str) -> ExplorerName:
    """The name of an explorer that `combine` knows; the others are built by their own functions."""
    from superarm import explorers

    if explorer not in EXPLORERS and explorer in dir(explorers):
        words = ", ".join(repr(name) for name in EXPLORERS)
        must = f"explorer must be one of {words}, or an explorer, such as superarm.explorers.{explorer}()"
        raise ValueError(f"{WHERE}: {must}, got {explorer!r}")
    return checks.one_of(WHERE, "explorer", explorer, EXPLORERS)


def _require_used(explorer: Any, given: Mapping[str, Any]) -> None:
    """Refuse an option, other than by default, that would change nothing."""
    parameters = inspect.signature(combine).parameters
    for name, value in given.items():
        plain = isinstance(value, int | float)
        used = isinstance(explorer, str) and explorer in OPTIONS[name]
        if used or (plain and value == parameters[name].default):
            continue
        those = " and ".join(repr(one) for one in OPTIONS[name])
        own = "an explorer brings its own settings" if not isinstance(explorer, str) else f"got {explorer!r}"
        raise ValueError(f"{WHERE}: {name} must be left out but for the explorer {those}: {own}")


def _on_scale(explorer: Explorer, chooser: Chooser, link: Any) -> Explorer:
    """The explorer with its scores, and its means, on the scale that the chooser wants."""
    wanted = chooser.score_scale
    if link == "identity" or wanted == "any":
        return explorer
    rewards = explorer.score_scale == "reward"
    if wanted == "latent" and rewards:
        must = f"explorer must score by utilities, not by rewards, for the chooser {chooser!r}"
        raise ValueError(f"{WHERE}: {must}, got {type(explorer).__name__}")
    # Rewards add up, latent scores do not.
    return Responses(explorer, link) if wanted == "reward" and not rewards else explorer


def _chooser(chooser: Any) -> Chooser:
    if chooser is None:
        return Best()
    if isinstance(chooser, str):
        return Duel(checks.one_of(WHERE, "chooser", chooser, STRATEGIES))
    if isinstance(chooser, Chooser):
        return chooser
    return Subset(checks.part(WHERE, "chooser", chooser, Oracle))


def _model(model: Any, kind: str, duel: bool, settings: dict[str, Any]) -> Any:
    """The model."""
    if not isinstance(model, str):
        checks.part(WHERE, "model", model, Model)
        if settings:
            close = checks.hint(next(iter(settings)), inspect.signature(combine).parameters)
            got = f"{', '.join(settings)} beside it{close}"
            raise TypeError(f"{WHERE}: settings must be the model's own, got {got}")
        return model
    name = checks.one_of(WHERE, "model", model, MODELS)
    if duel:
        checks.one_of(WHERE, "model of a duel", name, OF_DUELS)
    known = GlmSettings if name == "linear" and kind == "perturbed" else SETTINGS[name]
    checks.keywords(WHERE, settings, combine, known)
    return _named(name, kind, duel, settings)


def _named(name: ModelName, kind: str, duel: bool, settings: dict[str, Any]) -> Model:
    if name == "linear" and kind == "perturbed":
        return glm(link="identity", weights="none", **settings)
    if name == "linear":
        return linear_model(WHERE, **{"prior_scale": 1.0, "noise": 1.0, **settings})
    if name in LINKS:
        given: dict[str, Any] = {"weights": "refit" if kind in WIDE and not duel else "none", **settings}
        return glm(link=LINKS[name].name, **given)
    if name == "one-pass":
        return _one_pass(**{"ridge": 1.0, "norm_bound": 1.0, **settings})
    network: Any = perceptron(width=settings.pop("units", 32), depth=settings.pop("depth", 2))
    steady = {"reduction": "mean", "penalty": 1.0, "row_scale": 1.0, "optimizer": "adam"}
    loss = "logistic" if name == "neural-logistic" else "squared"
    return neural(network, **{"loss": loss, **steady, **settings})


def _one_pass(ridge: float, norm_bound: float) -> OnePassLogistic:
    return OnePassLogistic(
        ridge=checks.positive(WHERE, "ridge", ridge),
        diameter=2.0 * checks.positive(WHERE, "norm_bound", norm_bound),
    )


def _with_width(part: Any, kind: str, width: Any) -> tuple[Any, Any]:
    """The model and its width; None where nobody asks for it."""
    network = isinstance(part, Neural)
    if network and kind not in WIDE:
        if width is not None:
            raise ValueError(
                f"{WHERE}: width must be None for explorer {kind!r}, which asks for none, got {width!r}"
            )
        return part, None
    if width is not None and not isinstance(width, str):
        return part, checks.part(WHERE, "width", width, Width)
    deep = network and not isinstance(part.network, Coefficients)
    known: Mapping[Any, Width] = NEURAL_WIDTHS if deep else LINEAR_WIDTHS
    name = checks.one_of(WHERE, "width", width or ("auto" if deep else "full"), tuple(known))
    return (replace(part, rows="last-layer") if name == "last-layer" else part), known[name]


def _explored(part: Any, kind: str, duel: bool, exploring: Exploring) -> Any:
    """The model as the explorer needs it."""
    if kind == "ensemble":
        if part.link in TAILS:
            raise ValueError(f"{WHERE}: model must take any real reward for an ensemble, got {part.link!r}")
        return Ensemble(model=part, scale=exploring.perturbation, size=exploring.members)
    if kind == "perturbed":
        if duel or not isinstance(part, Neural) or part.link in TAILS:
            must = "model must be generalized linear (not probit, exponential) or neural, and not for a duel"
            raise ValueError(f"{WHERE}: {must}, for explorer 'perturbed'")
        return PerturbedHistory(part, exploring.perturbation)
    return part


def _scores(kind: str, exploring: Exploring) -> Explorer:
    radius = exploring.radius
    scale = radius.value if isinstance(radius, Constant) else radius
    made: dict[str, Callable[[], Explorer]] = {
        "ucb": lambda: UCB(radius=radius),
        "ts": lambda: Thompson(scale=scale, draws=exploring.draws),
        "ensemble": EnsembleSampling,
        "perturbed": Greedy,
        "greedy": Greedy,
        "epsilon-greedy": lambda: EpsilonGreedy(epsilon=exploring.epsilon),
        "uniform": Uniform,
    }
    return made[kind]()


def _pairs(kind: str, exploring: Exploring) -> Explorer:
    made: dict[str, Callable[[], Explorer]] = {
        "ucb": lambda: PairUCB(radius=exploring.radius),
        "ts": lambda: PairThompson(radius=exploring.radius),
        "ensemble": PairEnsemble,
        "uniform": PairUniform,
    }
    checks.one_of(WHERE, "explorer of a duel", kind, tuple(made))
    return made[kind]()


@dataclass(frozen=True)
class Combination:
    """A model, an explorer and what is chosen; the widths to choose from; and why it is refused, if it is."""

    model: str
    explorer: str
    chooser: str
    widths: tuple[str, ...]
    refused: str


def combinations() -> Iterator[Combination]:
    """All combinations of names, with those that are refused.

    >>> sum(not one.refused for one in combinations()) > 80
    True
    """
    from superarm.choosers.oracles import top_k

    choosers = dict(zip(CHOOSERS, (None, top_k(2), "asymmetric"), strict=True))
    for model in MODELS:
        for explorer in EXPLORERS:
            for name, chooser in choosers.items():
                yield Combination(model, explorer, name, *_widths(model, explorer, chooser))


def _widths(model: ModelName, explorer: ExplorerName, chooser: Any) -> tuple[tuple[str, ...], str]:
    try:
        combine(model, explorer=explorer, chooser=chooser)
    except ValueError as error:
        return (), str(error)
    if explorer not in WIDE:
        return (), ""
    return tuple(NEURAL_WIDTHS if model.startswith("neural") else LINEAR_WIDTHS), ""
