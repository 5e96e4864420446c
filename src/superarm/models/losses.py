"""Losses of a latent score: negative log-likelihoods without constants, and what predicting 0 costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from superarm.types import Array

Loss = Callable[[Array, Array], Array]
LossName = Literal["squared", "logistic", "poisson", "probit", "exponential"]


def squared(score: Array, feedback: Array) -> Array:
    """(score - feedback)^2 / 2, as equation 4 of hwang2023."""
    return 0.5 * (score - feedback) ** 2


def logistic(score: Array, feedback: Array) -> Array:
    """log(1 + e^score) - feedback score: Bernoulli feedback with mean 1 / (1 + e^-score).

    In two parts, so that slopes keep their digits where the score is sure of the feedback. In one, they would
    be 1 less what is all but 1, and Adam, to which all slopes are alike, would step by the rounding.
    """
    return (1.0 - feedback) * jax.nn.softplus(score) + feedback * jax.nn.softplus(-score)


def poisson(score: Array, feedback: Array) -> Array:
    """e^score - feedback score: counts with mean e^score."""
    return jnp.exp(score) - feedback * score


def probit(score: Array, feedback: Array) -> Array:
    """-feedback log Phi(score) - (1 - feedback) log Phi(-score): Bernoulli with mean Phi(score)."""
    from jax.scipy.stats import norm  # a tenth of a second, for those who take this loss

    return -feedback * norm.logcdf(score) - (1.0 - feedback) * norm.logcdf(-score)


def exponential(score: Array, feedback: Array) -> Array:
    """-feedback log g(score) - (1 - feedback) log g(-score), g of the Laplace law.

    It is the law of the difference of two exponential noises: g(s) = 1 - e^-s / 2 for s >= 0, e^s / 2 below.
    """
    return -feedback * _log_laplace(score) - (1.0 - feedback) * _log_laplace(-score)


def _log_laplace(score: Array) -> Array:
    # The slope of |s| at 0 would be 0, and that of the loss is 1.
    high = jnp.log1p(-0.5 * jnp.exp(-jnp.where(score >= 0.0, score, 0.0)))
    return jnp.where(score >= 0.0, high, score - math.log(2.0))


LOSSES: dict[LossName, Loss] = {
    "squared": squared,
    "logistic": logistic,
    "poisson": poisson,
    "probit": probit,
    "exponential": exponential,
}
