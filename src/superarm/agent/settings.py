"""How an agent works."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from superarm import checks
from superarm.agent.compiled import PropensityRule
from superarm.policy import Policy
from superarm.propensity import takes_floor


@dataclass(frozen=True)
class Settings:
    """How an agent works; `Agent` says what each means."""

    seed: int = 0
    background: bool = False
    max_pending: int = 10_000
    max_age: float | None = None
    max_observations: int = 100_000
    min_propensity: float = 0.0
    draws: int = 100
    ranking: bool = False

    def propensity_rule(self) -> PropensityRule:
        """How the probabilities of choices are found."""
        floor = np.float64(self.min_propensity) if self.min_propensity > 0.0 else None
        return PropensityRule(floor, self.draws, self.ranking)

    def require_floor(self, size: int, mask: np.ndarray[Any, Any]) -> None:
        """Refuse a decision of `size` slots among so many arms that not all can have the least chance."""
        least = self.min_propensity
        if least > 0.0 and least * (offered := int(np.count_nonzero(mask))) > size * (1 + 1e-9):
            must = f"min_propensity must be at most {size / offered:g} with {offered} arms on offer"
            raise ValueError(f"select: {must}, got {least:g}")


def settings_of(where: str, policy: Policy, given: dict[str, Any]) -> Settings:
    """Return settings, checked; `policy` is the one of the first epoch."""
    known = [one.name for one in fields(Settings)]
    for name in given:
        checks.one_of(where, "a setting", name, known)
    # An oracle on the host would be called a hundred times more for every decision; n^2 pairs of arms would
    # be scored so often, for chances that no estimate of rewards can use.
    drawn = policy.native and not policy.chooser.compares
    one = Settings(**({} if drawn else {"draws": 0}) | given)
    numbers: dict[str, Any] = {}
    for name, low in (("seed", 0), ("max_pending", 1), ("max_observations", 1), ("draws", 0)):
        numbers[name] = checks.count(where, name, getattr(one, name), low=low)
        checks.between(where, name, numbers[name], low, 2**62)
    for name in ("background", "ranking"):
        if not isinstance(getattr(one, name), bool):
            must = f"{name} must be True or False"
            raise TypeError(f"{where}: {must}, got {type(getattr(one, name)).__name__}")
    if one.max_age is not None:
        numbers["max_age"] = float(checks.positive(where, "max_age", one.max_age))
    numbers["min_propensity"] = float(checks.between(where, "min_propensity", one.min_propensity, 0.0, 1.0))
    if one.min_propensity > 0.0 and not takes_floor(policy):
        must = "min_propensity must be 0 unless one arm or the k best are chosen"
        raise ValueError(f"{where}: {must}, got {one.min_propensity:g}")
    return replace(one, **numbers)
