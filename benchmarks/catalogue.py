"""The best 100 of a million items by LinUCB, against the arithmetic and the memory that it takes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from benchmarks.clock import fastest, square, square_rate
from superarm.shortlist import BLOCK

ITEMS, DIM, SIZE, TURNS = 1_000_000, 64, 100, 25
BLOCKS = ITEMS // BLOCK

HEAD = f"""## The best {SIZE} of a million items, d = {DIM}

`Agent.shortlist` of LinUCB after 200 updates, on a float32 array of JAX. Milliseconds, the least of {TURNS}
in turns. With the full width the measure is its arithmetic, 2 n d^2 operations at the rate of a float32
product of two 1024 x 1024 matrices; "products" are those of the same blocks, ({BLOCK}, {DIM}) by ({DIM},
{DIM}), and nothing else. With the diagonal width it is one read of the features, their sum.

| width | milliseconds | measure | ratio | products |
|---|---|---|---|---|
"""


def section() -> str:
    """Measure both widths."""
    rng = np.random.default_rng(0)
    features = jnp.asarray(rng.standard_normal((ITEMS, DIM), np.float32))
    root = jnp.asarray(rng.standard_normal((DIM, DIM), np.float32))
    full, diagonal = (taught(width, rng) for width in ("full", "diagonal"))
    spent = fastest(
        {
            "full": lambda: full.shortlist(features, SIZE),
            "products": lambda: products(features, root),
            "diagonal": lambda: diagonal.shortlist(features, SIZE),
            "read": lambda: read(features),
            "square": square(),
        },
        TURNS,
    )
    rate = square_rate(spent["square"])
    arithmetic = 2.0 * ITEMS * DIM**2 / rate / 1e9
    return (
        HEAD
        + f"| full | {1e3 * spent['full']:.0f} | arithmetic at {rate:.0f} Gflop/s: {1e3 * arithmetic:.0f} "
        f"| **{spent['full'] / arithmetic:.2f}** | {1e3 * spent['products']:.0f} |\n"
        f"| diagonal | {1e3 * spent['diagonal']:.0f} | read: {1e3 * spent['read']:.0f} "
        f"| **{spent['diagonal'] / spent['read']:.2f}** | |\n"
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
    """Every block times the root."""

    def add(index: Any, total: Any) -> Any:
        # One number of the product is kept, and decides the next: adding all up would take as long again.
        block = jax.lax.dynamic_slice_in_dim(features, index * BLOCK, BLOCK)
        return total + (block @ (root + 1e-20 * total))[0, 0]

    return jax.lax.fori_loop(0, BLOCKS, add, jnp.zeros((), jnp.float32))


@jax.jit
def read(features: Any) -> Any:
    """One sum over all."""
    return jnp.sum(features)
