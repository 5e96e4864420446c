"""The best arm: ties are drawn as they always were, and are not drawn where there are none."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superarm.choosers.best import Best


def by_tickets(key, scores, mask):
    """A ticket for every arm that ties, in every round."""
    masked = np.where(mask, scores, -np.inf)
    tied = mask & (masked == masked.max())
    tied = tied if tied.any() else mask
    tickets = np.where(tied, np.asarray(jax.random.uniform(key, scores.shape, jnp.float32)), -1.0)
    return int(np.argmax(tickets)) if mask.any() else -1


@pytest.mark.parametrize("compiled", [False, True], ids=["one", "vmap"])
def test_the_choice_is_that_of_tickets_for_all(compiled):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 3, size=(60, 6)).astype(float)  # mostly ties
    scores[::5] = rng.normal(size=(12, 6))
    scores[3], scores[4, 2] = np.nan, np.inf
    mask = rng.random((60, 6)) < 0.7
    mask[7] = False
    keys = jax.random.split(jax.random.key(1), 60)
    choose = jax.vmap(Best().choose) if compiled else None
    found = (
        np.asarray(choose(keys, scores, mask).items[:, 0])
        if choose
        else [int(Best().choose(*one).items[0]) for one in zip(keys, scores, mask, strict=True)]
    )
    assert list(found) == [by_tickets(*one) for one in zip(keys, scores, mask, strict=True)]
