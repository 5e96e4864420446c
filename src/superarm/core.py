"""The part of an agent that learns: counts, epochs, fits and room, as a function of what happened in order.

The same decisions, events and fits in the same order give the same state, bit for bit. It knows of no
files, clocks or threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from superarm import checks, engine
from superarm.algebra import Epoch, Policy
from superarm.engine import Chances
from superarm.errors import NoChoiceError, StoreError
from superarm.frames import bounded
from superarm.precision import double
from superarm.propensity import Propensity
from superarm.rounds import Keys, keys_of
from superarm.types import Decision, Event, Spec, State

ROOM = 1024  # observations to begin with, of a state that keeps all history
NDArray = np.ndarray[Any, Any]


PARTS = ("items", "features", "feedback", "observed")


@dataclass(frozen=True)
class Happened:
    """What was observed: items (k,), features (k, d), feedback (k,), observed (k,) and the memo."""

    items: NDArray
    features: NDArray
    feedback: NDArray
    observed: NDArray
    memo: Any = ()

    @property
    def event(self) -> Event:
        """As policies take it."""
        parts: Any = (self.items, self.features, self.feedback, self.observed, self.memo)
        return Event(*parts)


@dataclass(frozen=True)
class Taken:
    """A state to fit aside, after so many updates of an epoch."""

    policy: Policy
    state: State
    keys: Keys
    origin: int
    updates: int
    number: int

    def fit(self) -> Any:
        """Return a fit."""
        return engine.learn(self.policy, self.state, self.keys, self.origin + self.updates)


class Core:
    """A policy at work."""

    def __init__(self, policy: Any, *, seed: int, spec: Spec, most: int, learns: bool) -> None:
        """Begin.

        Args:
            policy: a `Policy`, or an `Anytime` one.
            seed: of all chance.
            spec: the size of the problem; its capacity is not used.
            most: observations that a policy which keeps all history may keep.
            learns: whether a fit is made when it is due; otherwise by `learned` alone.
        """
        self.whole, self.seed, self.most, self.learns = policy, seed, most, learns
        self.decisions = 0
        self.spec = spec
        self.state: State
        self.events: list[Happened] = []  # kept for epochs that replay
        with jax.enable_x64(True):
            self.keys = keys_of(seed)
        self._enter(0)

    @property
    def size(self) -> int:
        """Slots of a decision."""
        return self.whole.chooser.size

    @property
    def count(self) -> int:
        """Decisions as the policy counts them."""
        return self.decisions - self.epoch.origin

    @property
    def refused_fits(self) -> int:
        """Fits that diverged and were refused."""
        return int(np.sum(np.asarray(getattr(self.state.fit, "failures", 0))))

    def advance(self) -> None:
        """Begin the next epoch, if one is due."""
        while self.decisions >= self.epoch.stop:
            self._enter(self.number + 1)

    def choose(
        self, contexts: NDArray, mask: NDArray, chances: Chances
    ) -> tuple[Decision, Propensity | None]:
        """Choose in the next decision; nothing but the epoch changes until `decided`."""
        self.advance()
        decision, found = engine.select(
            self.policy, self.state, self.keys, self.decisions, self.count, contexts, mask, chances
        )
        return _sound(self.policy, decision), found

    def predict(self, contexts: NDArray, mask: NDArray) -> Decision:
        """Choose the best by the mean."""
        decision = engine.predict(
            self.policy, self.state, self.keys, self.decisions, self.count, contexts, mask
        )
        return _sound(self.policy, decision)

    def decided(self) -> int:
        """Count a decision, and return its number."""
        self.advance()
        self.decisions += 1
        return self.decisions - 1

    def make_room(self, observations: int) -> None:
        """Raise if the policy keeps all that it observes, and may not keep so many more."""
        if self.keeps_all and self.observations + observations > self.most:
            raise ValueError(
                f"{self.policy.name}: at most {self.most} observations must be kept, and as many came; raise "
                "max_observations, or choose memory='reservoir' or 'window'"
            )

    def observe(self, number: int, happened: Happened, epoch: int) -> None:
        """Record what came of a decision that was made in an epoch, and learn if that is due."""
        if self.replays:
            self.events.append(replace(happened, memo=()))
        if epoch != self.number:
            happened = replace(happened, memo=())  # another policy's
        self._record(number, happened)

    def fit_now(self) -> Any:
        """Return a fit of what has been recorded."""
        origin = self.epoch.origin
        return Taken(self.policy, self.state, self.keys, origin, self.updates, self.number).fit()

    def snapshot(self) -> Taken:
        """Return what a fit needs, so that it can be made while observing goes on."""
        state, origin = engine.copied(self.state), self.epoch.origin
        return Taken(self.policy, state, self.keys, origin, self.updates, self.number)

    def learned(self, fit: Any) -> None:
        """Take a fit over."""
        self.state = replace(self.state, fit=fit)

    @property
    def due(self) -> bool:
        """Whether a fit is due after the last event."""
        every = self.policy.learn_every
        return every is not None and self.updates > 0 and self.updates % every == 0

    @double
    def _enter(self, number: int) -> None:
        """Begin an epoch."""
        self.number = number
        self.epoch: Epoch = _epoch(self.whole, number)
        self.policy: Policy = self.epoch.policy
        self.replays = self.epoch.replay
        self.updates = self.observations = 0
        self.keeps_all = engine.keeps_all(self.policy, self._sized(0))
        self.capacity = min(ROOM, self.most) if self.keeps_all else 0
        self.key_init = jax.random.fold_in(self.keys.init, number) if number else self.keys.init
        self.state = engine.begin(self.policy, self.key_init, self._sized(self.capacity))
        if self.replays:
            for index, happened in enumerate(self.events):
                self._record(index, happened)

    def _record(self, number: int, happened: Happened) -> None:
        seen = int(np.sum(happened.observed))
        self._grow(seen)
        self.state = engine.observe(self.policy, self.state, self.keys, number, happened.event)
        self.updates += 1
        self.observations += seen
        if self.learns and self.due:
            self.learned(self.fit_now())

    def _grow(self, more: int) -> None:
        if not self.keeps_all or self.observations + more <= self.capacity:
            return
        while self.capacity < self.observations + more:
            self.capacity = min(2 * self.capacity, max(self.most, self.observations + more))
        spec = self._sized(self.capacity)
        self.state = engine.grown(self.policy, self.key_init, self.state, spec)

    def _sized(self, capacity: int) -> Spec:
        return replace(self.spec, capacity=capacity)

    # What is kept on disk

    def counts(self) -> dict[str, int]:
        """Return what the arrays do not say."""
        return {
            "decisions": self.decisions,
            "epoch": self.number,
            "updates": self.updates,
            "observations": self.observations,
            "capacity": self.capacity,
        }

    def arrays(self) -> dict[str, NDArray]:
        """Return the state, and the events that later epochs replay."""
        leaves = jax.tree_util.tree_leaves_with_path(self.state)
        found = {f"state{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}
        if self.events:
            for name in PARTS:
                found[f"events.{name}"] = np.stack([getattr(one, name) for one in self.events])
        return found

    @double
    def restore(self, arrays: Mapping[str, NDArray], counts: Mapping[str, Any]) -> None:
        """Take over what `arrays` and `counts` of another core said."""
        where = "state file"
        numbers = {name: checks.count(where, name, counts.get(name), low=0) for name in self.counts()}
        if "events.items" in arrays:
            parts = [arrays[f"events.{name}"] for name in PARTS]
            self.events = [Happened(*row) for row in zip(*parts, strict=True)]
        events, self.events = self.events, []  # not to be replayed: the state has them
        self._enter(numbers["epoch"])
        self.events = events
        self.decisions = numbers["decisions"]
        self.updates, self.observations = numbers["updates"], numbers["observations"]
        self.capacity = numbers["capacity"]
        shapes = engine.state_shapes(self.policy, self._sized(self.capacity))
        leaves, structure = jax.tree_util.tree_flatten_with_path(shapes)
        self.state = jax.tree.unflatten(
            structure, [_leaf(arrays, f"state{jax.tree_util.keystr(path)}", shape) for path, shape in leaves]
        )


def happened_in(where: str, log: Any, size: int, allowed: tuple[float, float] | None) -> list[Happened]:
    """What a log of single choices or sets says happened, for a policy of `size` slots."""
    count = len(log.rewards)
    actions, rewards = (np.asarray(one).reshape(count, -1) for one in (log.actions, log.rewards))
    slots = actions.shape[1]
    if slots > size:
        raise ValueError(f"{where}: log must have sets of at most {size}, as the policy, got {slots}")
    seen = actions >= 0
    if log.observed is not None:
        seen &= np.asarray(log.observed).reshape(count, -1)
    if allowed is not None:
        checks.between(where, "rewards", rewards[seen], *allowed)
    chosen = np.take_along_axis(np.asarray(log.contexts), np.maximum(actions, 0)[:, :, None], axis=1)
    bounded(where, "contexts", chosen)
    bounded(where, "rewards", rewards[seen])
    rest = ((0, 0), (0, size - slots))
    parts = (
        np.pad(actions, rest, constant_values=-1).astype(np.int32),
        np.pad(np.where((actions >= 0)[:, :, None], chosen, 0.0), (*rest, (0, 0))),
        np.pad(np.where(seen, rewards, 0.0), rest),
        np.pad(seen, rest),
    )
    return [Happened(*row) for row in zip(*parts, strict=True)]


def _epoch(policy: Any, number: int) -> Epoch:
    """Epoch `number`, as long as it is planned."""
    if isinstance(policy, Policy):
        return Epoch(policy=policy, start=0, stop=2**62, replay=False)
    rounds = 1
    while len(epochs := policy.epochs(rounds)) < number + 2:
        rounds *= 2
    found: Epoch = epochs[number]
    return found


def _leaf(arrays: Mapping[str, NDArray], name: str, shape: Any) -> Any:
    if name not in arrays or arrays[name].shape != shape.shape or arrays[name].dtype != shape.dtype:
        got = f"{arrays[name].dtype} {arrays[name].shape}" if name in arrays else "nothing"
        raise StoreError(
            f"state file: is of another policy: {name} must be {shape.dtype} {shape.shape}, got {got}"
        )
    return jax.numpy.array(arrays[name])


def _sound(policy: Policy, decision: Decision) -> Decision:
    if not bool(decision.healthy):
        raise NoChoiceError(
            f"{policy.name}: no sound choice: nothing feasible is on offer, or a score was not finite"
        )
    return decision
