"""Perturbed history: one model, fitted every time to rewards with fresh perturbations.

A fit adds z_l ~ N(0, scale^2) to every reward of the history, all drawn anew. The perturbations of the n
observations of one arm have the mean N(0, scale^2 / n), so with `memory="arms"` a fit draws one number per
arm, which is the same in distribution.

Kveton et al. (2020), Perturbed-history exploration in stochastic linear bandits, UAI; the same (2020),
Randomized exploration in generalized linear bandits, AISTATS; Jia et al. (2022), Learning neural contextual
bandits through perturbed rewards, ICLR; Janz et al. (2024), Exploration via linearly perturbed loss
minimisation, AISTATS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Model, Width
from superarm.models.ensemble import refuse_probit
from superarm.models.links import link_of
from superarm.models.neural import Neural
from superarm.models.neural_state import NeuralFit
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.types import Array, Event, Spec, State


@pytree
@dataclass(frozen=True)
class PerturbedFit:
    """drawn: of the perturbed history, which decides; centre: of the history as it is."""

    drawn: NeuralFit
    centre: NeuralFit

    @property
    def failures(self) -> Array:
        """() fits that diverged so far."""
        return self.drawn.failures + self.centre.failures


@pytree
@dataclass(frozen=True)
class PerturbedHistory(Model):
    """A neural or generalized linear model whose fits perturb the history.

    Args:
        model: without a width; what is uncertain is in the perturbations.
        scale: standard deviation of the perturbations.
        adaptive: EVILL: perturb a reward in proportion to its own standard deviation, sqrt(mu'(x'theta)) at
            the estimate without perturbations, and pull to N(0, scale^2 / penalty) instead of 0, as the
            prior's share. For generalized linear models.
    """

    model: Neural
    scale: Array
    adaptive: bool = static(default=False)

    @property
    def learn_every(self) -> int | None:
        """As the model."""
        return self.model.learn_every

    @property
    def inner(self) -> Model:
        """The model."""
        return self.model

    def failures(self, state: State) -> Array:
        """() fits that diverged, with the perturbations or without."""
        failed: Array = state.fit.failures
        return failed

    def check(self, spec: Spec, width: Width | None) -> None:
        """Let the model check; refuse losses and weights that leave no place for perturbations."""
        refuse_probit("perturbed history", self.model)
        if self.model.least_deviation is not None:
            raise ValueError("perturbed history: least_deviation must be None, got weights by variance")
        self.model.check(spec, width)

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return the model's start."""
        state = self.model.init(key, spec, width)
        return replace(state, fit=PerturbedFit(state.fit, state.fit) if self.adaptive else state.fit)

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> Beliefs:
        """Return the perturbed fit's scores."""
        return self.model.beliefs(self._drawn(state), contexts, width)

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> Any:
        """Return the record with the event as it is."""
        return self.model.observe(self._drawn(state), key, event, width)

    def learn(self, state: State, key: Array, width: Width | None) -> Any:
        """Return a fit of the history with fresh perturbations."""
        key_fit, key_noise, key_prior = jax.random.split(key, 3)
        drawn, history = self._drawn(state), state.record.history
        normals = jax.random.normal(key_noise, history.feedback.shape, FLOAT)
        noise = jnp.where(history.filled, self.scale * normals / jnp.sqrt(history.counts.astype(FLOAT)), 0.0)
        if not self.adaptive:
            return self.model.learn(_with(drawn, noise), key_fit, width)
        centre = self.model.learn(State(state.record, state.fit.centre), key_fit, width)
        scores = self.model.network.apply(centre.params, history.contexts)
        noise = noise * jnp.sqrt(link_of(self.model.fitting.loss).information(scores))
        first = drawn.fit.first
        normals = jax.random.normal(key_prior, first.shape, FLOAT)
        anchor = self.scale * normals / jnp.sqrt(self.model.fitting.penalty)
        tilted = replace(drawn, fit=replace(drawn.fit, first=anchor))
        learned = self.model.learn(_with(tilted, noise), key_fit, width)
        return PerturbedFit(drawn=replace(learned, first=first), centre=centre)

    def _drawn(self, state: State) -> State:
        return State(state.record, state.fit.drawn) if self.adaptive else state


def _with(state: State, noise: Array) -> State:
    """The state with noise (C,) added to its feedback."""
    history = state.record.history
    feedback = (history.feedback + noise.astype(history.feedback.dtype)).astype(history.feedback.dtype)
    return replace(state, record=replace(state.record, history=replace(history, feedback=feedback)))
