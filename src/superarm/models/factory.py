"""The neural and the generalized linear model from plain arguments, checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypedDict, get_args

from superarm import checks
from superarm.models.coefficients import Coefficients
from superarm.models.fitting import (
    OPTIMIZERS,
    PENALIZED,
    REDUCTIONS,
    Fitting,
    Optimizer,
    OptimizerName,
    Penalized,
    Reduction,
)
from superarm.models.history import MEMORIES, Memory, MemoryKind
from superarm.models.links import LINKS, LinkName, link_of
from superarm.models.losses import LOSSES, LossName
from superarm.models.networks import Perceptron, Scorer, perceptron
from superarm.models.neural import EffectiveDimension, Neural
from superarm.models.newton import Newton
from superarm.models.paired import Paired
from superarm.precision import leaf
from superarm.schedules.radius import Radius, is_schedule

Weighing = Literal["none", "feedback", "fit", "refit"]
WEIGHINGS: tuple[Weighing, ...] = get_args(Weighing)
RowsAt = Literal["current", "first"]
ROWS_AT: tuple[RowsAt, ...] = get_args(RowsAt)


class Keeping(TypedDict, total=False):
    """Settings of every model that is fitted: how often, and to which decisions."""

    learn_every: int
    memory: MemoryKind
    memory_size: int | None


class NewtonFitting(Keeping, total=False):
    """Settings of `glm` that leave its estimate as it is."""

    tolerance: float
    steps: int


class PenalizedFitting(NewtonFitting, total=False):
    """Settings of `glm` beside link, ridge and weights; those that need no weights are in `GlmFitting`."""

    penalty: float | Radius | None


class GlmFitting(PenalizedFitting, total=False):
    """Settings of `glm` beside its link, its ridge, and weights, which are "none"."""

    least_deviation: float | None


class GlmSettings(GlmFitting, total=False):
    """Settings of `glm` beside its link."""

    ridge: float
    weights: Weighing


class Descent(TypedDict, total=False):
    """Settings of `neural` that say how a step is made, and how many."""

    learning_rate: float | Radius
    optimizer: OptimizerName | Optimizer
    steps: int


class Training(Descent, Keeping, total=False):
    """Settings of `neural` that say how a network is trained, when, and on what."""


class NetworkSettings(Training, total=False):
    """Settings of `neural` beside its network, its ridge, and what it is fitted to."""

    row_scale: float | None
    penalty: float | Radius | None
    anchored: bool
    reduction: Reduction
    batch: int | None
    tolerance: float | None
    restart: bool
    refresh: bool
    weights: Weighing
    gradients: RowsAt
    linearized: bool
    dimension: EffectiveDimension | None
    penalized: Penalized
    block: int | None
    finish: bool


class NeuralSettings(NetworkSettings, total=False):
    """Settings of `neural` beside its network and its ridge."""

    loss: LossName
    least_deviation: float | None


@checks.named
def neural(
    network: Scorer | None = None,
    *,
    ridge: float | Radius = 1.0,
    row_scale: float | None = None,
    loss: LossName = "squared",
    learning_rate: float | Radius = 0.01,
    penalty: float | Radius | None = None,
    anchored: bool = True,
    reduction: Reduction = "sum",
    optimizer: OptimizerName | Optimizer = "gd",
    steps: int = 100,
    batch: int | None = None,
    tolerance: float | None = None,
    restart: bool = False,
    learn_every: int = 1,
    memory: MemoryKind = "all",
    memory_size: int | None = None,
    refresh: bool = False,
    weights: Weighing = "none",
    gradients: RowsAt = "current",
    linearized: bool = False,
    dimension: EffectiveDimension | None = None,
    least_deviation: float | None = None,
    penalized: Penalized = "all",
    block: int | None = None,
    finish: bool = False,
) -> Neural:
    """Return a neural model: a network, how it is fitted, to what, and how often.

    Args:
        network: `perceptron(...)`, or `network(init, apply)` of your own; by default the papers' perceptron
            with one hidden layer of 100.
        ridge: lambda; the width starts as Z = lambda I. A number, or a schedule such as `BernsteinRidge`.
        row_scale: multiplies the gradients that enter Z; by default 1 / sqrt(m) for a perceptron, else 1.
        loss: "squared", "logistic", "poisson", "probit" or "exponential", of the latent score.
        learning_rate: of the function: with the NTK parametrization a raw gradient step is divided by m. A
            summed loss over n observations wants about 1 / n. A number, or a schedule.
        penalty: of |theta - anchor|^2 / 2, added to the summed loss; by default m lambda with the NTK
            parametrization (equation 4 of hwang2023), else 0. A number, or a schedule.
        anchored: the penalty pulls to the first parameters; otherwise to 0.
        reduction: "sum", or "mean": the objective over the number of observations.
        optimizer: "gd", "adam", or an Optax transformation with a learning rate of its own.
        steps: J, steps per fit.
        batch: observations per step, drawn anew each; None for all.
        tolerance: stop once a step changes the objective by less than this share.
        restart: start every fit from the first parameters; otherwise from the last fit.
        learn_every: decisions between fits.
        memory: "all"; "window", the last `memory_size` decisions; "reservoir", a sample of `memory_size`;
            "arms", counts and means per arm, which say all where arms keep their features.
        memory_size: see memory.
        refresh: rebuild Z at every fit, from the observations kept and the current network.
        weights: "none"; otherwise observations enter Z times the information of their score, mu'(f) for the
            logistic loss: "feedback", by the fit in force when feedback is recorded; "fit", by the first fit
            made with it, until which it does not count (needs memory="all"); "refit", by the last fit, with
            which Z is rebuilt.
        gradients: "current", g(x; theta); "first", g(x; theta_0), as in the papers' theorems.
        linearized: score by g(x; theta_0)'(theta - theta_0) instead of f(x; theta).
        dimension: `EffectiveDimension(...)` to keep log det(I + c sum g g') beside Z; radius schedules are
            then given that.
        least_deviation: epsilon, to weigh observations of rewards 0 and 1 by 1 / max(sigma, epsilon)^2 in the
            fits and in Z, with sigma the deviation that the score implies: by the fit in force when feedback
            is recorded or, with `refresh`, by the last fit for all. None to count all alike.
        penalized: "all" parameters, or those of the "last" layer of a perceptron.
        block: rows per block of a full batch; fewer than the default leave out more of what is empty.
        finish: after every fit bring the last layer of a perceptron to the optimum of the penalized loss, by
            Newton's method, with the others held; for penalized="last" with a penalty above 0.

    >>> model = neural(perceptron(width=20), learn_every=10, memory="window", memory_size=100)
    >>> model.learn_every
    10
    """
    where = "neural"
    network = perceptron() if network is None else network
    checks.has(where, "network", network, ("check", "init", "apply", "gradients", "last_layer"))
    shrinkage = _scheduled(ridge, checks.positive, where, "ridge")
    if row_scale is None:
        row_scale = 1.0 / math.sqrt(network.width) if isinstance(network, Perceptron) else 1.0
    strength: Any = penalty
    if penalty is None:
        strength = 0.0
        if isinstance(network, Perceptron) and network.parametrization == "ntk":
            if is_schedule(ridge):
                raise ValueError(f"{where}: penalty must be given with a ridge that changes, got None")
            strength = network.width * shrinkage
    if not isinstance(optimizer, str):
        checks.has(where, "optimizer", optimizer, ("init", "update"))
    else:
        checks.one_of(where, "optimizer", optimizer, OPTIMIZERS)
    kept = _memory(where, memory, memory_size)
    weigh, rebuilt = _weighing(where, weights, kept)
    inner = network.network if isinstance(network, Paired) else network
    layered = isinstance(inner, Perceptron)
    if not layered and (finish or checks.one_of(where, "penalized", penalized, PENALIZED) == "last"):
        must = "network must be a perceptron to treat its last layer apart"
        raise ValueError(f"{where}: {must}, got {type(inner).__name__}")
    apart = penalized == "last" and anchored and reduction == "sum"
    if finish and (not apart or is_schedule(strength) or not strength > 0):
        must = "finish needs penalized='last', anchored=True, reduction='sum' and a penalty above 0"
        raise ValueError(f"{where}: {must}, got {penalized!r}, {anchored}, {reduction!r} and {strength}")
    least = _least_deviation(where, least_deviation, weights, kept)
    return Neural(
        ridge=shrinkage,
        row_scale=checks.positive(where, "row_scale", row_scale),
        fitting=Fitting(
            learning_rate=_scheduled(learning_rate, checks.positive, where, "learning_rate"),
            penalty=_scheduled(strength, checks.nonnegative, where, "penalty"),
            tolerance=None if tolerance is None else checks.positive(where, "tolerance", tolerance),
            loss=checks.one_of(where, "loss", loss, tuple(LOSSES)),
            optimizer=optimizer,
            steps=checks.count(where, "steps", steps),
            batch=None if batch is None else checks.count(where, "batch", batch),
            restart=bool(restart),
            anchored=bool(anchored),
            reduction=checks.one_of(where, "reduction", reduction, REDUCTIONS),
            penalized=penalized,
            block=None if block is None else checks.count(where, "block", block),
        ),
        network=network,
        memory=kept,
        dimension=dimension,
        least_deviation=least,
        finish=_finish(loss, strength) if finish else None,
        learn_every=checks.count(where, "learn_every", learn_every),
        refresh=bool(refresh) or rebuilt,
        weigh=weigh,
        rows_at=checks.one_of(where, "gradients", gradients, ROWS_AT),
        linearized=bool(linearized),
    )


@checks.named
def glm(
    *,
    link: LinkName = "logistic",
    ridge: float = 1.0,
    penalty: float | Radius | None = None,
    weights: Weighing = "refit",
    least_deviation: float | None = None,
    tolerance: float = 1e-12,
    steps: int = 50,
    learn_every: int = 1,
    memory: MemoryKind = "all",
    memory_size: int | None = None,
) -> Neural:
    """Return a generalized linear model: rewards with mean mu(x'theta), fitted by maximum likelihood.

    It is the neural model without a hidden layer. Fits are warm-started Newton steps to the optimum, O(n d)
    each for n observations kept, and O(n d^2) where the curvature is renewed; with penalty > 0 the answer is
    finite on separable data, too.

    Args:
        link: "identity", "logistic", "poisson", "probit" or "exponential". Rewards may be any real numbers,
            except for the last two, whose losses want them in [0, 1].
        ridge: lambda; the width is that of Z = lambda I + sum of weight x x'.
        penalty: of |theta|^2 / 2 in the fit; by default lambda. A number, or a schedule.
        weights: "refit", the information of every score at the last fit, so that Z is the Hessian; "none",
            all 1; "feedback" and "fit" as in `neural`.
        least_deviation: as in `neural`, with weights "none".
        tolerance: stop once a step can gain no more than this share of the objective.
        steps: the most Newton steps of a fit.
        learn_every: decisions between fits.
        memory: "all"; "window", the last `memory_size` decisions; "reservoir", a sample of `memory_size`;
            "arms", counts and means per arm, which say all where arms keep their features.
        memory_size: see memory.

    >>> glm(link="poisson", learn_every=10).learn_every
    10
    """
    where = "glm"
    shrinkage = checks.positive(where, "ridge", ridge)
    strength = shrinkage if penalty is None else penalty
    kept = _memory(where, memory, memory_size)
    weigh, rebuilt = _weighing(where, weights, kept)
    least = _least_deviation(where, least_deviation, weights, kept)
    return Neural(
        ridge=shrinkage,
        row_scale=leaf(1.0),
        fitting=Newton(
            penalty=_scheduled(strength, checks.positive, where, "penalty"),
            tolerance=checks.positive(where, "tolerance", tolerance),
            link=checks.one_of(where, "link", link, tuple(LINKS)),
            steps=checks.count(where, "steps", steps),
        ),
        network=Coefficients(),
        memory=kept,
        least_deviation=least,
        learn_every=checks.count(where, "learn_every", learn_every),
        refresh=rebuilt,
        weigh=weigh,
    )


def _scheduled(value: float | Radius, check: Callable[..., Any], where: str, name: str) -> Any:
    """Return a schedule as it is, and a number checked."""
    return value if is_schedule(value) else check(where, name, value)


def _least_deviation(where: str, value: float | None, weights: str, memory: Memory) -> Any:
    """Return epsilon of preferences that are weighed by their variance; None not to."""
    if value is None:
        return None
    if weights != "none" or memory.kind == "arms":
        must = "least_deviation needs weights='none', and a memory of single observations"
        raise ValueError(f"{where}: {must}, got {weights!r} and memory={memory.kind!r}")
    return checks.positive(where, "least_deviation", value)


def _finish(loss: LossName, penalty: float) -> Newton:
    return Newton(penalty=leaf(penalty), tolerance=leaf(1e-12), link=link_of(loss).name)


def _memory(where: str, memory: str, size: int | None) -> Memory:
    kind = checks.one_of(where, "memory", memory, MEMORIES)
    if (kind in ("all", "arms")) != (size is None):
        need = f"{'given' if size is None else 'left out'} with memory={kind!r}"
        raise ValueError(f"{where}: memory_size must be {need}, got {size}")
    return Memory(kind=kind, size=0 if size is None else checks.count(where, "memory_size", size))


def _weighing(where: str, weights: str, memory: Memory) -> tuple[str, bool]:
    """Return how observations are weighed, and whether the width is rebuilt for it."""
    checks.one_of(where, "weights", weights, WEIGHINGS)
    if weights == "fit" and memory.kind != "all":
        raise ValueError(f"{where}: weights must not be 'fit' with memory={memory.kind!r}, got 'fit'")
    return {"none": "", "refit": "feedback"}.get(weights, weights), weights == "refit"
