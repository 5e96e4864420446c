"""Bayesian linear regression with known noise: wen2015's Algorithm 1, one block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, LinearWidth, Model
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, Event, Spec, State


@pytree
@dataclass(frozen=True)
class Gaussian(Beliefs):
    """Beliefs N(F theta, F Sigma F') about the scores of features F (n, d)."""

    theta: Array
    features: Array
    factor: Any
    width: LinearWidth

    @property
    def mean(self) -> Array:
        """(n,) F theta."""
        return self.features @ self.theta

    def norms(self) -> Array:
        """(n,) standard deviations."""
        return self.width.whiten(self.factor, self.features).norms()

    def covariance(self) -> Array:
        """(n, n) F Sigma F'."""
        return self.width.whiten(self.factor, self.features).covariance()

    @property
    def logdet(self) -> Array:
        """() log det of the prior covariance over the posterior's."""
        return self.width.logdet(self.factor)

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) draws: of the parameters when joint, of each score apart otherwise."""
        if joint:
            thetas = self.theta[None] + scale * self.width.deviations(self.factor, key, num)
            # One pass over the features; a single draw as a matrix-vector product, which is a third faster.
            return (self.features @ thetas[0])[None] if num == 1 else (self.features @ thetas.T).T
        normals = jax.random.normal(key, (num, self.features.shape[0]), FLOAT)
        return self.mean[None] + (scale * self.norms())[None] * normals

    def in_blocks(self) -> GaussianBlock:
        """The same for a block of a large catalogue."""
        return GaussianBlock(self)


@dataclass(frozen=True)
class GaussianBlock(Beliefs):
    """What a linear model believes of a block, as vectors times the rows turned.

    XLA reads the rows in place for these. For the rows times vectors it would copy them first, and the
    squares to an array of their own: three times as long.
    """

    gaussian: Gaussian

    @property
    def mean(self) -> Array:
        """(n,) F theta."""
        return self.gaussian.theta @ self.gaussian.features.T

    @property
    def logdet(self) -> Array:
        """() as of all."""
        return self.gaussian.logdet

    def norms(self) -> Array:
        """(n,) standard deviations."""
        return self.gaussian.width.block_norms(self.gaussian.factor, self.gaussian.features)

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) draws of the parameters."""
        gaussian = self.gaussian
        thetas = gaussian.theta[None] + scale * gaussian.width.deviations(gaussian.factor, key, num)
        return thetas @ gaussian.features.T


@pytree
@dataclass(frozen=True)
class LinearRecord:
    """mean: (d,) posterior mean of the coefficients; factor: the width's factor of their covariance."""

    mean: Array
    factor: object


@pytree
@dataclass(frozen=True)
class Linear(Model):
    """Scores x'theta with theta ~ N(0, prior_scale^2 I) and noise N(0, noise^2).

    Observing costs one factorization per block (O(k d^2) with the full width) and nothing is left to learn.
    """

    prior_scale: Array  # lambda
    noise: Array  # sigma

    learn_every: ClassVar[int | None] = None
    single: ClassVar[bool] = True
    draws_parameters: ClassVar[bool] = True

    def check(self, spec: Spec, width: LinearWidth) -> None:
        """Accept any size."""

    def init(self, key: Array, spec: Spec, width: LinearWidth) -> State:
        """Return the prior."""
        factor = width.init(jax.ShapeDtypeStruct((1, spec.dim), FLOAT), self.prior_scale, spec.capacity)
        return State(record=LinearRecord(mean=jnp.zeros(spec.dim, FLOAT), factor=factor), fit=())

    def beliefs(self, state: State, contexts: Array, width: LinearWidth) -> Gaussian:
        """Return the posterior of the contexts' scores."""
        record = state.record
        return Gaussian(record.mean, contexts, record.factor, width)

    def observe(self, state: State, key: Array, event: Event, width: LinearWidth) -> LinearRecord:
        """Return the posterior given one block of observations (equation 6 of wen2015, all k at once)."""
        record = state.record
        # An unobserved row becomes 0, and then moves nothing.
        rows = jnp.where(event.observed[:, None], event.features, 0.0) / self.noise
        errors = jnp.where(event.observed, event.feedback - event.features @ record.mean, 0.0)
        whitened = width.whiten(record.factor, rows)
        factor, shift = width.absorb(record.factor, whitened, errors / self.noise)
        return LinearRecord(mean=record.mean + shift, factor=factor)

    @property
    def known_noise(self) -> Array | None:
        """The noise; a class that extends this one may observe otherwise."""
        return self.noise if type(self) is Linear else None

    def member_axes(self, width: LinearWidth) -> State:
        """In an ensemble the means differ, and the covariance is shared: it does not depend on rewards."""
        apart: Any = 0  # an axis stands where an array does
        return State(record=LinearRecord(mean=apart, factor=None), fit=())

    def learn(self, state: State, key: Array, width: LinearWidth) -> tuple[()]:
        """Return nothing: the record is the fit."""
        return ()
