"""Arms with parameters of their own and one context for all: a model under superarm's contract.

superarm has no preset for it; this is what `peers.py` measures where a library knows nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

import superarm
from superarm.contract import Beliefs, Model
from superarm.policy import Policy
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, Event, Spec, State


@pytree
@dataclass(frozen=True)
class DisjointBeliefs(Beliefs):
    """Scores x'theta_a of the one context x, and sqrt(x' A_a^-1 x)."""

    context: Array  # (d,)
    theta: Array  # (n, d)
    inverse: Array  # (n, d, d)

    logdet: ClassVar[float] = 0.0

    @property
    def mean(self) -> Array:
        """(n,) scores."""
        return self.theta @ self.context

    def norms(self) -> Array:
        """(n,) widths, by one product of a matrix (n d, d), which XLA does five times as fast as a sum."""
        return jnp.sqrt(jnp.einsum("nij,j->ni", self.inverse, self.context) @ self.context)


@pytree
@dataclass(frozen=True)
class Disjoint(Model):
    """A_a = I + the sum of x x' over the rounds of arm a, kept inverted (Sherman-Morrison)."""

    learn_every: ClassVar[int | None] = None
    by_arm: ClassVar[bool] = True

    def check(self, spec: Spec, width: Any) -> None:
        """Accept any size."""

    def init(self, key: Array, spec: Spec, width: Any) -> State:
        """Return the state before any observation."""
        identity = jnp.eye(spec.dim, dtype=FLOAT)
        inverse = jnp.tile(identity, (spec.num_arms, 1, 1))
        return State(record=(jnp.zeros((spec.num_arms, spec.dim), FLOAT), inverse), fit=())

    def beliefs(self, state: State, contexts: Array, width: Any) -> DisjointBeliefs:
        """Return what is believed of all arms; contexts (n, d) are n times the same."""
        return DisjointBeliefs(contexts[0], *state.record)

    def observe(self, state: State, key: Array, event: Event, width: Any) -> tuple[Array, Array]:
        """Take in the reward of the one arm chosen."""
        theta, inverse = state.record
        arm, row = event.items[0], event.features[0]
        direction = inverse[arm] @ row
        growth = 1.0 + row @ direction
        error = (event.feedback[0] - row @ theta[arm]) / growth
        shrunk = inverse.at[arm].add(-jnp.outer(direction, direction / growth))
        return theta.at[arm].add(direction * error), shrunk

    def learn(self, state: State, key: Array, width: Any) -> tuple[()]:
        """Return nothing: the record is the fit."""
        return ()


def disjoint_lin_ucb(radius: float) -> Policy:
    """LinUCB with disjoint arms: Algorithm 1 of Li, Chu, Langford & Schapire (2010)."""
    like = superarm.lin_ucb(radius=radius)
    return Policy(Disjoint(), width=None, explorer=like.explorer, chooser=like.chooser, name="disjoint")
