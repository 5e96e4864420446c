"""The best 100 of a million items by LinUCB, against the arithmetic and the memory that it takes."""

from __future__ import annotations

import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from superarm.shortlist import BLOCK

ITEMS, DIM, SIZE, TURNS = 1_000_000, 64, 100, 9

HEAD = f"""## The best {SIZE} of a million items, d = {DIM}

`Agent.shortlist` of LinUCB after 200 updates, on a float32 array of JAX. Milliseconds, medians of {TURNS} in
turns. With the full width the measure is a loop over products of the same blocks, ({BLOCK}, {DIM}) by ({DIM},
{DIM}), in float32; with the diagonal width it is one read of the features, their sum.

| width | milliseconds | measure | ratio |
|---|---|---|---|
"""


def section() -> str:
    """Measure both widths."""
    rng = np.random.default_rng(0)
    features = jnp.asarray(rng.standard_normal((ITEMS, DIM), np.float32))
    root = jnp.asarray(rng.standard_normal((DIM, DIM), np.float32))
    full, diagonal = (taught(width, rng) for width in ("full", "diagonal"))
    calls = {
        "full": lambda: full.shortlist(features, SIZE),
        "products": lambda: products(features, root),
        "diagonal": lambda: diagonal.shortlist(features, SIZE),
        "read": lambda: read(features),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 1):  # the first compiles
        for name, call in calls.items():
            begun = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                times[name].append(time.perf_counter() - begun)
    spent = {name: 1e3 * statistics.median(one) for name, one in times.items()}
    return HEAD + "".join(
        f"| {width} | {spent[width]:.0f} | {measure}: {spent[measure]:.0f} "
        f"| **{spent[width] / spent[measure]:.2f}** |\n"
        for width, measure in (("full", "products"), ("diagonal", "read"))
    )


def taught(width: str, rng: Any) -> superarm.Agent:
    """An agent that has learned a little."""
    agent = superarm.Agent(superarm.comb_lin_ucb(superarm.top_k(1), width=width))
    for _ in range(200):
        contexts = rng.normal(size=(8, DIM))
        agent.update(agent.select(contexts), 1.0)
    return agent


@jax.jit
def products(features: Any, root: Any) -> Any:
    """Every block times the root, added up so that nothing is left out."""

    def add(index: Any, total: Any) -> Any:
        return total + jax.lax.dynamic_slice_in_dim(features, index * BLOCK, BLOCK) @ root

    return jax.lax.fori_loop(0, ITEMS // BLOCK, add, jnp.zeros((BLOCK, DIM), jnp.float32))


@jax.jit
def read(features: Any) -> Any:
    """One sum over all."""
    return jnp.sum(features)
