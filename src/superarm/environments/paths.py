"""The stochastic longest path of wen2015, section 6.1."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers.oracles import GridPath, grid_path
from superarm.contract import Environment
from superarm.environments.semi_bandit import GaussianWeights, semi_bandit
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Choice, Decision, Offer, Outcome, Spec

__all__ = ["LongestPath", "longest_path"]


@pytree
@dataclass(frozen=True)
class LongestPathWorld:
    """features: (L, d) Phi; means: (L,) Phi theta*; optimum: the longest path."""

    features: Array
    means: Array
    optimum: Choice


@pytree
@dataclass(frozen=True)
class LongestPath(Environment):
    """Paths on a grid whose edges have Gaussian features. Build it with `longest_path`."""

    theta_scale: Array
    weights: GaussianWeights
    oracle: GridPath
    dim: int = static()

    @property
    def native(self) -> bool:
        """True."""
        return True

    @property
    def spec(self) -> Spec:
        """d features, 2 m (m + 1) edges."""
        return Spec(dim=self.dim, num_arms=self.oracle.num_edges)

    def check(self) -> None:
        """Accept: the factory checked."""

    @double
    def init(self, key: Array) -> LongestPathWorld:
        """Draw Phi with entries N(0, 1) and theta* from N(0, theta_scale^2 I); solve for the optimum."""
        key_features, key_theta, key_optimum = jax.random.split(key, 3)
        features = _normals(key_features, self.spec.num_arms, self.dim)
        theta = self.theta_scale * jax.random.normal(key_theta, (self.dim,), FLOAT)
        means = features @ theta
        optimum = self.oracle.solve(key_optimum, means, jnp.ones(means.shape, bool))
        return LongestPathWorld(features=features, means=means, optimum=optimum)

    def offer(self, world: LongestPathWorld, key: Array) -> Offer:
        """Offer every edge."""
        return Offer(contexts=world.features, mask=jnp.ones(world.means.shape, bool))

    def respond(self, world: LongestPathWorld, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the weights of the path's edges."""
        return semi_bandit(key, self.weights, world.means, decision, world.optimum)


def _normals(key: Array, rows: int, columns: int) -> Array:
    """(rows, columns) standard normals, drawn in blocks: all at once takes four times the memory."""
    keys = jax.random.split(key, rows)
    return jax.lax.map(lambda one: jax.random.normal(one, (columns,), FLOAT), keys, batch_size=1024)


@checks.named
def longest_path(
    *, size: int = 30, dim: int = 200, theta_scale: float = 10.0, noise: float = 1.0
) -> LongestPath:
    """Return wen2015's longest path problem; every seed is a new instance.

    Args:
        size: m; each side of the grid has m edges, a path has 2m.
        dim: d, features per edge.
        theta_scale: lambda_true, standard deviation of the true coefficients.
        noise: sigma_true, standard deviation of an edge's weight.

    >>> longest_path(size=3, dim=5).spec
    Spec(dim=5, num_arms=24, capacity=0)
    """
    where = "longest_path"
    return LongestPath(
        theta_scale=checks.nonnegative(where, "theta_scale", theta_scale),
        weights=GaussianWeights(scale=checks.nonnegative(where, "noise", noise)),
        oracle=grid_path(checks.count(where, "size", size)),
        dim=checks.count(where, "dim", dim),
    )
