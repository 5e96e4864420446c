"""What the oracles that JAX traces share: an answer that is whole or absent."""

from __future__ import annotations

import jax.numpy as jnp

from superarm.types import Array, Choice


def whole_or_nothing(items: Array, found: Array, scores: Array, mask: Array) -> Choice:
    """Return items (k,), -1 where unused, if `found` (); nothing at all otherwise, or if a score is NaN."""
    feasible = found & ~has_nan(scores, mask)
    items = jnp.where(feasible, items, -1).astype(jnp.int32)
    return Choice(items=items, mask=items >= 0, feasible=feasible)


def has_nan(scores: Array, mask: Array) -> Array:
    """() True if an available score is NaN: no order of the arms is defined then."""
    return jnp.any(mask & jnp.isnan(scores))
