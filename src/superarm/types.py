"""The words of the contract: what a policy is given, what it answers, and what comes back.

Shapes use n for the arms on offer, k for the slots of one decision, d for the features of an arm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp

from superarm.pytree import pytree

Array = jax.Array


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
        memo: a value fixed at choice time that returns with the event; () when there is none.
    """

    items: Array
    mask: Array
    features: Array
    scores: Array
    healthy: Array
    memo: Any = ()


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
    """

    items: Array
    features: Array
    feedback: Array
    observed: Array
    memo: Any = ()
    variance: Any = ()


@pytree
@dataclass(frozen=True)
class Offer:
    """What an environment offers in one round: contexts (n, d) and which of them are available (n,)."""

    contexts: Array
    mask: Array


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
    variance: Any = ()


@pytree
@dataclass(frozen=True)
class PairScores:
    """What an explorer says of all pairs of n arms, for a duel.

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


class Beliefs(Protocol):
    """What a model believes of the arms on offer."""

    @property
    def mean(self) -> Array:
        """(n,) expected score."""

    @property
    def logdet(self) -> Array:
        """() log(det Z / det Z_0) of the information matrix."""

    def norms(self) -> Array:
        """(n,) one standard deviation, or the width in a confidence bound."""

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) random scores, `scale` times as far from the mean, correlated over arms when `joint`.

        `scale` is () or, for draws apart, (n,).
        """


class Whitened(Protocol):
    """Rows as a width measured them."""

    def norms(self) -> Array:
        """(n,) widths."""

    def covariance(self) -> Array:
        """(n, n) covariance of the rows' scores."""

    def only(self, keep: Array) -> Whitened:
        """The same with rows of 0 where keep (n,) is False."""

    def take(self, items: Array) -> Whitened:
        """The same of some of the rows."""


class Width(Protocol):
    """How unsure a score is, from the rows seen so far: features, or gradients of a network.

    Rows are a matrix (n, p) or `widths.rows.LayerRows`.
    """

    def init(self, like: Any, scale: Array, capacity: int) -> Any:
        """Return the factor of N(0, scale^2 I) over the parameters of rows like the given ones.

        It has a `logdet`; `capacity` rows are all that will come, 0 when that is not known.
        """

    def check(self, like: Any, capacity: int) -> None:
        """Raise ValueError in one sentence if the width cannot hold that much."""

    def whiten(self, factor: Any, rows: Any) -> Whitened:
        """Measure n rows by the factor: the dear part of a query, shared by all that follows."""

    def absorb(self, factor: Any, whitened: Any, residual: Array) -> tuple[Any, Any]:
        """Take in k whitened rows and residuals (k,), both over the noise; return factor and shift (p,).

        A row of zeros moves nothing.
        """


class LinearWidth(Width, Protocol):
    """A width over parameters that a linear model can draw."""

    def deviations(self, factor: Any, key: Array, num: int) -> Array:
        """(num, p) draws of the parameters' departure from their mean."""


class Model(Protocol):
    """What score a feature vector has. `width` is the policy's; None where a model brings its own."""

    @property
    def learn_every(self) -> int | None:
        """Decisions between fits; None when observing is all there is."""

    def check(self, spec: Spec, width: Any) -> None:
        """Raise ValueError in one sentence if the model or its width does not fit the problem."""

    def init(self, key: Array, spec: Spec, width: Any) -> State:
        """Return the state before any observation."""

    def beliefs(self, state: State, contexts: Array, width: Any) -> Any:
        """Return what is believed of contexts (n, d): `Beliefs`, or what its own explorer reads."""

    def observe(self, state: State, key: Array, event: Event, width: Any) -> Any:
        """Return the record with the event taken in."""

    def learn(self, state: State, key: Array, width: Any) -> Any:
        """Return a new fit of the record."""


class Explorer(Protocol):
    """How doubt becomes a score."""

    def scores(self, key: Array, beliefs: Any, count: Array) -> Any:
        """(n,) scores, or `PairScores` for a duel; `count` decisions were made before this one."""


class Oracle(Protocol):
    """Finds the feasible set that is worth most: by the sum of its scores, unless the oracle says otherwise.

    `native` oracles are traced by JAX and run inside compiled rounds; the others run on the host, between
    compiled parts, on NumPy arrays. Both break ties at random, by key.
    """

    native: ClassVar[bool]

    @property
    def size(self) -> int:
        """The most items that an answer may have (slots k)."""

    @property
    def factor(self) -> float:
        """1.0 when exact; otherwise the share of the optimum that is guaranteed (for scores >= 0)."""

    def check(self, num_arms: int) -> None:
        """Raise ValueError in one sentence if no answer exists, or the problem does not fit `num_arms`."""

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Choose among the arms where mask (n,) is True, by scores (n,)."""


class Chooser(Protocol):
    """What may be chosen."""

    @property
    def native(self) -> bool:
        """True when `choose` can be traced by JAX."""

    @property
    def size(self) -> int:
        """The most items that a choice may have (slots k)."""

    def check(self, num_arms: int) -> None:
        """Raise ValueError in one sentence if no choice exists among `num_arms`."""

    def choose(self, key: Array, scores: Any, mask: Array) -> Choice:
        """Turn scores (n,), or those of pairs, into a choice among the arms where mask (n,) is True."""


class Environment(Protocol):
    """A world to learn in. `native` worlds are traced by JAX; the others are stepped on the host.

    The randomness of round t comes from the key alone, so every policy meets the same contexts and noise. A
    world whose rounds have an order has `turn(world, count)`, too, which returns what `offer` and `respond`
    get as the world in round `count`. A world that compares two arms says so: `compares = True`.
    """

    @property
    def native(self) -> bool:
        """True when `init`, `offer` and `respond` can be traced by JAX."""

    @property
    def spec(self) -> Spec:
        """The size of the problem."""

    def check(self) -> None:
        """Raise ValueError in one sentence if the problem is malformed."""

    def init(self, key: Array) -> Any:
        """Draw an instance: the world of one seed."""

    def offer(self, world: Any, key: Array) -> Offer:
        """Return what is on offer in a round."""

    def respond(self, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Return what the decision earns in a round."""
