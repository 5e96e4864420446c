"""A policy with a warm-up before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from superarm import checks
from superarm.contract import Explorer
from superarm.explorers import WarmUp
from superarm.explorers.warm_up import cut
from superarm.models import Planned
from superarm.policy import Policy

__all__ = ["warm_up"]

Plan = Literal["each", "uniform", "design"]
PLANS: tuple[Plan, ...] = get_args(Plan)


@checks.named
def warm_up(
    policy: Policy, *, rounds: int | None = None, plan: Plan = "each", horizon: int | None = None
) -> Policy:
    """Return the policy with its first decisions made by a plan; it observes and learns from them.

    Args:
        policy: decides afterwards.
        rounds: tau, decisions by the plan; may be left out with "each".
        plan: "each", arm after arm, once each unless `rounds` says otherwise; "uniform", at random;
            "design", by a G-optimal design of the arms (`superarm.design`), rounded as in Algorithm 3 of Sun,
            Wang & Xu (2026), for arms that stay: it is made of those on offer at the first decision (of all
            with an oracle on the host, and an arm that is not on offer loses its turn).
        horizon: decisions that there will be; a longer warm-up is cut to half of them.

    Where a set is chosen, it holds the planned arm, with others at random.

    >>> import superarm
    >>> warm_up(superarm.lin_ucb(), rounds=20, plan="design").name
    'lin_ucb'
    """
    where = "warm_up"
    checks.has(where, "policy", policy, ("model", "explorer", "chooser"))
    if policy.chooser.compares:
        raise TypeError(f"{where}: policy must choose arms or sets, got a duel")
    checks.one_of(where, "plan", plan, PLANS)
    if _warms_up(policy.explorer):
        must = "policy must not have a warm-up already (presets that have one take warmup=0)"
        raise ValueError(f"{where}: {must}, got {policy.name}")
    if rounds is None and plan != "each":
        raise ValueError(f"{where}: rounds must be given with plan={plan!r}, got None")
    count = None if rounds is None else checks.count(where, "rounds", rounds)
    if count is not None and horizon is not None:
        count = cut(count, checks.count(where, "horizon", horizon, low=2))
    return replace(
        policy,
        model=Planned(policy.model, count) if plan == "design" and count is not None else policy.model,
        explorer=WarmUp(policy.explorer, count, plan, horizon),
    )


def _warms_up(explorer: Explorer | None) -> bool:
    """Whether an explorer, or one that it wraps, is a warm-up."""
    return explorer is not None and (isinstance(explorer, WarmUp) or _warms_up(explorer.inner))
