"""NeuralLog-UCB-2 against a plain PyTorch loop with a backward pass per arm, in turns."""

from __future__ import annotations

import json
import statistics
import subprocess

import superarm
from benchmarks.calvera_peer import HERE, environment
from superarm.environments import logistic_scores
from superarm.simulation.run import run_seed

SETTINGS = {
    "dim": 20,
    "arms": 5,
    "units": 20,
    "rounds": 2000,
    "learn_every": 50,
    "steps": 100,
    "learning_rate": 0.01,
    "ridge": 1.0,
    "nu": 0.01,
}
TURNS = 5

HEAD = """## NeuralLog-UCB-2 against a plain PyTorch loop

bae2026's experiment h1: d = 20, 5 arms, 20 hidden units, diagonal width, every 50 rounds 100 full-batch
gradient steps on all history, 2,000 rounds. Seconds a run, medians of 5, one side after the other; compiling
is apart. A round costs O(arms d m) plus, over a run of T rounds, O(T d m steps / 50) for the fits.

| PyTorch, s | superarm, s | ratio | compile, s | regret, PyTorch | regret, superarm |
|---|---|---|---|---|---|
"""


def section() -> str:
    """Measure both sides in turns."""
    python = environment()
    world = logistic_scores(dim=SETTINGS["dim"], num_arms=SETTINGS["arms"])
    training = {name: SETTINGS[name] for name in ("learn_every", "steps", "learning_rate")}
    policy = superarm.neural_log_ucb_2(
        nu=SETTINGS["nu"], ridge=SETTINGS["ridge"], units=SETTINGS["units"], **training
    )
    first = run_seed(policy, world, rounds=SETTINGS["rounds"], seed=99)
    theirs, ours = [], []
    for seed in range(TURNS):
        settings = json.dumps({**SETTINGS, "seed": seed})
        done = subprocess.run(
            [python, HERE / "torch_neural_log.py", settings], check=True, capture_output=True, text=True
        )
        theirs.append(json.loads(done.stdout.splitlines()[-1]))
        table = run_seed(policy, world, rounds=SETTINGS["rounds"], seed=seed)
        ours.append((float(table["seconds"].sum()), float(table["regret"].sum())))
    slow = statistics.median(one["seconds"] for one in theirs)
    fast = statistics.median(seconds for seconds, _ in ours)
    return HEAD + (
        f"| {slow:.1f} | {fast:.3f} | **{slow / fast:.0f}** | {first.attrs['compile_seconds']:.1f} "
        f"| {statistics.mean(one['regret'] for one in theirs):.0f} "
        f"| {statistics.mean(regret for _, regret in ours):.0f} |\n"
    )
