"""Widths of pairs."""

from __future__ import annotations

import jax.numpy as jnp

from superarm.types import Array


def distances(covariance: Array) -> Array:
    """(n, n) sqrt(C_ii + C_jj - 2 C_ij) from the covariance C (n, n) of single scores."""
    own = jnp.diagonal(covariance)
    return jnp.sqrt(jnp.maximum(own[:, None] + own[None] - 2.0 * covariance, 0.0))
