"""Semi-bandit feedback: each chosen item shows its own weight, and the return is a reward of the weights.

The noise of an item in a round is a function of the round's key and the item's index alone. So every policy
meets the same noise, so does the optimum, and a round costs O(k) whatever the size of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.contract import Oracle
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.rewards import Reward, Sum, at_slots
from superarm.types import Array, Choice, Decision, Outcome


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

SUM = Sum()


def exact(where: str, oracle: Oracle, reward: Reward = SUM) -> Oracle:
    """Return the oracle; it must be exact for the reward, since regret is counted against its answer."""
    checks.part(where, "oracle", oracle, Oracle)
    if oracle.factor < 1.0:
        must = "oracle must be exact, so that the optimum is known; an approximate one goes to the policy"
        raise ValueError(f"{where}: {must}, got factor {oracle.factor:g}")
    if oracle.exact_for is not None and reward.kind is not None and reward.kind not in oracle.exact_for:
        must = f"oracle must be exact for the reward {type(reward).__name__}"
        raise ValueError(f"{where}: {must}, got {type(oracle).__name__}")
    return oracle


def chosen_by(where: str, oracle: Oracle | None) -> Best | Subset:
    """Return what finds the optimum: the subset chooser of an exact oracle, or the best arm without one."""
    return Best() if oracle is None else Subset(exact(where, oracle))


@jax.jit
def semi_bandit(
    key: Array,
    weights: Weights,
    means: Array,
    decision: Decision,
    optimum: Choice,
    reward: Reward = SUM,
    examination: Array | None = None,
) -> Outcome:
    """Return the outcome of a decision when the items' expected weights are means (n,).

    With examination (k,), the weight in slot s is drawn with mean examination[s] times as high, and shown
    divided by that: its mean stays what it is.
    """
    slots = decision.items.shape[0]
    items = jnp.maximum(jnp.concatenate([decision.items, optimum.items]), 0)
    expected = means[items]
    # Decision and optimum together: one call of the generator.
    if examination is None:
        drawn = weights.draw(key, items, expected)
    else:
        parts = expected[:slots], expected[slots:]
        seen = jnp.concatenate([at_slots("examination", examination, part) for part in parts])
        drawn = weights.draw(key, items, seen * expected) / seen
    return Outcome(
        feedback=drawn[:slots],
        observed=decision.mask,
        reward=reward.value(decision.items, decision.mask, drawn[:slots]),
        value=reward.value(decision.items, decision.mask, expected[:slots]),
        best=reward.value(optimum.items, optimum.mask, expected[slots:]),
        best_reward=reward.value(optimum.items, optimum.mask, drawn[slots:]),
    )
