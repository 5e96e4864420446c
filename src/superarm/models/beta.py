"""Draws from many Beta distributions at once.

`jax.random.beta` splits a key per element and trial: 60 ms for 33,000 items. Here all elements share one
stream, and a trial is one vector operation: 13 ms, measured in one run on one core.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.types import Array


@jax.jit  # the loop is compiled once, also when a policy is called step by step
def beta_draws(key: Array, wins: Array, losses: Array) -> Array:
    """(n,) independent draws from Beta(wins, losses); NaN where a parameter is not > 0.

    The ratio X / (X + Y) of two Gamma variables, in logarithms so that tiny parameters do not underflow.
    """
    logs = _log_gamma_draws(key, jnp.stack([wins, losses]))
    return jax.nn.sigmoid(logs[0] - logs[1])


def _log_gamma_draws(key: Array, shapes: Array) -> Array:
    """Logarithms of Gamma(shape) draws by rejection (Marsaglia & Tsang, 2000), each accepted with p > 0.95.

    A shape below 1 is drawn at shape + 1 and multiplied by U^(1/shape) (section 6 of the paper).
    """
    key_boost, key_trials = jax.random.split(key)
    small = shapes < 1.0
    center = jnp.where(small, shapes + 1.0, shapes) - 1.0 / 3.0  # d
    slope = 1.0 / jnp.sqrt(9.0 * center)  # c

    def trial(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, logs, done = carry
        key, key_normal, key_chance = jax.random.split(key, 3)
        normal = jax.random.normal(key_normal, shapes.shape, FLOAT)
        chance = jax.random.uniform(key_chance, shapes.shape, FLOAT)
        root = 1.0 + slope * normal
        log_cube = 3.0 * jnp.log(root)  # NaN where root <= 0, which accepts nothing
        bound = 0.5 * normal**2 + center * (1.0 - root**3 + log_cube)
        accepted = ~done & (jnp.log(chance) < bound)
        return key, jnp.where(accepted, jnp.log(center) + log_cube, logs), done | accepted

    # A parameter that is not > 0 would never be accepted: it is done, as NaN, before the first trial.
    start = (key_trials, jnp.full(shapes.shape, jnp.nan, FLOAT), ~(shapes > 0.0))
    _, logs, _ = jax.lax.while_loop(lambda carry: ~jnp.all(carry[2]), trial, start)
    boost = jnp.log(jax.random.uniform(key_boost, shapes.shape, FLOAT)) / shapes
    return logs + jnp.where(small, boost, 0.0)
