"""The methods of wen2015's figures: CombLinTS on paths; it and two that do not generalize on catalogues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

POLICY = "CombLinTS"
LABELS = ("CombLinTS", "CombUCB1", "CombTS")


def path_policy(parameters: Mapping[str, float], world: Any) -> Any:
    """Build CombLinTS with the parameters of a setting."""
    from superarm import comb_lin_ts

    return comb_lin_ts(world.oracle, prior_scale=parameters["prior_scale"], noise=parameters["noise"])


def item_policy(label: str, world: Any) -> Any:
    """Build a policy; CombLinTS with lambda = sigma = 1, since the paper does not say which."""
    import superarm

    if label == "CombLinTS":
        return superarm.comb_lin_ts(world.oracle, prior_scale=1.0, noise=1.0)
    return superarm.comb_ucb1(world.oracle) if label == "CombUCB1" else superarm.comb_ts(world.oracle)
