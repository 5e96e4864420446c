"""The best 100 of a million items by LinUCB, against the arithmetic and the memory that it takes."""

from __future__ import annotations

from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from benchmarks.clock import fastest, square, square_rate
from superarm.agent import shortlist

ITEMS, DIM, SIZE, TURNS, UPDATES = 1_000_000, 64, 100, 25, 200

HEAD = f"""## The best {SIZE} of a million items, d = {DIM}

`Agent.shortlist` of LinUCB, on a float32 array of JAX. Milliseconds, the least of {TURNS} in turns, and how
many times the measure they are. With the full width the measure is the arithmetic of every item's exact
score, 2 n d^2 operations at the rate of a float32 product of two 1024 x 1024 matrices. "All scored" does that
arithmetic. `shortlist` scores only what bounds of the scores, from a quarter of it, do not rule out, and may
take less than the measure; the list is the same. Bounds tell items apart after {UPDATES} updates. They cannot
where nothing was learned and all rows have the same length, so that scores differ by rounding alone: those of
an eighth of the catalogue show it, and all is scored. With the diagonal width the measure is one read of the
features, their sum.

| width | agent | measure | items scored | shortlist | ratio | all scored | ratio |
|---|---|---|---|---|---|---|---|
"""


def section() -> str:
    """Measure both widths, and the full one where bounds help and where they do not."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ITEMS, DIM), np.float32)
    alike = jnp.asarray(features / np.linalg.norm(features, axis=1, keepdims=True))
    features = jnp.asarray(features)
    full, diagonal = (taught(width, rng, UPDATES) for width in ("full", "diagonal"))
    new = taught("full", rng, 0)
    spent = fastest(
        {
            "full": lambda: full.shortlist(features, SIZE),
            "all of full": lambda: all_scored(full, features),
            "new": lambda: new.shortlist(alike, SIZE),
            "all of new": lambda: all_scored(new, alike),
            "diagonal": lambda: diagonal.shortlist(features, SIZE),
            "read": lambda: read(features),
            "square": square(),
        },
        TURNS,
    )
    rate = square_rate(spent["square"])
    arithmetic = 2.0 * ITEMS * DIM**2 / rate / 1e9
    measure = f"arithmetic at {rate:.0f} Gflop/s: {1e3 * arithmetic:.0f}"
    ratio = spent["diagonal"] / spent["read"]
    rows = (
        f"| full | {UPDATES} updates | {measure} | {num_scored(full, features):,} "
        + cells(spent["full"], spent["all of full"], arithmetic),
        f"| full | new, rows of one length | {measure} | {num_scored(new, alike):,} "
        + cells(spent["new"], spent["all of new"], arithmetic),
        f"| diagonal | {UPDATES} updates | read: {1e3 * spent['read']:.0f} | {ITEMS:,} "
        f"| {1e3 * spent['diagonal']:.0f} | **{ratio:.2f}** | | |",
    )
    return HEAD + "\n".join(rows) + "\n"


def cells(listed: float, scored: float, measure: float) -> str:
    """Milliseconds and ratios of the list and of scoring all."""
    return (
        f"| {1e3 * listed:.0f} | **{listed / measure:.2f}** | {1e3 * scored:.0f} | {scored / measure:.2f} |"
    )


def all_scored(agent: superarm.Agent, features: Any) -> Any:
    """The list without bounds."""
    with mock.patch.object(shortlist, "prunes", return_value=False):
        return agent.shortlist(features, SIZE)


def num_scored(agent: superarm.Agent, features: Any) -> int:
    """How many items bounds leave, for a list that is that of all."""
    left = []

    def contenders(*arguments: Any) -> Any:
        left.append(found(*arguments))
        return left[0]

    found = shortlist._contenders
    with mock.patch.object(shortlist, "_contenders", contenders):
        assert set(agent.shortlist(features, SIZE)) == set(all_scored(agent, features))
    return ITEMS if left[0] is None else len(left[0])


def taught(width: str, rng: Any, updates: int) -> superarm.Agent:
    """An agent that has learned a little."""
    agent = superarm.Agent(superarm.comb_lin_ucb(superarm.top_k(1), width=width))
    agent.select(rng.normal(size=(8, DIM)))  # it begins
    for _ in range(updates):
        agent.update(agent.select(rng.normal(size=(8, DIM))), 1.0)
    return agent


@jax.jit
def read(features: Any) -> Any:
    """One sum over all."""
    return jnp.sum(features)
