"""The first round of a world in plain Python is looked at: a wrong shape would be learned from in silence."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.contract import Environment
from superarm.environments.approximate import AlphaRegret
from superarm.policy import Policy
from superarm.types import Decision, Offer, Outcome


def check_offer(environment: Environment, policy: Policy, offer: Offer) -> None:
    """Refuse an offer of another size than the world says, and a policy of one arm where sets are chosen."""
    spec, where = environment.spec, type(environment).__name__
    _require_shape(f"{where}.offer: contexts", offer.contexts, (spec.num_arms, spec.dim), "as `spec` says")
    _require_shape(f"{where}.offer: mask", offer.mask, (spec.num_arms,), "as `spec` says")
    if not np.any(np.asarray(offer.mask)):
        raise ValueError(f"{where}.offer: mask must leave an arm on offer, got none")
    if environment.oracle is not None and policy.chooser.size == 1 < environment.oracle.size:
        must = f"policy must choose sets, of up to {environment.oracle.size} arms as the world's oracle"
        raise ValueError(f"{where}: {must}, got {policy.name}, which chooses one arm")


def check_outcome(environment: Environment, decision: Decision, outcome: Outcome) -> None:
    """Refuse an outcome that is not of the decision, or is worth more than the best."""
    where, slots = f"{type(environment).__name__}.respond", np.shape(decision.items)
    for name in ("feedback", "observed"):
        _require_shape(
            f"{where}: {name}", getattr(outcome, name), slots, "one entry per slot of the decision"
        )
    for name in ("reward", "value", "best", "best_reward"):
        number = getattr(outcome, name)
        _require_shape(f"{where}: {name}", number, (), "one number")
        if not np.isfinite(number) and environment.knows_regret:
            raise ValueError(f"{where}: {name} must be finite where `knows_regret`, got {float(number)}")
    seen = np.asarray(outcome.feedback, float)[np.asarray(outcome.observed, bool)]
    if not np.isfinite(seen).all():
        raise ValueError(f"{where}: feedback must be finite where it is observed, got {seen.tolist()}")
    goal = environment.alpha if isinstance(environment, AlphaRegret) else 1.0  # of a share of the optimum
    most = float(outcome.best) / float(goal)
    if environment.knows_regret and float(outcome.value) > most + 1e-9 * max(1.0, abs(most)):
        raise ValueError(f"{where}: value must be at most best, {most:g}, got {float(outcome.value):g}")


def _require_shape(what: str, value: Any, shape: tuple[int, ...], why: str) -> None:
    if np.shape(value) != shape:
        raise ValueError(f"{what} must have shape {shape}, {why}, got {np.shape(value)}")
