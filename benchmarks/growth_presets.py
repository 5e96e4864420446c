"""What a round of every preset costs as rounds, arms, features and hidden units grow."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.choosers.duel import Duel
from superarm.choosers.layered_duel import LayeredDuel
from superarm.models.history import History
from superarm.models.networks import Perceptron
from superarm.precision import double
from superarm.types import Event, Spec

TESTS = Path(__file__).parents[1] / "tests"
POOL = 8  # contexts that come again and again
PLAYED = 64  # rounds before an axis other than t is measured
BLOCK, MIN_ROUNDS, MAX_ROUNDS = 5e-3, 4, 256  # seconds and rounds of a block
REPEATS, FITS = 7, 3
GRIDS = {"t": (512, 1024, 2048, 4096), "K": (16, 64, 256), "d": (8, 32, 128), "m": (16, 64, 256)}
DEAR = {"d": (8, 16, 32), "m": (16, 32, 64)}  # where a state would be larger than LARGE
LARGE = 5e6  # bytes
BASE = {axis: grid[0] for axis, grid in GRIDS.items()}
FLAT = 0.25  # a slope below it is none

HEAD = f"""## What grows: every preset as rounds, arms, features and hidden units grow

The presets are those of the tests, small: sets are of 3, and most models are fitted every 5 rounds. Compiled
rounds as in a simulation, choice and observation; the fit apart, over the rounds between two fits.
Microseconds at the smallest sizes, and slopes of log time against log size by least squares over
t = {", ".join(map(str, GRIDS["t"]))} rounds so far, K = {", ".join(map(str, GRIDS["K"]))} arms,
d = {", ".join(map(str, GRIDS["d"]))} features and m = {", ".join(map(str, GRIDS["m"]))} hidden units
(up to {DEAR["d"][-1]} and {DEAR["m"][-1]} where a state would be larger than {LARGE / 1e6:g} MB): 0 does not
grow, 1 is linear, 2 quadratic. The number of parameters grows as m, or m^2 with two hidden layers.
"Room" is the slope in the rounds that the state has room for, {BASE["t"]} and {GRIDS["t"][-1]}, at the first
t. A time is the least of {REPEATS} blocks of {1e3 * BLOCK:g} ms or more, or of {MAX_ROUNDS} rounds, and of
twice as many where a round seems to grow with t. Memory is the state's, in a simulation of t rounds.

| preset | round, µs | t | room | K | d | m | fit, µs a round | t | d | m | state, KB | t |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


@double
def section() -> str:
    """Measure every preset."""
    rows = {}
    for name, build in presets().items():
        rows[name] = measured(build)
        if any(slopes(rows[name]).get(what, 0.0) > FLAT for what in ("t", "room")):  # rare; it may be noise
            rows[name] = least(rows[name], measured(build))
        jax.clear_caches()  # of some hundred programs each, which would use Linux's memory maps up
        print(f"| {name} | {cells(rows[name])} |", file=sys.stderr, flush=True)  # this takes half an hour
    table = "".join(f"| {name} | {cells(row)} |\n" for name, row in sorted(rows.items()))
    return HEAD + table + "\n" + words(rows)


def presets() -> dict[str, Callable[[], Any]]:
    """Every public preset, as the tests build it."""
    sys.path.append(str(TESTS))  # one table of presets for both
    try:
        from support.agent_presets import BUILDS
    finally:
        sys.path.remove(str(TESTS))
    return BUILDS


def measured(build: Callable[[], Any]) -> dict[str, Any]:
    """All numbers of one preset: lists over the sizes of an axis; what it has not is left out."""
    policy = build().epochs(GRIDS["t"][-1])[-1].policy  # the last, of one that begins anew
    policy = resized(policy, BASE["m"])
    fits = policy.learn_every is not None
    long = Rounds(policy, **BASE | {"room": GRIDS["t"][-1]})
    base = Rounds(policy, **BASE) if fits else long  # without a history there is no room
    axes = ("K", "d", "m")[: 3 if sized(policy) else 2]
    grids = GRIDS | {axis: grid_of(policy, axis) for axis in axes}
    others = {axis: larger(policy, axis, grids[axis]) for axis in axes}
    compiled([long, *([base] if fits else []), *(one for grid in others.values() for one in grid)])
    found: dict[str, Any] = {"grids": grids, "base": base.seconds()}
    found["memory"] = [size_of(policy, room=size) for size in GRIDS["t"]]
    found["t"], found["fit t"] = along(long)
    if fits:
        found["room"] = [found["base"], found["t"][0]]
    for axis, grid in others.items():
        found[axis] = [found["base"], *(one.seconds() for one in grid)]
        if fits and axis != "K":
            found[f"fit {axis}"] = [found["fit t"][0], *(one.fit_seconds() for one in grid)]
    return found


def least(row: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Of two measurements of a preset the smaller numbers."""
    lists = [name for name in row if name != "grids" and isinstance(row[name], list)]
    both = {name: [min(pair) for pair in zip(row[name], other[name], strict=True)] for name in lists}
    return row | both | {"base": min(row["base"], other["base"])}


def larger(policy: Any, axis: str, grid: tuple[int, ...]) -> list[Rounds]:
    """The same policy in all sizes of an axis but the first."""
    return [
        Rounds(resized(policy, size) if axis == "m" else policy, **BASE | {axis: size}) for size in grid[1:]
    ]


def grid_of(policy: Any, axis: str) -> tuple[int, ...]:
    """The sizes of an axis: the usual, or what can be afforded."""
    last = GRIDS[axis][-1]
    dear = axis in DEAR and size_of(policy, **{axis: last}) > LARGE
    return DEAR[axis] if dear else GRIDS[axis]


def along(one: Rounds) -> tuple[list[float], list[float] | None]:
    """Play on and on; return the seconds of a round, and of the fit, at every t."""
    rounds, fits = [], []
    for start, stop in zip((0, *GRIDS["t"]), GRIDS["t"], strict=False):
        one.play(start, stop - start)
        rounds.append(one.seconds())
        if one.policy.learn_every is not None:
            fits.append(one.fit_seconds())
    return rounds, fits or None


@dataclass
class Rounds:
    """A policy in a world of one size, with room for so many rounds."""

    policy: Any
    t: int
    K: int
    d: int
    m: int
    room: int = BASE["t"]

    def __post_init__(self) -> None:
        """Begin."""
        self.capacity = room_of(self.policy, self.room)
        spec = Spec(dim=self.d, num_arms=self.K, capacity=self.capacity)
        self.state = jax.tree.map(jnp.array, self.policy.init(jax.random.key(0), spec))
        contexts = np.random.default_rng(0).normal(size=(POOL, self.K, self.d)) / np.sqrt(self.d)
        self.pool, self.count = jnp.asarray(contexts), 0

    @cached_property
    def lowered(self) -> list[Any]:
        """The programs, before they are compiled: some rounds, and a fit."""
        zero = np.int64(0)
        arguments = (self.policy, self.state, self.pool, keys(), zero, zero)
        found = [jax.jit(some_rounds).lower(*arguments)]
        fits = (self.d, self.m) != (BASE["d"], BASE["m"]) or self.room > BASE["t"]
        if fits and self.policy.learn_every is not None:
            found.append(jax.jit(fitted).lower(self.policy, self.state, keys()[0]))
        return found

    def play(self, start: int, length: int) -> Any:
        """Go on for some rounds."""
        self.state, self.count = self._run(start, length), start + length

    def seconds(self) -> float:
        """Of a round, from here on: the least of some blocks, which are forgotten."""
        if self.count == 0:
            self.play(0, PLAYED)
        length, took = MIN_ROUNDS, 0.0
        while took < BLOCK and length < MAX_ROUNDS:
            length = min(MAX_ROUNDS, max(2 * length, int(1.3 * length * BLOCK / took) if took else 0))
            took = self._clocked(length)
        return min(took, *(self._clocked(length) for _ in range(REPEATS - 1))) / length

    def fit_seconds(self) -> float:
        """Of a fit over the rounds between two, from a fit of the same observations on."""
        state = full(self.state, self.t) if self.count == PLAYED else self.state
        learn, times = self.programs[1], []
        key = keys()[0]
        state = replace(state, fit=learn(self.policy, state, key))
        for _ in range(FITS):
            begun = time.perf_counter()
            jax.block_until_ready(learn(self.policy, state, key))
            times.append(time.perf_counter() - begun)
        return min(times) / self.policy.learn_every

    def _run(self, start: int, length: int) -> Any:
        arguments = (self.policy, self.state, self.pool, keys(), np.int64(start), np.int64(length))
        return jax.block_until_ready(self.programs[0](*arguments))

    def _clocked(self, length: int) -> float:
        begun = time.perf_counter()
        self._run(self.count, length)
        return time.perf_counter() - begun


def compiled(several: list[Rounds]) -> None:
    """Compile all programs, side by side, before any is measured."""
    with ThreadPoolExecutor() as threads:
        waiting = [[threads.submit(one.compile) for one in rounds.lowered] for rounds in several]
        for rounds, programs in zip(several, waiting, strict=True):
            rounds.programs = [one.result() for one in programs]


@cache
def keys() -> Any:
    """Keys of rounds: made inside, they would take a tenth of a second to compile each time."""
    return jax.random.split(jax.random.key(1), 2 * MAX_ROUNDS)


def some_rounds(policy: Any, state: Any, pool: Any, keys: Any, start: Any, length: Any) -> Any:
    """Rounds from `start` on: choose, and observe what the round's number says."""
    duel = isinstance(policy.chooser, Duel | LayeredDuel)

    def one(count: Any, state: Any) -> Any:
        decision = policy.select(state, keys[count % MAX_ROUNDS], pool[count % POOL], count)
        slots = jnp.arange(decision.items.shape[0])
        feedback = (slots == count % 2) if duel else ((count + slots) % 3 == 0)
        event = Event(
            items=decision.items,
            features=decision.features,
            feedback=feedback.astype(jnp.float64),
            observed=decision.mask,
            memo=decision.memo,
        )
        return policy.observe(state, keys[MAX_ROUNDS + count % MAX_ROUNDS], event)

    return jax.lax.fori_loop(start, start + length, one, state)


def fitted(policy: Any, state: Any, key: Any) -> Any:
    """A fit."""
    return policy.learn(state, key)


def full(state: Any, rounds: int) -> Any:
    """The state with a history of so many rounds, or as many as it keeps."""
    rng = np.random.default_rng(0)

    def fill(part: Any) -> Any:
        if not isinstance(part, History):
            return part
        slots, dim = part.contexts.shape
        contexts = rng.normal(size=(slots, dim)) / np.sqrt(dim)
        seen = jnp.asarray(slots, jnp.int64)
        return History(
            contexts=jnp.asarray(contexts, part.contexts.dtype),
            feedback=jnp.asarray(rng.random(part.feedback.shape) < 0.5, part.feedback.dtype),
            counts=jnp.ones_like(part.counts),
            seen=seen,
            events=jnp.asarray(rounds, jnp.int64),
        )

    return jax.tree.map(fill, state, is_leaf=lambda part: isinstance(part, History))


def resized(part: Any, units: int) -> Any:
    """The policy with so many hidden units in its network."""
    if isinstance(part, Perceptron):
        return replace(part, width=units)
    if not is_dataclass(part):
        return part
    changed = {one.name: resized(getattr(part, one.name), units) for one in fields(part) if one.init}
    same = all(changed[name] is getattr(part, name) for name in changed)
    return part if same else replace(part, **changed)


def sized(part: Any) -> bool:
    """Whether there is a network in it."""
    return resized(part, BASE["m"] + 2) is not part


def room_of(policy: Any, rounds: int) -> int:
    """Observations that a simulation of so many rounds makes room for."""
    return 0 if policy.learn_every is None else rounds * policy.chooser.size


def size_of(policy: Any, room: int = BASE["t"], **sizes: int) -> int:
    """Bytes of the state."""
    at = BASE | sizes
    policy = resized(policy, at["m"])
    spec = Spec(dim=at["d"], num_arms=at["K"], capacity=room_of(policy, room))
    shapes = jax.eval_shape(lambda key: policy.init(key, spec), jax.random.key(0))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))


def slope(values: Any, grid: Any) -> float:
    """Of log values against log sizes."""
    return float(np.polyfit(np.log(grid), np.log(values), 1)[0])


def slopes(row: dict[str, Any]) -> dict[str, float]:
    """All slopes of a preset, by the name of what was measured."""
    grids = row["grids"]
    found = {name: slope(row[name], grids[name]) for name in grids if row.get(name)}
    if row.get("room"):
        found["room"] = slope(row["room"], (GRIDS["t"][0], GRIDS["t"][-1]))
    found |= {
        f"fit {axis}": slope(row[f"fit {axis}"], grids[axis]) for axis in "tdm" if row.get(f"fit {axis}")
    }
    return found | {"memory": slope(row["memory"], GRIDS["t"])}


def cells(row: dict[str, Any]) -> str:
    """A row of the table, without the name."""
    found = slopes(row)

    def shown(name: str) -> str:
        return f"{found[name]:.1f}".replace("-0.0", "0.0") if name in found else ""

    rounds = " | ".join(shown(name) for name in ("t", "room", "K", "d", "m"))
    fit = f"{1e6 * row['fit t'][0]:.1f}" if row["fit t"] else ""
    fits = " | ".join(shown(f"fit {axis}") for axis in "tdm")
    return (
        f"{1e6 * row['base']:.1f} | {rounds} | {fit} | {fits} "
        f"| {row['memory'][0] / 1024:.0f} | {shown('memory')}"
    )


def words(rows: dict[str, dict[str, Any]]) -> str:
    """What grows with t, by name."""
    found = {name: slopes(row) for name, row in rows.items()}

    def named(what: str) -> list[str]:
        return sorted(name for name, one in found.items() if one.get(what, 0.0) > FLAT)

    fits, rounds, rooms, kept = (named(what) for what in ("fit t", "t", "room", "memory"))
    flat = sorted(name for name, one in found.items() if "fit t" in one and name not in fits)
    return (
        f"What grows with t (slopes above {FLAT:g}):\n\n"
        f"- A round: {listed(rounds)}.\n"
        f"- A round with the room for rounds to come: {listed(rooms)}.\n"
        f"- A fit: {listed(fits)}. A simulation keeps all history by default, and a fit is of all of it; "
        "memory='window' and 'reservoir' bound it, and 'arms' for arms that stay.\n"
        f"- Fits that do not grow: {listed(flat)}.\n"
        f"- Memory: {listed(kept)}. It is the history, (t, d) numbers.\n"
    )


def listed(names: list[str]) -> str:
    """Names in a row."""
    return ", ".join(names) if names else "none"
