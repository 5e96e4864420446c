"""Arms that stay, with means that need not be linear: sun2026, section 7.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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
from superarm.types import Array, Choice, Decision, Offer, Outcome, Spec

__all__ = ["FixedScores", "fixed_scores"]

# (key, arms (n, d), theta (d,)) -> (n,)
Means = Callable[[Array, Array, Array], Array]


def linear(key: Array, arms: Array, theta: Array) -> Array:
    """(n,) x'theta."""
    return arms @ theta


def logistic(key: Array, arms: Array, theta: Array) -> Array:
    """(n,) 1 / (1 + exp(-x'theta))."""
    return jax.nn.sigmoid(arms @ theta)


def distance(key: Array, arms: Array, theta: Array) -> Array:
    """(n,) -|x - theta|: h_1."""
    return -jnp.linalg.norm(arms - theta[None], axis=1)


def quadratic(key: Array, arms: Array, theta: Array) -> Array:
    """(n,) x'A A'x / 100 with entries of A (d, d) standard normal, drawn from the key: h_2."""
    dim = arms.shape[1]
    return 0.01 * jnp.sum((arms @ jax.random.normal(key, (dim, dim), FLOAT)) ** 2, axis=1)


FixedScoreName = Literal["linear", "logistic", "distance", "quadratic"]
MEANS: dict[str, Means] = {
    "linear": linear,
    "logistic": logistic,
    "distance": distance,
    "quadratic": quadratic,
}


@pytree
@dataclass(frozen=True)
class FixedWorld:
    """arms (n, d), their means (n,) and the optimum, all of one seed."""

    arms: Array
    means: Array
    optimum: Choice


@pytree
@dataclass(frozen=True)
class FixedScores(ChoiceWorld):
    """Arms on the sphere that stay. Build it with `fixed_scores`."""

    theta_norm: Array
    weights: GaussianWeights
    chooser: Best | Subset
    score: str = static()
    dim: int = static()
    num_arms: int = static()

    @property
    def spec(self) -> Spec:
        """d features, n arms."""
        return Spec(dim=self.dim, num_arms=self.num_arms)

    @double
    def init(self, key: Array) -> FixedWorld:
        """Draw the arms and what they are worth."""
        key_arms, key_theta, key_means, key_optimum = jax.random.split(key, 4)
        arms = on_sphere(key_arms, (self.num_arms, self.dim))
        theta = self.theta_norm * on_sphere(key_theta, (self.dim,))
        means = MEANS[self.score](key_means, arms, theta)
        optimum = self.chooser.choose(key_optimum, means, jnp.ones(self.num_arms, bool))
        return FixedWorld(arms=arms, means=means, optimum=optimum)

    def offer(self, world: FixedWorld, key: Array) -> Offer:
        """Offer all arms."""
        return Offer(contexts=world.arms, mask=jnp.ones(self.num_arms, bool))

    @double
    def respond(self, world: FixedWorld, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the scores of the chosen arms with noise."""
        return semi_bandit(key, self.weights, world.means, decision, world.optimum)


@checks.named
def fixed_scores(
    oracle: Oracle | None = None,
    *,
    score: FixedScoreName = "linear",
    dim: int = 20,
    num_arms: int = 50,
    noise: float = 0.5,
    theta_norm: float = 1.0,
) -> FixedScores:
    """Return an environment with the same arms in every round, and scores h(x) + noise.

    Arms and theta are uniform on the sphere, drawn per seed. The defaults are sun2026's.

    Args:
        oracle: the feasible sets, solved exactly; None to choose one arm.
        score: "linear" x'theta; "logistic" 1 / (1 + exp(-x'theta)), which takes Gaussian noise like the
            others; "distance" -|x - theta|; "quadratic" x'A A'x / 100 with A standard normal.
        dim: d, features per arm.
        num_arms: n.
        noise: standard deviation of an arm's feedback.
        theta_norm: S, norm of theta.

    Sun, Wang & Xu (2026), Provable anytime ensemble sampling algorithms in nonlinear contextual bandits.

    >>> import superarm
    >>> world = fixed_scores(score="quadratic", dim=5, num_arms=7)
    >>> superarm.simulate(superarm.lin_es(), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "fixed_scores"
    built = FixedScores(
        theta_norm=checks.nonnegative(where, "theta_norm", theta_norm),
        weights=GaussianWeights(scale=checks.nonnegative(where, "noise", noise)),
        chooser=chosen_by(where, oracle),
        score=checks.one_of(where, "score", score, tuple(MEANS)),
        dim=checks.count(where, "dim", dim),
        num_arms=checks.count(where, "num_arms", num_arms),
    )
    built.check()
    return built
