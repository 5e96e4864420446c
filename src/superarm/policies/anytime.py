"""Policies for a horizon that is not known: epochs that grow, each with a policy of its own.

Two kinds: begin anew in every epoch, with hyperparameters made for its length (`restarts`, the doubling trick
of sun2026), or begin larger and replay the history (`doubling`, hwang2023).

Besson & Kaufmann (2018), What doubling tricks can and can't do for multi-armed bandits; Hwang, Chai & Oh
(2023), Combinatorial Neural Bandits, ICML, appendix F; Sun, Wang & Xu (2026), Provable anytime ensemble
sampling algorithms in nonlinear contextual bandits, section 6 and appendix E.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from superarm import checks
from superarm.contract import Chooser
from superarm.policy import Epoch, Policy
from superarm.types import Spec

GROWTH = (3.0 + math.sqrt(5.0)) / 2.0  # b = 2.618..., which makes the loss of `loss_constant` least


@dataclass(frozen=True)
class Anytime:
    """A policy per epoch; epoch i ends after floor(first growth^i) decisions. Built by the functions below.

    A run goes through the epochs by itself. An application that holds a state asks `epochs` when the next one
    begins, and starts it anew, or from the events so far.
    """

    build: Callable[[int, int], Policy]  # of the epoch and its planned length
    first: int
    growth: float
    replay: bool
    name: str
    recipe: Mapping[str, Any] | None = None  # the preset and its arguments, to write it down

    def epochs(self, rounds: int) -> tuple[Epoch, ...]:
        """The policies of a run of so many decisions; the last epoch may be cut short."""
        ends = [0]
        while ends[-1] < rounds:
            ends.append(math.floor(self.first * self.growth ** (len(ends) - 1)))
        return tuple(
            Epoch(
                policy=self.build(epoch, stop - start),
                start=start,
                stop=min(stop, rounds),
                replay=self.replay,
            )
            for epoch, (start, stop) in enumerate(itertools.pairwise(ends))
        )

    @property
    def native(self) -> bool:
        """Whether every round can be compiled."""
        return self.build(0, self.first).native

    @property
    def chooser(self) -> Chooser:
        """What may be chosen; the same in all epochs."""
        return self.build(0, self.first).chooser

    def check(self, spec: Spec) -> None:
        """Raise ValueError in one sentence if the policy of an epoch does not fit a problem of this size."""
        size = self.chooser.size
        for epoch in self.epochs(max(spec.capacity // size, 1)):
            epoch.policy.check(replace(spec, capacity=(epoch.stop - epoch.origin) * size))


@checks.named
def restarts(build: Callable[[int], Policy], *, first: int = 100, growth: float = GROWTH) -> Anytime:
    """Return a policy that begins anew after T_0, b T_0, b^2 T_0, ... decisions (rounded down).

    Any policy becomes one without a horizon, at the cost of a constant: see `loss_constant`.

    Args:
        build: length of an epoch -> policy made for so many decisions. Its chooser must be the same in every
            epoch. Schedules count from the beginning of the epoch.
        first: T_0.
        growth: b.

    >>> import superarm
    >>> policy = restarts(lambda length: superarm.lin_ucb(radius=1 / length), first=100)
    >>> [(one.start, one.stop) for one in policy.epochs(1000)]
    [(0, 100), (100, 261), (261, 685), (685, 1000)]
    """
    where = "restarts"
    first = checks.count(where, "first", first)
    if not growth * first >= first + 1:
        raise ValueError(f"{where}: growth must be more than 1, so that epochs grow, got {growth}")
    return _anytime(where, build, lambda _, length: build(length), first, float(growth), False, "anytime")


@checks.named
def doubling(build: Callable[[int], Policy], *, period: int, replay: bool = True) -> Anytime:
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
    period = checks.count(where, "period", period)
    return _anytime(where, build, lambda epoch, _: build(epoch), period, 2.0, bool(replay), "doubling")


@checks.named
def loss_constant(first: int, growth: float, *, power: float = 0.5, log_power: float = 1.5) -> float:
    """Return by what factor restarts can raise a regret bound c T^power (log T)^log_power.

        l(T_0, b) = (log(T_0 (b - 1) + 1) / log(T_0 (b - 1)))^delta  b^gamma (b - 1)^gamma / (b^gamma - 1)

    Lemma E.1 of sun2026, after Besson & Kaufmann (2018); the defaults are those of ensemble sampling.

    >>> round(loss_constant(100, GROWTH), 1)
    3.3
    """
    where = "loss_constant"
    checks.count(where, "first", first)
    start = first * (growth - 1.0)
    if not start > 1.0:
        raise ValueError(f"{where}: first * (growth - 1) must be more than 1, got {start:g}")
    logs = (math.log(start + 1.0) / math.log(start)) ** log_power
    return float(logs * growth**power * (growth - 1.0) ** power / (growth**power - 1.0))


def _anytime(
    where: str,
    given: Callable[[int], Policy],
    build: Callable[[int, int], Policy],
    first: int,
    growth: float,
    replay: bool,
    suffix: str,
) -> Anytime:
    if not callable(given):
        raise TypeError(f"{where}: build must be a function of one number, got {type(given).__name__}")
    policy = checks.has(where, "what build returns", build(0, first), ("init", "select", "observe", "learn"))
    return Anytime(build=build, first=first, growth=growth, replay=replay, name=f"{policy.name}_{suffix}")


checks.public(__name__)
