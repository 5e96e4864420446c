"""CN-UCB and CN-TS for a horizon that is not known: the network grows, and the history is replayed.

Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML, appendix F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from superarm import checks
from superarm.contract import Oracle, Width
from superarm.models import Neural, perceptron
from superarm.models.factory import neural
from superarm.policies.anytime import Anytime, doubling
from superarm.policies.hwang2023 import cn_ts, cn_ucb
from superarm.policies.parts import NeuralWidthName
from superarm.schedules import Radius

__all__ = ["cn_ts_doubling", "cn_ucb_doubling"]


def growing_model(epoch: int) -> Neural:
    """The default network of an epoch: m = 16, 32, ... units, 256 at most; the rest as in the figures.

    >>> [growing_model(epoch).network.width for epoch in (0, 1, 9)]
    [16, 32, 256]
    """
    units = min(16 * 2**epoch, 256)
    return neural(perceptron(width=units), learn_every=10, memory="window", memory_size=101)


@checks.named
def cn_ucb_doubling(
    oracle: Oracle,
    model: Callable[[int], Neural] = growing_model,
    *,
    period: int = 100,
    radius: float | Radius | Callable[[int], float | Radius] = 1.0,
    offset: float | Callable[[int], float] = 0.0,
    width: NeuralWidthName | Width = "auto",
) -> Anytime:
    """CN-UCB with doubling (Algorithms 3 and 5 of hwang2023): the network grows, the history is replayed.

    Args:
        oracle: solves the offline problem.
        model: epoch -> `neural(...)`; sets m, lambda, eta and J of the epoch.
        period: tau, decisions of the first epoch.
        radius: gamma, or a function of the epoch that gives it.
        offset: e, or a function of the epoch that gives it.
        width: see `cn_ucb`.

    >>> import superarm
    >>> cn_ucb_doubling(superarm.top_k(2), period=50).name
    'cn_ucb_doubling'
    """
    policy = doubling(
        lambda epoch: cn_ucb(
            oracle, model(epoch), radius=_at(radius, epoch), offset=_at(offset, epoch), width=width
        ),
        period=period,
    )
    recipe = {
        "preset": "cn_ucb_doubling",
        "oracle": oracle,
        "model": None if model is growing_model else model,
        "period": period,
        "radius": radius,
        "offset": offset,
        "width": width,
    }
    return replace(policy, recipe=recipe)


@checks.named
def cn_ts_doubling(
    oracle: Oracle,
    model: Callable[[int], Neural] = growing_model,
    *,
    period: int = 100,
    scale: float | Callable[[int], float] = 1.0,
    draws: int = 10,
    offset: float | Callable[[int], float] = 0.0,
    width: NeuralWidthName | Width = "auto",
) -> Anytime:
    """CN-TS with doubling (Algorithms 4 and 5 of hwang2023): the network grows, the history is replayed.

    Args:
        oracle: solves the offline problem.
        model: epoch -> `neural(...)`; sets m, lambda, eta and J of the epoch.
        period: tau, decisions of the first epoch.
        scale: nu, or a function of the epoch that gives it.
        draws: M.
        offset: epsilon, or a function of the epoch that gives it.
        width: see `cn_ts`.

    >>> import superarm
    >>> cn_ts_doubling(superarm.top_k(2), period=50).name
    'cn_ts_doubling'
    """
    policy = doubling(
        lambda epoch: cn_ts(
            oracle,
            model(epoch),
            scale=_at(scale, epoch),
            draws=draws,
            offset=_at(offset, epoch),
            width=width,
        ),
        period=period,
    )
    recipe = {
        "preset": "cn_ts_doubling",
        "oracle": oracle,
        "model": None if model is growing_model else model,
        "period": period,
        "scale": scale,
        "draws": draws,
        "offset": offset,
        "width": width,
    }
    return replace(policy, recipe=recipe)


def _at(value: Any, epoch: int) -> Any:
    return value(epoch) if callable(value) else value
