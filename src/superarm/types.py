"""The data of the contract: what a policy is given, what it answers, and what comes back.

Shapes use n for the arms on offer, k for the slots of one decision, d for the features of an arm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.precision import FLOAT
from superarm.pytree import attribute, pytree

Array = jax.Array


@checks.named_fields
@dataclass(frozen=True)
class Spec:
    """The size of a problem, fixed for the life of a state.

    Args:
        dim: features per arm (d).
        num_arms: arms that can ever be offered in one call (n).
        capacity: observations that a model which keeps its history must hold; 0 when it keeps sums only.
        size: slots of one decision (k); a policy fills it in from its chooser.
    """

    dim: int
    num_arms: int
    capacity: int = 0
    size: int = field(default=1, repr=False)


@pytree
@dataclass(frozen=True)
class State:
    """A policy's state: the record of what was observed, and the fit learned from it."""

    record: Any
    fit: Any


@pytree
@dataclass(frozen=True)
class Choice:
    """What a chooser or an oracle answers.

    Attributes:
        items: (k,) arm indices, -1 in slots that are not used, which come last.
        mask: (k,) True in the slots that are used.
        feasible: () False when the arms on offer admit no answer.
    """

    items: Array
    mask: Array
    feasible: Array


@pytree
@dataclass(frozen=True)
class Decision:
    """What a policy chose, with what a log needs.

    Attributes:
        items: (k,) arm indices, -1 in slots that are not used.
        mask: (k,) True in the slots that are used.
        features: (k, d) features of the chosen arms, 0 in slots that are not used.
        scores: (k,) the scores that the explorer gave them, 0 in slots that are not used.
        healthy: () False when a score on offer was not finite, or no answer was feasible.
        memo: a fact fixed at choice time, which must return with the event; () when there is none.
        cache: work that observing can use again, and that may be dropped; () when there is none.
    """

    items: Array
    mask: Array
    features: Array
    scores: Array
    healthy: Array
    memo: Any = ()
    cache: Any = ()


@pytree
@dataclass(frozen=True)
class Event:
    """What came back for one decision. Events may arrive late and in any order.

    Attributes:
        items: (k,) arm indices of the decision.
        features: (k, d) their features.
        feedback: (k,) what was observed of each item; ignored where `observed` is False.
        observed: (k,) True where feedback was observed.
        memo: the decision's memo.
        variance: (k,) of the feedback, where it is known; () where it is not.
        cache: the decision's cache, or () where it was dropped.
        age: () decisions made since this one; () where nobody counts. Forgetting will need it.
        elapsed: () seconds since the decision; () where nobody counts. Forgetting will need it.
    """

    items: Array
    features: Array
    feedback: Array
    observed: Array
    memo: Any = ()
    variance: Array | tuple[()] = ()
    cache: Any = ()
    age: Array | tuple[()] = ()
    elapsed: Array | tuple[()] = ()


@pytree
@dataclass(frozen=True)
class Offer:
    """What is on offer in one decision.

    Attributes:
        contexts: (n, d) features of the arms.
        mask: (n,) which of them are available.
        shared: (p,) features of the context that all arms share; () where there is none. Models of a context
            that is kept apart will need it.
    """

    contexts: Array
    mask: Array
    shared: Array | tuple[()] = field(default=(), kw_only=True)

    @classmethod
    def of(cls, offer: Any) -> Offer:
        """Return an offer; contexts (n, d) alone are all available."""
        if isinstance(offer, Offer):
            mask = jnp.asarray(offer.mask, bool)
            return replace(offer, contexts=jnp.asarray(offer.contexts, FLOAT), mask=mask)
        contexts = jnp.asarray(offer, FLOAT)
        return cls(contexts=contexts, mask=jnp.ones(contexts.shape[0], bool))


@pytree
@dataclass(frozen=True)
class Outcome:
    """What an environment answers to a decision.

    Attributes:
        feedback: (k,) feedback per slot.
        observed: (k,) True where it was observed.
        reward: () the realized return of the decision.
        value: () its expected return.
        best: () the expected return of the optimum.
        best_reward: () the return that the optimum would have realized under the same noise.
        variance: (k,) of the feedback, where the world tells it; () where it does not.
    """

    feedback: Array
    observed: Array
    reward: Array
    value: Array
    best: Array
    best_reward: Array
    variance: Array | tuple[()] = ()


class DuelScores(ABC):
    """What an explorer says of all pairs of n arms, for a chooser that compares two of them."""

    @attribute
    @abstractmethod
    def mean(self) -> Array:
        """(n,) utilities."""

    @abstractmethod
    def finite(self, mask: Array) -> Array:
        """() whether all that is said of the arms where mask (n,) is True is finite."""

    def descend(self, mask: Array) -> Any:
        """Go down through layers of scores with the arms where mask (n,) is True; see `models.layers`."""
        raise TypeError(f"{type(self).__name__}: scores of pairs have no layers to go down through")


@pytree
@dataclass(frozen=True)
class PairScores(DuelScores):
    """What most explorers say of all pairs of n arms, for a duel.

    Attributes:
        mean: (n,) utilities.
        reach: (n, n) by how much the difference of two utilities may be off.
        bonus: (n, n) what is added to a pair: its reach, or a draw.
        spread: (n, n) what two candidates are chosen by: their width, or a draw of it.
    """

    mean: Array
    reach: Array
    bonus: Array
    spread: Array

    def finite(self, mask: Array) -> Array:
        """() whether means and reach, which all else is made of, are finite where mask (n,) is True."""
        pairs = mask[:, None] & mask[None]
        return jnp.all(jnp.isfinite(self.mean) | ~mask) & jnp.all(jnp.isfinite(self.reach) | ~pairs)


checks.public(__name__)
