"""Arms that stay: what an environment offers in one round, in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from superarm import checks
from superarm.contract import Environment
from superarm.environments.face import WrappedEnvironment
from superarm.pytree import pytree
from superarm.types import Array, Decision, Offer, Outcome

__all__ = ["FixedArms", "fixed_arms"]


@pytree
@dataclass(frozen=True)
class FixedWorld:
    """The environment's world, and the offer that stays."""

    world: Any
    offer: Offer


@pytree
@dataclass(frozen=True)
class FixedArms(WrappedEnvironment):
    """An environment that offers the same in every round. Build it with `fixed_arms`."""

    environment: Environment

    def init(self, key: Array) -> FixedWorld:
        """Draw a world and an offer."""
        key_world, key_offer = jax.random.split(key)
        world = self.environment.init(key_world)
        return FixedWorld(world=world, offer=self.environment.offer(world, key_offer))

    def attrs(self, world: FixedWorld) -> dict[str, Any]:
        """As the environment says of its own world."""
        return self.environment.attrs(world.world)

    def offer(self, world: FixedWorld, key: Array) -> Offer:
        """Offer what was drawn."""
        return world.offer

    def respond(self, world: FixedWorld, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """As the environment."""
        return self.environment.respond(world.world, key, offer, decision)


@checks.named
def fixed_arms(environment: Environment) -> FixedArms:
    """Return the environment with arms that stay: each seed draws one offer, and every round makes it.

    Arms then have an identity, which policies that learn each item apart need.

    Args:
        environment: any; one that offers new contexts in every round.

    >>> import superarm
    >>> world = fixed_arms(superarm.environments.clicks(superarm.top_k(2), feedback="cascade"))
    >>> superarm.simulate(superarm.comb_ucb1(world.oracle), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "fixed_arms"
    checks.part(where, "environment", environment, Environment)
    if environment.in_order:
        raise ValueError(
            f"{where}: environment must not be one of given rounds, got {type(environment).__name__}"
        )
    return FixedArms(environment=environment)
