"""NeuralUCB and NeuralTS against calvera's (PyPI): same stream, same network, same training, in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import superarm
from superarm.environments import stream
from superarm.simulation.run import run_seed

HERE = Path(__file__).parent
HOME = HERE.parent / ".venv-calvera"
# Without its dependencies, which would bring torchvision and torchaudio that it does not use here.
PACKAGES = (
    "calvera==1.0.2",
    "lightning",
    "lightning-utilities",
    "numpy",
    "packaging",
    "pytorch-lightning",
    "pyyaml",
    "torchmetrics",
    "tqdm",
)
SETTINGS = {
    "units": 100,
    "learn_every": 64,
    "batch": 32,
    "steps": 64,
    "learning_rate": 0.001,
    "decay": 1e-3,
}
DIM, ROUNDS, NOISE, TURNS = 20, 512, 0.01, 3
ARMS = (10, 50)

HEAD = f"""## NeuralUCB and NeuralTS with the diagonal width against calvera 1.0.2

d = {DIM}, one hidden layer of 100 without biases, lambda = 0.001; every 64 rounds 64 Adam steps on
minibatches of 32; {ROUNDS} rounds. Both sides play the same {TURNS} streams, whose contexts, means
(x'theta)^2 and noise NumPy draws before: the clock has choosing, observing and training, and of the world no
more than looking a round up. Milliseconds a round, of the fastest of {TURNS} runs a side, in turns. Regret is
the mean over the streams, and "chance" that of choosing at random.

| policy | arms | calvera, ms | its training | superarm, ms | ratio | regret, calvera | superarm | chance |
|---|---|---|---|---|---|---|---|---|
"""


def section() -> str:
    """Measure both policies with few and with many arms."""
    python = environment()
    return HEAD + "".join(row(python, name, arms) for name in POLICIES for arms in ARMS)


def row(python: Path, name: str, arms: int) -> str:
    """Measure one policy with one number of arms, in turns."""
    policy = POLICIES[name]()
    streams = [drawn(arms, seed) for seed in range(TURNS)]
    ours(policy, streams[0])  # compiles
    pairs = []
    for seed, one in enumerate(streams):
        pairs.append((theirs(python, one, {**SETTINGS, "bandit": name, "seed": seed}), ours(policy, one)))
    slow = min((their for their, _ in pairs), key=lambda their: their["choosing"] + their["training"])
    total, fast = slow["choosing"] + slow["training"], min(our["seconds"] for _, our in pairs)
    lost = np.mean([[their["regret"], our["regret"]] for their, our in pairs], axis=0)
    chance = np.mean([np.sum(one["means"].max(axis=1) - one["means"].mean(axis=1)) for one in streams])
    return (
        f"| {name} | {arms} | {1e3 * total:.1f} | {1e3 * slow['training']:.1f} | {1e3 * fast:.3f} "
        f"| **{total / fast:.0f}** | {lost[0]:.1f} | {lost[1]:.1f} | {chance:.1f} |\n"
    )


def model() -> Any:
    """The network and its training."""
    return superarm.neural(
        superarm.perceptron(width=SETTINGS["units"]),
        ridge=SETTINGS["decay"],
        row_scale=1.0,
        penalty=SETTINGS["decay"],
        anchored=False,
        reduction="mean",
        optimizer="adam",
        learning_rate=SETTINGS["learning_rate"],
        steps=SETTINGS["steps"],
        batch=SETTINGS["batch"],
        learn_every=SETTINGS["learn_every"],
    )


# calvera explores by sqrt(lambda nu) times the width, with nu = 1.
POLICIES = {
    "NeuralUCB": lambda: superarm.neural_ucb(model(), radius=SETTINGS["decay"] ** 0.5),
    "NeuralTS": lambda: superarm.neural_ts(model(), scale=1.0),
}


def drawn(arms: int, seed: int) -> dict[str, Any]:
    """Contexts (T, K, d), means (T, K) and rewards (T, K)."""
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((ROUNDS, arms, DIM))
    contexts /= np.linalg.norm(contexts, axis=-1, keepdims=True)
    theta = rng.standard_normal(DIM)
    means = (contexts @ (theta / np.linalg.norm(theta))) ** 2
    return {"contexts": contexts, "means": means, "rewards": means + NOISE * rng.standard_normal(means.shape)}


def ours(policy: Any, given: dict[str, Any]) -> dict[str, float]:
    """Seconds a round, and regret, of the compiled simulation."""
    world = stream(given["contexts"], given["rewards"], means=given["means"])
    table = run_seed(policy, world, rounds=ROUNDS, seed=0)
    return {"seconds": float(table["seconds"].mean()), "regret": float(table["regret"].sum())}


def theirs(python: Path, given: dict[str, Any], settings: dict[str, Any]) -> dict[str, float]:
    """The same of calvera, with choosing and training apart."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.npz"
        np.savez(path, contexts=given["contexts"], rewards=given["rewards"])
        command = [python, HERE / "calvera_side.py", path, json.dumps(settings)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    means = given["means"]
    lost = means.max(axis=1) - means[np.arange(len(means)), found["items"]]
    return {"choosing": found["choosing"], "training": found["training"], "regret": float(lost.sum())}


def environment() -> Path:
    """Return the interpreter of calvera's own environment, made at the first call."""
    python = Path(os.environ.get("SUPERARM_CALVERA_PYTHON", HOME / "bin" / "python"))
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "torch==2.13.0"], check=True)
        subprocess.run([*pip, "--no-deps", *PACKAGES], check=True)
    return python
