"""Penalized maximum likelihood of a generalized linear model, by Newton's method with step control.

    theta = argmin  sum_i loss(x_i'theta, r_i) + (penalty / 2) |theta - theta_0|^2,   theta_0 = 0 as a rule

The objective is strictly convex, so the answer is unique and, with penalty > 0, finite: on separable data,
too, where maximum likelihood alone has none. For the probit link the expected curvature takes the place of
the Hessian (Fisher scoring). A step is halved until the objective falls (Armijo), so that extreme scores,
where the curvature vanishes or e^s overflows, cannot throw it off. Fits start from the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.models.fitting import Fitted
from superarm.models.history import History
from superarm.models.links import LINKS
from superarm.models.losses import LOSSES
from superarm.models.networks import Scorer
from superarm.precision import FLOAT
from superarm.types import Array, pytree, static

BLOCK = 512  # most rows per block
HALVINGS = 40  # of a step that does not lower the objective
JITTER = 1e-14  # share of the curvature's trace
ARMIJO = 1e-4  # share of the promised fall that a step must bring (Nocedal & Wright, 2006, section 3.1)


@pytree
@dataclass(frozen=True)
class Newton:
    """How a generalized linear model is fitted; the same face as `Fitting`.

    Args:
        penalty: of |theta - theta_0|^2 / 2, > 0; or a schedule.
        tolerance: stop once half the squared Newton decrement, which is what a step can still gain, is below
            this share of the objective.
        link: a name of `LINKS`.
        steps: the most steps of a fit.
    """

    penalty: Any
    tolerance: Array
    link: str = static(default="logistic")
    steps: int = static(default=50)

    restart = False

    @property
    def loss(self) -> str:
        """The loss that belongs to the link."""
        return LINKS[self.link].loss

    def fit(
        self, network: Scorer, start: Array, first: Array, history: History, used: Array, key: Array
    ) -> Fitted:
        """Minimize from `start`; nothing is random, and the penalty pulls to `first`."""
        problem = _Problem(self, first, history, used)
        begin = (jnp.zeros((), jnp.int32), start, problem.objective(start), jnp.zeros((), bool))

        def step(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            count, theta, value, _ = carry
            slope, curvature = problem.derivatives(theta)
            # Of rounding size: one huge weight would leave the rest of the matrix to rounding, and no root.
            safe = curvature + JITTER * jnp.trace(curvature) * jnp.eye(theta.shape[0], dtype=FLOAT)
            factor = jax.scipy.linalg.cho_factor(safe, lower=True)
            direction = -jax.scipy.linalg.cho_solve(factor, slope)
            gain = -slope @ direction  # the squared Newton decrement
            theta, lower = problem.searched(theta, value, direction, gain)
            done = (0.5 * gain <= self.tolerance * (1.0 + jnp.abs(value))) | ~(lower < value)
            return count + 1, theta, lower, done

        steps, theta, value, _ = jax.lax.while_loop(
            lambda carry: (carry[0] < self.steps) & ~carry[-1], step, begin
        )
        return Fitted(params=theta, objective=value, objective_start=begin[2], steps=steps)

    def ran_away(self, fitted: Fitted, history: History) -> Array:
        """() False: no step raises the objective."""
        return jnp.zeros((), bool)


@dataclass(frozen=True)
class _Problem:
    """The objective on the used part of a history, block by block."""

    newton: Newton
    anchor: Array
    history: History
    used: Array

    def objective(self, theta: Array) -> Array:
        """() the penalized loss."""

        def block(contexts: Array, feedback: Array, counts: Array) -> Array:
            losses = LOSSES[self.newton.loss](contexts @ theta, feedback)
            return jnp.sum(counts * losses, where=counts != 0.0)

        away = theta - self.anchor
        return self._sum(block, jnp.zeros((), FLOAT)) + 0.5 * self.newton.penalty * (away @ away)

    def derivatives(self, theta: Array) -> tuple[Array, Array]:
        """(d,) the gradient and (d, d) the expected curvature."""
        link = LINKS[self.newton.link]

        def block(contexts: Array, feedback: Array, counts: Array) -> tuple[Array, Array]:
            scores, filled = contexts @ theta, counts != 0.0
            slopes = jnp.where(filled, counts * link.slope(scores, feedback), 0.0)
            weights = jnp.where(filled, counts * link.information(scores), 0.0)
            return contexts.T @ slopes, (contexts * weights[:, None]).T @ contexts

        dim = theta.shape[0]
        slope, curvature = self._sum(block, (jnp.zeros(dim, FLOAT), jnp.zeros((dim, dim), FLOAT)))
        penalty = self.newton.penalty
        return slope + penalty * (theta - self.anchor), curvature + penalty * jnp.eye(dim, dtype=FLOAT)

    def searched(self, theta: Array, value: Array, direction: Array, gain: Array) -> tuple[Array, Array]:
        """Return the longest of the halved steps that lowers the objective enough, and the value there."""

        def fails(carry: tuple[Array, Array, Array]) -> Array:
            count, size, lower = carry
            return ~(lower <= value - ARMIJO * size * gain) & (count < HALVINGS)

        def halve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            count, size, _ = carry
            return count + 1, 0.5 * size, self.objective(theta + 0.5 * size * direction)

        begin = (jnp.zeros((), jnp.int32), jnp.ones((), FLOAT), self.objective(theta + direction))
        _, size, lower = jax.lax.while_loop(fails, halve, begin)
        found = lower < value
        return jnp.where(found, theta + size * direction, theta), jnp.where(found, lower, value)

    def _sum(self, block: Any, zero: Any) -> Any:
        slots = self.history.feedback.shape[0]
        size = min(slots, BLOCK)

        def add(index: Array, total: Any) -> Any:
            # The last block starts early enough to fit; what an earlier block had is masked.
            first = jnp.minimum(index * size, slots - size)
            contexts, feedback, counts = (
                jax.lax.dynamic_slice_in_dim(leaf, first, size)
                for leaf in (self.history.contexts, self.history.feedback, self.history.counts)
            )
            counts = jnp.where(first + jnp.arange(size) >= index * size, counts, 0.0)
            return jax.tree.map(jnp.add, total, block(contexts, feedback, counts))

        return jax.lax.fori_loop(0, (self.used + size - 1) // size, add, zero)
