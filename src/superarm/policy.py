"""A policy: a model, a width, an explorer and a chooser behind four pure functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.explorers.options import options_of
from superarm.models.layers import LayerScores
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import (
    Array,
    Choice,
    Chooser,
    Decision,
    Event,
    Explorer,
    Model,
    PairScores,
    Spec,
    State,
    Width,
)


@dataclass(frozen=True)
class Epoch:
    """A stretch of a run under one policy.

    Args:
        policy: what decides.
        start: decisions made before it.
        stop: decisions made at its end.
        replay: begin by observing and learning all that came before; otherwise begin anew.
    """

    policy: Policy
    start: int
    stop: int
    replay: bool

    @property
    def origin(self) -> int:
        """The decision that is the policy's first: schedules and fits count from there."""
        return 0 if self.replay else self.start


@pytree
@dataclass(frozen=True)
class Policy:
    """Four choices that make an algorithm. It owns no state and no randomness; presets build it.

    >>> import jax, superarm
    >>> policy = superarm.comb_lin_ts(superarm.top_k(2))
    >>> state = policy.init(jax.random.key(0), superarm.Spec(dim=3, num_arms=5))
    >>> contexts = jax.random.normal(jax.random.key(1), (5, 3))
    >>> policy.select(state, jax.random.key(2), contexts, 0).items.shape
    (2,)
    """

    model: Model
    width: Width | None
    explorer: Explorer
    chooser: Chooser
    name: str = static(default="policy")

    @property
    def native(self) -> bool:
        """True when every function can be traced by JAX; otherwise the chooser runs on the host."""
        return self.chooser.native

    def epochs(self, rounds: int) -> tuple[Epoch, ...]:
        """The policies of a run: this one from beginning to end. Wrappers in `anytime` have more."""
        return (Epoch(policy=self, start=0, stop=rounds, replay=False),)

    @property
    def learn_every(self) -> int | None:
        """Rounds between fits; None when observing is all there is."""
        return self.model.learn_every

    @double
    def check(self, spec: Spec) -> None:
        """Raise ValueError in one sentence if the policy does not fit a problem of this size."""
        self.chooser.check(spec.num_arms)
        self.model.check(self._sized(spec), self.width)

    @double
    def init(self, key: Array, spec: Spec) -> State:
        """Return the state before any observation."""
        self.check(spec)
        return self.model.init(key, self._sized(spec), self.width)

    def _sized(self, spec: Spec) -> Spec:
        return replace(spec, size=self.chooser.size)

    @double
    def select(
        self, state: State, key: Array, contexts: Array, count: Array | int, mask: Array | None = None
    ) -> Decision:
        """Choose among contexts (n, d) where mask (n,) is True; `count` decisions were made before.

        The state is not changed.
        """
        contexts = jnp.asarray(contexts, FLOAT)
        mask = jnp.ones(contexts.shape[0], bool) if mask is None else jnp.asarray(mask, bool)
        key_explore, key_choose = jax.random.split(key)
        beliefs = self._beliefs(state, contexts, mask)
        scores = self.explorer.scores(key_explore, beliefs, jnp.asarray(count))
        choice = self.chooser.choose(key_choose, scores, mask)
        decision = decide(contexts, scores, mask, choice)
        if not hasattr(beliefs, "memo"):
            return decision
        return replace(decision, memo=beliefs.memo(decision.items, mask))

    def scores(self, state: State, key: Array, contexts: Array, count: Array) -> Array:
        """(n,) the explorer's scores: the part of `select` that is always compiled."""
        beliefs = self.model.beliefs(state, contexts, self.width)
        return self.explorer.scores(key, beliefs, count)

    def _beliefs(self, state: State, contexts: Array, mask: Array) -> Any:
        """What the model believes; a plan is told which arms are on offer."""
        beliefs = self.model.beliefs(state, contexts, self.width)
        return beliefs.offered(mask) if hasattr(beliefs, "offered") else beliefs

    @double
    def propensities(
        self,
        state: State,
        contexts: Array,
        count: Array | int,
        mask: Array | None = None,
        *,
        positions: bool = False,
    ) -> Array:
        """(n,) the exact chance of every arm to be chosen by `select`: to be in the set, where it is a set.

        With `positions` (k, n), the chance to stand at each of them, the best first.

        For policies that choose one arm, or the k best, by one of finitely many scores: greedy,
        epsilon-greedy, uniform, UCB, ensembles (the share of the members that would choose the arm), and
        warm-ups before them. Tied arms share what is left.
        """
        top = getattr(self.chooser, "top", None)
        if top is None:
            must = "chooser must choose one arm, or any k, for propensities of arms"
            raise TypeError(f"{self.name}: {must}, got {type(self.chooser).__name__}")
        contexts = jnp.asarray(contexts, FLOAT)
        mask = jnp.ones(contexts.shape[0], bool) if mask is None else jnp.asarray(mask, bool)
        beliefs = self._beliefs(state, contexts, mask)
        chances, scores = options_of(self.name, self.explorer, beliefs, jnp.asarray(count))
        offered = jnp.where(mask[None], scores, -jnp.inf)
        # XLA sorts float64 to select from it, so that one arm is found by the maximum.
        ranked = jnp.max(offered, axis=1, keepdims=True) if top == 1 else jax.lax.top_k(offered, top)[0]
        if positions:
            return _at_positions(chances, offered, mask, ranked)
        threshold = ranked[:, -1:]  # of every option
        above, tied = offered > threshold, (offered == threshold) & mask[None]
        taken, sharing = (jnp.sum(one, axis=1, dtype=FLOAT, keepdims=True) for one in (above, tied))
        left = (top - taken) / jnp.maximum(sharing, 1.0)
        found = chances @ jnp.where(above, 1.0, jnp.where(tied, left, 0.0))
        return jnp.minimum(found, 1.0)  # 25 times 1 / 25 is more, by a rounding

    @double
    def observe(self, state: State, key: Array, event: Event) -> State:
        """Return the state with the event recorded; the fit stays as it was."""
        event = replace(
            event,
            features=jnp.asarray(event.features, FLOAT),
            feedback=jnp.asarray(event.feedback, FLOAT),
        )
        return replace(state, record=self.model.observe(state, key, event, self.width))

    @double
    def learn(self, state: State, key: Array) -> Any:
        """Return a new fit of the record, to be swapped in."""
        return self.model.learn(state, key, self.width)


def _at_positions(chances: Array, offered: Array, mask: Array, ranked: Array) -> Array:
    """(k, n) for options (j,) with scores (j, n), the highest of which are (j, k).

    A position belongs to the arms whose score has its rank; ties are broken at random, so each is as likely.
    """
    tied = (offered[:, None] == ranked[:, :, None]) & mask[None, None]
    sharing = jnp.sum(tied, axis=2, keepdims=True, dtype=FLOAT)
    found = jnp.einsum("j,jkn->kn", chances, tied.astype(FLOAT) / jnp.maximum(sharing, 1.0))
    return jnp.minimum(found, 1.0)


def decide(contexts: Array, scores: Any, mask: Array, choice: Choice) -> Decision:
    """Return the decision that takes `choice` among contexts (n, d) with scores (n,), or those of pairs."""
    finite: Array
    if isinstance(scores, PairScores | LayerScores):
        scores, finite = scores.mean, scores.finite(mask)
    else:
        finite = jnp.all(jnp.isfinite(scores) | ~mask)
    items = jnp.asarray(choice.items, jnp.int32)  # oracles of users may answer in another type
    index = jnp.maximum(items, 0)
    return Decision(
        items=items,
        mask=choice.mask,
        features=jnp.where(choice.mask[:, None], contexts[index], 0.0),
        scores=jnp.where(choice.mask, scores[index], 0.0),
        healthy=choice.feasible & finite,
    )
