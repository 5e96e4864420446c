"""`make bench`: measure, print a table, and write it to benchmarks/README.md.

Everything runs on one thread, in one process, in turns, so that a busy machine slows both sides alike.
"""

from __future__ import annotations

import os

# Before NumPy and JAX start.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import datetime
import statistics
from pathlib import Path

import numpy as np

import superarm
from benchmarks import plain
from superarm.environments import longest_path
from superarm.experiments.machine import commit, cpu_model, versions
from superarm.rollout import run_seed

EPISODES, TURNS = 150, 7

HEAD = """# Benchmarks

`make bench` measures, prints and rewrites this page. One thread on both sides, in one process, in turns;
medians of {turns} runs. Read the ratios: absolute times depend on the machine and on what else it does.

{when}, commit {commit}, {cpu}, {versions}.

## CombLinTS on wen2015's longest path, {episodes} episodes

"plain" is the same algorithm in NumPy (`plain.py`): Kalman updates item by item and a Python loop as the
oracle. Compile time is paid once per shape, and kept on disk between runs of the command line.

| grid m | edges | d | plain, s | superarm, s | ratio | compile, s | regret, plain | regret, superarm |
|---|---|---|---|---|---|---|---|---|
"""


def row(m: int, dim: int, turns: int = TURNS) -> str:
    """Measure one size, both sides in turns."""
    world = longest_path(size=m, dim=dim)
    policy = superarm.comb_lin_ts(world.oracle, prior_scale=10.0, noise=1.0)
    compile_seconds = run_seed(policy, world, rounds=1, seed=0).attrs["compile_seconds"]
    slow, fast, regrets = [], [], []
    for seed in range(turns):
        regret, seconds = plain.run(m=m, dim=dim, episodes=EPISODES, seed=seed)
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


def main() -> None:
    """Measure all sizes."""
    text = HEAD.format(
        turns=TURNS,
        episodes=EPISODES,
        when=datetime.date.today().isoformat(),
        commit=commit()[:10],
        cpu=cpu_model(),
        versions=", ".join(f"{name} {version}" for name, version in versions().items()),
    )
    print(text, end="")
    for m, dim in ((10, 50), (30, 200), (60, 200)):
        line = row(m, dim)
        print(line, flush=True)
        text += line + "\n"
    (Path(__file__).parent / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
