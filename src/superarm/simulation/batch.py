"""Several policies of one structure in one compiled run, on the world of one seed.

Rounds and fits are mapped over the policies; what depends on the seed alone, contexts and keys, is computed
once for all. Processor seconds of a run in a batch of b, and of one run after another, compiling aside, on
one core of a busy machine:

    policy                                                rounds    b   in a batch   alone
    lin_ucb, d = 10, 20 arms                                1000   25        0.003    0.04
    comb_lin_ts, d = 40, 4 of 100 arms                       500   10        0.012    0.08
    neural_ucb, 20 units, diagonal, last 100 rounds          500   10        0.015    0.05
    neural_ucb, 20 units, diagonal, all history             1000   25        0.11     0.17
    neural_ucb, 20 units, full (420 x 420)                   500   10        0.16     0.16
    cn_ucb, 100 units, d = 80, diagonal, last 100 rounds     100   12        0.24     0.24
    neural_ucb, 20 units, dual                              1000   10        4.1      1.1

What a batch saves is the world's work and the overhead of small operations. What it costs are loops whose
length is a value: their counters are mapped, too, although all members have seen as much. The trips stay the
same, but slices become gathers, and every trip copies what the loop carries: a gradient in a fit, which is
little, but the whole factor in the dual width. So batches are for small states, and `room` says how many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from superarm.contract import Environment
from superarm.jobs.processes import OnRounds
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.simulation.round import Keys, SimulationError, keys_of, play_round, round_keys
from superarm.simulation.run import CHUNK, _init_world, _until_learn, run_seed
from superarm.types import Array, Spec, State

MAX_BATCH = 25  # policies per batch: more gain little, and leave other cores without work
MAX_STATE_BYTES = (
    4_000_000  # bytes of a batch's states: beyond it they fall out of the cache, and batches lose
)
MIN_BATCH = 4  # a smaller batch gains nothing


@dataclass(frozen=True)
class Batch:
    """Runs of one seed; the last policies may be there to fill it up.

    Args:
        policies: of one structure, when they run together.
        count: how many of them are wanted.
        axes: per leaf of a policy, 0 where the leaf differs between policies, else None; () to run alone.
    """

    policies: tuple[Policy | Anytime, ...]
    count: int
    axes: tuple[int | None, ...]
    environment: Environment
    rounds: int
    seed: int


@dataclass(frozen=True)
class Total:
    """What a run came to; infinite regret when it could not go on."""

    regret: float
    reward: float
    refused_fits: int

    @classmethod
    def of(cls, regret: float, reward: float, refused_fits: int = 0, sound: bool = True) -> Total:
        """Return the totals of a run, lost ones included."""
        if not (sound and math.isfinite(regret) and math.isfinite(reward)):
            return cls(math.inf, -math.inf, refused_fits)
        return cls(regret, reward, refused_fits)


def run_batch(batch: Batch, on_rounds: OnRounds) -> list[Total]:
    """Run a batch in this process, together or one after another; return a total per wanted policy."""
    left = batch.count * batch.rounds

    def count(rounds: int) -> None:
        nonlocal left
        left -= rounds
        on_rounds(rounds)

    totals = _together(batch, count) if batch.axes else [_alone(batch, p, count) for p in batch.policies]
    on_rounds(left)  # of runs that could not go on
    return totals[: batch.count]


def can_join(policy: Policy | Anytime, environment: Environment) -> TypeGuard[Policy]:
    """Whether such policies can run together: all is compiled, and one policy lasts from first to last.

    Some models cannot: a plan is made under a condition, which a batch would meet in every round.
    """
    return isinstance(policy, Policy) and policy.traits.batches and environment.native


@double
def room(policy: Policy, environment: Environment, rounds: int) -> int:
    """How many such policies are best run together; 1 to run them one after another."""
    state = jax.eval_shape(partial(policy.init, spec=_spec(policy, environment, rounds)), jax.random.key(0))
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    fitting = min(MAX_BATCH, MAX_STATE_BYTES // max(size, 1))
    return fitting if fitting >= MIN_BATCH else 1


def differing(policies: Sequence[Policy | Anytime]) -> tuple[int | None, ...]:
    """Per leaf of the policies, 0 where it differs between them, else None."""
    columns = zip(*(jax.tree.leaves(policy) for policy in policies), strict=True)
    return tuple(
        None if all(np.array_equal(column[0], leaf) for leaf in column[1:]) else 0 for column in columns
    )


@pytree
@dataclass(frozen=True)
class _Members:
    """Policies of one structure: leaves that differ are stacked, the others are there once."""

    leaves: tuple[Array, ...]
    structure: Any = static()
    axes: tuple[int | None, ...] = static()
    count: int = static()

    @classmethod
    def of(cls, policies: Sequence[Policy], axes: tuple[int | None, ...]) -> _Members:
        columns = zip(*(jax.tree.leaves(policy) for policy in policies), strict=True)
        leaves = tuple(
            jnp.asarray(column[0]) if axis is None else jnp.stack([jnp.asarray(leaf) for leaf in column])
            for axis, column in zip(axes, columns, strict=True)
        )
        return cls(leaves, jax.tree.structure(policies[0]), axes, len(policies))

    def each(self, function: Callable[..., Any], *axes: int | None) -> Callable[..., Any]:
        """Return function(policy, ...) for all policies at once; `axes` are those of its other arguments."""

        def one(leaves: tuple[Array, ...], *arguments: Any) -> Any:
            return function(jax.tree.unflatten(self.structure, leaves), *arguments)

        return partial(jax.vmap(one, in_axes=(self.axes, *axes), axis_size=self.count), self.leaves)


@pytree
@dataclass(frozen=True)
class _Sums:
    """Sums over rounds, and whether every decision was sound. Shapes () for one policy."""

    regret: Array
    reward: Array
    sound: Array


def _alone(batch: Batch, policy: Policy | Anytime, on_rounds: OnRounds) -> Total:
    """One ordinary run; those that follow find it compiled."""
    try:
        table = run_seed(
            policy,
            batch.environment,
            rounds=batch.rounds,
            seed=batch.seed,
            record_every=batch.rounds,
            on_rounds=on_rounds,
        )
    except SimulationError:
        return Total.of(math.inf, -math.inf, sound=False)
    return Total.of(
        float(table["regret"].sum(skipna=False)), float(table["reward"].sum()), table.attrs["refused_fits"]
    )


@double
def _together(batch: Batch, on_rounds: OnRounds) -> list[Total]:
    """A host loop over compiled chunks, as in `run`; the round counter is the same for all."""
    policies = [policy for policy in batch.policies if isinstance(policy, Policy)]  # all: `can_join`
    policy, environment, rounds = policies[0], batch.environment, batch.rounds
    members, keys = _Members.of(policies, batch.axes), keys_of(batch.seed)
    world = _init_world(environment, keys.world)
    first = _first_states(members, keys.init, _spec(policy, environment, rounds))
    # Copied, since chunks take over the state's buffers and a fresh state may use one twice.
    state: State = jax.tree.map(jnp.array, first)
    zeros = jnp.zeros(members.count, FLOAT)
    sums = _Sums(regret=zeros, reward=zeros, sound=jnp.ones(members.count, bool))
    start, every = 0, policy.learn_every
    while start < rounds and np.any(sums.sound):
        length = min(CHUNK, rounds - start, CHUNK if every == 1 else _until_learn(policy, start))
        state, sums = _chunk(
            members, environment, world, keys, state, sums, np.int64(start), np.int64(length)
        )
        start += length
        if every not in (None, 1) and start % every == 0:  # fits of every round are in the chunk
            state = replace(state, fit=_learn(members, state, keys.learn, np.int64(start)))
        on_rounds(length * batch.count)
    failures = np.asarray(members.each(lambda policy, state: policy.model.failures(state), 0)(state))
    refused = failures.reshape(members.count, -1).sum(axis=1)  # of all members, in an ensemble
    columns = (np.asarray(column).tolist() for column in (sums.regret, sums.reward, refused, sums.sound))
    return [Total.of(*row) for row in zip(*columns, strict=True)]


def _spec(policy: Policy, environment: Environment, rounds: int) -> Spec:
    # As in `run`: models that only observe keep no history.
    capacity = 0 if policy.learn_every is None else rounds * policy.chooser.size
    return replace(environment.spec, capacity=capacity)


@partial(jax.jit, static_argnames=("spec",))
def _first_states(members: _Members, key: Array, spec: Spec) -> State:
    return members.each(lambda policy, key: policy.init(key, spec), None)(key)


@jax.jit
def _learn(members: _Members, state: State, key: Array, count: Array) -> Any:
    key = jax.random.fold_in(key, count)
    return members.each(lambda policy, state, key: policy.learn(state, key), 0, None)(state, key)


@partial(jax.jit, donate_argnames=("state",))
def _chunk(
    members: _Members,
    environment: Environment,
    world: Any,
    keys: Keys,
    state: State,
    sums: _Sums,
    start: Array,
    length: Array,
) -> tuple[State, _Sums]:
    """Run `length` rounds from `start`; both are values, so a short last chunk compiles nothing."""

    def one(policy: Policy, state: State, sums: _Sums, count: Array) -> tuple[State, _Sums]:
        state, trace = play_round(policy, environment, world, False, state, round_keys(keys, count), count)
        if policy.learn_every == 1:
            fit = policy.learn(state, jax.random.fold_in(keys.learn, count + 1))
            state = replace(state, fit=fit)
        return state, _Sums(
            regret=sums.regret + trace.regret,
            reward=sums.reward + trace.reward,
            sound=sums.sound & trace.healthy,
        )

    step = members.each(one, 0, 0, None)
    return jax.lax.fori_loop(0, length, lambda index, carry: step(*carry, start + index), (state, sums))
