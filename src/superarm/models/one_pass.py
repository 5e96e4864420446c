"""Logistic regression in one pass: each observation moves the estimate once and is forgotten.

Faury, Abeille, Jun & Calauzenes (2022), Jointly efficient and optimal algorithms for logistic bandits,
AISTATS, Algorithm ECOLog:

    theta_{t+1} = argmin  |theta - theta_t|^2_{W_t} / (2 + D) + loss(x'theta, r)
    W_{t+1} = W_t + mu'(x'theta_{t+1}) x x',   W_1 = lambda I

with D the diameter of the set that theta* lies in, for features of norm at most 1. They project on that set;
we do not: bae2026 reports that in practice the estimate all but never leaves it. The minimum lies on the
line theta_t - c W_t^-1 x, so that one equation for the new score remains, which bisection solves to the last
digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from superarm.contract import LinearWidth, Model
from superarm.models.linear import Gaussian, LinearRecord
from superarm.models.links import LINKS
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, Event, Spec, State

TINY = 1e-300  # in place of a weight that has underflown
HALVINGS = 64  # a bracket of length 1 shrinks below the spacing of float64


@pytree
@dataclass(frozen=True)
class OnePassLogistic(Model):
    """Scores x'theta of a logistic model, in constant memory: O(k d^2) per event with the full width.

    Args:
        ridge: lambda.
        diameter: D, of the set of possible theta; 2 S for a ball.
    """

    ridge: Array
    diameter: Array

    learn_every: ClassVar[int | None] = None

    @property
    def link(self) -> str:
        """The logistic one."""
        return "logistic"

    def check(self, spec: Spec, width: LinearWidth) -> None:
        """Accept any size."""

    def init(self, key: Array, spec: Spec, width: LinearWidth) -> State:
        """Return theta = 0 and W = lambda I."""
        like = jax.ShapeDtypeStruct((1, spec.dim), FLOAT)
        factor = width.init(like, 1.0 / jnp.sqrt(self.ridge), spec.capacity)
        return State(record=LinearRecord(mean=jnp.zeros(spec.dim, FLOAT), factor=factor), fit=())

    def beliefs(self, state: State, contexts: Array, width: LinearWidth) -> Gaussian:
        """Return latent scores with the width of W."""
        return Gaussian(state.record.mean, contexts, state.record.factor, width)

    def observe(self, state: State, key: Array, event: Event, width: LinearWidth) -> LinearRecord:
        """Return the record after one step per observation, in the order of the slots."""

        def step(record: LinearRecord, slot: tuple[Array, Array, Array]) -> tuple[LinearRecord, None]:
            features, reward, observed = slot
            row = jnp.where(observed, features, 0.0)[None]
            square = width.whiten(record.factor, row).norms()[0] ** 2  # x' W^-1 x
            score = row[0] @ record.mean
            pull = 0.5 * (2.0 + self.diameter)
            new = _solved(score, reward, pull * square)
            # absorb moves theta by W_new^-1 x e, which is W^-1 x e / (1 + w x' W^-1 x) for the weight w.
            weight = LINKS["logistic"].information(new)
            move = -pull * (LINKS["logistic"].mean(new) - reward) * (1.0 + weight * square)
            root = jnp.sqrt(jnp.maximum(weight, TINY))
            whitened = width.whiten(record.factor, row * root)
            factor, shift = width.absorb(record.factor, whitened, jnp.where(observed, move, 0.0)[None] / root)
            return LinearRecord(mean=record.mean + shift, factor=factor), None

        slots = (event.features, jnp.where(event.observed, event.feedback, 0.0), event.observed)
        return jax.lax.scan(step, state.record, slots)[0]

    def learn(self, state: State, key: Array, width: LinearWidth) -> tuple[()]:
        """Return nothing: the record is the fit."""
        return ()


def _solved(score: Array, reward: Array, pull: Array) -> Array:
    """() the u with u = score - pull (mu(u) - reward); the right side falls in u, so there is one."""
    mean = LINKS["logistic"].mean

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        beyond = middle > score - pull * (mean(middle) - reward)
        return jnp.where(beyond, low, middle), jnp.where(beyond, middle, high)

    ends = (score - pull * (1.0 - reward), score + pull * reward)
    low, high = jax.lax.fori_loop(0, HALVINGS, halve, ends)
    return 0.5 * (low + high)
