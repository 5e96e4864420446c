"""Looking ahead: contexts come whatever is chosen, so those of the rounds until the next fit are known now.

The dual width solves for all of them in one matrix product, which reads its triangle once in place of once a
round, and then, in each round, for the rows that came since alone.
"""

from __future__ import annotations

from typing import Any

import jax

from superarm.contract import Environment
from superarm.policy import Policy
from superarm.precision import FLOAT
from superarm.types import Array, State

MAX_ROWS = 256  # solved for at once, at most: more are not faster
MIN_LOOKAHEAD = 4  # rounds: with fewer, what a chunk takes to begin is more than is saved


def lookahead_rounds(policy: Policy, environment: Environment, state: State) -> int:
    """How many rounds to look ahead: those between two fits, as far as there is room; 0 for not at all."""
    spec, every = environment.spec, policy.learn_every
    native = policy.native and environment.native
    if every is None or not native or policy.width is None or not policy.width.lookahead:
        return 0
    contexts = jax.ShapeDtypeStruct((spec.num_arms, spec.dim), FLOAT)
    if jax.eval_shape(lambda state, rows: _solved(policy, state, rows), state, contexts) is None:
        return 0
    ahead = min(every, MAX_ROWS // spec.num_arms)
    return ahead if ahead >= MIN_LOOKAHEAD else 0


class Lookahead:
    """What the dual width knows of the rounds `counts` (a,), whose offers are drawn from keys (a,)."""

    def __init__(
        self, policy: Policy, environment: Environment, world: Any, state: State, keys: Array, counts: Array
    ) -> None:
        """Solve for the contexts of all of them."""

        def offered(key: Array, count: Array) -> Array:
            return environment.offer(environment.at_round(world, count), key).contexts

        contexts = jax.vmap(offered)(keys, counts)
        rows = contexts.reshape(-1, contexts.shape[-1]).astype(FLOAT)
        self._ahead = _solved(policy, state, rows)
        self._arms = contexts.shape[1]

    def width(self, index: Array) -> Any:
        """The width of round `index`."""
        return self._ahead.part(index * self._arms, self._arms)


def _solved(policy: Policy, state: State, rows: Array) -> Any:
    """The policy's width, solved for rows; None where that saves nothing."""
    whitened = policy.model.beliefs(state, rows, policy.width).whitened_rows()
    return None if whitened is None else whitened.lookahead()
