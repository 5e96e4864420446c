"""CN-UCB with the exact width over 8,100 parameters against the straightforward form."""

from __future__ import annotations

import resource

import superarm
from benchmarks import plain_cn_ucb
from superarm.environments import nonlinear_scores
from superarm.simulation.run import run_seed
from superarm.widths import Dual

DIM, UNITS, ARMS, CHOSEN, ROUNDS = 80, 100, 20, 4, 2000

HEAD = f"""## CN-UCB with the exact width: d = {DIM}, m = {UNITS}, p = {DIM * UNITS + UNITS}, N = {ARMS}, \
K = {CHOSEN}, T = {ROUNDS}

"plain" keeps the inverse of Z, p x p, with one backward pass per arm and one update per item in NumPy
(`plain_cn_ucb.py`); its rounds all cost the same, and its network is not trained. superarm's time is the
mean over a whole run, training included (100 steps every 10 rounds). Peak memory is the process's, the plain
side included.

| width | plain, s a round | superarm, s a round | ratio | last 100 rounds, s a round | peak memory, GB |
|---|---|---|---|---|---|
"""


def section() -> str:
    """Measure the dual width in both precisions; plain before each, so that both meet the same machine."""
    return HEAD + "\n".join(row(precision) for precision in ("float64", "float32")) + "\n"


def row(precision: str) -> str:
    """Measure one precision."""
    plain = plain_cn_ucb.seconds_per_round(dim=DIM, units=UNITS, arms=ARMS, chosen=CHOSEN, rounds=5)
    world = nonlinear_scores(superarm.top_k(CHOSEN), dim=DIM, num_arms=ARMS)
    policy = superarm.cn_ucb(world.oracle, width=Dual(precision=precision))
    table = run_seed(policy, world, rounds=ROUNDS, seed=0)
    # The first chunk's fit is compiled in it.
    seconds = table["seconds"].iloc[10:]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"| dual, {precision} | {plain:.2f} | {seconds.mean():.4f} | **{plain / seconds.mean():.0f}** "
        f"| {seconds.iloc[-100:].mean():.4f} | {peak:.2f} |"
    )
