"""Binary rewards whose log-odds are a nonlinear function of the context: bae2026, section 7."""

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
from superarm.environments.semi_bandit import BernoulliWeights, chosen_by, semi_bandit
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["LogisticScores", "logistic_scores"]

LatentName = Literal["h1", "h2", "h3", "h4", "h5", "h6", "linear"]
# (contexts (n, d), theta (d,), matrix (d, d)) -> latent scores (n,)
Latent = Callable[[Array, Array, Array], Array]


def _form(contexts: Array, matrix: Array) -> Array:
    """(n,) x' M x."""
    return jnp.sum((contexts @ matrix) * contexts, axis=1)


LATENTS: dict[str, Latent] = {
    "h1": lambda x, theta, matrix: 0.2 * (x @ theta) ** 4,
    "h2": lambda x, theta, matrix: 20.0 * jnp.cos(x @ theta),
    "h3": lambda x, theta, matrix: 5.0 * _form(x, matrix),
    "h4": lambda x, theta, matrix: 10.0 * (x @ theta) ** 2,
    "h5": lambda x, theta, matrix: jnp.sum((x @ matrix.T) ** 2, axis=1),
    "h6": lambda x, theta, matrix: jnp.cos(3.0 * (x @ theta)),
    "linear": lambda x, theta, matrix: x @ theta,
}


@pytree
@dataclass(frozen=True)
class LogisticWorld:
    """One instance: contexts (P, d) to draw from, theta (d,) and a matrix (d, d)."""

    pool: Array
    theta: Array
    matrix: Array


@pytree
@dataclass(frozen=True)
class LogisticScores(ChoiceWorld):
    """Rewards 1 with probability mu(h(x)). Build it with `logistic_scores`."""

    weights: BernoulliWeights
    chooser: Best | Subset
    latent: Latent = static()
    dim: int = static()
    num_arms: int = static()
    pool: int = static()

    @property
    def spec(self) -> Spec:
        """d features, n arms."""
        return Spec(dim=self.dim, num_arms=self.num_arms)

    @double
    def init(self, key: Array) -> LogisticWorld:
        """Draw the pool of contexts and the parameters, all uniform in [-1, 1]."""
        keys = jax.random.split(key, 3)
        shapes = ((self.pool, self.dim), (self.dim,), (self.dim, self.dim))
        return LogisticWorld(
            *(
                jax.random.uniform(one, shape, FLOAT, -1.0, 1.0)
                for one, shape in zip(keys, shapes, strict=True)
            )
        )

    @double
    def offer(self, world: LogisticWorld, key: Array) -> Offer:
        """Draw the contexts of a round from the pool, no two the same."""
        items = distinct(key, self.pool, self.num_arms)
        return Offer(contexts=world.pool[items], mask=jnp.ones(self.num_arms, bool))

    @double
    def respond(self, world: LogisticWorld, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the chosen arms' rewards."""
        key_optimum, key_noise = jax.random.split(key)
        means = jax.nn.sigmoid(self.latent(offer.contexts, world.theta, world.matrix))
        optimum = self.chooser.choose(key_optimum, means, offer.mask)
        return semi_bandit(key_noise, self.weights, means, decision, optimum)


def distinct(key: Array, total: int, count: int) -> Array:
    """(count,) different numbers below `total`, every choice as likely; O(count^2) whatever the total."""

    def draw(taken: Array, step: Array) -> tuple[Array, Array]:
        rank = jax.random.randint(jax.random.fold_in(key, step), (), 0, total - step)
        # The rank-th number not taken: of the taken c_0 < c_1 < ..., c_i lies before it if c_i - i <= rank.
        number = rank + jnp.sum(jnp.sort(taken) - jnp.arange(count) <= rank)
        return taken.at[step].set(number), number

    free = jnp.full(count, 2 * total + count, jnp.int64)  # beyond every rank
    return jax.lax.scan(draw, free, jnp.arange(count))[1]


@checks.named
def logistic_scores(
    oracle: Oracle | None = None,
    *,
    latent: LatentName | Latent = "h1",
    dim: int = 20,
    num_arms: int = 5,
    pool: int = 2500,
) -> LogisticScores:
    """Return an environment with binary rewards and nonlinear log-odds.

    A seed draws a pool of contexts, uniform in [-1, 1]^d, and the parameters theta and Theta, uniform too;
    each round offers some of the pool. Fewer distinct contexts mean a lower effective dimension. The defaults
    are those of Bae & Lee (2026), Neural logistic bandits, ICML, section 7.

    Args:
        oracle: the feasible sets, solved exactly; None to choose one arm.
        latent: h, the log-odds: "h1" 0.2 (x'theta)^4, "h2" 20 cos(x'theta), "h3" 5 x'Theta x,
            "h4" 10 (x'theta)^2, "h5" x'Theta'Theta x, "h6" cos(3 x'theta), "linear" x'theta; or a pure
            function of contexts (n, d), theta (d,) and Theta (d, d) that JAX can trace and returns (n,).
        dim: d, features per arm.
        num_arms: n, arms in a round.
        pool: distinct contexts, at least n.

    >>> import superarm
    >>> world = logistic_scores(latent="h2", dim=3, pool=10)
    >>> superarm.simulate(superarm.uniform(), world, rounds=20, seeds=1, workers=0).rounds
    20
    """
    where = "logistic_scores"
    if not callable(latent):
        latent = LATENTS[checks.one_of(where, "latent", latent, tuple(LATENTS))]
    num_arms = checks.count(where, "num_arms", num_arms)
    built = LogisticScores(
        weights=BernoulliWeights(),
        chooser=chosen_by(where, oracle),
        latent=latent,
        dim=checks.count(where, "dim", dim),
        num_arms=num_arms,
        pool=checks.count(where, "pool", pool, low=num_arms),
    )
    built.check()
    return built
