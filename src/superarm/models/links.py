"""Links: from a latent score to an expected reward, with what one observation says about the score.

McCullagh & Nelder (1989), Generalized linear models. A link is not a likelihood: with the logistic link and
the loss that belongs to it any real reward can be fitted; only Bernoulli data are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import jax
import jax.numpy as jnp

from superarm.models import losses
from superarm.models.losses import LossName
from superarm.types import Array

LinkName = Literal["identity", "logistic", "poisson", "probit", "exponential"]
# Of preferences: Bradley & Terry, Thurstone & Mosteller, and exponential noise on each utility.
PreferenceLink = Literal["logistic", "probit", "exponential"]
PREFERENCE_LINKS: tuple[PreferenceLink, ...] = get_args(PreferenceLink)
# Whose likelihoods take any real reward, perturbed ones, too.
UnboundedLink = Literal["identity", "logistic", "poisson"]
UNBOUNDED_LINKS: tuple[UnboundedLink, ...] = get_args(UnboundedLink)


@dataclass(frozen=True)
class Link:
    """A link mu and the loss that belongs to it.

    Attributes:
        name: of the link.
        loss: of a score and a reward, a name of `losses.LOSSES`.
        mean: mu(s).
        information: expected curvature of the loss at s: mu'(s), and mu'(s)^2 / (mu(s) (1 - mu(s))) for the
            probit and the exponential link, whose losses are not those of canonical links.
    """

    name: LinkName
    loss: LossName
    mean: Callable[[Array], Array]
    information: Callable[[Array], Array]

    def slope(self, score: Array, reward: Array) -> Array:
        """(n,) derivative of the loss by the score."""
        return jax.vmap(jax.grad(losses.LOSSES[self.loss]))(score, reward)


def _logistic_information(score: Array) -> Array:
    return jax.nn.sigmoid(score) * jax.nn.sigmoid(-score)


def _probit_mean(score: Array) -> Array:
    from jax.scipy.stats import norm

    return norm.cdf(score)


def _probit_information(score: Array) -> Array:
    from jax.scipy.stats import norm

    # In logarithms: density and tails underflow long before their ratio does.
    return jnp.exp(2.0 * norm.logpdf(score) - norm.logcdf(score) - norm.logcdf(-score))


def _exponential_mean(score: Array) -> Array:
    tail = 0.5 * jnp.exp(-jnp.abs(score))
    return jnp.where(score >= 0.0, 1.0 - tail, tail)


def _exponential_information(score: Array) -> Array:
    tail = 0.5 * jnp.exp(-jnp.abs(score))
    return tail / (1.0 - tail)


LINKS: dict[LinkName, Link] = {
    "identity": Link("identity", "squared", lambda score: score, jnp.ones_like),
    "logistic": Link("logistic", "logistic", jax.nn.sigmoid, _logistic_information),
    "poisson": Link("poisson", "poisson", jnp.exp, jnp.exp),
    "probit": Link("probit", "probit", _probit_mean, _probit_information),
    "exponential": Link("exponential", "exponential", _exponential_mean, _exponential_information),
}


def link_of(loss: str) -> Link:
    """Return the link that a loss belongs to.

    >>> link_of("squared").name
    'identity'
    """
    return next(link for link in LINKS.values() if link.loss == loss)


TRACE = 1e-12  # far below what a reward can be told apart by, far above the rounding of 1


def response(link: LinkName, latent: Array) -> Array:
    """(n,) mu of latent scores, in an order that stays theirs.

    Where the link is flat to the last digit, as the logistic one is above 37, a trace of the latent score
    keeps the order.
    """
    trace = TRACE * jnp.sign(latent) * jnp.log1p(jnp.abs(latent))
    return LINKS[link].mean(latent) + trace
