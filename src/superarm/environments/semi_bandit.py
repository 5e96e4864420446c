"""Semi-bandit feedback: each chosen item shows its own weight, and the return is their sum.

The noise of an item in a round is a function of the round's key and the item's index alone. So every policy
meets the same noise, so does the optimum, and a round costs O(k) whatever the size of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT
from superarm.types import Array, Choice, Decision, Oracle, Outcome, pytree


@pytree
@dataclass(frozen=True)
class GaussianWeights:
    """Weights N(mean, scale^2), independent over items and rounds."""

    scale: Array

    def draw(self, key: Array, items: Array, means: Array) -> Array:
        """(k,) the weights of items (k,) in the round of `key`."""
        keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, items)
        return means + self.scale * jax.vmap(lambda one: jax.random.normal(one, (), FLOAT))(keys)


@pytree
@dataclass(frozen=True)
class BernoulliWeights:
    """Weights 1 with probability `mean`, else 0, independent over items and rounds."""

    def draw(self, key: Array, items: Array, means: Array) -> Array:
        """(k,) the weights of items (k,) in the round of `key`."""
        keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, items)
        chance = jax.vmap(lambda one: jax.random.uniform(one, (), FLOAT))(keys)
        return (chance < means).astype(FLOAT)


Weights = GaussianWeights | BernoulliWeights


def exact(where: str, oracle: Oracle) -> Oracle:
    """Return the oracle; it must be exact, since regret is counted against its answer."""
    checks.has(where, "oracle", oracle, ("native", "size", "factor", "check", "solve"))
    if oracle.factor < 1.0:
        must = "oracle must be exact, so that the optimum is known; an approximate one goes to the policy"
        raise ValueError(f"{where}: {must}, got factor {oracle.factor:g}")
    return oracle


@jax.jit
def semi_bandit(key: Array, weights: Weights, means: Array, decision: Decision, optimum: Choice) -> Outcome:
    """Return the outcome of a decision when the items' expected weights are means (n,)."""
    slots = decision.items.shape[0]
    items = jnp.maximum(jnp.concatenate([decision.items, optimum.items]), 0)
    expected = means[items]
    drawn = weights.draw(key, items, expected)  # decision and optimum together: one call of the generator
    return Outcome(
        feedback=drawn[:slots],
        observed=decision.mask,
        reward=jnp.sum(drawn[:slots], where=decision.mask),
        value=jnp.sum(expected[:slots], where=decision.mask),
        best=jnp.sum(expected[slots:], where=optimum.mask),
        best_reward=jnp.sum(drawn[slots:], where=optimum.mask),
    )
