"""Ensemble sampling for a horizon that is not known: restarts with larger ensembles.

Sun, Wang & Xu (2026), sections 6 and 7.2: epochs end after floor(T_0 b^i) decisions; one of tau decisions has
m = 2 log tau members (rounded up) and perturbations of 0.02 log tau.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

from superarm import checks
from superarm.contract import Oracle
from superarm.explorers.warm_up import cut
from superarm.models import Neural
from superarm.policies.anytime import GROWTH, Anytime, restarts
from superarm.policies.sun2026 import GlmEsSettings, glm_es, lin_es, neural_es
from superarm.policies.warm_ups import Plan

__all__ = ["glm_es_anytime", "lin_es_anytime", "neural_es_anytime"]

Rule = Callable[[int], float]


class RestartedGlmEs(GlmEsSettings, total=False):
    """Settings of `glm_es` that are the same in all epochs."""

    ridge: float


def members(length: int) -> int:
    """m = 2 log tau, rounded up.

    >>> [members(length) for length in (100, 10_000)]
    [10, 19]
    """
    return max(math.ceil(2.0 * math.log(length)), 1)


def perturbation(length: int) -> float:
    """sigma_R = 0.02 log tau.

    >>> round(perturbation(100), 3)
    0.092
    """
    return 0.02 * math.log(length)


@checks.named
def lin_es_anytime(
    oracle: Oracle | None = None,
    *,
    first: int = 100,
    growth: float = GROWTH,
    size: Callable[[int], int] = members,
    perturbation: Rule = perturbation,
    ridge: float = 1.0,
) -> Anytime:
    """Lin-ES with restarts: DT100 and DT300 of the paper's figures, by `first`.

    Args:
        oracle: solves the offline problem; None to choose one arm.
        first: T_0.
        growth: b.
        size: length of an epoch -> m.
        perturbation: length of an epoch -> sigma_R.
        ridge: lambda.

    >>> lin_es_anytime(first=300).name
    'lin_es_anytime'
    """
    policy = restarts(
        lambda length: lin_es(oracle, size=size(length), perturbation=perturbation(length), ridge=ridge),
        first=first,
        growth=growth,
    )
    recipe = _recipe(size, perturbation) | {"oracle": oracle, "ridge": ridge}
    return replace(policy, recipe={"preset": "lin_es_anytime", "first": first, "growth": growth} | recipe)


@checks.named
def glm_es_anytime(
    oracle: Oracle | None = None,
    *,
    first: int = 100,
    growth: float = GROWTH,
    size: Callable[[int], int] = members,
    perturbation: Rule = perturbation,
    warmup: int = 500,
    **settings: Unpack[RestartedGlmEs],
) -> Anytime:
    """GLM-ES with restarts; a warm-up that is longer than an epoch is cut to half of it.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        first: T_0.
        growth: b.
        size: length of an epoch -> m.
        perturbation: length of an epoch -> sigma_R.
        warmup: decisions of the warm-up.
        settings: ridge, link, plan, memory and others of `glm_es`.

    >>> glm_es_anytime(memory="arms").name
    'glm_es_anytime'
    """
    policy = restarts(
        lambda length: glm_es(
            oracle,
            size=size(length),
            perturbation=perturbation(length),
            warmup=cut(warmup, length),
            **settings,
        ),
        first=first,
        growth=growth,
    )
    recipe = _recipe(size, perturbation) | {"oracle": oracle, "warmup": warmup, **settings}
    return replace(policy, recipe={"preset": "glm_es_anytime", "first": first, "growth": growth} | recipe)


@checks.named
def neural_es_anytime(
    oracle: Oracle | None = None,
    model: Neural | None = None,
    *,
    first: int = 100,
    growth: float = GROWTH,
    size: Callable[[int], int] = members,
    perturbation: Rule = perturbation,
    warmup: int | None = None,
    plan: Plan = "each",
) -> Anytime:
    """Neural-ES with restarts; every epoch draws its network anew.

    Args:
        oracle: solves the offline problem; None to choose one arm.
        model: as for `neural_es`.
        first: T_0.
        growth: b.
        size: length of an epoch -> m.
        perturbation: length of an epoch -> sigma_R.
        warmup: decisions of the warm-up; None for each arm once. One longer than an epoch is cut to half.
        plan: of the warm-up, as for `neural_es`: "uniform" where contexts change.

    >>> neural_es_anytime().name
    'neural_es_anytime'
    """
    policy = restarts(
        lambda length: neural_es(
            oracle,
            model,
            size=size(length),
            perturbation=perturbation(length),
            warmup=warmup,
            plan=plan,
            horizon=length,
        ),
        first=first,
        growth=growth,
    )
    recipe = _recipe(size, perturbation) | {"oracle": oracle, "model": model, "warmup": warmup, "plan": plan}
    return replace(policy, recipe={"preset": "neural_es_anytime", "first": first, "growth": growth} | recipe)


def _recipe(size: Callable[[int], int], rule: Rule) -> dict[str, Any]:
    """The functions of an epoch's length, where they are not the paper's."""
    return {
        "size": None if size is members else size,
        "perturbation": None if rule is perturbation else rule,
    }
