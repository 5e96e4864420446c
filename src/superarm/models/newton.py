"""Penalized maximum likelihood of a generalized linear model, by Newton's method with step control.

    theta = argmin  sum_i loss(x_i'theta, r_i) + (penalty / 2) |theta - theta_0|^2,   theta_0 = 0 as a rule

The objective is strictly convex, so the answer is unique and, with penalty > 0, finite: on separable data,
too, where maximum likelihood alone has none. For the probit link the expected curvature takes the place of
the Hessian (Fisher scoring). A step is halved until the objective falls (Armijo), so that extreme scores,
where the curvature vanishes or e^s overflows, cannot throw it off.

Fits start from the last one, close to the goal, where the curvature is hardly another. So steps are taken
with that of an earlier fit, O(n d) each, for as long as they close in fast, and only then is a new one
computed, O(n d^2) (Shamanskii's method; Kelley, 1995, Iterative methods for linear and nonlinear equations,
section 5.4). No fit ends on the word of an old curvature alone: its age costs time, never digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.models.fitting import Fitted
from superarm.models.history import History
from superarm.models.links import LINKS, LinkName
from superarm.models.losses import LOSSES, LossName
from superarm.models.networks import Scorer
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.schedules.radius import is_schedule
from superarm.types import Array

BLOCK = 512  # most rows per block
HALVINGS = 40  # of a step that does not lower the objective
JITTER = 1e-14  # share of the curvature's trace
ROUNDING = 1e-15  # of the objective
SURE = 1e-4  # share of the tolerance that a fit may leave
ARMIJO = 1e-4  # share of the promised fall that a step must bring (Nocedal & Wright, 2006, section 3.1)


@pytree
@dataclass(frozen=True)
class Newton:
    """How a generalized linear model is fitted; the same face as `Fitting`.

    Args:
        penalty: of |theta - theta_0|^2 / 2, > 0; or a schedule.
        tolerance: stop once half the squared Newton decrement, which is what a step can gain, was below this
            share of the objective before the last step, and is below a ten-thousandth of that now.
        link: a name of `LINKS`.
        steps: the most steps of a fit, beside those with a curvature of before.
    """

    penalty: Any
    tolerance: Array
    link: LinkName = static(default="logistic")
    steps: int = static(default=50)

    restart = False

    @property
    def loss(self) -> LossName:
        """The loss that belongs to the link."""
        return LINKS[self.link].loss

    def scheduled(self, count: Array, logdet: Array) -> Newton:
        """Return the fitting with the penalty after `count` observations."""
        return replace(self, penalty=self.penalty.at(count, logdet)) if is_schedule(self.penalty) else self

    def first_root(self, dim: int) -> Array:
        """(d, d) the root of the curvature before there is an observation, up to a number."""
        return jnp.eye(dim, dtype=FLOAT)

    def fit(
        self,
        network: Scorer,
        start: Array,
        first: Array,
        history: History,
        used: Array,
        key: Array,
        root: Array | None = None,
    ) -> Fitted:
        """Minimize from `start`; nothing is random, and the penalty pulls to `first`.

        A root (d, d) of the curvature of an earlier fit saves time; the one that the fit ended with is in the
        answer.
        """
        problem = _Problem(self, first, history, used)
        value, slope = problem.objective(start)
        place = _Place(jnp.zeros((), jnp.int32), start, value, slope, jnp.zeros((), bool))
        old = jnp.zeros((), jnp.int32)
        if root is None:
            root = self.first_root(start.shape[0])  # to be replaced
        else:
            place = self._steps(problem, place, root, fresh=False)
            old, place = place.steps, replace(place, steps=jnp.zeros((), jnp.int32))

        def renew(carry: tuple[_Place, Array]) -> tuple[_Place, Array]:
            root = problem.root(carry[0].theta)
            return self._steps(problem, carry[0], root, fresh=True), root

        place, root = jax.lax.while_loop(lambda carry: self._goes_on(carry[0]), renew, (place, root))
        return Fitted(
            params=place.theta,
            objective=place.value,
            objective_start=value,
            steps=old + place.steps,
            root=root,
        )

    def _goes_on(self, place: _Place) -> Array:
        return (place.steps < self.steps) & ~place.done

    def _steps(self, problem: _Problem, place: _Place, root: Array, *, fresh: bool) -> _Place:
        """Steps with one curvature, while each leaves a small share to gain of what the last one promised.

        How small: a curvature costs as much as some d / 8 steps. Of what was tried at d = 20, 100 and 378 the
        quickest. With a fresh one, computed at this place, the first step is Newton's own.
        """
        closing = min(10.0 ** (-100.0 / root.shape[0]), 0.3)

        def step(carry: _Carry) -> _Carry:
            place, direction, gain, exact, _ = carry
            theta, value, slope = problem.searched(place, direction, gain)
            direction, left = promise(slope)
            little, lower = 2.0 * self.tolerance * jnp.abs(place.value), value < place.value
            # Curvatures are no less than the penalty, which bounds what is left to gain, whatever the root.
            sure = slope @ slope <= SURE * little * self.penalty
            near = (gain <= little) & (left <= SURE * little)
            done = sure | (exact & (near | ~lower))
            closes = lower & (left <= closing * gain)  # not so when something is NaN
            moved = _Place(place.steps + 1, theta, value, slope, done)
            return moved, direction, left, jnp.zeros((), bool), closes

        def promise(slope: Array) -> tuple[Array, Array]:
            """The step to take, and the squared Newton decrement: twice what it gains."""
            direction = -jax.scipy.linalg.cho_solve((root, True), slope)
            return direction, -slope @ direction

        begin = (place, *promise(place.slope), jnp.asarray(fresh), jnp.ones((), bool))
        return jax.lax.while_loop(lambda carry: self._goes_on(carry[0]) & carry[-1], step, begin)[0]

    def ran_away(self, fitted: Fitted, history: History) -> Array:
        """() False: no step raises the objective."""
        return jnp.zeros((), bool)


@pytree
@dataclass(frozen=True)
class _Place:
    """Where a fit is: steps so far, theta with the objective and its slope, and whether it is the goal."""

    steps: Array
    theta: Array
    value: Array
    slope: Array
    done: Array


# A place, the step from there, twice what it promises, whether the curvature is of there, whether to go on.
_Carry = tuple[_Place, Array, Array, Array, Array]


@dataclass(frozen=True)
class _Problem:
    """The objective on the used part of a history, block by block."""

    newton: Newton
    anchor: Array
    history: History
    used: Array

    def objective(self, theta: Array) -> tuple[Array, Array]:
        """() the penalized loss, and (d,) its slope."""
        link = LINKS[self.newton.link]

        def block(contexts: Array, feedback: Array, counts: Array) -> tuple[Array, Array]:
            scores, filled = contexts @ theta, counts != 0.0
            slopes = jnp.where(filled, counts * link.slope(scores, feedback), 0.0)
            losses = LOSSES[self.newton.loss](scores, feedback)
            return jnp.sum(counts * losses, where=filled), slopes @ contexts

        loss, slope = self._sum(block, (jnp.zeros((), FLOAT), jnp.zeros_like(theta)))
        penalty, away = self.newton.penalty, theta - self.anchor
        return loss + 0.5 * penalty * (away @ away), slope + penalty * away

    def root(self, theta: Array) -> Array:
        """(d, d) the lower root of the expected curvature."""
        link = LINKS[self.newton.link]

        def block(contexts: Array, _: Array, counts: Array) -> Array:
            weights = jnp.where(counts != 0.0, counts * link.information(contexts @ theta), 0.0)
            return (contexts * weights[:, None]).T @ contexts

        dim = theta.shape[0]
        eye = jnp.eye(dim, dtype=FLOAT)
        curvature = self._sum(block, jnp.zeros((dim, dim), FLOAT)) + self.newton.penalty * eye
        # Of rounding size: one huge weight would leave the rest of the matrix to rounding, and no root.
        return jnp.linalg.cholesky(curvature + JITTER * jnp.trace(curvature) * eye)

    def searched(self, place: _Place, direction: Array, gain: Array) -> tuple[Array, Array, Array]:
        """Return where the longest halved step that lowers the objective enough leads; its value, slope."""
        # Close to the goal the promised fall is lost in the rounding of the objective.
        level = place.value + ROUNDING * jnp.abs(place.value)

        def fails(carry: tuple[Array, Array, Array, Array]) -> Array:
            count, size, lower, _ = carry
            return ~(lower <= level - ARMIJO * size * gain) & (count < HALVINGS)

        def halve(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            count, size, _, _ = carry
            return count + 1, 0.5 * size, *self.objective(place.theta + 0.5 * size * direction)

        begin = (jnp.zeros((), jnp.int32), jnp.ones((), FLOAT), *self.objective(place.theta + direction))
        _, size, lower, slope = jax.lax.while_loop(fails, halve, begin)
        found = lower <= place.value
        return (
            jnp.where(found, place.theta + size * direction, place.theta),
            jnp.where(found, lower, place.value),
            jnp.where(found, slope, place.slope),
        )

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
