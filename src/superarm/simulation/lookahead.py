"""Looking ahead: contexts come whatever is chosen, so those of the rounds until the next fit are known now.

The dual width solves for all of them in one matrix product, which reads its triangle once in place of once a
round, and then, in each round, for the rows that came since alone.
"""

from __future__ import annotations

from typing import Any

import jax

from superarm.policy import Policy
from superarm.precision import FLOAT
from superarm.simulation.round import turned
from superarm.types import Array, Environment, State
from superarm.widths.auto import Auto
from superarm.widths.dual import Dual, DualAhead, DualWhitened

ROWS = 256  # solved for at once, at most: more are not faster
LEAST = 4  # rounds: with fewer, what a chunk takes to begin is more than is saved


def rounds_ahead(policy: Policy, environment: Environment, state: State) -> int:
    """How many rounds to look ahead: those between two fits, as far as there is room; 0 for not at all."""
    spec, every = environment.spec, policy.learn_every
    native = policy.native and environment.native
    if every is None or not native or not isinstance(policy.width, Auto | Dual):
        return 0
    contexts = jax.ShapeDtypeStruct((spec.num_arms, spec.dim), FLOAT)
    beliefs = jax.eval_shape(
        lambda state, contexts: policy.model.beliefs(state, contexts, policy.width), state, contexts
    )
    if not isinstance(getattr(beliefs, "whitened", None), DualWhitened):
        return 0
    ahead = min(every, ROWS // spec.num_arms)
    return ahead if ahead >= LEAST else 0


class Foresight:
    """What the dual width knows of the rounds `counts` (a,), whose offers are drawn from keys (a,)."""

    def __init__(
        self, policy: Policy, environment: Environment, world: Any, state: State, keys: Array, counts: Array
    ) -> None:
        """Solve for the contexts of all of them."""

        def offered(key: Array, count: Array) -> Array:
            return environment.offer(turned(environment, world, count), key).contexts

        contexts = jax.vmap(offered)(keys, counts)
        rows = contexts.reshape(-1, contexts.shape[-1]).astype(FLOAT)
        beliefs: Any = policy.model.beliefs(state, rows, policy.width)
        self._ahead = DualAhead(beliefs.whitened.rows, beliefs.whitened.solved, beliefs.whitened.count)
        self._arms = contexts.shape[1]

    def width(self, index: Array) -> DualAhead:
        """The width of round `index`."""

        def own(leaf: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(leaf, index * self._arms, self._arms)

        rows, solved = jax.tree.map(own, (self._ahead.rows, self._ahead.solved))
        return DualAhead(rows, solved, self._ahead.since)
