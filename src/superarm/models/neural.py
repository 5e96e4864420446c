"""A neural network's score, with gradients as the features whose width matters.

Zhou, Li & Gu (2020), Neural contextual bandits with UCB-based exploration, ICML; Hwang, Chai & Oh (2023),
Combinatorial neural bandits, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.models.fitting import Fitting
from superarm.models.history import History, Memory
from superarm.models.networks import Scorer
from superarm.models.neural_beliefs import Certain, NeuralBeliefs, NeuralMemo, Stamp
from superarm.precision import FLOAT
from superarm.types import Array, Event, Spec, State, Width, pytree, static
from superarm.widths.rows import Rows, only, scaled

REBUILD = 64  # rows absorbed at once when the width is rebuilt


@pytree
@dataclass(frozen=True)
class NeuralRecord:
    """The history, and the width's factor.

    Attributes:
        history: observations for fitting.
        factor: of the gradients seen.
        version: of the fit that the factor was last rebuilt with, when it is refreshed.
    """

    history: History
    factor: Any
    version: Array


@pytree
@dataclass(frozen=True)
class NeuralFit:
    """What was learned.

    Attributes:
        params: theta.
        first: theta_0.
        version: fits made so far, those that failed included.
        objective: the last fit's, as it ended.
        diverged: True when the last fit did; then `params` are those of the fit before.
        failures: fits that diverged so far.
        factor: the width rebuilt with theta, when it is refreshed; () otherwise.
    """

    params: Any
    first: Any
    version: Array
    objective: Array
    diverged: Array
    failures: Array
    factor: Any


@pytree
@dataclass(frozen=True)
class Neural:
    """Scores f(x; theta) of a network fitted every `learn_every` decisions.

    Args:
        ridge: lambda; the width's matrix starts as Z = lambda I.
        row_scale: multiplies the gradients; 1 / sqrt(m) in the papers.
        fitting: how theta is fitted.
        network: f.
        memory: the observations that it is fitted to.
        learn_every: decisions between fits.
        rows: "gradient", of all parameters; "last-layer", of the last layer's alone.
        refresh: rebuild Z at every fit, from the history kept and the current network; otherwise every
            observation stays with the gradient of the network in force when it was observed. What arrives
            while a fit is made in the background enters the rebuilt Z with the next fit.
    """

    ridge: Array
    row_scale: Array
    fitting: Fitting
    network: Scorer
    memory: Memory
    learn_every: int = static(default=1)
    rows: str = static(default="gradient")
    refresh: bool = static(default=False)

    def check(self, spec: Spec, width: Width | None) -> None:
        """Raise in one sentence if the network does not fit the problem, or there is no room."""
        self.network.check(spec.dim)
        if self.memory.kind == "all" and spec.capacity < 1:
            raise ValueError(
                "neural model: spec.capacity must be >= 1 to keep all history, got 0; state it, or choose "
                "memory='window' or 'reservoir'"
            )
        if width is not None:
            width.check(self._like(spec.dim), self._capacity(spec))

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return the first parameters, no history and Z = lambda I."""
        params = self.network.init(key, spec.dim)
        zero = jnp.zeros((), jnp.int64)
        factor = ()
        if width is not None:
            factor = width.init(self._like(spec.dim), self._scale, self._capacity(spec))
        fit = NeuralFit(
            params=params,
            first=params,
            version=zero,
            objective=jnp.zeros((), self.network.dtype),
            diverged=jnp.zeros((), bool),
            failures=zero,
            factor=factor if self.refresh else (),
        )
        history = self.memory.init(spec, self.network.dtype)
        return State(record=NeuralRecord(history=history, factor=factor, version=zero), fit=fit)

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> NeuralBeliefs:
        """Return scores and widths of contexts (n, d)."""
        scores, rows = self._rows(state.fit.params, contexts)
        factor = self._factor(state)
        return NeuralBeliefs(
            mean=scores.astype(FLOAT),
            whitened=Certain(contexts.shape[0]) if width is None else width.whiten(factor, rows),
            logdet=jnp.zeros((), FLOAT) if width is None else factor.logdet,
            stamp=_stamp(state),
        )

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> NeuralRecord:
        """Return the record with the event's observations and their gradients taken in."""
        record = state.record
        factor = () if width is None else self._absorbed(state, event, width)
        return NeuralRecord(
            history=self.memory.add(record.history, key, event), factor=factor, version=state.fit.version
        )

    def learn(self, state: State, key: Array, width: Width | None) -> NeuralFit:
        """Return the network fitted to the history; one that diverged is refused and counted."""
        fit, history = state.fit, state.record.history
        used = self.memory.used(history)
        start = fit.first if self.fitting.restart else fit.params
        fitted = self.fitting.fit(self.network, start, fit.first, history, used, key)
        finite = jnp.isfinite(fitted.objective) & _all_finite(fitted.params)
        diverged = ~finite | self.fitting.ran_away(fitted, history)
        params = jax.tree.map(lambda old, new: jnp.where(diverged, old, new), fit.params, fitted.params)
        learned = replace(
            fit,
            params=params,
            version=fit.version + 1,
            objective=fitted.objective,
            diverged=diverged,
            failures=fit.failures + diverged.astype(jnp.int64),
        )
        if self.refresh and width is not None:
            learned = replace(learned, factor=self._rebuilt(params, history, used, width, fit.factor))
        return learned

    def _rows(self, params: Any, contexts: Array) -> tuple[Array, Rows]:
        contexts = contexts.astype(self.network.dtype)
        apply = self.network.gradients if self.rows == "gradient" else self.network.last_layer
        scores, rows = apply(params, contexts)
        return scores, scaled(rows, self.row_scale)

    def _like(self, dim: int) -> Rows:
        """The shape of one row."""

        def row() -> Rows:
            params = self.network.init(jax.random.key(0), dim)
            return self._rows(params, jnp.zeros((1, dim), self.network.dtype))[1]

        return jax.eval_shape(row)

    @property
    def _scale(self) -> Array:
        """() standard deviation of the prior N(0, I / lambda)."""
        return 1.0 / jnp.sqrt(self.ridge)

    def _capacity(self, spec: Spec) -> int:
        """Rows that the width will be given; 0 when that is not known."""
        if self.refresh:  # those of the history, and what comes until the next fit
            return self.memory.slots(spec) + self.learn_every * spec.size
        return spec.capacity

    def _factor(self, state: State) -> Any:
        """The width's factor in force: the fit's, until the record has taken it over."""
        if not self.refresh:
            return state.record.factor
        newer = state.fit.version != state.record.version
        return jax.lax.cond(newer, lambda: state.fit.factor, lambda: state.record.factor)

    def _absorbed(self, state: State, event: Event, width: Width) -> Any:
        factor = self._factor(state)

        def prepare() -> Any:
            rows = self._rows(state.fit.params, event.features)[1]
            return width.whiten(factor, rows)

        if isinstance(event.memo, NeuralMemo):
            current = _same(event.memo.stamp, _stamp(state))
            whitened = jax.lax.cond(current, lambda: event.memo.whitened, prepare)
        else:
            whitened = prepare()
        return width.absorb(factor, whitened.only(event.observed), jnp.zeros(event.observed.shape, FLOAT))[0]

    def _rebuilt(self, params: Any, history: History, used: Array, width: Width, like: Any) -> Any:
        """The factor of the history with the gradients of `params`."""
        slots, dim = history.contexts.shape
        size = min(slots, REBUILD)
        empty = width.init(self._like(dim), self._scale, getattr(like, "capacity", 0))
        zeros = jnp.zeros(size, FLOAT)

        def absorb(block: Array, factor: Any) -> Any:
            first = jnp.minimum(block * size, slots - size)
            contexts = jax.lax.dynamic_slice_in_dim(history.contexts, first, size)
            filled = jax.lax.dynamic_slice_in_dim(history.filled, first, size)
            fresh = filled & (first + jnp.arange(size) >= block * size)
            rows = only(self._rows(params, contexts)[1], fresh)
            return width.absorb(factor, width.whiten(factor, rows), zeros)[0]

        return jax.lax.fori_loop(0, (used + size - 1) // size, absorb, empty)


def _stamp(state: State) -> Stamp:
    return Stamp(seen=state.record.history.seen, version=state.fit.version)


def _same(stamp: Stamp, other: Stamp) -> Array:
    return (stamp.seen == other.seen) & (stamp.version == other.version)


def _all_finite(tree: Any) -> Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))
