"""What a round of CN-UCB costs as observations, parameters and arms grow, for every width."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from superarm.precision import double
from superarm.types import Event, Spec

CHOSEN, TURNS = 4, 5
BASE = {"t": 2048, "p": 1620, "N": 20}
GRIDS = {"t": (2048, 4096, 8192), "p": (810, 1620, 3240), "N": (20, 80, 320)}
WIDTHS = ("full", "dual", "sketched", "diagonal", "last-layer")
DIM = 80  # p = 81 m

HEAD = f"""## What a round costs: choice and observation of CN-UCB, without the fit

Milliseconds a round (medians of {TURNS}), d = {DIM}, K = {CHOSEN}. One of t (observations so far), p
(parameters) and N (arms) moves, the others stay at {BASE["t"]}, {BASE["p"]} and {BASE["N"]}. The slope is
that of log time against log size between the last two: 1 is linear, 2 quadratic.

| width | axis | milliseconds a round | slope |
|---|---|---|---|
"""


def section() -> str:
    """Measure every width along every axis."""
    return HEAD + "\n".join(row(width, axis) for width in WIDTHS for axis in GRIDS) + "\n"


def row(width: str, axis: str) -> str:
    """Measure one width along one axis."""
    sizes = GRIDS[axis]
    times = [milliseconds(width, **{**BASE, axis: size}) for size in sizes]
    slope = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
    cells = ", ".join(f"{took:.2f} at {size}" for size, took in zip(sizes, times, strict=True))
    return f"| {width} | {axis} | {cells} | {slope:.1f} |"


@double
def milliseconds(width: str, *, t: int, p: int, N: int) -> float:
    """Median time of one choice and one observation after t observations."""
    policy = superarm.cn_ucb(
        superarm.top_k(CHOSEN),
        superarm.neural(superarm.perceptron(width=p // (DIM + 1)), memory="window", memory_size=1),
        width=width,
    )
    spec = Spec(dim=DIM, num_arms=N, capacity=t + CHOSEN * (TURNS + 2))
    state = jax.jit(lambda key: policy.init(key, spec))(jax.random.key(0))
    state = jax.tree.map(jnp.array, state)
    if width == "dual":  # as if t rows had been seen: the time does not depend on the numbers
        factor = replace(state.record.factor, count=jnp.asarray(t, jnp.int64))
        state = replace(state, record=replace(state.record, factor=factor))
    contexts = jax.random.normal(jax.random.key(1), (N, DIM), jnp.float64)

    def one_round(state: Any, key: Any, contexts: Any) -> Any:
        decision = policy.select(state, key, contexts, 0)
        event = Event(
            items=decision.items,
            features=decision.features,
            feedback=jnp.zeros(CHOSEN, jnp.float64),
            observed=jnp.ones(CHOSEN, bool),
            memo=decision.memo,
        )
        return policy.observe(state, key, event)

    step = jax.jit(one_round, donate_argnums=0)
    taken = []
    for turn in range(TURNS + 1):
        begun = time.perf_counter()
        state = jax.block_until_ready(step(state, jax.random.key(turn), contexts))
        taken.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(taken[1:])
