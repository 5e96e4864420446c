"""Ensemble sampling: one member, drawn at random, decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Explorer, Special
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array

__all__ = ["EnsembleSampling"]


@pytree
@dataclass(frozen=True)
class EnsembleSampling(Explorer):
    """Score as a uniformly drawn member of an `Ensemble` does: line 4 of sun2026's Algorithm 1."""

    def scores(self, key: Array, beliefs: Any, count: Array) -> Array:
        """(n,) one member's scores."""
        return beliefs.member(jax.random.randint(key, (), 0, beliefs.num_members))

    @property
    def needs(self) -> frozenset[Special]:
        """Members."""
        return frozenset({"members"})

    def options(self, beliefs: Any, count: Array) -> tuple[Array, Array]:
        """(m,) equal chances and (m, n) the members' scores."""
        size = beliefs.num_members
        return jnp.full(size, 1.0 / size, FLOAT), beliefs.members
