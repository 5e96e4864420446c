"""The neural model from plain arguments, checked."""

from __future__ import annotations

import math
from typing import Any

from superarm import checks
from superarm.models.fitting import Fitting
from superarm.models.history import Memory
from superarm.models.losses import LOSSES
from superarm.models.networks import Perceptron, Scorer, perceptron
from superarm.models.neural import Neural


def neural(
    network: Scorer | None = None,
    *,
    ridge: float = 1.0,
    row_scale: float | None = None,
    loss: str = "squared",
    learning_rate: float = 0.01,
    penalty: float | None = None,
    anchored: bool = True,
    reduction: str = "sum",
    optimizer: Any = "gd",
    steps: int = 100,
    batch: int | None = None,
    tolerance: float | None = None,
    restart: bool = False,
    learn_every: int = 1,
    memory: str = "all",
    memory_size: int | None = None,
    refresh: bool = False,
) -> Neural:
    """Return a neural model: a network, how it is fitted, to what, and how often.

    Args:
        network: `perceptron(...)`, or `network(init, apply)` of your own; by default the papers' perceptron
            with one hidden layer of 100.
        ridge: lambda; the width starts as Z = lambda I.
        row_scale: multiplies the gradients that enter Z; by default 1 / sqrt(m) for a perceptron, else 1.
        loss: "squared", "logistic", "poisson" or "probit", of the latent score.
        learning_rate: of the function: with the NTK parametrization a raw gradient step is divided by m. A
            summed loss over n observations wants about 1 / n.
        penalty: of |theta - anchor|^2 / 2, added to the summed loss; by default m lambda with the NTK
            parametrization (equation 4 of hwang2023), else 0.
        anchored: the penalty pulls to the first parameters; otherwise to 0.
        reduction: "sum", or "mean": the objective over the number of observations.
        optimizer: "gd", "adam", or an Optax transformation with a learning rate of its own.
        steps: J, steps per fit.
        batch: observations per step, drawn anew each; None for all.
        tolerance: stop once a step changes the objective by less than this share.
        restart: start every fit from the first parameters; otherwise from the last fit.
        learn_every: decisions between fits.
        memory: "all"; "window", the last `memory_size` decisions; "reservoir", a sample of `memory_size`.
        memory_size: see memory.
        refresh: rebuild Z at every fit, from the observations kept and the current network.

    >>> model = neural(perceptron(width=20), learn_every=10, memory="window", memory_size=100)
    >>> model.learn_every
    10
    """
    where = "neural"
    network = perceptron() if network is None else network
    checks.has(where, "network", network, ("check", "init", "apply", "gradients", "last_layer"))
    shrinkage = checks.positive(where, "ridge", ridge)
    if row_scale is None:
        row_scale = 1.0 / math.sqrt(network.width) if isinstance(network, Perceptron) else 1.0
    if penalty is None:
        penalty = 0.0
        if isinstance(network, Perceptron) and network.parametrization == "ntk":
            penalty = network.width * shrinkage
    if not isinstance(optimizer, str):
        checks.has(where, "optimizer", optimizer, ("init", "update"))
    else:
        checks.one_of(where, "optimizer", optimizer, ("gd", "adam"))
    kind = checks.one_of(where, "memory", memory, ("all", "window", "reservoir"))
    if (kind == "all") != (memory_size is None):
        need = "left out with memory='all'" if kind == "all" else f"given with memory={kind!r}"
        raise ValueError(f"{where}: memory_size must be {need}, got {memory_size}")
    return Neural(
        ridge=shrinkage,
        row_scale=checks.positive(where, "row_scale", row_scale),
        fitting=Fitting(
            learning_rate=checks.positive(where, "learning_rate", learning_rate),
            penalty=checks.nonnegative(where, "penalty", penalty),
            tolerance=None if tolerance is None else checks.positive(where, "tolerance", tolerance),
            loss=checks.one_of(where, "loss", loss, tuple(LOSSES)),
            optimizer=optimizer,
            steps=checks.count(where, "steps", steps),
            batch=None if batch is None else checks.count(where, "batch", batch),
            restart=bool(restart),
            anchored=bool(anchored),
            reduction=checks.one_of(where, "reduction", reduction, ("sum", "mean")),
        ),
        network=network,
        memory=Memory(
            kind=kind, size=0 if memory_size is None else checks.count(where, "memory_size", memory_size)
        ),
        learn_every=checks.count(where, "learn_every", learn_every),
        refresh=bool(refresh),
    )
