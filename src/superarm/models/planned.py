"""A model that brings a plan for the first decisions: how often to try each arm, by a G-optimal design.

The plan is a function of the arms on offer. It is made at the first decision, comes back with the event, and
stays in the record from then on; it is made again only while no feedback has come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from superarm.contract import Beliefs, Model, Special, Whitened, Width
from superarm.models.design import g_optimal_weights, rounded_counts
from superarm.pytree import pytree, static
from superarm.types import Array, DuelScores, Event, Spec, State


@pytree
@dataclass(frozen=True)
class PlannedRecord:
    """record: the model's; counts: (n,) tries per arm; known: whether the plan has been made."""

    record: Any
    counts: Array
    known: Array


@pytree
@dataclass(frozen=True)
class PlannedMemo:
    """memo: the model's; counts: (n,) the plan."""

    memo: Any
    counts: Array


@pytree
@dataclass(frozen=True)
class PlannedBeliefs(Beliefs):
    """The model's beliefs, with the plan."""

    beliefs: Any
    contexts: Array
    counts: Array
    known: Array
    rounds: int = static()

    def offered(self, mask: Array) -> PlannedBeliefs:
        """The same with a plan of the arms on offer alone: a row of zeros has no place in a design."""
        contexts = jnp.where(mask[:, None], self.contexts, 0.0)
        return replace(self, beliefs=self.beliefs.offered(mask), contexts=contexts)

    def plan(self) -> Array:
        """(n,) how often each arm is tried."""
        return jax.lax.cond(
            self.known,
            lambda: self.counts,
            lambda: rounded_counts(self.rounds, g_optimal_weights(self.contexts)[0]),
        )

    def memo(self, items: Array, mask: Array) -> PlannedMemo:
        """What observing items (k,), chosen among the arms of the mask, keeps."""
        return PlannedMemo(self.beliefs.memo(items, mask), self.plan())

    def cache(self, items: Array) -> Any:
        """As the model's."""
        return self.beliefs.cache(items)

    def whitened_rows(self) -> Whitened | None:
        """As the model's."""
        found: Whitened | None = self.beliefs.whitened_rows()
        return found

    def covariance(self) -> Array:
        """As the model's."""
        found: Array = self.beliefs.covariance()
        return found

    @property
    def num_members(self) -> int:
        """As the model's."""
        count: int = self.beliefs.num_members
        return count

    @property
    def layers(self) -> DuelScores:
        """As the model's."""
        found: DuelScores = self.beliefs.layers
        return found

    def in_blocks(self) -> PlannedBeliefs:
        """As the model's, with the plan."""
        return replace(self, beliefs=self.beliefs.in_blocks())

    @property
    def mean(self) -> Array:
        """As the model's."""
        return self.beliefs.mean

    @property
    def logdet(self) -> Array:
        """As the model's."""
        return self.beliefs.logdet

    @property
    def members(self) -> Array:
        """As the model's."""
        return self.beliefs.members

    def member(self, index: Array) -> Array:
        """As the model's."""
        return self.beliefs.member(index)

    def norms(self) -> Array:
        """As the model's."""
        return self.beliefs.norms()

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """As the model's."""
        return self.beliefs.draws(key, scale, num, joint)


@pytree
@dataclass(frozen=True)
class Planned(Model):
    """Another model, with a plan of `rounds` decisions for the explorer `WarmUp`."""

    model: Model
    rounds: int = static()

    batches: ClassVar[bool] = (
        False  # a plan is made under a condition, which a batch would meet in every round
    )

    @property
    def by_arm(self) -> bool:
        """Yes: a plan is one of arms."""
        return True

    @property
    def gives(self) -> frozenset[Special]:
        """The plan, and what the model gives."""
        return self.model.gives | {"plan"}

    @property
    def inner(self) -> Model:
        """The model."""
        return self.model

    def failures(self, state: State) -> Array:
        """() fits that diverged."""
        return self.model.failures(_inner(state))

    def as_ensemble(self, state: State) -> tuple[Any, State] | None:
        """That of the model: its plan has no part in a fit."""
        return self.model.as_ensemble(_inner(state))

    @property
    def learn_every(self) -> int | None:
        """As the model."""
        return self.model.learn_every

    def check(self, spec: Spec, width: Width | None) -> None:
        """Let the model check."""
        self.model.check(spec, width)

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return the model's start, without a plan."""
        state = self.model.init(key, spec, width)
        counts = jnp.zeros(spec.num_arms, jnp.int64)
        return State(PlannedRecord(state.record, counts, jnp.zeros((), bool)), state.fit)

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> PlannedBeliefs:
        """Return what the model believes."""
        record = state.record
        beliefs = self.model.beliefs(_inner(state), contexts, width)
        return PlannedBeliefs(beliefs, contexts, record.counts, record.known, self.rounds)

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> PlannedRecord:
        """Return the model's record, and the plan that came back."""
        record, memo = state.record, event.memo
        counts, known = record.counts, record.known
        if isinstance(memo, PlannedMemo):
            counts, known = jnp.where(known, counts, memo.counts), jnp.ones((), bool)
            event = replace(event, memo=memo.memo)
        inner = self.model.observe(_inner(state), key, event, width)
        return PlannedRecord(inner, counts, known)

    def learn(self, state: State, key: Array, width: Width | None) -> Any:
        """Return the model's fit."""
        return self.model.learn(_inner(state), key, width)


def _inner(state: State) -> State:
    """The model's state."""
    return State(state.record.record, state.fit)
