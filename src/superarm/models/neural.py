"""Scores of a network, with gradients as the features whose width matters.

Zhou, Li & Gu (2020), Neural contextual bandits with UCB-based exploration, ICML; Hwang, Chai & Oh (2023),
Combinatorial neural bandits, ICML; Bae & Lee (2026), Neural logistic bandits, ICML. A generalized linear
model is the case without a hidden layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Model, Width
from superarm.models.coefficients import Coefficients
from superarm.models.fitting import Fitted, Fitting
from superarm.models.history import History, Memory
from superarm.models.links import link_of
from superarm.models.networks import Scorer
from superarm.models.neural_beliefs import Certain, NeuralBeliefs, NeuralCache, Stamp
from superarm.models.neural_state import NeuralFit, NeuralRecord
from superarm.models.newton import Newton
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.rows import Rows, count_rows, flat, only, scaled, weighted
from superarm.schedules.radius import is_schedule
from superarm.types import Array, Event, Spec, State

REBUILD = 64  # rows absorbed at once when the width is rebuilt


@pytree
@dataclass(frozen=True)
class EffectiveDimension:
    """d_t = log det(I + scale sum_i g_i g_i'), kept up to date by a width of its own."""

    scale: Array
    width: Width


@pytree
@dataclass(frozen=True)
class Neural(Model):
    """Scores f(x; theta) of a network fitted every `learn_every` decisions.

    Args:
        ridge: lambda; the width's matrix is Z = lambda I + sum g g'. A number, or a schedule of the number of
            observations and the effective dimension, for a width that can change it.
        row_scale: multiplies the gradients; 1 / sqrt(m) in the papers.
        fitting: how theta is fitted; its penalty and learning rate may be schedules, too.
        network: f.
        memory: the observations that it is fitted to.
        dimension: how the effective dimension is kept, which is then the beliefs' log-determinant; None to
            take the width's own.
        learn_every: decisions between fits.
        rows: "gradient", of all parameters; "last-layer", of the last layer's alone.
        refresh: rebuild Z at every fit, from the history kept and the current network; otherwise every
            observation stays with the gradient of the network in force when it was observed. What arrives
            while a fit is made in the background enters the rebuilt Z with the next fit.
        weigh: "" for Z as it is; otherwise observations enter times the information of their score, which is
            the variance of the reward for the logistic and the Poisson loss (W_t of bae2026): "feedback", by
            the fit in force when they are recorded; "fit", by the first fit made with them, as the paper
            writes, until which they do not count. With `refresh` all weights are those of the last fit.
        rows_at: "current" or "first": the parameters whose gradients are taken, theta or theta_0.
        linearized: score by g(x; theta_0)'(theta - theta_0) instead of f(x; theta).
        least_deviation: epsilon > 0 to weigh observations by 1 / max(sigma, epsilon)^2, with sigma the
            standard deviation of a reward that is 0 or 1 with the mean that the score says, in the fits and,
            instead of the information, in Z (oh2026, equations 4 to 6); None not to.
        finish: fits the last layer of a perceptron to the optimum after every fit, the others held; None not
            to.
    """

    ridge: Any
    row_scale: Array
    fitting: Fitting | Newton
    network: Scorer
    memory: Memory
    dimension: EffectiveDimension | None = None
    least_deviation: Array | None = None
    finish: Newton | None = None
    learn_every: int = static(default=1)
    rows: str = static(default="gradient")
    refresh: bool = static(default=False)
    weigh: str = static(default="")
    rows_at: str = static(default="current")
    linearized: bool = static(default=False)

    def check(self, spec: Spec, width: Width | None) -> None:
        """Raise in one sentence if the network does not fit the problem, or there is no room."""
        self.network.check(spec.dim)
        if self.memory.kind == "all" and spec.capacity < 1:
            raise ValueError(
                "neural model: spec.capacity must be >= 1 to keep all history, got 0; state it, or choose "
                "memory='window' or 'reservoir'"
            )
        if self.weigh == "fit" and self.memory.kind != "all":
            raise ValueError(
                f"neural model: weigh must not be 'fit' with memory={self.memory.kind!r}, got 'fit'"
            )
        if width is None:
            if is_schedule(self.ridge):
                raise ValueError("neural model: width must not be None for a ridge that changes, got None")
            return
        width.check(self._like(spec.dim), self._capacity(spec))
        if is_schedule(self.ridge) and not width.changes_ridge:
            must = "width must be 'gram' or 'diagonal' for a ridge that changes"
            raise ValueError(f"neural model: {must}, got {type(width).__name__}")

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return the first parameters, no history and Z = lambda I."""
        params = self.network.init(key, spec.dim)
        zero = jnp.zeros((), jnp.int64)
        like = self._like(spec.dim)
        factor, spread = (), ()
        if width is not None:
            factor = width.init(like, self._prior_scale, self._capacity(spec))
        if self.dimension is not None:
            spread = self.dimension.width.init(like, jnp.sqrt(self.dimension.scale), spec.capacity)
        fit = NeuralFit(
            params=params,
            first=params,
            version=zero,
            objective=jnp.zeros((), self.network.dtype),
            diverged=jnp.zeros((), bool),
            failures=zero,
            factor=factor if self._fits_make_factors else (),
            covered=zero,
            root=self.fitting.first_root(spec.dim),
        )
        history = self.memory.init(spec, self.network.dtype)
        record = NeuralRecord(history=history, factor=factor, spread=spread, covered=zero, version=zero)
        return State(record=record, fit=fit)

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> NeuralBeliefs:
        """Return scores and widths of contexts (n, d)."""
        scores, rows = self._rows(state.fit, contexts)
        factor, logdet = self._factor(state)[0], self._logdet(state, width)
        if is_schedule(self.ridge):
            assured: Any = width  # `check` has seen that there is one, and that it can
            factor = assured.with_ridge(factor, self.ridge.at(state.record.history.seen, logdet))
        return NeuralBeliefs(
            mean=(self._tangent(state.fit, contexts) if self.linearized else scores).astype(FLOAT),
            whitened=Certain(contexts.shape[0]) if width is None else width.whiten(factor, rows),
            logdet=logdet,
            stamp=_stamp(state),
        )

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> NeuralRecord:
        """Return the record with the event's observations and their gradients taken in."""
        record, fit = state.record, state.fit
        if self.refresh and self.least_deviation is not None and not isinstance(event.variance, tuple):
            raise ValueError("neural model: refresh must be False where variances are told, got True")
        factor, covered = self._factor(state)
        if width is not None and self.weigh != "fit":
            factor = self._absorbed(state, factor, event, width)
        spread = record.spread
        if self.dimension is not None:
            rows = only(self._rows(fit, event.features)[1], event.observed)
            spread = _grown(self.dimension.width, spread, rows)
        weights = None
        if self.least_deviation is not None and not self.refresh:
            weights = self._weights(self._scores(fit.params, event.features), event)
        history = self.memory.add(record.history, key, event, weights)
        return NeuralRecord(
            history=history, factor=factor, spread=spread, covered=covered, version=fit.version
        )

    def learn(self, state: State, key: Array, width: Width | None) -> NeuralFit:
        """Return the network fitted to the history; one that diverged is refused and counted."""
        fit, history = state.fit, state.record.history
        used = self.memory.used(history)
        start = fit.first if self.fitting.restart else fit.params
        fitting = self.fitting.scheduled(state.record.history.seen, self._logdet(state, width))
        if self.least_deviation is not None and self.refresh:  # by the fit in force, for all
            weights = self._weights(self._scores(fit.params, history.contexts)).astype(history.counts.dtype)
            history = replace(history, counts=jnp.where(history.filled, weights, 0.0))
        fitted = fitting.fit(self.network, start, fit.first, history, used, key, fit.root)
        if self.finish is not None:
            fitted = self._finished(self.finish, fitted, fit.first, history, used, key)
        finite = jnp.isfinite(fitted.objective) & _all_finite(fitted.params)
        diverged = ~finite | fitting.ran_away(fitted, history)
        params, root = jax.tree.map(
            lambda old, new: jnp.where(diverged, old, new),
            (fit.params, fit.root),
            (fitted.params, fitted.root),
        )
        if self.memory.kind == "arms":  # one whose features changed: no fit is right, and none before was
            broken = jnp.isnan(jnp.sum(history.counts))
            params = jax.tree.map(lambda leaf: jnp.where(broken, jnp.nan, leaf), params)
        learned = replace(
            fit,
            params=params,
            version=fit.version + 1,
            objective=fitted.objective,
            diverged=diverged,
            failures=fit.failures + diverged.astype(jnp.int64),
            root=root,
        )
        if self._fits_make_factors and width is not None:
            learned = replace(learned, factor=self._made(state, learned, used, width), covered=used)
        return learned

    @property
    def by_arm(self) -> bool:
        """Whether the memory sums up what is observed of an arm."""
        return self.memory.by_arm

    @property
    def sums_by_arm(self) -> bool:
        """The same."""
        return self.memory.by_arm

    @property
    def scorer(self) -> Scorer:
        """The network."""
        return self.network

    @property
    def loss(self) -> str:
        """That of the fits."""
        return self.fitting.loss

    def failures(self, state: State) -> Array:
        """() fits that diverged."""
        failed: Array = state.fit.failures
        return failed

    def member_axes(self, width: Width | None) -> State:
        """In an ensemble feedback and parameters differ, and gradients with them; the start is shared."""
        # Axes stand where arrays do.
        apart: Any = 0
        shared: Any = None
        factor = shared if width is None else apart
        history = History(
            contexts=shared,
            feedback=apart,
            counts=shared if self.least_deviation is None else apart,
            seen=shared,
            events=shared,
        )
        record = NeuralRecord(
            history=history,
            factor=factor,
            spread=shared if self.dimension is None else apart,
            covered=shared,
            version=shared,
        )
        fit = NeuralFit(
            params=apart,
            first=shared,
            version=shared,
            objective=apart,
            diverged=apart,
            failures=apart,
            factor=factor,
            covered=shared,
            root=apart,
        )
        return State(record=record, fit=fit)

    def _rows(self, fit: NeuralFit, contexts: Array) -> tuple[Array, Rows]:
        """(n,) f(x; theta), and the rows that enter Z, without weights."""
        contexts = contexts.astype(self.network.dtype)
        apply = self.network.gradients if self.rows == "gradient" else self.network.last_layer
        if self.rows_at == "first":
            rows = apply(fit.first, contexts)[1]
            return self.network.apply(fit.params, contexts), scaled(rows, self.row_scale)
        scores, rows = apply(fit.params, contexts)
        return scores, scaled(rows, self.row_scale)

    def _weighted_rows(self, fit: NeuralFit, contexts: Array, event: Event | None = None) -> Rows:
        scores, rows = self._rows(fit, contexts)
        if self.least_deviation is not None:
            return weighted(rows, jnp.sqrt(self._weights(scores, event)))
        if not self.weigh:
            return rows
        return weighted(rows, jnp.sqrt(link_of(self.fitting.loss).information(scores)))

    def _scores(self, params: Any, contexts: Array) -> Array:
        return self.network.apply(params, contexts.astype(self.network.dtype))

    def _weights(self, scores: Array, event: Event | None = None) -> Array:
        """(n,) 1 / max(sigma, epsilon)^2, with sigma by the scores, or as the event knows it."""
        mean = link_of(self.fitting.loss).mean(scores.astype(FLOAT))
        variance = mean * (1.0 - mean)
        if event is not None and not isinstance(event.variance, tuple):
            variance = event.variance
        least: Any = self.least_deviation
        return 1.0 / jnp.maximum(variance, least**2)

    def _finished(
        self, finish: Newton, fitted: Fitted, first: Any, history: History, used: Array, key: Array
    ) -> Fitted:
        """The fit with its last layer at the optimum of the same objective."""
        rows = flat(self.network.last_layer(fitted.params, history.contexts)[1])
        linear = replace(
            history,
            contexts=rows.astype(FLOAT),
            feedback=history.feedback.astype(FLOAT),
            counts=history.counts.astype(FLOAT),
        )
        last = fitted.params[-1]
        begin, anchor = (layer.astype(FLOAT).reshape(-1) for layer in (last, first[-1]))
        found = finish.fit(Coefficients(), begin, anchor, linear, used, key)
        params = (*fitted.params[:-1], found.params.astype(last.dtype).reshape(last.shape))
        return replace(fitted, params=params, objective=found.objective.astype(fitted.objective.dtype))

    def _tangent(self, fit: NeuralFit, contexts: Array) -> Array:
        """(n,) g(x; theta_0)'(theta - theta_0)."""
        contexts = contexts.astype(self.network.dtype)
        move = jax.tree.map(jnp.subtract, fit.params, fit.first)
        return jax.jvp(lambda params: self.network.apply(params, contexts), (fit.first,), (move,))[1]

    def _like(self, dim: int) -> Rows:
        """The shape of one row."""

        def row() -> Rows:
            params = self.network.init(jax.random.key(0), dim)
            apply = self.network.gradients if self.rows == "gradient" else self.network.last_layer
            return apply(params, jnp.zeros((1, dim), self.network.dtype))[1]

        return jax.eval_shape(row)

    @property
    def _fits_make_factors(self) -> bool:
        return self.refresh or self.weigh == "fit"

    @property
    def _prior_scale(self) -> Array:
        """() standard deviation of the prior N(0, I / lambda)."""
        zero = jnp.zeros((), FLOAT)
        return 1.0 / jnp.sqrt(self.ridge.at(zero, zero) if is_schedule(self.ridge) else self.ridge)

    def _capacity(self, spec: Spec) -> int:
        """Rows that the width will be given; 0 when that is not known."""
        if self.refresh:  # those of the history, and what comes until the next fit
            return self.memory.slots(spec) + self.learn_every * spec.size
        return spec.capacity

    def _logdet(self, state: State, width: Width | None) -> Array:
        """() the effective dimension: kept apart, or the width's own log-determinant."""
        if self.dimension is not None:
            return self.dimension.width.logdet(state.record.spread)
        return jnp.zeros((), FLOAT) if width is None else width.logdet(self._factor(state)[0])

    def _factor(self, state: State) -> tuple[Any, Array]:
        """The width's factor in force and its observations: the fit's, until the record takes it over."""
        record, fit = state.record, state.fit
        if not self._fits_make_factors:
            return record.factor, record.covered
        newer = fit.version != record.version
        return jax.lax.cond(newer, lambda: (fit.factor, fit.covered), lambda: (record.factor, record.covered))

    def _absorbed(self, state: State, factor: Any, event: Event, width: Width) -> Any:
        def prepare() -> Any:
            return width.whiten(factor, self._weighted_rows(state.fit, event.features, event))

        plain = not self.weigh and self.least_deviation is None and not is_schedule(self.ridge)
        if isinstance(event.cache, NeuralCache) and plain:
            current = _same(event.cache.stamp, _stamp(state))
            whitened = jax.lax.cond(current, lambda: event.cache.whitened, prepare)
        else:
            whitened = prepare()
        return width.absorb(factor, whitened.only(event.observed), jnp.zeros(event.observed.shape, FLOAT))[0]

    def _made(self, state: State, fit: NeuralFit, used: Array, width: Width) -> Any:
        """The factor as the fit weighs it: of the whole history anew, or with what waited for the fit."""
        history = state.record.history
        slots, dim = history.contexts.shape
        size = min(slots, REBUILD)
        start, covered = self._factor(state)
        if self.refresh:
            start = width.init(self._like(dim), self._prior_scale, width.capacity(state.fit.factor))
            covered = jnp.zeros((), jnp.int64)

        def absorb(block: Array, factor: Any) -> Any:
            low = covered + block * size
            first = jnp.minimum(low, slots - size)
            contexts = jax.lax.dynamic_slice_in_dim(history.contexts, first, size)
            counts = jax.lax.dynamic_slice_in_dim(history.counts, first, size)
            counts = jnp.where(first + jnp.arange(size) >= low, counts, 0.0)
            rows = self._weighted_rows(fit, contexts)
            return _grown(width, factor, weighted(only(rows, counts != 0.0), jnp.sqrt(counts)))

        return jax.lax.fori_loop(0, (used - covered + size - 1) // size, absorb, start)


def _grown(width: Width, factor: Any, rows: Rows) -> Any:
    """The factor with some rows more."""
    return width.absorb(factor, width.whiten(factor, rows), jnp.zeros(count_rows(rows), FLOAT))[0]


def _stamp(state: State) -> Stamp:
    return Stamp(seen=state.record.history.seen, version=state.fit.version)


def _same(stamp: Stamp, other: Stamp) -> Array:
    return (stamp.seen == other.seen) & (stamp.version == other.version)


def _all_finite(tree: Any) -> Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))
