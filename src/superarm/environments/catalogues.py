"""A fixed catalogue: items with a feature matrix and expected weights that need not be linear in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.contract import Environment, Oracle
from superarm.environments.semi_bandit import (
    BernoulliWeights,
    GaussianWeights,
    Weights,
    exact,
    semi_bandit,
)
from superarm.precision import double
from superarm.pytree import pytree
from superarm.types import Array, Choice, Decision, Offer, Outcome, Spec

__all__ = ["Catalogue", "catalogue"]


@pytree
@dataclass(frozen=True)
class CatalogueWorld:
    """The optimal set, found once."""

    optimum: Choice


@pytree
@dataclass(frozen=True)
class Catalogue(Environment):
    """features (n, d), means (n,), the law of the weights and the oracle. Build it with `catalogue`."""

    features: Array
    means: Array
    weights: Weights
    oracle: Oracle

    @property
    def native(self) -> bool:
        """Whether the optimum can be found inside compiled code."""
        return self.oracle.native

    @property
    def spec(self) -> Spec:
        """d features, n items."""
        num_arms, dim = self.features.shape
        return Spec(dim=dim, num_arms=num_arms)

    def check(self) -> None:
        """Let the oracle refuse a catalogue that it cannot choose from."""
        self.oracle.check(self.spec.num_arms)

    @double
    def init(self, key: Array) -> CatalogueWorld:
        """Solve for the optimal set; the key only breaks its ties."""
        everything = jnp.ones(self.features.shape[0], bool)
        return CatalogueWorld(self.oracle.solve(key, jnp.asarray(self.means), everything))

    def offer(self, world: CatalogueWorld, key: Array) -> Offer:
        """Offer the whole catalogue."""
        return Offer(contexts=jnp.asarray(self.features), mask=jnp.ones(self.features.shape[0], bool))

    def respond(self, world: CatalogueWorld, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the weights of the chosen items."""
        return semi_bandit(key, self.weights, jnp.asarray(self.means), decision, world.optimum)


@checks.named
def catalogue(
    features: npt.ArrayLike, means: npt.ArrayLike, oracle: Oracle, *, noise: float | None = None
) -> Catalogue:
    """Return an environment with fixed items.

    Args:
        features: (n, d) what a policy sees of the items.
        means: (n,) expected weights; probabilities when `noise` is None.
        oracle: the feasible sets, solved exactly; policies may use another.
        noise: standard deviation of Gaussian weights; None for Bernoulli weights.

    >>> import numpy as np, superarm
    >>> world = catalogue(np.eye(4), np.array([0.1, 0.9, 0.5, 0.2]), superarm.top_k(2))
    >>> superarm.simulate(superarm.comb_ucb1(world.oracle), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "catalogue"
    table: Any = np.ascontiguousarray(checks.matrix(where, "features", features, (None, None)))
    expected = checks.matrix(where, "means", means, (table.shape[0],))
    weights: Weights
    if noise is None:
        checks.between(where, "means", expected, 0.0, 1.0)
        weights = BernoulliWeights()
    else:
        weights = GaussianWeights(scale=checks.nonnegative(where, "noise", noise))
    built = Catalogue(
        features=table,
        means=expected,
        weights=weights,
        oracle=exact(where, oracle),
    )
    built.check()
    return built
