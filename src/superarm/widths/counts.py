"""The width of a mean over n observations of one item: 1 / sqrt(n)."""

from __future__ import annotations

import jax.numpy as jnp

from superarm.types import Array

# An item never seen counts as this many observations: its width, 1e6, comes before every item seen once,
# and stays finite, so that sums over a path and linear programs stay defined.
UNSEEN = 1e-12


def count_widths(counts: Array) -> Array:
    """(n,) 1 / sqrt(counts), with 1e6 for items never seen."""
    return 1.0 / jnp.sqrt(jnp.maximum(counts, UNSEEN))
