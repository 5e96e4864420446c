"""LinUCB and LinTS against other libraries and plain NumPy: one stream for all, one thread."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import superarm
from benchmarks.disjoint import disjoint_lin_ucb
from benchmarks.peer_ours import Served, Simulated
from benchmarks.peer_sides import ALPHA, FORMING, NOISE

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
PACKAGES = {
    "vowpalwabbit": "vowpalwabbit==9.11.9",
    "coba": "coba==8.1.0",
    "river": "river==0.26.1",
    "mabwiser": "mabwiser==2.7.4",
    "bayesianbandits": "bayesianbandits==1.5.0",
}
SIZES = tuple((arms, dim) for arms in (10, 100, 1000) for dim in (20, 100))
DRAWN = ((10, 20), (1000, 100))
TURNS = 3
SECONDS = 1.0  # that a side may spend on a stream in a turn
MAX_NUMBERS = 20_000_000  # in the contexts of a stream: 160 MB

UCB, TS = superarm.lin_ucb(radius=ALPHA), superarm.lin_ts(noise=NOISE)
SIMULATION, AGENT = "superarm, simulation", "superarm, Agent"
SHARED = (
    {SIMULATION: UCB, f"{SIMULATION}, LinTS": TS, AGENT: UCB, f"{AGENT}, LinTS": TS},
    (
        "NumPy, LinUCB",
        "NumPy, LinTS",
        "vowpalwabbit",
        "vowpalwabbit, parsed",
        "coba, LinUCB",
        "coba, LinTS",
        "river",
        "bayesianbandits, LinTS",
    ),
)
OWN = disjoint_lin_ucb(ALPHA)
DISJOINT = (
    {SIMULATION: OWN, AGENT: OWN},
    ("NumPy, disjoint", "river, disjoint", "mabwiser, disjoint", "bayesianbandits, disjoint"),
)

COLUMNS = """
| K | d | side | rounds | microseconds a round | over simulation | over Agent | regret | simulation's |
|---|---|---|---|---|---|---|---|---|
"""
HEAD = f"""## The peer table: LinUCB and LinTS against other libraries

![Microseconds a round](peers.png)

All sides play the same stream, one round after the other: unit contexts (K, d), a hidden unit parameter,
rewards with noise {NOISE}. Time is that of choosing and learning. The sides play in turns, {TURNS} times
from the beginning; of every round counts the least of the turns, and what is shown is the median over the
rounds. A round of a simulation takes the mean of its chunk of up to 256. A turn ends after {SECONDS:g} s of
rounds, after {FORMING * SECONDS:g} s with what is not timed, or where the stream ends; regret is over the
rounds played, as a share of what choosing at random loses in them, with that of superarm's simulation on the
same rounds beside it. Over few rounds it says little. Contexts are brought into the form that a library takes
before the clock starts; for vowpalwabbit that is text, and parsing it is part of a round, but not where it
says "parsed".

- superarm, simulation: the compiled rounds of `superarm.simulate`, on `environments.stream`.
- superarm, Agent: `select` and `update`, one call at a time, without a store, after `superarm.low_latency()`.
  LinTS without its chances.
- NumPy: Sherman-Morrison, vectorized over the arms, with superarm's settings. So are coba 8.1.0 and
  river 0.26.1, whose Bayesian regression is asked for each arm.
- vowpalwabbit 9.11.9: `--cb_explore_adf --squarecb --gamma_scale 1000`, one parse a round for predicting and
  learning. It learns by gradients: O(K d) a round, where LinUCB takes O(K d^2).
- bayesianbandits 1.5.0: Thompson sampling with one regression for all arms.

### One parameter for all arms
"""
DISJOINT_HEAD = """
### Arms with parameters of their own

One context (d,) for all arms: all that mabwiser 2.7.4 and river's own LinUCB know. superarm has no preset for
it; its sides are a model of some 40 lines under its contract (`disjoint.py`). bayesianbandits draws.
"""


def section() -> str:
    """Measure all sides on all sizes; draw the picture."""
    shared = {size: measured(linear_stream(*size), SHARED) for size in SIZES}
    apart = {size: measured(disjoint_stream(*size), DISJOINT) for size in SIZES}
    picture(
        {size: shared[size] | {"mabwiser, disjoint": apart[size]["mabwiser, disjoint"]} for size in DRAWN}
    )
    return HEAD + table(shared) + DISJOINT_HEAD + table(apart)


def linear_stream(arms: int, dim: int) -> dict[str, Any]:
    """Contexts (T, K, d), one parameter."""
    rng = np.random.default_rng(0)
    contexts = unit(rng.standard_normal((min(4000, MAX_NUMBERS // (arms * dim)), arms, dim), np.float32))
    means = contexts @ unit(rng.standard_normal(dim, np.float32))
    noise = NOISE * rng.standard_normal(means.shape, np.float32)
    return {"contexts": contexts, "means": means, "rewards": means + noise}


def disjoint_stream(arms: int, dim: int) -> dict[str, Any]:
    """Contexts (T, d), a parameter per arm."""
    rng = np.random.default_rng(0)
    contexts = unit(rng.standard_normal((min(4000, 100 * MAX_NUMBERS // (arms * dim**2)), dim), np.float32))
    means = contexts @ unit(rng.standard_normal((arms, dim), np.float32)).T
    noise = NOISE * rng.standard_normal(means.shape, np.float32)
    return {"contexts": contexts, "means": means, "rewards": means + noise}


def unit(rows: Any) -> Any:
    """The rows with norm 1."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def measured(stream: dict[str, Any], sides: Any, seconds: float = SECONDS) -> dict[str, dict[str, Any]]:
    """Return what every side did on a stream: its time, its rounds, its regret and simulation's."""
    ours, theirs = sides
    contexts, rewards = stream["contexts"].astype(np.float64), stream["rewards"].astype(np.float64)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "stream.npz"
        np.savez(path, **stream)
        players: dict[str, Any] = {}
        for name, policy in ours.items():
            simulates = name.startswith(SIMULATION)
            players[name] = (
                Simulated(policy, contexts, rewards)
                if simulates
                else Served(policy, contexts, rewards, seconds)
            )
        players |= {name: stack.enter_context(Peer(name, path, seconds)) for name in theirs}
        turns = [{name: player.play() for name, player in players.items()} for _ in range(TURNS)]
    found = {name: settled([turn[name] for turn in turns]) for name in players}
    for name, one in found.items():
        rounds = len(one["items"])
        one["regret"] = regret(stream["means"], one["items"])
        one["same"] = regret(stream["means"], found[SIMULATION]["items"][:rounds])
        one["compile"] = getattr(players[name], "compile", 0.0)
    return found


def settled(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The median over the rounds of the least that each took in the turns."""
    rounds = min(len(turn["items"]) for turn in turns)
    least = np.min([turn["spent"][:rounds] for turn in turns], axis=0)
    return {"items": turns[0]["items"][:rounds], "seconds": float(np.median(least))}


class Peer:
    """A side of `peer_sides.py` in its environment, which waits for its turns."""

    def __init__(self, name: str, path: Path, seconds: float) -> None:
        command = [environment(name.partition(",")[0]), HERE / "peer_sides.py", name, path, str(seconds)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.communicate()

    def play(self) -> dict[str, Any]:
        print("play", file=self.process.stdin, flush=True)
        while not (line := self.process.stdout.readline()).startswith("{"):  # a library may print, too
            if not line:
                raise RuntimeError(f"peers: a side ended with code {self.process.wait()}")
        return json.loads(line)


def environment(name: str) -> Path:
    """Return the interpreter of a library's own environment, made at the first call; ours for NumPy."""
    if name not in PACKAGES:
        return Path(sys.executable)
    home = HERE.parent / f".venv-{name}"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        install = [python, "-m", "pip", "install", "--quiet", PACKAGES[name], f"numpy=={np.__version__}"]
        subprocess.run(install, check=True)
    return python


def regret(means: Any, items: Any) -> float:
    """The regret of the first choices, as a share of that of choosing at random."""
    means = means[: len(items)]
    best = means.max(axis=1)
    return float(np.sum(best - means[np.arange(len(items)), items]) / np.sum(best - means.mean(axis=1)))


def table(found: dict[tuple[int, int], dict[str, dict[str, Any]]]) -> str:
    """One row per size and side."""
    rows = [row(size, name, sides) for size, sides in found.items() for name in sides]
    compiling = [one["compile"] for sides in found.values() for one in sides.values()]
    return COLUMNS + "\n".join(rows) + f"\n\nA simulation is compiled in at most {max(compiling):.1f} s.\n"


def row(size: tuple[int, int], name: str, sides: dict[str, dict[str, Any]]) -> str:
    """One side of one size, against both of ours."""
    one = sides[name]
    simulation, agent = (one["seconds"] / sides[ours]["seconds"] for ours in (SIMULATION, AGENT))
    return (
        f"| {size[0]} | {size[1]} | {name} | {len(one['items'])} | {1e6 * one['seconds']:.1f} "
        f"| {simulation:.1f} | {agent:.2f} | {one['regret']:.3f} | {one['same']:.3f} |"
    )


def picture(found: dict[tuple[int, int], dict[str, dict[str, Any]]]) -> None:
    """Draw bars of the microseconds a round, the fastest on top."""
    figure, axes = plt.subplots(1, len(found), figsize=(11, 4), layout="constrained")
    for axis, ((arms, dim), sides) in zip(axes, found.items(), strict=True):
        names = sorted(sides, key=lambda name, sides=sides: -sides[name]["seconds"])
        times = [1e6 * sides[name]["seconds"] for name in names]
        colours = ["C0" if name.startswith("superarm") else "0.7" for name in names]
        bars = axis.barh(names, times, color=colours)
        axis.bar_label(bars, [f"{time:,.0f}" if time >= 10 else f"{time:.1f}" for time in times], padding=2)
        axis.set(xscale="log", title=f"K = {arms}, d = {dim}", xlabel="microseconds a round")
        axis.set_xlim(right=max(times) * 12)
    figure.savefig(HERE / "peers.png", dpi=120)
    plt.close(figure)
