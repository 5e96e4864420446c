"""Ensemble sampling: seconds a run, growth in t, and cost in the number of members."""

from __future__ import annotations

from typing import Any

import numpy as np

import superarm
from benchmarks.clock import fastest, square, square_rate
from benchmarks.fit_parts import Layers
from superarm.environments import fixed_scores
from superarm.policies.sun2026 import ensemble_figure_model
from superarm.simulation.run import run_seed

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
of a round; of two runs the faster time of every 16 rounds counts. Beside it the bare matrix products of the
fit, a batch of one per member, and nothing else; and one product of 1024 x 1024 matrices.

| m | ms a round | rate, Gflop/s | bare products, Gflop/s | 1024 x 1024, Gflop/s |
|---|---|---|---|---|
"""


def section() -> str:
    """Measure both tables."""
    rows = [
        _run("GLM-ES", "logistic", superarm.glm_es(memory="arms")),
        _run("Neural-ES", "quadratic", superarm.neural_es(None, ensemble_figure_model(memory="arms"))),
    ]
    members = [_members(size) for size in SIZES]
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


def _members(size: int) -> str:
    policy = superarm.neural_es(None, ensemble_figure_model(memory="arms"), size=size)
    world = fixed_scores(score="quadratic", dim=DIM, num_arms=ARMS)
    rounds = max(SHORT * 10 // max(size, 10), 64)
    run_seed(policy, world, rounds=64, seed=99)
    tables = [run_seed(policy, world, rounds=rounds, seed=0, record_every=16) for _ in range(2)]
    per_round = float(np.minimum(*(table["seconds"].to_numpy() for table in tables)).sum()) / rounds
    shapes = ((UNITS, DIM), (UNITS, UNITS), (1, UNITS))
    fit = Layers(shapes, rows=ARMS, block=ARMS, steps=STEPS, members=size)
    flops = fit.operations / 1e9
    spent = fastest({"products": fit.pieces["products"], "square": square()}, 5)
    rates = f"{flops / per_round:.0f} | {flops / spent['products']:.0f} | {square_rate(spent['square']):.0f}"
    return f"| {size} | {1e3 * per_round:.2f} | {rates} |\n"
