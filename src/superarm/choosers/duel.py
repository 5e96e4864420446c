"""Two arms to be compared: oh2026, section 4.2.

- "asymmetric": the best arm, and its best challenger by utility and bonus (Bengs, Saha & Huellermeier, 2022;
  Verma et al., 2024).
- "optimistic": the pair with the highest sum of utilities and bonus (Di et al., 2023).
- "candidate": of the arms that no other arm is surely better than, the two that differ most (Saha, 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.contract import Chooser
from superarm.pytree import pytree, static
from superarm.types import Array, Choice, PairScores

Strategy = Literal["asymmetric", "optimistic", "candidate"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@pytree
@dataclass(frozen=True)
class Duel(Chooser):
    """Two of the available arms, by the scores of pairs. O(n^2) time and memory.

    Args:
        strategy: "asymmetric", "optimistic" or "candidate".
        self_duels: an arm may meet itself, as in the paper: it says that nothing is left to learn. Otherwise
            the two differ, wherever two arms are available.

    >>> import jax, jax.numpy as jnp
    >>> from superarm.types import PairScores
    >>> bonus = jnp.array([[0.0, 2.0], [2.0, 0.0]])
    >>> scores = PairScores(mean=jnp.array([1.0, 0.0]), bonus=bonus, reach=bonus, spread=bonus)
    >>> Duel("asymmetric").choose(jax.random.key(0), scores, jnp.ones(2, bool)).items.tolist()
    [0, 1]
    """

    strategy: Strategy = static(default="asymmetric")
    self_duels: bool = static(default=True)

    @property
    def native(self) -> bool:
        """True."""
        return True

    @property
    def size(self) -> int:
        """Two slots."""
        return 2

    @property
    def compares(self) -> bool:
        """True."""
        return True

    def check(self, num_arms: int) -> None:
        """Refuse an unknown strategy, and a single arm, unless it may meet itself."""
        checks.one_of("duel", "strategy", self.strategy, STRATEGIES)
        if num_arms < 2 and not self.self_duels:
            raise ValueError(f"duel: num_arms must be >= 2 without self-duels, got {num_arms}")

    def choose(self, key: Array, scores: PairScores, mask: Array) -> Choice:
        """Return the two arms, the first in the first slot."""
        available = mask[:, None] & mask[None]
        apart = ~jnp.eye(mask.shape[0], dtype=bool)
        others = jnp.any(available & apart)
        allowed = available if self.self_duels else available & (apart | ~others)
        values, allowed = {
            "asymmetric": self._asymmetric,
            "optimistic": self._optimistic,
            "candidate": self._candidate,
        }[self.strategy](key, scores, mask, allowed)
        return best_pair(key, values, allowed)

    def _asymmetric(self, key: Array, scores: PairScores, mask: Array, allowed: Array) -> tuple[Array, Array]:
        first = _random_best(jax.random.split(key)[0], scores.mean, mask)
        row = jnp.arange(mask.shape[0]) == first
        # bonus[j, first]: of the challenger j against the first arm.
        return scores.mean[None] + scores.bonus.T, allowed & row[:, None]

    def _optimistic(self, key: Array, scores: PairScores, mask: Array, allowed: Array) -> tuple[Array, Array]:
        return scores.mean[:, None] + scores.mean[None] + scores.bonus, allowed

    def _candidate(self, key: Array, scores: PairScores, mask: Array, allowed: Array) -> tuple[Array, Array]:
        lead = scores.mean[None] - scores.mean[:, None]  # of j over i
        # Strictly, as section 4.2 has it, but for arms that tie: they do not exclude each other (Lemma C.3).
        ignored = ~mask[None] | (lead <= 0.0)
        candidates = mask & jnp.all((scores.reach > lead) | ignored, axis=1)
        both = allowed & candidates[:, None] & candidates[None]
        # A single candidate that may not meet itself meets the arm that it differs most from.
        pairs = jnp.where(jnp.any(both), both, allowed & candidates[:, None])
        return scores.spread, pairs


def best_pair(key: Array, values: Array, allowed: Array) -> Choice:
    """The pair with the highest of values (n, n) where allowed (n, n).

    Ties at random: a row that holds the best, then a column of it.
    """
    key_first, key_second = jax.random.split(key)
    masked = jnp.where(allowed & ~jnp.isnan(values), values, -jnp.inf)
    first = _random_best(key_first, jnp.max(masked, axis=1), jnp.any(allowed, axis=1))
    second = _random_best(key_second, masked[first], allowed[first])
    feasible = jnp.any(allowed)
    items = jnp.where(feasible, jnp.stack([first, second]), -1).astype(jnp.int32)
    return Choice(items=items, mask=jnp.broadcast_to(feasible, (2,)), feasible=feasible)


def _random_best(key: Array, values: Array, allowed: Array) -> Array:
    """() the index of the highest of values (n,) where allowed; ties at random."""
    masked = jnp.where(allowed, values, -jnp.inf)
    tied = allowed & (masked == jnp.max(masked))
    tickets = jnp.where(tied, jax.random.uniform(key, values.shape, jnp.float32), -1.0)
    return jnp.argmax(tickets)
