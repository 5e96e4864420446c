"""NVLDB against the paper's listing in PyTorch, against its arithmetic, and by its Gram matrix."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from benchmarks.calvera_peer import HERE, environment
from benchmarks.clock import fastest
from benchmarks.fits import network
from superarm.environments import duels
from superarm.precision import double
from superarm.simulation.run import run_seed
from superarm.types import Spec

SETTINGS = {
    "dim": 5,
    "arms": 5,
    "units": 32,
    "rounds": 2000,
    "steps": 20,
    "learning_rate": 0.01,
    "ridge": 1.0,
    "radius": 1.0,
    "least_deviation": 0.1,
}
SEEDS = (0, 1, 2)
ROUNDS, UNITS, DIM = SETTINGS["rounds"], SETTINGS["units"], SETTINGS["dim"]

HEAD = """## Duels: NVLDB-UCB-ASYM

oh2026's square utility: d = 5, 5 arms, two hidden layers of 32, every round 20 Adam steps from the first
weights on all history, 2,000 rounds. Means of 3 runs, one side after the other; compiling is apart. Ours are
run twice each, and of every 20 rounds the faster time counts: a busy machine doubles some. A fit costs
O(duels m^2) a step.
A duel of an arm with itself says nothing of utilities and is not carried along by ours; "differing arms" has
none, so that a fit is on all t duels, as in the listing. "Arithmetic": floating-point operations of those
fits over the rate of their largest product, (32, 32) by (32, 256), and over that of all their products, the
thin ones of the first and the last layer included, in a fit of 2,000 duels. Regret is a share of chance's.

| form | s a run | listing's time over it | regret | compile, s |
|---|---|---|---|---|
"""


def section() -> str:
    """Measure all forms, seed by seed."""
    python = environment()
    forms = {
        "the figure preset": superarm.nvldb(),
        "differing arms": superarm.nvldb(self_duels=False),
        "fitted every 10 rounds": superarm.nvldb(learn_every=10),
        "Gram matrix of all parameters": superarm.nvldb(rows="gradient"),
    }
    world = duels("square", dim=DIM, num_arms=SETTINGS["arms"])
    compiled = {name: _compile_seconds(policy, world) for name, policy in forms.items()}
    chance = [_run(superarm.uniform_duel(), world, seed)[1] for seed in SEEDS]
    theirs, ours = [], {name: [] for name in forms}
    for seed, uniform in zip(SEEDS, chance, strict=True):
        settings = json.dumps({**SETTINGS, "seed": seed})
        done = subprocess.run(
            [python, HERE / "torch_duels.py", settings], check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        theirs.append((found["seconds"], found["regret"] / found["chance"]))
        for name, policy in forms.items():
            seconds, regret = _run(policy, world, seed)
            ours[name].append((seconds, regret / uniform))
    slow = np.mean(theirs, axis=0)
    rows = [f"| PyTorch, the paper's listing | {slow[0]:.1f} | 1 | {slow[1]:.2f} | |\n"]
    for name, found in ours.items():
        seconds, regret = np.mean(found, axis=0)
        times = f"{seconds:.2f} | **{slow[0] / seconds:.0f}**"
        rows.append(f"| {name} | {times} | {regret:.2f} | {compiled[name]:.1f} |\n")
    every = float(np.mean(ours["differing arms"], axis=0)[0])
    own = float(np.mean(ours["the figure preset"], axis=0)[0])
    whole = float(np.mean(ours["Gram matrix of all parameters"], axis=0)[0])
    rate = _product_rate()
    limit = _operations() / rate / 1e9
    together = _rate_of_all_products()
    reach = _operations() / together / 1e9
    return (
        HEAD
        + "".join(rows)
        + f"\nArithmetic of all fits on all duels: {_operations() / 1e12:.2f} Tflop, {limit:.1f} s at "
        f"{rate:.0f} Gflop/s, the rate of the largest product, and {reach:.1f} s at {together:.0f} Gflop/s, "
        f"that of all; differing arms take **{every / limit:.1f} and {every / reach:.1f} times** that. A "
        f"Gram matrix of all parameters takes **{whole / own:.0f} times** as long as one of the last layer "
        "(the paper: 28, NVLDB against NDB).\n"
    )


def _operations() -> float:
    """Of 20 steps on 1, 2, ..., T duels: two contexts each, forward, gradients, and what is passed back."""
    weights = DIM * UNITS + UNITS**2 + UNITS
    back = UNITS**2 + UNITS
    return SETTINGS["steps"] * 0.5 * ROUNDS * (ROUNDS + 1) * 2 * 2.0 * (2 * weights + back)


def _product_rate() -> float:
    """Gflop/s of the fit's largest product, in a loop that nothing can be left out of."""
    repeats, shape = 2000, (UNITS, 256)

    @jax.jit
    def loop(left: jax.Array, right: jax.Array) -> jax.Array:
        def body(_: int, carry: jax.Array) -> jax.Array:
            return carry + 1e-20 * ((left + carry) @ right)[0, 0]

        return jax.lax.fori_loop(0, repeats, body, jnp.zeros((), jnp.float32))

    left, right = jnp.ones((UNITS, UNITS), jnp.float32), jnp.ones(shape, jnp.float32)
    seconds = []
    for _ in range(7):
        begun = time.perf_counter()
        loop(left, right).block_until_ready()
        seconds.append(time.perf_counter() - begun)
    return 2.0 * UNITS**2 * shape[1] * repeats / min(seconds) / 1e9


@double
def _rate_of_all_products() -> float:
    """Gflop/s of the products of a fit of all duels, in its own blocks and steps, and nothing else."""
    spec = Spec(dim=DIM, num_arms=SETTINGS["arms"], capacity=2 * ROUNDS)
    parts = network(superarm.nvldb(), spec, sides=2, loss="logistic", optimizer="adam").parts(None)
    return parts.operations / fastest({"products": parts.pieces["products"]}, 60)["products"] / 1e9


def _run(policy: Any, world: Any, seed: int) -> tuple[float, float]:
    tables = [run_seed(policy, world, rounds=ROUNDS, seed=seed, record_every=20) for _ in range(2)]
    seconds = np.minimum(*(table["seconds"].to_numpy() for table in tables))
    return float(seconds.sum()), float(tables[0]["regret"].sum())


def _compile_seconds(policy: Any, world: Any) -> float:
    return float(run_seed(policy, world, rounds=40, seed=99).attrs["compile_seconds"])
