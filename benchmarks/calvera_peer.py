"""NeuralUCB with the diagonal width against calvera's (PyPI): same network, same training, in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import superarm
from superarm.environments import nonlinear_scores
from superarm.rollout import run_seed

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
    "dim": 20,
    "units": 100,
    "rounds": 512,
    "learn_every": 64,
    "batch": 32,
    "steps": 64,
    "learning_rate": 0.001,
    "decay": 1e-3,
}
TURNS = 3

HEAD = """## NeuralUCB with the diagonal width against calvera 1.0.2

d = 20, one hidden layer of 100 without biases, lambda = 0.001; every 64 rounds 64 Adam steps on minibatches
of 32; 512 rounds. Milliseconds a round, choosing, observing and training together; medians of 3 runs, one
side after the other.

| arms | calvera, ms | of which training | superarm, ms | ratio | regret, calvera | regret, superarm |
|---|---|---|---|---|---|---|
"""


def section() -> str:
    """Measure few and many arms."""
    python = environment()
    return HEAD + "\n".join(row(python, arms) for arms in (10, 50)) + "\n"


def row(python: Path, arms: int) -> str:
    """Measure one number of arms, in turns."""
    world = nonlinear_scores(dim=SETTINGS["dim"], num_arms=arms)
    model = superarm.neural(
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
    policy = superarm.neural_ucb(model, radius=SETTINGS["decay"] ** 0.5)
    run_seed(policy, world, rounds=SETTINGS["rounds"], seed=99)  # compiles
    theirs, ours = [], []
    for seed in range(TURNS):
        settings = json.dumps({**SETTINGS, "arms": arms, "seed": seed})
        done = subprocess.run(
            [python, HERE / "calvera_side.py", settings], check=True, capture_output=True, text=True
        )
        theirs.append(json.loads(done.stdout.splitlines()[-1]))
        table = run_seed(policy, world, rounds=SETTINGS["rounds"], seed=seed)
        ours.append((float(table["seconds"].mean()), float(table["regret"].sum())))
    slow = statistics.median(one["choosing"] + one["training"] for one in theirs)
    training = statistics.median(one["training"] for one in theirs)
    fast = statistics.median(seconds for seconds, _ in ours)
    return (
        f"| {arms} | {1e3 * slow:.1f} | {1e3 * training:.1f} | {1e3 * fast:.3f} | **{slow / fast:.0f}** "
        f"| {statistics.mean(one['regret'] for one in theirs):.1f} "
        f"| {statistics.mean(regret for _, regret in ours):.1f} |"
    )


def environment() -> Path:
    """Return the interpreter of calvera's own environment, made at the first call."""
    python = Path(os.environ.get("SUPERARM_CALVERA_PYTHON", HOME / "bin" / "python"))
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "torch==2.13.0"], check=True)
        subprocess.run([*pip, "--no-deps", *PACKAGES], check=True)
    return python
