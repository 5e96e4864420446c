"""What `select` and `update` of an agent take: CPU time beside vowpalwabbit and plain NumPy, sides in turns.

    python -m benchmarks.agent_speed [OTHER_CHECKOUT]

It prints tables in Markdown, and writes nothing. Each side runs in a process of its own, on one thread; the
others wait meanwhile. With another checkout, its agent plays, too. The environment variable
VOWPALWABBIT_PYTHON names an interpreter that has vowpalwabbit; without it one is made beside this folder.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
SIZES = {(10, 20): 1000, (100, 20): 300, (10, 100): 500, (1000, 20): 60, (1000, 100): 15}  # rounds a turn
TURNS = 11
RADIUS, NOISE = 0.2, 0.1  # as in `peer_sides`
BATCH = 64
ONE_THREAD = {
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
VOWPAL, NUMPY, MEMORY, STORE = "vowpalwabbit, text", "NumPy, no checks", "in memory", "store"
BATCHES, SAFE, DISK = f"store, batches of {BATCH}", f"power_safe, batches of {BATCH}", "the disk alone"
OTHER = "other checkout, "
Numbers = dict[str, float]

HEAD = f"""## An agent's speed

`select` and `update` of `lin_ucb`, one thread, after `superarm.low_latency()`. CPU microseconds a round, the
median of {TURNS} turns, and their ratio to vowpalwabbit's in the same turn. Streams and vowpalwabbit's
settings are as in the peer table: its text is parsed once a round. NumPy is Sherman-Morrison without checks
or ids. A store is one of default settings, checkpoints included; no offer comes twice.

| K | d | side | CPU, us a round | over vowpalwabbit |
|---|---|---|---|---|
"""
EACH = f"""
### One round at a time, and batches

K = 10, d = 20; microseconds a round. CPU is that of the thread that calls, wall time is what a caller waits,
and the longer the more else runs on the machine. Of batches of {BATCH} by `select_many` and
`update_many` a round is a 64th. "{DISK}" writes as many bytes as a batch does, to a file of its own, and
waits for them by `fdatasync`, as often.

| side | CPU, median | p99 | p99 over median | wall, median | p99 |
|---|---|---|---|---|---|
"""


def stream(arms: int, dim: int, rounds: int) -> tuple[Any, Any]:
    """Unit contexts (T, K, d), and rewards (T, K) by a hidden unit parameter."""
    rng = np.random.default_rng(0)
    contexts = rng.standard_normal((rounds, arms, dim))
    contexts /= np.linalg.norm(contexts, axis=-1, keepdims=True)
    theta = rng.standard_normal(dim)
    means = contexts @ (theta / np.linalg.norm(theta))
    return contexts, means + NOISE * rng.standard_normal(means.shape)


class Served:
    """An agent, one call at a time."""

    def __init__(self, store: Any = None) -> None:
        import superarm

        superarm.low_latency()
        self.agent = superarm.Agent(superarm.lin_ucb(radius=RADIUS), store=store, draws=0)

    def form(self, contexts: Any) -> Any:
        return contexts

    def select(self, contexts: Any) -> int:
        self.decision = self.agent.select(contexts)
        return self.decision.item

    def update(self, contexts: Any, item: int, reward: float) -> None:
        self.agent.update(self.decision, reward)


def kept(power_safe: bool = False) -> Any:
    """A store in a folder that is new."""
    import superarm

    return superarm.Store(Path(tempfile.mkdtemp()) / "agent", power_safe=power_safe)


def by_rounds(side: Any, contexts: Any, rewards: Any) -> Callable[[], list[tuple[int, int]]]:
    """Play all rounds; return the nanoseconds of each: CPU and wall.

    Offers are formed before. In each turn features have other places, so that a log has met no offer.
    """

    turn = count()

    def play() -> list[tuple[int, int]]:
        offers, spent = [side.form(one) for one in np.roll(contexts, next(turn), axis=2)], []
        for offer, paid in zip(offers, rewards, strict=True):
            cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
            item = side.select(offer)
            side.update(offer, item, float(paid[item]))
            spent.append((time.thread_time_ns() - cpu, time.perf_counter_ns() - wall))
        return spent

    return play


def by_batches(agent: Any, contexts: Any, rewards: Any) -> Callable[[], list[tuple[int, int]]]:
    """The same in batches, a round being a share of its batch."""

    turn = count()

    def play() -> list[tuple[int, int]]:
        rolled, spent = np.roll(contexts, next(turn), axis=2), []
        for start in range(0, len(contexts) - BATCH + 1, BATCH):
            offers, paid = rolled[start : start + BATCH], rewards[start : start + BATCH]
            cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
            made = agent.select_many(offers)
            agent.update_many((one, float(row[one.item])) for one, row in zip(made, paid, strict=True))
            cpu, wall = time.thread_time_ns() - cpu, time.perf_counter_ns() - wall
            spent += [(cpu // BATCH, wall // BATCH)] * BATCH
        return spent

    return play


def disk_alone(contexts: Any) -> Callable[[], list[tuple[int, int]]]:
    """Bring to the disk what two transactions of a batch take: the contexts, and a page for the feedback."""
    file = os.open(Path(tempfile.mkdtemp()) / "file", os.O_RDWR | os.O_CREAT)
    parts = (contexts[:BATCH].tobytes(), bytes(4096))

    def play() -> list[tuple[int, int]]:
        spent = []
        for _ in range(len(contexts) // BATCH):
            cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
            for part in parts:
                os.write(file, part)
                os.fdatasync(file)
            cpu, wall = time.thread_time_ns() - cpu, time.perf_counter_ns() - wall
            spent += [(cpu // BATCH, wall // BATCH)] * BATCH
        return spent

    return play


def player(name: str, arms: int, dim: int, rounds: int) -> Callable[[], list[tuple[int, int]]]:
    """The rounds of a side."""
    contexts, rewards = stream(arms, dim, rounds)
    if name == DISK:
        return disk_alone(contexts)
    if name in (BATCHES, SAFE):
        return by_batches(Served(kept(power_safe=name == SAFE)).agent, contexts, rewards)
    if name in (VOWPAL, NUMPY):
        from peer_sides import NumpyLinUCB, Vowpal  # a neighbour: this file runs in an environment of its own

        side = (Vowpal if name == VOWPAL else NumpyLinUCB)(arms, dim)
    else:
        side = Served(kept() if name.endswith(STORE) else None)
    return by_rounds(side, contexts, rewards)


def serve() -> None:
    """Play once for a line of input, and print what the rounds took."""
    name, *sizes = sys.argv[2:]
    play = player(name, *map(int, sizes))
    for _ in sys.stdin:
        begun = time.process_time_ns()
        spent = np.array(play()) / 1e3
        whole = (time.process_time_ns() - begun) / 1e3 / len(spent)
        (cpu, wall), (slow, late) = np.median(spent, axis=0), np.percentile(spent, 99, axis=0)
        found = {"whole": whole, "cpu": spent[:, 0].mean(), "median": cpu, "p99": slow}
        print(json.dumps(found | {"wall": wall, "late": late}), flush=True)


class Side:
    """A side in its process."""

    def __init__(self, name: str, size: tuple[int, int], rounds: int, other: Path | None) -> None:
        source = other if other is not None and name.startswith(OTHER) else HERE.parents[1]
        variables = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(source / "src")}
        words = [str(number) for number in (*size, rounds)]
        command = [interpreter(name), str(HERE), "serve", name, *words]
        self.process = subprocess.Popen(
            command, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.communicate()

    def play(self) -> Numbers:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print("play", file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def interpreter(name: str) -> str:
    """The Python of a side."""
    if name != VOWPAL:
        return sys.executable
    if given := os.environ.get("VOWPALWABBIT_PYTHON"):
        return given
    from benchmarks.peers import environment

    return str(environment("vowpalwabbit"))


def in_turns(
    names: list[str], size: tuple[int, int], rounds: int, other: Path | None
) -> dict[str, list[Numbers]]:
    """What the sides took in each turn but the first, which compiles."""
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(name, size, rounds, other)) for name in names}
        turns = [{name: side.play() for name, side in sides.items()} for _ in range(TURNS + 1)][1:]
    return {name: [turn[name] for turn in turns] for name in names}


def ratios(other: Path | None) -> None:
    """Print the CPU time of a round on all sizes, and its ratio to vowpalwabbit's."""
    print(HEAD, end="", flush=True)
    names = [VOWPAL, NUMPY, MEMORY, STORE]
    names += [] if other is None else [OTHER + MEMORY, OTHER + STORE]
    for size, rounds in SIZES.items():
        found = in_turns(names, size, rounds, other)
        for name, turns in found.items():
            ratio = statistics.median(
                one["cpu"] / theirs["cpu"] for one, theirs in zip(turns, found[VOWPAL], strict=True)
            )
            cpu = statistics.median(turn["cpu"] for turn in turns)
            print(f"| {size[0]} | {size[1]} | {name} | {cpu:.1f} | {ratio:.2f} |", flush=True)


def spread(other: Path | None) -> None:
    """Print how far single rounds lie apart, and batches that wait for the disk."""
    print(EACH, end="", flush=True)
    size = (10, 20)
    names = [MEMORY, STORE, BATCHES, SAFE, DISK]
    names += [] if other is None else [OTHER + MEMORY, OTHER + STORE]
    for name, turns in in_turns(names, size, SIZES[size], other).items():
        keys = ("median", "p99", "wall", "late")
        cpu, slow, wall, late = (statistics.median(turn[key] for turn in turns) for key in keys)
        print(f"| {name} | {cpu:.1f} | {slow:.1f} | {slow / cpu:.1f} | {wall:.1f} | {late:.1f} |", flush=True)


def section() -> str:
    """Measure, and return the text of the section."""
    text = StringIO()
    with redirect_stdout(text):
        ratios(None)
        spread(None)
    return text.getvalue()


def main() -> None:
    """Measure and print."""
    if len(sys.argv) > 2:
        sys.exit("usage: python -m benchmarks.agent_speed [OTHER_CHECKOUT]")
    other = Path(sys.argv[1]).resolve() if len(sys.argv) == 2 else None
    ratios(other)
    spread(other)


if __name__ == "__main__":
    serve() if sys.argv[1:2] == ["serve"] else main()
