"""Answers of a language model, known by their embeddings, compared two at a time."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.environments.duels_of_utilities import DuelWorld, duel_outcome
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["AnswerDuels", "answer_duels"]


@pytree
@dataclass(frozen=True)
class AnswerDuels(DuelWorld):
    """Prompts with candidate answers, known by their embeddings. Build it with `answer_duels`."""

    sharpness: Array
    dim: int = static()
    num_arms: int = static()

    @property
    def spec(self) -> Spec:
        """An answer's features are its embedding and its product with the prompt's."""
        return Spec(dim=2 * self.dim, num_arms=self.num_arms)

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


@checks.named
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
