"""Linear scores with new contexts in every round: the contextual version of wen2015, section 7."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.contract import Oracle
from superarm.environments.face import ChoiceWorld
from superarm.environments.semi_bandit import GaussianWeights, chosen_by, semi_bandit
from superarm.environments.sphere import on_sphere
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["LinearScores", "linear_scores"]


@pytree
@dataclass(frozen=True)
class LinearScores(ChoiceWorld):
    """Contexts uniform on the sphere, scores x'theta*. Build it with `linear_scores`."""

    theta_norm: Array
    availability: Array
    weights: GaussianWeights
    chooser: Best | Subset
    dim: int = static()
    num_arms: int = static()

    @property
    def spec(self) -> Spec:
        """d features, n arms."""
        return Spec(dim=self.dim, num_arms=self.num_arms)

    @double
    def init(self, key: Array) -> Array:
        """Draw theta* uniform on the sphere of norm `theta_norm`."""
        return self.theta_norm * on_sphere(key, (self.dim,))

    @double
    def offer(self, world: Array, key: Array) -> Offer:
        """Draw the contexts, and which arms are available."""
        key_contexts, key_mask = jax.random.split(key)
        contexts = on_sphere(key_contexts, (self.num_arms, self.dim))
        mask = jax.random.uniform(key_mask, (self.num_arms,), FLOAT) < self.availability
        # A round without any arm would leave nothing to decide.
        return Offer(contexts=contexts, mask=mask | ~jnp.any(mask))

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the scores of the chosen arms with noise."""
        key_optimum, key_noise = jax.random.split(key)
        means = offer.contexts @ world
        optimum = self.chooser.choose(key_optimum, means, offer.mask)
        return semi_bandit(key_noise, self.weights, means, decision, optimum)


@checks.named
def linear_scores(
    oracle: Oracle | None = None,
    *,
    dim: int = 10,
    num_arms: int = 20,
    theta_norm: float = 1.0,
    noise: float = 0.1,
    availability: float = 1.0,
) -> LinearScores:
    """Return an environment with linear scores and new contexts in every round.

    Args:
        oracle: the feasible sets, solved exactly; None to choose one arm.
        dim: d, features per arm.
        num_arms: n.
        theta_norm: norm of the true coefficients, whose direction is uniform.
        noise: standard deviation of an arm's feedback.
        availability: probability that an arm is on offer in a round.

    >>> linear_scores(dim=5, num_arms=7).spec
    Spec(dim=5, num_arms=7, capacity=0)
    """
    where = "linear_scores"
    built = LinearScores(
        theta_norm=checks.nonnegative(where, "theta_norm", theta_norm),
        availability=checks.between(where, "availability", availability, 0.0, 1.0),
        weights=GaussianWeights(scale=checks.nonnegative(where, "noise", noise)),
        chooser=chosen_by(where, oracle),
        dim=checks.count(where, "dim", dim),
        num_arms=checks.count(where, "num_arms", num_arms),
    )
    built.check()
    return built
