"""Models that learn each item apart, from its index: the baselines without generalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Model, Width
from superarm.models.beta import beta_draws
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, Event, Spec, State
from superarm.widths.counts import count_widths


@pytree
@dataclass(frozen=True)
class ItemGaussian(Beliefs):
    """Beliefs about items learned apart: a mean over `counts` observations, width 1 / sqrt(counts)."""

    mean: Array
    counts: Array

    def norms(self) -> Array:
        """(n,) 1 / sqrt(counts)."""
        return count_widths(self.counts)

    @property
    def logdet(self) -> Array:
        """() log det of I + diag(counts)."""
        return jnp.sum(jnp.log1p(self.counts))

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) independent Gaussian draws: items share nothing, so joint draws are the same."""
        normals = jax.random.normal(key, (num, self.mean.shape[0]), FLOAT)
        return self.mean[None] + (scale * self.norms())[None] * normals


@pytree
@dataclass(frozen=True)
class ItemBeta(Beliefs):
    """Beliefs Beta(wins, losses) about each item's probability."""

    wins: Array
    losses: Array

    @property
    def mean(self) -> Array:
        """(n,) posterior means."""
        return self.wins / (self.wins + self.losses)

    def norms(self) -> Array:
        """(n,) posterior standard deviations."""
        total = self.wins + self.losses
        return jnp.sqrt(self.wins * self.losses / (total**2 * (total + 1.0)))

    @property
    def logdet(self) -> Array:
        """() log det of I + diag(wins + losses)."""
        return jnp.sum(jnp.log1p(self.wins + self.losses))

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) independent draws of the probabilities."""
        keys = jax.random.split(key, num)
        draws = jax.vmap(beta_draws, in_axes=(0, None, None))(keys, self.wins, self.losses)
        mean = self.mean[None]
        return mean + scale * (draws - mean)


@pytree
@dataclass(frozen=True)
class ItemMeansRecord:
    """counts, sums: (n,) number and sum of each item's observations."""

    counts: Array
    sums: Array


@pytree
@dataclass(frozen=True)
class ItemMeans(Model):
    """The mean of each item's observations; 0 before the first."""

    learn_every: ClassVar[int | None] = None

    @property
    def by_arm(self) -> bool:
        """Yes: each item is learned apart."""
        return True

    def check(self, spec: Spec, width: Width | None) -> None:
        """Accept any size."""

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return empty counts."""
        zeros = jnp.zeros(spec.num_arms, FLOAT)
        return State(record=ItemMeansRecord(counts=zeros, sums=zeros), fit=())

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> ItemGaussian:
        """Return means and counts; contexts only say how many items there are."""
        record = state.record
        return ItemGaussian(record.sums / jnp.maximum(record.counts, 1.0), record.counts)

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> ItemMeansRecord:
        """Return the counts and sums with the observed items added."""
        record = state.record
        return ItemMeansRecord(
            counts=_add(record.counts, event, 1.0),
            sums=_add(record.sums, event, event.feedback),
        )

    def learn(self, state: State, key: Array, width: Width | None) -> tuple[()]:
        """Return nothing: the record is the fit."""
        return ()


@pytree
@dataclass(frozen=True)
class ItemBetasRecord:
    """wins, losses: (n,) parameters of each item's Beta posterior."""

    wins: Array
    losses: Array


@pytree
@dataclass(frozen=True)
class ItemBetas(Model):
    """A Beta posterior per item, from Beta(prior_wins, prior_losses).

    Feedback lies in [0, 1]; a fraction w counts as a win with probability w (Agrawal & Goyal, 2012). Feedback
    outside turns the item's belief into NaN, which the next decision reports as unhealthy.
    """

    prior_wins: Array
    prior_losses: Array

    learn_every: ClassVar[int | None] = None

    @property
    def by_arm(self) -> bool:
        """Yes: each item is learned apart."""
        return True

    @property
    def feedback_range(self) -> tuple[float, float]:
        """[0, 1]."""
        return 0.0, 1.0

    def check(self, spec: Spec, width: Width | None) -> None:
        """Accept any size."""

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return the prior."""
        ones = jnp.ones(spec.num_arms, FLOAT)
        record = ItemBetasRecord(wins=ones * self.prior_wins, losses=ones * self.prior_losses)
        return State(record=record, fit=())

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> ItemBeta:
        """Return the posteriors; contexts only say how many items there are."""
        return ItemBeta(state.record.wins, state.record.losses)

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> ItemBetasRecord:
        """Return the posteriors with the observed items' trials added."""
        valid = (event.feedback >= 0.0) & (event.feedback <= 1.0)
        trial = jax.random.uniform(key, event.feedback.shape, FLOAT) < event.feedback
        win = jnp.where(valid, trial.astype(FLOAT), jnp.nan)
        return ItemBetasRecord(
            wins=_add(state.record.wins, event, win),
            losses=_add(state.record.losses, event, 1.0 - win),
        )

    def learn(self, state: State, key: Array, width: Width | None) -> tuple[()]:
        """Return nothing: the record is the fit."""
        return ()


def _add(values: Array, event: Event, amounts: Array | float) -> Array:
    """Add amounts at the observed items; index n, which is out of bounds, drops the others."""
    index = jnp.where(event.observed, event.items, values.shape[0])
    return jnp.asarray(values).at[index].add(amounts, mode="drop")
