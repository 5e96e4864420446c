"""Arms on the unit sphere, new in every round, whose scores a fixed function gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Offer, Spec

# (contexts (n, d), a (d,)) -> (n,)
Score = Callable[[Array, Array], Array]


@pytree
@dataclass(frozen=True)
class SphereArms:
    """Contexts uniform on the sphere, scores score(x, a), with a uniform on the sphere, drawn per seed."""

    score: Score = static()
    dim: int = static()
    num_arms: int = static()

    @property
    def spec(self) -> Spec:
        """d features, n arms."""
        return Spec(dim=self.dim, num_arms=self.num_arms)

    @double
    def init(self, key: Array) -> Array:
        """Draw a."""
        return on_sphere(key, (self.dim,))

    @double
    def offer(self, world: Array, key: Array) -> Offer:
        """Draw the contexts; every arm is available."""
        contexts = on_sphere(key, (self.num_arms, self.dim))
        return Offer(contexts=contexts, mask=jnp.ones(self.num_arms, bool))

    @double
    def means(self, world: Array, contexts: Array) -> Array:
        """(n,) the scores of contexts (n, d)."""
        return _means(self, world, contexts)


@jax.jit  # run piece by piece, a function of the user's would be slow in worlds that are stepped on the host
def _means(arms: SphereArms, a: Array, contexts: Array) -> Array:
    return arms.score(contexts, a)


@double
def sphere_arms(
    where: str, name: str, score: str | Score, *, named: Mapping[str, Score], dim: int, num_arms: int
) -> SphereArms:
    """Return the arms of the environment `where`, whose argument `name` is a score: a name or a function."""
    built = SphereArms(
        score=score if callable(score) else named[checks.one_of(where, name, score, tuple(named))],
        dim=checks.count(where, "dim", dim),
        num_arms=checks.count(where, "num_arms", num_arms),
    )
    contexts, a = jax.ShapeDtypeStruct((num_arms, dim), FLOAT), jax.ShapeDtypeStruct((dim,), FLOAT)
    shape = jax.eval_shape(built.score, contexts, a).shape
    if shape != (num_arms,):
        raise ValueError(f"{where}: {name} must return shape ({num_arms},), one per arm, got {shape}")
    return built


def on_sphere(key: Array, shape: tuple[int, ...]) -> Array:
    """Unit vectors, uniform on the sphere."""
    normals = jax.random.normal(key, shape, FLOAT)
    return normals / jnp.linalg.norm(normals, axis=-1, keepdims=True)
