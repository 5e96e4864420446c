"""Linear utilities in layers, learned from duels: the model of VACDB.

Di, Jin, Wu, Zhao, Farnoud & Gu (2023), Variance-aware regret bounds for stochastic contextual dueling
bandits, Algorithm 1. Layer l learns from the duels that were chosen to be learned from in it, z = x_1 - x_2
with the preference o, each with a weight w that makes its width 2^-l:

    w = 2^-l / |z|_{Sigma_l^-1},   Sigma_l = 4^-l I + sum w^2 z z'
    0 = 4^-l kappa theta_l + sum w^2 (g(z'theta_l) - o) z
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Model, Special, Width
from superarm.models.coefficients import Coefficients
from superarm.models.history import History, Memory
from superarm.models.layers import LayerScores
from superarm.models.links import LINKS
from superarm.models.newton import Newton
from superarm.models.preferences import preference_of
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.types import Array, Event, Spec, State
from superarm.widths.pairs import distances

STEEPEST = 0.25  # of the logistic link


@pytree
@dataclass(frozen=True)
class LayeredRecord:
    """history: z, o and 4^l w^2 of duels; layers: (C,) l of each; counts: (L,) duels; factor: of L widths."""

    history: History
    layers: Array
    counts: Array
    factor: Any


@pytree
@dataclass(frozen=True)
class LayeredFit:
    """theta: (L, d); radius: (L,) beta; counts: (L,) duels that it knows; root: (L, d, d) of curvatures."""

    theta: Array
    radius: Array
    counts: Array
    root: Array


@pytree
@dataclass(frozen=True)
class LayerMemo:
    """layer: () l = 1, ..., L in which a duel was to be learned from; 0 when it was not."""

    layer: Array


@pytree
@dataclass(frozen=True)
class LayeredBeliefs(Beliefs):
    """What all layers say."""

    layers: LayerScores

    @property
    def mean(self) -> Array:
        """(n,) utilities of the first layer."""
        return self.layers.mean

    def memo(self, items: Array, mask: Array) -> LayerMemo:
        """Return the layer in which the decision among the arms of the mask is learned from."""
        stop = self.layers.descend(mask)
        return LayerMemo(jnp.where(stop.sure, 0, stop.layer + 1).astype(jnp.int32))


@pytree
@dataclass(frozen=True)
class Layered(Model):
    """Utilities x'theta_l in L layers; the preference follows the logistic law.

    A fit costs as much as one of a generalized linear model for every layer that has learned since the last.

    Args:
        finest: alpha; L = ceil(log2(1 / alpha)).
        kappa: the least slope of the link, and the penalty.
        delta: the radius of equation 4.3 fails with this chance.
        radius: beta, a constant; None for that of equation 4.3.
        num_layers: L.
        learn_every: decisions between fits.
    """

    finest: Array
    kappa: Array
    delta: Array
    radius: Array | None
    num_layers: int = static()
    learn_every: int = static(default=1)

    @property
    def gives(self) -> frozenset[Special]:
        """Layers."""
        return frozenset({"layers"})

    def check(self, spec: Spec, width: Width) -> None:
        """Refuse a problem without room for a duel."""
        if spec.capacity < 2:
            raise ValueError(
                f"layered: spec.capacity must be >= 2 to keep all duels, got {spec.capacity}; state it"
            )
        width.check(jax.ShapeDtypeStruct((1, spec.dim), FLOAT), spec.capacity // 2)

    def init(self, key: Array, spec: Spec, width: Width) -> State:
        """Return empty layers."""
        like = jax.ShapeDtypeStruct((1, spec.dim), FLOAT)
        duels = Spec(dim=spec.dim, num_arms=spec.num_arms, capacity=spec.capacity // 2, size=1)
        history = Memory().init(duels, FLOAT)
        none = jnp.zeros(self.num_layers, jnp.int64)
        record = LayeredRecord(
            history=history,
            layers=jnp.zeros(history.feedback.shape[0], jnp.int32),
            counts=none,
            factor=jax.vmap(lambda power: width.init(like, 2.0**power, spec.capacity // 2))(self._powers),
        )
        theta = jnp.zeros((self.num_layers, spec.dim), FLOAT)
        if self.radius is None:
            radius = 0.5**self._powers * (1.0 + 1.0 / self.kappa)
        else:
            radius = jnp.full(self.num_layers, self.radius)
        root = jnp.broadcast_to(self._newton.first_root(spec.dim), (self.num_layers, spec.dim, spec.dim))
        return State(record=record, fit=LayeredFit(theta, radius, none, root))

    def beliefs(self, state: State, contexts: Array, width: Width) -> LayeredBeliefs:
        """Return the utilities and the widths of all pairs, in every layer.

        O(n d^2 + n^2 d) for every layer that holds a duel; the others' matrices are still 4^-l I.
        """
        record, fit = state.record, state.fit
        alike = contexts @ contexts.T

        def covariance(layer: tuple[Array, Array, Array]) -> Array:
            index, power, held = layer
            return jax.lax.cond(
                held,
                lambda: width.whiten(_one(record.factor, index), contexts).covariance(),
                lambda: 4.0**power * alike,
            )

        found = jax.lax.map(covariance, (self._indices, self._powers, record.counts > 0))
        measured = jax.vmap(distances)(found)
        return LayeredBeliefs(LayerScores(fit.theta @ contexts.T, measured, fit.radius, self.finest))

    def observe(self, state: State, key: Array, event: Event, width: Width) -> LayeredRecord:
        """Return the record with the duel in its layer; one that was not to be learned from is not kept."""
        record = state.record
        difference = (event.features[0] - event.features[1])[None]
        precisions = 0.5**self._powers
        if isinstance(event.memo, LayerMemo):
            layer = event.memo.layer - 1
        else:  # the first layer that has something to learn from the duel
            norms = jax.vmap(lambda factor: width.whiten(factor, difference).norms()[0])(record.factor)
            wide = norms > precisions
            layer = jnp.where(jnp.any(wide), jnp.argmax(wide), -1).astype(jnp.int32)
        place = jnp.maximum(layer, 0)
        own = _one(record.factor, place)
        norm = width.whiten(own, difference).norms()[0]
        outcome, known = preference_of(event)
        counts = known & (layer >= 0) & (norm > 0.0)
        weight = jnp.where(counts, precisions[place] / jnp.where(counts, norm, 1.0), 0.0)
        factor = width.absorb(own, width.whiten(own, weight * difference), jnp.zeros(1, FLOAT))[0]
        duel = replace(
            event,
            items=event.items[:1],
            features=difference,
            feedback=outcome[None],
            observed=counts[None],
            variance=(),
            memo=(),
        )
        slots = record.layers.shape[0]
        slot = jnp.where(counts, record.history.seen, slots)  # out of bounds: dropped
        strength = 1.0 / jnp.where(counts, norm, 1.0) ** 2  # 4^l w^2
        return LayeredRecord(
            history=Memory().add(record.history, key, duel, strength[None]),
            layers=record.layers.at[slot].set(layer, mode="drop"),
            counts=record.counts.at[place].add(counts.astype(jnp.int64)),
            factor=jax.tree.map(lambda leaf, new: leaf.at[place].set(new), record.factor, factor),
        )

    def learn(self, state: State, key: Array, width: Width) -> LayeredFit:
        """Return the estimates, and the radius, of the layers that have learned."""
        record, fit = state.record, state.fit

        def layer(carry: tuple[LayeredFit, Array]) -> tuple[LayeredFit, Array]:
            fit, news = carry
            index = jnp.argmax(news).astype(jnp.int32)
            theta, radius, root = self._fitted(record, index, fit)
            learned = LayeredFit(
                theta=fit.theta.at[index].set(theta),
                radius=fit.radius.at[index].set(radius),
                counts=record.counts,
                root=fit.root.at[index].set(root),
            )
            return learned, news.at[index].set(False)

        # Most often it is one layer: its parts of the arrays are written, and no others.
        news = record.counts != fit.counts
        return jax.lax.while_loop(lambda carry: jnp.any(carry[1]), layer, (fit, news))[0]

    def _fitted(self, record: LayeredRecord, index: Array, fit: LayeredFit) -> tuple[Array, Array, Array]:
        """theta, radius and root of one layer."""
        theta, radius, root = fit.theta[index], fit.radius[index], fit.root[index]
        history = record.history
        own = jnp.where(record.layers == index, history.counts, 0.0)
        mine = History(history.contexts, history.feedback, own, history.seen, history.events)
        used, key = Memory().used(history), jax.random.key(0)
        fitted = self._newton.fit(Coefficients(), theta, jnp.zeros_like(theta), mine, used, key, root)
        if self.radius is None:
            radius = self._theory_radius(mine, index, fitted.params)
        return fitted.params, radius, fitted.root

    @property
    def _newton(self) -> Newton:
        return Newton(penalty=self.kappa, tolerance=jnp.asarray(1e-12, FLOAT))

    def _theory_radius(self, history: History, index: Array, theta: Array) -> Array:
        """Equation 4.3, for the round to come."""
        rounds = (history.events + 1).astype(FLOAT)
        precision = 0.5 ** (index + 1).astype(FLOAT)
        log_now = jnp.log(4.0 * rounds**2 * self.num_layers / self.delta)
        log_next = jnp.log(4.0 * (rounds + 1.0) ** 2 * self.num_layers / self.delta)
        errors = history.feedback - LINKS["logistic"].mean(history.contexts @ theta)
        learned = precision**2 * jnp.sum(history.counts * errors**2)  # sum w^2 error^2
        rough = 1.0 / precision < 64.0 * STEEPEST / self.kappa * jnp.sqrt(log_next)
        variance = jnp.where(rough, jnp.sum(history.counts > 0.0).astype(FLOAT), learned)
        root = jnp.sqrt((8.0 * variance + 18.0 * log_next) * log_now)
        return precision * (16.0 / self.kappa * root + 6.0 / self.kappa * log_now + 2.0)

    @property
    def _indices(self) -> Array:
        """(L,) 0, ..., L - 1."""
        return jnp.arange(self.num_layers, dtype=jnp.int32)

    @property
    def _powers(self) -> Array:
        """(L,) 1, ..., L."""
        return (self._indices + 1).astype(FLOAT)


def _one(factors: Any, index: Array) -> Any:
    """The factor of one layer."""
    return jax.tree.map(lambda leaf: leaf[index], factors)
