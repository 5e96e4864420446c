"""The part of an agent that learns: counts, epochs, fits and room, as a function of what happened in order.

The same decisions, events and fits in the same order give the same state, bit for bit. It knows of no
clocks or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from superarm import checks
from superarm.agent import inspection
from superarm.agent.arms import Offered
from superarm.agent.compiled import (
    CompiledPolicy,
    Leaves,
    Observation,
    OfferBuffer,
    PropensityRule,
    RawDecision,
)
from superarm.agent.numpy_linear import FORM, NumpyLinear, usable
from superarm.errors import NoChoiceError, StoreError
from superarm.features.tables import bounded
from superarm.policy import Epoch, Policy
from superarm.precision import double
from superarm.simulation.round import keys_of
from superarm.types import Spec, State

FIRST_CAPACITY = 1024  # observations to begin with, of a state that keeps all history
NDArray = np.ndarray[Any, Any]


PARTS = ("items", "features", "feedback", "observed")


@dataclass(frozen=True)
class LearnerSnapshot:
    """A policy and the leaves of a state, after so many updates of an epoch and `count` decisions."""

    compiled: CompiledPolicy
    structure: Any
    leaves: Leaves
    origin: int
    updates: int
    number: int
    count: int

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.compiled.policy

    @property
    def state(self) -> State:
        """Its state."""
        found: State = jax.tree.unflatten(self.structure, self.leaves)
        return found

    def fit(self) -> Leaves:
        """Return the leaves of a fit."""
        return self.compiled.learn(self.leaves, self.origin + self.updates)


@dataclass
class EpochRun:
    """A policy at work in one epoch.

    Attributes:
        number: of the epoch; epoch: its policy and its length; dim: features per arm.
        compiled: the policy's functions; structure, leaves: of its state.
        capacity: observations that the state has room for, where it keeps all.
        origin: the decision that the policy counts from.
        updates, observations: of this policy's so far.
        plain: what observes in NumPy, and owns the leaves; None where the compiled functions do.
    """

    number: int
    epoch: Epoch
    dim: int
    key: Any
    compiled: CompiledPolicy
    structure: Any
    leaves: Leaves
    keeps_all: bool
    capacity: int
    learn_every: int | None
    origin: int
    updates: int = 0
    observations: int = 0
    plain: NumpyLinear | None = None
    greedy: CompiledPolicy | None = None  # for predictions, once there was one
    memo: Any = None  # the shapes of a decision's, once they were asked for

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.epoch.policy

    @property
    def state(self) -> State:
        """Of the policy."""
        found: State = jax.tree.unflatten(self.structure, self.leaves)
        return found

    def use(self, form: int) -> None:
        """Observe by NumPy, where `form` and the policy allow it, or by the compiled function; bits stay."""
        wanted = form == FORM and usable(self.policy, self.dim)
        if wanted and self.plain is None:
            self.plain = NumpyLinear(self.policy, self.state)
            self.leaves = self.plain.leaves
        elif not wanted and self.plain is not None:
            # Buffers of JAX's own: the compiled function takes them over.
            self.plain, self.leaves = None, [jax.numpy.array(leaf) for leaf in self.leaves]

    def observe(self, number: int, observation: Observation) -> None:
        """Take in what came of decision `number`."""
        if self.plain is not None:
            self.plain.observe(observation)
        else:
            self.leaves = self.compiled.observe(self.leaves, number, observation)

    def learned(self, fit: Leaves) -> None:
        """Take a fit over: the last leaves of the state."""
        self.leaves = self.leaves[: len(self.leaves) - len(fit)] + fit

    @property
    def due(self) -> bool:
        """Whether a fit is due after the last event."""
        every = self.learn_every
        return every is not None and self.updates > 0 and self.updates % every == 0


class Learner:
    """A policy at work."""

    def __init__(
        self, policy: Any, *, seed: int, spec: Spec, max_observations: int, learns: bool, form: int = FORM
    ) -> None:
        """Begin.

        Args:
            policy: a `Policy`, or an `Anytime` one.
            seed: of all chance.
            spec: the size of the problem; its capacity is not used.
            max_observations: that a policy which keeps all history may keep.
            learns: whether a fit is made when it is due; otherwise by `learned` alone.
            form: what observes; see `numpy_linear`.
        """
        self.whole, self.spec = policy, spec
        self.max_observations, self.learns, self.form = max_observations, learns, form
        self.decisions = 0
        self.events: list[Observation] = []  # kept for epochs that replay
        self._replayed = 0  # observations in them
        with jax.enable_x64(True):
            self.keys = keys_of(seed)
        self.run = self._begun(0)
        self._coming: EpochRun | None = None  # the next, where it has been looked at and not been begun

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.run.policy

    @property
    def state(self) -> State:
        """Its state."""
        return self.run.state

    @property
    def number(self) -> int:
        """Of the epoch."""
        return self.run.number

    @property
    def updates(self) -> int:
        """Events that the policy in force has observed."""
        return self.run.updates

    @property
    def refused_fits(self) -> int:
        """Fits that diverged and were refused."""
        return int(np.sum(np.asarray(self.policy.model.failures(self.state))))

    @double
    def use(self, form: int) -> None:
        """Observe by another form from now on; see `numpy_linear`."""
        self.form, self._coming = form, None
        self.run.use(form)

    def choose(
        self, offered: Offered, place: Callable[[Offered], OfferBuffer], rule: PropensityRule
    ) -> tuple[RawDecision, int]:
        """Choose in the next decision; return the epoch, too. Nothing is changed until `decided`.

        Args:
            offered: what is on offer.
            place: puts the arms in their places, for the compiled function.
            rule: how probabilities are found.
        """
        run = self.run if self.decisions < self.run.epoch.stop else self.upcoming()
        if run.plain is not None and rule.floor is None:  # uniform choices are the compiled function's
            found = run.plain.select(offered.contexts, None if offered.all else offered.mask)
            if found is not None:
                return found, run.number
        number = self.decisions
        raw = run.compiled.select(run.leaves, number, number - run.origin, place(offered), rule)
        return (raw if raw.healthy else self.sound(raw)), run.number

    def choose_all(
        self, buffers: Sequence[OfferBuffer], rule: PropensityRule
    ) -> tuple[list[RawDecision], int]:
        """As `choose` in the next decisions, one per buffer, if these are at most `at_once` of one shape."""
        run = self.upcoming()
        count = self.decisions - run.origin
        return run.compiled.select_all(run.leaves, self.decisions, count, buffers, rule), run.number

    def at_once(self, rule: PropensityRule) -> int:
        """How many decisions are made in one call: those of an epoch, where all is compiled."""
        run = self.upcoming()
        if not run.policy.native or (run.plain is not None and rule.floor is None):
            return 1
        return run.epoch.stop - self.decisions

    def predict(self, buffer: OfferBuffer) -> RawDecision:
        """Choose the best by the mean; ties are broken by the key of the next decision."""
        run = self.run
        run.greedy = run.greedy or CompiledPolicy(run.policy.greedy(), run.state, self.keys)
        count = self.decisions - run.origin
        return self.sound(run.greedy.select(run.leaves, self.decisions, count, buffer, PropensityRule()))

    def sound(self, decided: RawDecision) -> RawDecision:
        """Return a decision; refuse one that is not sound."""
        if not decided.healthy:
            why = "nothing feasible is on offer, or a score was not finite"
            raise NoChoiceError(f"{self.policy.name}: no sound choice: {why}")
        return decided

    def shortlist(self, features: Any, size: int) -> NDArray:
        """(size,) rows of the best by the scores of the next decision."""
        from superarm.agent.shortlist import best_of

        run = self.upcoming()
        count = self.decisions - run.origin
        return best_of(run.policy, run.state, self.keys, self.decisions, count, features, size)

    def decided(self) -> int:
        """Count a decision, which may begin an epoch, and return its number."""
        if self.decisions >= self.run.epoch.stop:
            self.run, self._coming = self.upcoming(), None
        self.decisions += 1
        return self.decisions - 1

    def make_room(self, observations: int) -> None:
        """Raise if the policy keeps all that it observes, and may not keep so many more."""
        kept = self.run.observations if self.run.keeps_all else 0
        if self.run.epoch.replay:
            kept = max(kept, self._replayed)
        if kept + observations > self.max_observations and (self.run.keeps_all or self.run.epoch.replay):
            raise ValueError(
                f"{self.policy.name}: at most {self.max_observations} observations must be kept, and as many "
                "came; raise max_observations, or choose memory='reservoir' or 'window'"
            )

    def observe(self, number: int, observation: Observation, epoch: int) -> None:
        """Record what came of a decision that was made in an epoch. `learn_if_due` comes next."""
        self._coming = None  # it may replay what comes now
        if self.run.epoch.replay:
            self.events.append(replace(observation, memo=()))
            self._replayed += int(np.count_nonzero(observation.observed))
        if epoch != self.number:
            observation = replace(observation, memo=())  # another policy's
        self._record(self.run, number, observation)

    @property
    def due(self) -> bool:
        """Whether a fit is due after the last event, and made at once."""
        return self.learns and self.run.due

    def learn_if_due(self) -> None:
        """Make the fit that is due, and take it over."""
        if self.due:
            self.learned(self.fit_now())

    def fit_now(self) -> Leaves:
        """Return a fit of what has been recorded."""
        return self._taken(self.run, self.run.leaves).fit()

    def snapshot(self) -> LearnerSnapshot:
        """Return what a fit needs, so that it can be made while observing goes on."""
        return self._taken(self.run, [leaf.copy() for leaf in self.run.leaves])

    def learned(self, fit: Leaves) -> None:
        """Take a fit over."""
        self.run.learned(fit)

    def _taken(self, run: EpochRun, leaves: Leaves) -> LearnerSnapshot:
        count = self.decisions - run.origin
        return LearnerSnapshot(
            run.compiled, run.structure, leaves, run.origin, run.updates, run.number, count
        )

    def upcoming(self) -> EpochRun:
        """The epoch of the next decision: the one in force, or the one after it."""
        if self.decisions < self.run.epoch.stop:
            return self.run
        if self._coming is None:
            self._coming = self._begun(self.run.number + 1)
        return self._coming

    @double
    def _begun(self, number: int) -> EpochRun:
        """Begin an epoch: anew, or with all that happened, fitted as it went along."""
        epoch = _epoch(self.whole, number)
        epoch = replace(epoch, policy=inspection.settled(epoch.policy, self.spec, self.max_observations))
        keeps_all = inspection.keeps_all(epoch.policy, replace(self.spec, capacity=0))
        capacity = min(FIRST_CAPACITY, self.max_observations) if keeps_all else 0
        inspection.require_memory(epoch.policy, replace(self.spec, capacity=capacity))
        key = jax.random.fold_in(self.keys.init, number) if number else self.keys.init
        state = inspection.begin(epoch.policy, key, replace(self.spec, capacity=capacity))
        leaves, structure = jax.tree.flatten(state)
        run = EpochRun(
            number=number,
            epoch=epoch,
            dim=self.spec.dim,
            key=key,
            compiled=CompiledPolicy(epoch.policy, state, self.keys),
            structure=structure,
            leaves=leaves,
            keeps_all=keeps_all,
            capacity=capacity,
            learn_every=epoch.policy.learn_every,
            origin=epoch.origin,
        )
        run.use(self.form)
        for index, observation in enumerate(self.events if epoch.replay else ()):
            self._record(run, index, observation)
            if run.due:
                run.learned(self._taken(run, run.leaves).fit())
        return run

    def _record(self, run: EpochRun, number: int, observation: Observation) -> None:
        seen = int(np.count_nonzero(observation.observed))
        self._grow(run, seen)
        run.observe(number, observation)
        run.updates += 1
        run.observations += seen

    def _grow(self, run: EpochRun, more: int) -> None:
        if not run.keeps_all or run.observations + more <= run.capacity:
            return
        while run.capacity < run.observations + more:
            run.capacity = min(2 * run.capacity, max(self.max_observations, run.observations + more))
        spec = replace(self.spec, capacity=run.capacity)
        run.leaves = jax.tree.leaves(inspection.grown(run.policy, run.key, run.state, spec))

    # What is kept on disk

    def counts(self) -> dict[str, int]:
        """Return what the arrays do not say."""
        run = self.run
        return {
            "decisions": self.decisions,
            "epoch": run.number,
            "updates": run.updates,
            "observations": run.observations,
            "capacity": run.capacity,
        }

    def arrays(self) -> dict[str, NDArray]:
        """Return the state, and the events that later epochs replay."""
        leaves = jax.tree_util.tree_leaves_with_path(self.state)
        # Copies, where NumPy observes: it changes its arrays in place, and a backup is written meanwhile.
        taken = np.asarray if self.run.plain is None else np.array
        found = {f"state{jax.tree_util.keystr(path)}": taken(leaf) for path, leaf in leaves}
        if self.events:
            for name in PARTS:
                found[f"events.{name}"] = np.stack([getattr(one, name) for one in self.events])
        return found

    @double
    def restore(self, arrays: Mapping[str, NDArray], counts: Mapping[str, Any]) -> None:
        """Take over what `arrays` and `counts` of another learner said."""
        where = "state file"
        numbers = {name: checks.count(where, name, counts.get(name), low=0) for name in self.counts()}
        if numbers["epoch"] >= len(self.whole.epochs(max(numbers["decisions"], 1))):
            raise StoreError(f"{where}: is damaged: epoch {numbers['epoch']} has not begun by then")
        run = self._begun(numbers["epoch"])  # without events, which the state has taken in
        self.decisions = numbers["decisions"]
        run.updates, run.observations = numbers["updates"], numbers["observations"]
        run.capacity = numbers["capacity"]
        shapes = inspection.state_shapes(run.policy, replace(self.spec, capacity=run.capacity))
        run.leaves = [
            _leaf(arrays, f"state{jax.tree_util.keystr(path)}", shape)
            for path, shape in jax.tree_util.tree_leaves_with_path(shapes)
        ]
        run.plain = None
        run.use(self.form)
        self.run, self._coming = run, None
        if "events.items" in arrays:
            parts = [arrays[f"events.{name}"] for name in PARTS]
            self.events = [Observation(*row) for row in zip(*parts, strict=True)]
            self._replayed = int(np.count_nonzero(arrays["events.observed"]))


def observations_in(
    where: str, log: Any, size: int, allowed: tuple[float, float] | None
) -> list[Observation]:
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
    return [Observation(*row) for row in zip(*parts, strict=True)]


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
