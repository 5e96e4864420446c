"""CombLinTS on wen2015's longest path against the same algorithm in plain NumPy."""

from __future__ import annotations

import statistics

import numpy as np

import superarm
from benchmarks import plain_paths
from superarm.environments import longest_path
from superarm.simulation.run import run_seed

EPISODES, TURNS = 150, 7

HEAD = f"""## CombLinTS on wen2015's longest path, {EPISODES} episodes

"plain" is the same algorithm in NumPy (`plain_paths.py`): Kalman updates item by item and a Python loop as
the oracle. Medians of {TURNS} runs in turns. Compile time is paid once per shape, and kept on disk between
runs of the command line.

| grid m | edges | d | plain, s | superarm, s | ratio | compile, s | regret, plain | regret, superarm |
|---|---|---|---|---|---|---|---|---|
"""


def section() -> str:
    """Measure all sizes."""
    return HEAD + "\n".join(row(m, dim) for m, dim in ((10, 50), (30, 200), (60, 200))) + "\n"


def row(m: int, dim: int) -> str:
    """Measure one size, both sides in turns."""
    world = longest_path(size=m, dim=dim)
    policy = superarm.comb_lin_ts(world.oracle, prior_scale=10.0, noise=1.0)
    compile_seconds = run_seed(policy, world, rounds=1, seed=0).attrs["compile_seconds"]
    slow, fast, regrets = [], [], []
    for seed in range(TURNS):
        regret, seconds = plain_paths.run(m=m, dim=dim, episodes=EPISODES, seed=seed)
        table = run_seed(policy, world, rounds=EPISODES, seed=seed)
        slow.append(seconds)
        fast.append(float(table["seconds"].sum()))
        regrets.append((regret, float(table["regret"].sum())))
    ratio = statistics.median(a / b for a, b in zip(slow, fast, strict=True))
    ours, theirs = np.mean(regrets, axis=0)[::-1]
    return (
        f"| {m} | {world.spec.num_arms} | {dim} "
        f"| {statistics.median(slow):.2f} | {statistics.median(fast):.3f} "
        f"| **{ratio:.1f}** | {compile_seconds:.1f} | {theirs:.3g} | {ours:.3g} |"
    )
