"""Ensemble sampling: seconds a run, growth in t, and cost in the number of members."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import superarm
from superarm.environments import fixed_scores
from superarm.policies.sun2026 import ensemble_figure_model
from superarm.rollout import run_seed

ARMS, DIM, UNITS, STEPS = 50, 20, 20, 100
ROUNDS, SHORT = 10_000, 300
SIZES = (1, 10, 50, 200)

HEAD = f"""## Ensemble sampling on {ARMS} arms that stay, d = {DIM}

GLM-ES fits its members by Newton's method to the optimum in every round; Neural-ES (L = 3, N = {UNITS}) takes
{STEPS} gradient steps per member in every round. Sums per arm make a fit cost O(arms m), whatever t is.

| policy | m | rounds | s a run | ms a round | last to first 1,000 rounds | compile, s |
|---|---|---|---|---|---|---|
"""
MEMBERS = """
Neural-ES by the number of members. Rate: arithmetic of the fits (2 flops per multiply-add) over all the time
of a round. Beside it a loop that adds up matrix products of the fit's own shapes, one (N, N) by (N, arms) per
member, batched; and one of 1024 x 1024 matrices.

| m | ms a round | rate, Gflop/s | batched product, Gflop/s | 1024 x 1024, Gflop/s |
|---|---|---|---|---|
"""


def section() -> str:
    """Measure both tables."""
    rows = [
        _run("GLM-ES", "logistic", superarm.glm_es(memory="arms")),
        _run("Neural-ES", "quadratic", superarm.neural_es(None, ensemble_figure_model(memory="arms"))),
    ]
    whole = _product_rate((1024, 1024), (1024, 1024))
    members = [_members(size, whole) for size in SIZES]
    return HEAD + "".join(rows) + MEMBERS + "".join(members)


def _run(name: str, score: str, policy: Any) -> str:
    world = fixed_scores(score=score, dim=DIM, num_arms=ARMS)
    first = run_seed(policy, world, rounds=64, seed=99)
    compile_seconds = first.attrs["compile_seconds"]
    seconds = run_seed(policy, world, rounds=ROUNDS, seed=0, record_every=1000)["seconds"]
    spent = float(seconds.sum())
    growth = float(seconds.iloc[-1] / seconds.iloc[0])
    return (
        f"| {name} | {policy.model.model.size if name == 'GLM-ES' else policy.model.size} | {ROUNDS:,} "
        f"| **{spent:.1f}** | {1e3 * spent / ROUNDS:.2f} | {growth:.2f} | {compile_seconds:.1f} |\n"
    )


def _members(size: int, whole: float) -> str:
    policy = superarm.neural_es(None, ensemble_figure_model(memory="arms"), size=size)
    world = fixed_scores(score="quadratic", dim=DIM, num_arms=ARMS)
    rounds = max(SHORT * 10 // max(size, 10), 64)
    run_seed(policy, world, rounds=64, seed=99)
    table = run_seed(policy, world, rounds=rounds, seed=0, record_every=rounds)
    per_round = float(table["seconds"].sum()) / rounds
    # Forward and weights' gradients in every layer, and what is passed back through all but the first.
    step = 2.0 * ARMS * (2 * DIM * UNITS + 3 * UNITS**2 + 3 * UNITS)
    rate = STEPS * size * step / per_round / 1e9
    batched = _product_rate((size, UNITS, UNITS), (size, UNITS, ARMS))
    return f"| {size} | {1e3 * per_round:.2f} | {rate:.0f} | {batched:.0f} | {whole:.0f} |\n"


def _product_rate(left: tuple[int, ...], right: tuple[int, ...]) -> float:
    """Gflop/s of a float32 matrix product, in a loop that nothing can be left out of."""
    first, second = jnp.ones(left, jnp.float32), jnp.ones(right, jnp.float32)
    repeats = 200 if len(left) == 3 else 5

    @jax.jit
    def loop(first: jax.Array, second: jax.Array) -> jax.Array:
        def body(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            total, other = carry
            return total + first @ other, other * 0.999

        return jax.lax.fori_loop(0, repeats, body, (first @ second * 0.0, second))[0]

    seconds = _timed(lambda: loop(first, second).block_until_ready())
    flops = 2.0 * left[-1] * right[-1] * left[-2] * (left[0] if len(left) == 3 else 1)
    return flops * repeats / seconds / 1e9


def _timed(call: Callable[[], Any]) -> float:
    call()
    found = []
    for _ in range(5):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return sorted(found)[2]
