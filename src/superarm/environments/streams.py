"""A stream of your own: contexts and rewards that are given, round after round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.contract import Oracle
from superarm.environments.face import ChoiceWorld
from superarm.environments.semi_bandit import chosen_by
from superarm.precision import double
from superarm.pytree import pytree
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["Stream", "stream"]


@pytree
@dataclass(frozen=True)
class Given:
    """Of all rounds, or of one: contexts (n, d), rewards (n,), means (n,), mask (n,)."""

    contexts: Array
    rewards: Array
    means: Array
    mask: Array


@pytree
@dataclass(frozen=True)
class Stream(ChoiceWorld):
    """Rounds that are given. Build it with `stream`."""

    given: Given
    chooser: Best | Subset

    @property
    def spec(self) -> Spec:
        """As the contexts say."""
        _, num_arms, dim = self.given.contexts.shape
        return Spec(dim=dim, num_arms=num_arms)

    def init(self, key: Array) -> Given:
        """Return all rounds: they are the same for every seed."""
        return self.given

    def at_round(self, world: Given, count: Array | int) -> Given:
        """Return round `count`; after the last comes the first."""
        at = count % world.rewards.shape[0]
        found: Given = jax.tree.map(lambda rows: rows[at], world)
        return found

    def offer(self, world: Given, key: Array) -> Offer:
        """Offer the contexts of the round."""
        return Offer(contexts=world.contexts, mask=world.mask)

    @double
    def respond(self, world: Given, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the rewards of what was chosen."""
        optimum = self.chooser.choose(key, world.means, world.mask)

        def total(values: Array, choice: Any) -> Array:
            return jnp.sum(jnp.where(choice.mask, values[jnp.maximum(choice.items, 0)], 0.0))

        return Outcome(
            feedback=world.rewards[jnp.maximum(decision.items, 0)],
            observed=decision.mask,
            reward=total(world.rewards, decision),
            value=total(world.means, decision),
            best=total(world.means, optimum),
            best_reward=total(world.rewards, optimum),
        )


@checks.named
def stream(
    contexts: npt.ArrayLike,
    rewards: npt.ArrayLike,
    oracle: Oracle | None = None,
    *,
    means: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
) -> Stream:
    """Return an environment that plays rounds of yours in their order, from the first again after the last.

    Every seed meets the same rounds; seeds differ in the policy's randomness alone.

    Args:
        contexts: (T, n, d) features of the arms, round by round.
        rewards: (T, n) what each arm pays; an arm that is not chosen does not show it.
        oracle: the feasible sets, solved exactly; None to choose one arm. A set pays the sum.
        means: (T, n) expected rewards, by which regret is counted; the rewards themselves by default.
        mask: (T, n) which arms are on offer; all by default.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> contexts = rng.normal(size=(500, 5, 3))
    >>> world = stream(contexts, rewards=contexts[:, :, 0])
    >>> result = superarm.simulate(superarm.lin_ucb(), world, rounds=500, seeds=1, workers=0)
    >>> result.rounds
    500
    """
    where = "stream"
    features = checks.matrix(where, "contexts", contexts, (None, None, None))
    shape = features.shape[:2]
    if not all(features.shape):
        raise ValueError(f"{where}: contexts must not be empty, got shape {features.shape}")
    paid = checks.matrix(where, "rewards", rewards, shape)
    offered = np.ones(shape, bool) if mask is None else checks.flags(where, "mask", mask, shape)
    if not offered.any(axis=1).all():
        at = int(np.argmin(offered.any(axis=1)))
        raise ValueError(f"{where}: mask must leave an arm on offer, got none in round {at}")
    expected = paid if means is None else checks.matrix(where, "means", means, shape)
    given: Any = (np.array(one) for one in (features, paid, expected, offered))  # the caller's may change
    built = Stream(Given(*given), chosen_by(where, oracle))
    built.check()
    return built
