"""Policies for a horizon that is not known: epochs that double, each with a policy of its own.

Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML, appendix F; Besson & Kaufmann (2018), What
doubling tricks can and can't do for multi-armed bandits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from superarm import checks
from superarm.models import Neural, neural, perceptron
from superarm.policies.hwang2023 import cn_ts, cn_ucb
from superarm.policy import Epoch, Policy
from superarm.types import Chooser, Oracle, Spec, Width
from superarm.widths import Radius


@dataclass(frozen=True)
class Doubling:
    """A policy per epoch; epochs end after period, 2 period, 4 period ... decisions. Built by `doubling`.

    A run goes through the epochs by itself. An application that holds a state asks `epochs` when the next one
    begins, and starts it from the events so far.
    """

    build: Callable[[int], Policy]
    period: int
    replay: bool
    name: str

    def epochs(self, rounds: int) -> tuple[Epoch, ...]:
        """The policies of a run of so many decisions."""
        ends = [0]
        while ends[-1] < rounds:
            ends.append(min(self.period * 2 ** (len(ends) - 1), rounds))
        stretches = enumerate(itertools.pairwise(ends))
        return tuple(
            Epoch(policy=self.build(epoch), start=start, stop=stop, replay=self.replay)
            for epoch, (start, stop) in stretches
        )

    @property
    def native(self) -> bool:
        """Whether every round can be compiled."""
        return self.build(0).native

    @property
    def chooser(self) -> Chooser:
        """What may be chosen; the same in all epochs."""
        return self.build(0).chooser

    def check(self, spec: Spec) -> None:
        """Raise ValueError in one sentence if the policy of an epoch does not fit a problem of this size."""
        size = self.chooser.size
        for epoch in self.epochs(max(spec.capacity // size, 1)):
            epoch.policy.check(replace(spec, capacity=epoch.stop * size))


def doubling(build: Callable[[int], Policy], *, period: int, replay: bool = True) -> Doubling:
    """Return a policy that begins anew, larger, whenever the number of decisions has doubled.

    Args:
        build: epoch 0, 1, ... -> policy. Its chooser must be the same in every epoch.
        period: decisions of the first epoch (tau).
        replay: let each new policy observe and learn all earlier events first (Algorithm 5 of hwang2023);
            otherwise it starts from nothing.

    >>> import superarm
    >>> grown = doubling(lambda epoch: superarm.lin_ucb(radius=2.0**-epoch), period=50)
    >>> [(one.start, one.stop) for one in grown.epochs(300)]
    [(0, 50), (50, 100), (100, 200), (200, 300)]
    """
    where = "doubling"
    if not callable(build):
        raise TypeError(f"{where}: build must be a function of the epoch, got {type(build).__name__}")
    first = checks.has(where, "build(0)", build(0), ("init", "select", "observe", "learn"))
    return Doubling(
        build=build,
        period=checks.count(where, "period", period),
        replay=bool(replay),
        name=f"{first.name}_doubling",
    )


def growing_model(epoch: int) -> Neural:
    """The default network of an epoch: m = 16, 32, ... units, 256 at most; the rest as in the figures.

    >>> [growing_model(epoch).network.width for epoch in (0, 1, 9)]
    [16, 32, 256]
    """
    units = min(16 * 2**epoch, 256)
    return neural(perceptron(width=units), learn_every=10, memory="window", memory_size=101)


def cn_ucb_doubling(
    oracle: Oracle,
    model: Callable[[int], Neural] = growing_model,
    *,
    period: int = 100,
    radius: float | Radius | Callable[[int], float | Radius] = 1.0,
    offset: float | Callable[[int], float] = 0.0,
    width: str | Width = "auto",
) -> Doubling:
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
    return doubling(
        lambda epoch: cn_ucb(
            oracle, model(epoch), radius=_at(radius, epoch), offset=_at(offset, epoch), width=width
        ),
        period=period,
    )


def cn_ts_doubling(
    oracle: Oracle,
    model: Callable[[int], Neural] = growing_model,
    *,
    period: int = 100,
    scale: float | Callable[[int], float] = 1.0,
    draws: int = 10,
    offset: float | Callable[[int], float] = 0.0,
    width: str | Width = "auto",
) -> Doubling:
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
    return doubling(
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


def _at(value: Any, epoch: int) -> Any:
    return value(epoch) if callable(value) else value
