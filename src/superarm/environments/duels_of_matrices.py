"""Duels by a table of chances, which need not come from utilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.environments.duels_of_utilities import DuelWorld
from superarm.precision import FLOAT, double
from superarm.pytree import pytree
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["MatrixDuels", "matrix_duels"]


@pytree
@dataclass(frozen=True)
class MatrixDuels(DuelWorld):
    """chances (n, n) that one arm is preferred to another; best () the Condorcet winner."""

    chances: Array
    best: Array

    @property
    def spec(self) -> Spec:
        """n arms, each a direction of its own."""
        num_arms = self.chances.shape[0]
        return Spec(dim=num_arms, num_arms=num_arms)

    def init(self, key: Array) -> tuple[()]:
        """Nothing is drawn."""
        return ()

    def offer(self, world: tuple[()], key: Array) -> Offer:
        """Offer all arms."""
        num_arms = self.chances.shape[0]
        return Offer(contexts=jnp.eye(num_arms, dtype=FLOAT), mask=jnp.ones(num_arms, bool))

    @double
    def respond(self, world: tuple[()], key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Let the two arms meet; an arm is worth its chance against the best, less one half."""
        chances = jnp.asarray(self.chances)
        first, second = jnp.maximum(decision.items, 0)
        won = (jax.random.uniform(key, (), FLOAT) < chances[first, second]).astype(FLOAT)
        worth = chances[jnp.stack([first, second]), self.best] - 0.5  # 0 for the best, less for others
        zero = jnp.zeros((), FLOAT)
        return Outcome(
            feedback=jnp.stack([won, 1.0 - won]),
            observed=decision.mask,
            reward=jnp.max(worth),
            value=jnp.mean(worth),
            best=zero,
            best_reward=zero,
        )


@checks.named
def matrix_duels(chances: npt.ArrayLike) -> MatrixDuels:
    """Return an environment with a table of chances; it need not come from utilities.

    Regret is counted against the Condorcet winner, the arm that beats all others, which there must be.

    Args:
        chances: (n, n) in [0, 1], of the row's arm to be preferred to the column's; chances + chances' = 1.

    >>> import numpy as np, superarm
    >>> world = matrix_duels(np.array([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]]))
    >>> superarm.simulate(superarm.max_inp(), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "matrix_duels"
    table = checks.matrix(where, "chances", chances, (None, None))
    checks.between(where, "chances", table, 0.0, 1.0)
    if table.shape[0] != table.shape[1]:
        raise ValueError(f"{where}: chances must be square, got {table.shape}")
    if len(odd := np.argwhere(~np.isclose(table + table.T, 1.0))):
        one, other = odd[0]
        must = f"chances of {one} against {other} and of {other} against {one} must add up to 1"
        raise ValueError(f"{where}: {must}, got {table[one, other]:g} and {table[other, one]:g}")
    others = ~np.eye(len(table), dtype=bool)
    winners = np.flatnonzero(np.all((table > 0.5) | ~others, axis=1))
    if winners.size != 1:
        raise ValueError(f"{where}: chances must have an arm that beats all others, got none")
    best: Any = np.int64(winners[0])
    return MatrixDuels(chances=table, best=best)
