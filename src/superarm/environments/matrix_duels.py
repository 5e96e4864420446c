"""Duels by a table of chances, without utilities; and answers of a language model, by their embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm import checks
from superarm.environments.duels import duel_outcome
from superarm.precision import FLOAT, double
from superarm.types import Array, Decision, Offer, Outcome, Spec, pytree, static


@pytree
@dataclass(frozen=True)
class MatrixDuels:
    """chances (n, n) that one arm is preferred to another; best () the Condorcet winner."""

    chances: Array
    best: Array

    @property
    def oracle(self) -> None:
        """None: two arms are chosen by the policy's duel."""

    @property
    def native(self) -> bool:
        """True."""
        return True

    @property
    def spec(self) -> Spec:
        """n arms, each a direction of its own."""
        num_arms = self.chances.shape[0]
        return Spec(dim=num_arms, num_arms=num_arms)

    def check(self) -> None:
        """Accept: the factory checked."""

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


def matrix_duels(chances: Any) -> MatrixDuels:
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
    if table.shape[0] != table.shape[1] or not np.allclose(table + table.T, 1.0):
        raise ValueError(f"{where}: chances must be square with chances + chances' = 1, got {table.shape}")
    others = ~np.eye(len(table), dtype=bool)
    winners = np.flatnonzero(np.all((table > 0.5) | ~others, axis=1))
    if winners.size != 1:
        raise ValueError(f"{where}: chances must have an arm that beats all others, got none")
    best: Any = np.int64(winners[0])
    return MatrixDuels(chances=table, best=best)


@pytree
@dataclass(frozen=True)
class AnswerDuels:
    """Prompts with candidate answers, known by their embeddings. Build it with `answer_duels`."""

    sharpness: Array
    dim: int = static()
    num_arms: int = static()

    @property
    def oracle(self) -> None:
        """None: two answers are chosen by the policy's duel."""

    @property
    def native(self) -> bool:
        """True."""
        return True

    @property
    def spec(self) -> Spec:
        """An answer's features are its embedding and its product with the prompt's."""
        return Spec(dim=2 * self.dim, num_arms=self.num_arms)

    def check(self) -> None:
        """Accept: the factory checked."""

    @double
    def init(self, key: Array) -> Array:
        """Draw what people like: a matrix that says how well an answer fits a prompt, and a style."""
        return jax.random.normal(key, (self.dim + 1, self.dim), FLOAT) / jnp.sqrt(1.0 * self.dim)

    @double
    def offer(self, world: Array, key: Array) -> Offer:
        """Draw a prompt and answers to it, which lie around it."""
        key_prompt, key_answers = jax.random.split(key)
        prompt = _unit(jax.random.normal(key_prompt, (1, self.dim), FLOAT))
        answers = _unit(prompt + jax.random.normal(key_answers, (self.num_arms, self.dim), FLOAT))
        return Offer(
            contexts=jnp.concatenate([answers, jnp.sqrt(1.0 * self.dim) * answers * prompt], axis=1),
            mask=jnp.ones(self.num_arms, bool),
        )

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Ask which of two answers is better."""
        answers, fits = offer.contexts[:, : self.dim], offer.contexts[:, self.dim :]
        utilities = self.sharpness * (jnp.tanh(fits @ world[:-1]).sum(axis=1) + answers @ world[-1])
        best = jnp.max(utilities)
        return duel_outcome(key, "logistic", utilities, best, decision, False)


def answer_duels(*, dim: int = 8, num_arms: int = 6, sharpness: float = 2.0) -> AnswerDuels:
    """Return an environment in which people say which of two answers to a prompt is better.

    Embeddings are synthetic: a prompt is uniform on the sphere, and answers lie around it. How good an answer
    is depends on how it fits the prompt, nonlinearly, and on its style.

    Args:
        dim: of an embedding; an answer has 2 dim features, its embedding and its product with the prompt's.
        num_arms: candidate answers per prompt.
        sharpness: of the preferences; they are chance at 0.

    >>> import superarm
    >>> world = answer_duels()
    >>> superarm.simulate(superarm.max_inp(), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "answer_duels"
    return AnswerDuels(
        sharpness=checks.nonnegative(where, "sharpness", sharpness),
        dim=checks.count(where, "dim", dim),
        num_arms=checks.count(where, "num_arms", num_arms, low=2),
    )


def _unit(vectors: Array) -> Array:
    return vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True)
