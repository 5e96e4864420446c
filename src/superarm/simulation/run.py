"""One run: a host loop over compiled chunks of rounds.

Progress, fits and errors happen between chunks. Policies or environments that need the host (a SciPy oracle,
a Python world) are stepped round by round behind the same interface.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm import checks
from superarm.compiler import compiled
from superarm.contract import Environment
from superarm.jobs.processes import OnRounds
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.precision import double
from superarm.simulation.host_rounds import stepped_chunks, timed_chunks
from superarm.simulation.lookahead import Lookahead, lookahead_rounds
from superarm.simulation.round import Keys, SimulationError, Trace, keys_of, play_round, round_keys
from superarm.types import Array, Event, Spec, State

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 256  # rounds per compiled call at most: dispatch is lost in it
PACE = 0.1  # seconds per call to aim at, so that progress moves
Chunk = Callable[[State, int, int], tuple[State, Trace]]
COLUMNS = ("regret", "realized_regret", "reward", "value", "best")


@double
def run_seed(
    policy: Policy | Anytime,
    environment: Environment,
    *,
    rounds: int,
    seed: int,
    record_every: int = 1,
    keep_items: bool = False,
    timed: bool = False,
    on_rounds: OnRounds | None = None,
) -> pd.DataFrame:
    """Run one seed in this process; return one row per `record_every` rounds.

    Columns: seed, round (the last of the row, from 1), regret (expected), realized_regret, reward, value
    (expected return), best (the optimum's expected return), seconds, and items when they are kept. Compile
    time is apart, in `attrs["compile_seconds"]`. With `timed` rounds are stepped one by one, and seconds are
    those of the policy alone, with those of choosing in the column choice_seconds. What the environment says
    of its world (`attrs`) joins the table's. A replayed log has a run of its own, whose table is shorter when
    the log ends.
    """
    environment.check()
    keys = keys_of(seed)
    # Compiled as a whole: run piece by piece, an oracle's loop would be compiled anew for every seed.
    world = _init_world(environment, keys.world) if environment.native else environment.init(keys.world)
    traces: list[Trace] = []
    seconds: list[np.ndarray[Any, Any]] = []
    compile_seconds, refused = 0.0, 0
    clock: list[tuple[float, float]] = []
    epochs = policy.epochs(rounds)
    for number, epoch in enumerate(epochs):
        key_init = jax.random.fold_in(keys.init, number) if number else keys.init
        run = run_of(environment)(
            epoch.policy,
            environment,
            world,
            keys,
            seed,
            keep_events=any(later.replay for later in epochs[number + 1 :]),
            origin=epoch.origin,
            timed=timed,
        )
        first = run.begin(key_init, epoch.stop - epoch.origin)
        if epoch.replay:
            first = run.replay(first, traces)
        for state, trace, took in run.rounds(first, epoch.start, epoch.stop):
            traces.append(trace)
            seconds.append(took)
            if on_rounds:
                on_rounds(len(took))
            last = state
        compile_seconds += run.compile_seconds
        clock += run.clock
        refused += int(np.sum(epoch.policy.model.failures(last)))  # of all members, in an ensemble
    spent = {"seconds": np.concatenate(seconds)}
    if timed:
        choice, update = np.array(clock).T
        spent = {"seconds": choice + update, "choice_seconds": choice}
    frame = _table(traces, spent, seed, record_every, keep_items)
    frame.attrs["compile_seconds"] = compile_seconds
    frame.attrs["refused_fits"] = refused
    frame.attrs |= environment.attrs(world)
    return frame


def warn_of_refused_fits(runs: Iterable[tuple[str, pd.DataFrame]]) -> None:
    """Warn of fits that diverged in runs (label, table): the policies went on with the fits before."""
    refused: dict[str, int] = {}
    for label, frame in runs:
        refused[label] = refused.get(label, 0) + frame.attrs.get("refused_fits", 0)
    for label, count in refused.items():
        if count:
            words = f"{label}: {count} fits diverged and were refused, the ones before stayed in force; "
            advice = "lower the learning rate, or use reduction='mean'"
            checks.warn(words + advice)


@singledispatch
def run_of(environment: Any) -> type[Run]:
    """Return the kind of run that an environment has: `Run`, unless its room has registered another."""
    return Run


class Run:
    """One policy of a run, in its world."""

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        world: Any,
        keys: Keys,
        seed: int,
        *,
        keep_events: bool,
        origin: int = 0,
        timed: bool = False,
    ) -> None:
        """Begin nothing yet; decision `origin` of the run is the policy's first."""
        self.policy, self.environment, self.world, self.keys, self.seed = (
            policy,
            environment,
            world,
            keys,
            seed,
        )
        self.keep_events = keep_events
        self.origin = origin
        self.timed = timed
        self.clock: list[tuple[float, float]] = []  # seconds of choosing and of updating, per round
        self.compile_seconds = 0.0

    @property
    def learns_inside(self) -> bool:
        """Whether compiled chunks fit, too: with a fit in every round the host would be in the way."""
        native = self.policy.native and self.environment.native
        return native and self.policy.learn_every == 1 and not self.timed

    def begin(self, key: Array, rounds: int) -> State:
        """Return the first state, with room for all that will be observed."""
        policy = self.policy
        # Models that only observe keep no history, and compile nothing anew for another number of rounds.
        capacity = 0 if policy.learn_every is None else rounds * policy.chooser.size
        spec = replace(self.environment.spec, capacity=capacity)
        state = _init_state(policy, key, spec) if policy.native else policy.init(key, spec)
        # Copied, since chunks take over the state's buffers and a fresh state may use one twice.
        return jax.tree.map(jnp.array, state)

    def chunks(self, state: State) -> tuple[Chunk, float]:
        """Return what runs some rounds, and the seconds that it took to compile."""
        native = self.policy.native and self.environment.native
        step = timed_chunks if self.timed else _compiled_chunks if native else stepped_chunks
        return step(self, state)

    def rounds(self, state: State, start: int, stop: int) -> Iterator[tuple[State, Trace, Any]]:
        """Go from decision `start` to `stop`; yield the state, the trace and the seconds of each chunk."""
        run_chunk, self.compile_seconds = self.chunks(state)
        # Where chunks look ahead, their bounds must not depend on the clock: rounding does on them.
        ahead = lookahead_rounds(self.policy, self.environment, state)
        pace = ahead or 16
        while start < stop:
            until = CHUNK if self.learns_inside else _until_learn(self.policy, start - self.origin)
            asked = min(pace, stop - start, until)
            begun = time.perf_counter()
            state, trace = run_chunk(state, start, asked)
            trace = jax.tree.map(lambda leaf, asked=asked: np.asarray(leaf)[:asked].copy(), trace)
            length = len(trace.healthy)
            start += length
            state = self.learned(state, start) if length and not (self.learns_inside or self.timed) else state
            spent = time.perf_counter() - begun
            took = np.full(length, spent / max(length, 1))
            pace = ahead or _next_pace(pace, spent)
            _require_health(self.policy, trace, self.seed, start - length)
            yield state, trace, took
            if length < asked:  # a log has ended
                return

    def learned(self, state: State, count: int) -> State:
        """Return the state with a new fit, if one is due after `count` decisions."""
        every = self.policy.learn_every
        if every is None or (count - self.origin) % every:
            return state
        return replace(state, fit=_learn(self.policy, state, self.keys.learn, np.int64(count)))

    def replay(self, state: State, traces: list[Trace]) -> State:
        """Observe and learn again what an earlier policy met."""
        start = 0
        for trace in traces:
            # A chunk ends where its policy learned, which may be elsewhere than where this one does.
            left = trace.event
            while (rows := left.feedback.shape[0]) > 0:
                length = min(rows, _until_learn(self.policy, start))
                state = _observe_all(self.policy, state, self.keys, _padded(left, CHUNK), start, length)
                start += length
                state = self.learned(state, start)
                left = jax.tree.map(lambda leaf, length=length: leaf[length:], left)
        return state


@jax.jit
def _init_world(environment: Environment, key: Array) -> Any:
    return environment.init(key)


@jax.jit
def _learn(policy: Policy, state: State, key: Array, count: Array) -> Any:
    return policy.learn(state, jax.random.fold_in(key, count))


@partial(jax.jit, static_argnames=("spec",))
def _init_state(policy: Policy, key: Array, spec: Spec) -> State:
    return policy.init(key, spec)


def _next_pace(pace: int, spent: float) -> int:
    """How many rounds to ask for, after so many took so many seconds."""
    if spent < PACE / 2:
        return min(CHUNK, 2 * pace)
    return max(1, pace // 2) if spent > 2 * PACE else pace


def _until_learn(policy: Policy, start: int) -> int:
    every = policy.learn_every
    return CHUNK if every is None else every - start % every


def _compiled_chunks(run: Run, state: State) -> tuple[Chunk, float]:
    """Return a compiled chunk, from the cache of this process when structure and shapes are known."""
    arguments = (run.policy, run.environment, run.world, run.keys)
    zero = np.int64(0)
    chunk, seconds = compiled(_chunk, *arguments, state, zero, zero, zero, keep_events=run.keep_events)

    def step(state: State, start: int, length: int) -> tuple[State, Trace]:
        return chunk(*arguments, state, np.int64(start), np.int64(length), np.int64(run.origin))

    return step, seconds


@partial(jax.jit, donate_argnames=("state",), static_argnames=("keep_events",))
def _chunk(
    policy: Policy,
    environment: Environment,
    world: Any,
    keys: Keys,
    state: State,
    start: Array,
    length: Array,
    origin: Array,
    *,
    keep_events: bool,
) -> tuple[State, Trace]:
    """Run `length` rounds from `start`; both are values, so a short last chunk compiles nothing."""
    step = partial(play_round, policy, environment, world, keep_events, origin=origin)
    counts = start + jnp.arange(CHUNK)
    # All keys at once: round by round they would take as long as a small policy.
    turns = jax.vmap(partial(round_keys, keys))(counts)
    fits = jax.vmap(partial(jax.random.fold_in, keys.learn))(counts + 1)
    ahead = lookahead_rounds(policy, environment, state)
    lookahead = (
        Lookahead(policy, environment, world, state, turns[0][:ahead], counts[:ahead]) if ahead else None
    )

    def body(index: Array, carry: tuple[State, Trace]) -> tuple[State, Trace]:
        state, buffer = carry
        width = lookahead.width(index) if lookahead else None
        state, trace = step(state, tuple(one[index] for one in turns), counts[index], width=width)
        if policy.learn_every == 1:
            state = replace(state, fit=policy.learn(state, fits[index]))
        return state, jax.tree.map(lambda rows, row: rows.at[index].set(row), buffer, trace)

    row = jax.eval_shape(step, state, tuple(one[0] for one in turns), start)[1]
    buffer = jax.tree.map(lambda leaf: jnp.zeros((CHUNK, *leaf.shape), leaf.dtype), row)
    return jax.lax.fori_loop(0, length, body, (state, buffer))


@partial(jax.jit, donate_argnames=("state",))
def _observe_all(policy: Policy, state: State, keys: Keys, events: Event, start: int, length: int) -> State:
    """Observe the first `length` of some events, with the keys of the decisions from `start`."""

    def observe(index: Array, state: State) -> State:
        event = jax.tree.map(lambda leaf: leaf[index], events)
        return policy.observe(state, round_keys(keys, start + index)[3], event)

    return jax.lax.fori_loop(0, length, observe, state)


def _padded(events: Event, rows: int) -> Event:
    """The events with rows of 0 to a fixed number, so that one compilation serves all."""
    missing = rows - events.feedback.shape[0]
    return jax.tree.map(lambda leaf: np.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1)), events)


def _require_health(policy: Policy, trace: Trace, seed: int, start: int) -> None:
    healthy = np.asarray(trace.healthy)
    if not healthy.all():
        bad = start + int(np.argmin(healthy)) + 1
        raise SimulationError(
            f"{policy.name}: round {bad} of seed {seed} gave no sound decision: a score was not finite "
            "(check the feedback's range), or no feasible set was on offer"
        )


def _table(
    traces: list[Trace],
    spent: dict[str, np.ndarray[Any, Any]],
    seed: int,
    record_every: int,
    keep_items: bool,
) -> pd.DataFrame:
    """Sum the rounds of each row."""
    rounds = len(spent["seconds"])
    starts = np.arange(0, rounds, record_every)
    columns: dict[str, Any] = {
        "seed": np.full(len(starts), seed),
        "round": np.minimum(starts + record_every, rounds),
    }
    for name in COLUMNS:
        values = np.concatenate([getattr(trace, name) for trace in traces])
        columns[name] = np.add.reduceat(values, starts)
    columns |= {name: np.add.reduceat(values, starts) for name, values in spent.items()}
    if keep_items:
        columns["items"] = [row[row >= 0] for trace in traces for row in trace.items]
    import pandas as pd

    return pd.DataFrame(columns)
