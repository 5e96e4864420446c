"""What worlds have in common: those with feasible sets, and those that change another world."""

from __future__ import annotations

from typing import Any

from superarm.choosers import Best, Subset
from superarm.contract import Environment, Oracle
from superarm.types import Array, Decision, Offer, Outcome, Spec


class ChoiceWorld(Environment):
    """A world in which one arm, or a set through an oracle, is chosen: by `chooser`, which knows the best."""

    chooser: Best | Subset

    @property
    def oracle(self) -> Oracle | None:
        """The oracle of the feasible sets; None when one arm is chosen."""
        return self.chooser.oracle if isinstance(self.chooser, Subset) else None

    @property
    def native(self) -> bool:
        """Whether the optimum can be found inside compiled code."""
        return self.chooser.native

    def check(self) -> None:
        """Let the oracle refuse a number of arms that it cannot choose from."""
        self.chooser.check(self.spec.num_arms)


class WrappedEnvironment(Environment):
    """Another environment, changed in some way: what is not overridden is as it says."""

    environment: Environment

    @property
    def oracle(self) -> Oracle | None:
        """The environment's exact oracle, if it has one."""
        return self.environment.oracle

    @property
    def compares(self) -> bool:
        """As the environment."""
        return self.environment.compares

    @property
    def knows_regret(self) -> bool:
        """As the environment."""
        return self.environment.knows_regret

    @property
    def in_order(self) -> bool:
        """As the environment."""
        return self.environment.in_order

    @property
    def native(self) -> bool:
        """As the environment."""
        return self.environment.native

    @property
    def spec(self) -> Spec:
        """As the environment."""
        return self.environment.spec

    def check(self) -> None:
        """Let the environment check."""
        self.environment.check()

    def init(self, key: Array) -> Any:
        """As the environment."""
        return self.environment.init(key)

    def at_round(self, world: Any, count: Array | int) -> Any:
        """As the environment."""
        return self.environment.at_round(world, count)

    def attrs(self, world: Any) -> dict[str, Any]:
        """As the environment."""
        return self.environment.attrs(world)

    def offer(self, world: Any, key: Array) -> Offer:
        """As the environment."""
        return self.environment.offer(world, key)

    def respond(self, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """As the environment."""
        return self.environment.respond(world, key, offer, decision)
