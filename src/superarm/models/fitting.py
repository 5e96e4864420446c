"""Fitting a network to a history: gradient descent, minibatches, Adam or any Optax transformation.

The objective is

    sum_i loss(f(x_i; theta), v_i) + (penalty / 2) |theta - anchor|^2,

divided by the number of observations with reduction "mean". Full batches run over the used part of the
history only, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol, get_args

import jax
import jax.numpy as jnp

from superarm.models.history import History
from superarm.models.links import link_of
from superarm.models.losses import LOSSES, LossName
from superarm.models.networks import Scorer
from superarm.pytree import pytree, static
from superarm.schedules.radius import is_schedule
from superarm.types import Array

OptimizerName = Literal["gd", "adam"]
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)
Reduction = Literal["sum", "mean"]
REDUCTIONS: tuple[Reduction, ...] = get_args(Reduction)
Penalized = Literal["all", "last"]
PENALIZED: tuple[Penalized, ...] = get_args(Penalized)
BLOCK = 512  # most rows per block of a full batch
WIDE = 4  # small blocks in a wide one, where that is no more than BLOCK: full ones are a tenth faster


class Optimizer(Protocol):
    """What is asked of an Optax transformation; it brings its own learning rate."""

    @property
    def init(self) -> Callable[..., Any]:
        """Parameters -> moments."""

    @property
    def update(self) -> Callable[..., Any]:
        """A gradient, moments and parameters -> a step and moments."""


@pytree
@dataclass(frozen=True)
class Fitted:
    """Parameters after a fit, the objective there and at its start; root: what the next fit may use."""

    params: Any
    objective: Array
    objective_start: Array
    steps: Array
    root: Any = ()


@pytree
@dataclass(frozen=True)
class Fitting:
    """How a network is fitted.

    Args:
        learning_rate: of the function; see `Perceptron.speed`. A number, or a schedule that the model reads.
        penalty: of |theta - anchor|^2 / 2; the same.
        tolerance: stop once a step changes the objective by less than this share; None to take all steps.
        loss: a name of `LOSSES`.
        optimizer: "gd", "adam" or an Optax transformation, which brings its own learning rate.
        steps: J.
        batch: observations per step, drawn anew each; None for all.
        restart: start every fit from the first parameters; otherwise from the last fit.
        anchored: the penalty pulls to the first parameters; otherwise to 0.
        reduction: "sum" or "mean".
        penalized: "all" parameters, or those of the "last" layer of a perceptron.
        block: most rows per block of a full batch, None for the default. Small ones leave out more of what is
            empty, large ones have less to do around them.
    """

    learning_rate: Any
    penalty: Any
    tolerance: Array | None = None
    loss: LossName = static(default="squared")
    optimizer: Any = static(default="gd")
    steps: int = static(default=100)
    batch: int | None = static(default=None)
    restart: bool = static(default=False)
    anchored: bool = static(default=True)
    reduction: str = static(default="sum")
    penalized: str = static(default="all")
    block: int | None = static(default=None)

    def scheduled(self, count: Array, logdet: Array) -> Fitting:
        """Return the fitting with the penalty and the learning rate after `count` observations."""
        now = {"penalty": self.penalty, "learning_rate": self.learning_rate}
        changed = {name: rate.at(count, logdet) for name, rate in now.items() if is_schedule(rate)}
        return replace(self, **changed)

    def first_root(self, dim: int) -> tuple[()]:
        """Nothing: a fit leaves nothing for the next but its parameters."""
        return ()

    def fit(
        self,
        network: Scorer,
        start: Any,
        first: Any,
        history: History,
        used: Array,
        key: Array,
        root: Any = (),
    ) -> Fitted:
        """Minimize from `start`; `first` is the network's start and, when anchored, the anchor."""
        anchor = first if self.anchored else jax.tree.map(jnp.zeros_like, first)
        objective = _Objective(self, network, anchor, history, used)
        transform = self._transform(network)

        def step(carry: _Carry) -> _Carry:
            index, params, moments, before, _ = carry
            value, gradient = (
                objective.whole(params)
                if self.batch is None
                else objective.minibatch(params, jax.random.fold_in(key, index))
            )
            with jax.numpy_dtype_promotion("standard"):  # Optax's Adam mixes types
                updates, moments = transform.update(gradient, moments, params)
            small = jnp.zeros((), bool)
            if self.tolerance is None:
                value = before  # not asked for, and so not computed
            else:
                change = jnp.abs(before - value)  # infinite in the first step, as is what it is measured by
                small = (index > 0) & (change <= self.tolerance.astype(value.dtype) * jnp.abs(before))
            return index + 1, _optax().apply_updates(params, updates), moments, value, small

        infinity = jnp.asarray(jnp.inf, network.dtype)
        begin = (jnp.zeros((), jnp.int32), start, transform.init(start), infinity, jnp.zeros((), bool))
        if self.tolerance is None:
            steps, params, *_ = jax.lax.fori_loop(0, self.steps, lambda _, carry: step(carry), begin)
        else:
            steps, params, *_ = jax.lax.while_loop(
                lambda carry: (carry[0] < self.steps) & ~carry[-1], step, begin
            )
        return Fitted(
            params=params,
            objective=objective.whole(params)[0],
            objective_start=objective.whole(start)[0],
            steps=steps,
        )

    def ran_away(self, fitted: Fitted, history: History) -> Array:
        """() True when the steps were too long: it ended above its start, by far or as bad as knowing
        nothing.

        Predicting 0 is knowing nothing, and what a network with all units dead does. By far is ten times
        the start's objective, for full gradient steps, which may swing about a small one at the edge of
        stability; minibatches and Adam may wander further above it.
        """
        end, start = fitted.objective, fitted.objective_start
        losses = LOSSES[self.loss](jnp.zeros_like(history.feedback), history.feedback)
        nothing = jnp.sum(history.counts * losses, where=history.filled).astype(end.dtype)
        if self.reduction == "mean":
            nothing = nothing / _count(history).astype(end.dtype)
        # A rise of rounding size is none: a strong penalty rightly leaves nothing but 0.
        bad = (end >= (1.0 - 1e-5) * nothing) & (end - start > 1e-4 * nothing)
        if self.optimizer == "gd" and self.batch is None:
            bad = bad | (end > 10.0 * start)
        return (end > start) & bad

    def _transform(self, network: Scorer) -> Any:
        rate = self.learning_rate.astype(network.dtype)
        if self.optimizer == "gd":
            return _optax().sgd(rate * jnp.asarray(network.speed, network.dtype))
        if self.optimizer == "adam":
            return _optax().adam(rate)
        return self.optimizer


_Carry = tuple[Array, Any, Any, Array, Array]


@dataclass(frozen=True)
class _Objective:
    """The objective on a history, with its gradient."""

    fitting: Fitting
    network: Scorer
    anchor: Any
    history: History
    used: Array

    def whole(self, params: Any) -> tuple[Array, Any]:
        """() the objective and its gradient, over the blocks in use: wide ones, and small ones at the end."""
        slots = self.history.feedback.shape[0]
        blocks = -(-slots // (self.fitting.block or BLOCK))
        size = -(-slots // blocks)
        if blocks == 1:
            return self._finish(params, self._losses(params, *self._slots))
        total = (jnp.zeros((), self.network.dtype), jax.tree.map(jnp.zeros_like, params))
        done = jnp.zeros_like(self.used)  # small blocks
        wide = WIDE * size
        if wide <= min(slots, BLOCK):
            total = self._add(params, total, done, self.used // wide, wide)
            done = self.used // wide * WIDE
        return self._finish(params, self._add(params, total, done, -(-self.used // size), size))

    def _add(self, params: Any, total: Any, low: Array, high: Array, size: int) -> Any:
        """The total, with the losses of the blocks from `low` to `high` and their gradient."""
        slots = self.history.feedback.shape[0]

        def add(block: Array, total: Any) -> Any:
            # The last block starts early enough to fit; what an earlier block had is masked.
            first = jnp.minimum(block * size, slots - size)
            contexts, feedback, counts = jax.tree.map(
                lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, size), self._slots
            )
            counts = jnp.where(first + jnp.arange(size) >= block * size, counts, 0.0)
            return jax.tree.map(jnp.add, total, self._losses(params, contexts, feedback, counts))

        return jax.lax.fori_loop(low, high, add, total)

    def minibatch(self, params: Any, key: Array) -> tuple[Array, Any]:
        """() the objective and its gradient, estimated from observations drawn with replacement."""
        size = self.fitting.batch or 1
        index = jax.random.randint(key, (size,), 0, jnp.maximum(self.used, 1))
        drawn = self._losses(params, *(leaf[index] for leaf in self._slots))
        growth = self.used.astype(self.network.dtype) / jnp.asarray(size, self.network.dtype)
        return self._finish(params, jax.tree.map(lambda leaf: leaf * growth, drawn))

    @property
    def _slots(self) -> tuple[Array, Array, Array]:
        history, dtype = self.history, self.network.dtype
        return history.contexts, history.feedback.astype(dtype), history.counts.astype(dtype)

    def _losses(self, params: Any, contexts: Array, feedback: Array, counts: Array) -> tuple[Array, Any]:
        filled = counts != 0.0  # an empty slot's loss may be anything
        scores, pull = self.network.pullback(params, contexts)
        losses = LOSSES[self.fitting.loss](scores, feedback)
        slopes = jnp.where(filled, counts * link_of(self.fitting.loss).slope(scores, feedback), 0.0)
        return jnp.sum(counts * losses, where=filled), pull(slopes)

    def _finish(self, params: Any, total: tuple[Array, Any]) -> tuple[Array, Any]:
        """Add the penalty, and divide when the mean is asked for."""
        value, gradient = total
        penalty = self.fitting.penalty.astype(self.network.dtype)
        away = jax.tree.map(jnp.subtract, params, self.anchor)
        if self.fitting.penalized == "last":
            away = (*jax.tree.map(jnp.zeros_like, away[:-1]), away[-1])
        value = value + 0.5 * penalty * _optax().tree.norm(away, squared=True)
        gradient = jax.tree.map(lambda slope, one: slope + penalty * one, gradient, away)
        if self.fitting.reduction == "mean":
            count = _count(self.history).astype(self.network.dtype)
            value, gradient = jax.tree.map(lambda leaf: leaf / count, (value, gradient))
        return value, gradient


@cache
def _optax() -> Any:
    """Return Optax, which takes as long to import as the rest of superarm, when a network is first fitted.

    A fit is being compiled then: arrays that Optax makes at its import must be no part of that.
    """
    with jax.ensure_compile_time_eval(), jax.enable_x64(False):
        import optax
    return optax


def _count(history: History) -> Array:
    """() observations held, at least 1."""
    return jnp.maximum(jnp.sum(history.counts), 1.0)
