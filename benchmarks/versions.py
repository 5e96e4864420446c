"""Two versions of superarm beside each other: CPU time of the same calls, in turns.

    python -m benchmarks.versions OTHER_CHECKOUT

Run it before and after a change that should not cost speed. It prints, and writes nothing. Each version runs
in a process of its own, on one thread; the other one waits meanwhile.
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
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
ARMS, DIM, CALLS, TURNS = 10, 20, 500, 15
ONE_THREAD = {
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
Calls = Callable[[], Any]


def agent_calls(policy: str, stored: bool, learns: bool) -> Calls:
    """CALLS times `select`, each with `update` after it if it learns."""
    import superarm

    build = getattr(superarm, policy)
    store = superarm.Store(tempfile.mkdtemp(), checkpoint_every=10**9) if stored else None
    agent = superarm.Agent(build(), store=store, draws=0)
    offers = np.random.default_rng(0).normal(size=(CALLS, ARMS, DIM))
    ids = [f"arm-{index}" for index in range(ARMS)]

    def call() -> None:
        for number, offer in enumerate(offers):
            decision = agent.select(offer, ids=ids)
            if learns:
                agent.update(decision.id, float(number % 2))

    return call


def simulated(policy: str) -> Calls:
    """A compiled run of 5,000 rounds."""
    import superarm

    world = superarm.environments.linear_scores(dim=DIM, num_arms=ARMS)
    built = getattr(superarm, policy)()
    return lambda: superarm.simulate(built, world, rounds=5_000, seeds=[0], workers=0)


def cases() -> dict[str, Calls]:
    """What is measured, by name."""
    found: dict[str, Calls] = {}
    for policy in ("lin_ucb", "lin_ts"):
        for stored in (False, True):
            for learns in (False, True):
                calls = "select and update" if learns else "select"
                name = f"Agent, {policy}, {'store' if stored else 'in memory'}, {calls}"
                found[name] = agent_calls(policy, stored, learns)
        found[f"simulate, {policy}, 5,000 rounds"] = simulated(policy)
    return found


def serve() -> None:
    """Run each case once for a line of input, and print the CPU seconds that it took."""
    import superarm

    superarm.low_latency()
    measured = cases()
    print(json.dumps(list(measured)), flush=True)
    for line in sys.stdin:
        begun = time.process_time()
        measured[line.strip()]()
        print(time.process_time() - begun, flush=True)


class Side:
    """One version in its process."""

    def __init__(self, checkout: Path) -> None:
        """Start it."""
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(checkout / "src")}
        command = [sys.executable, str(Path(__file__).resolve()), "serve"]
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.names: list[str] = json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def seconds(self, name: str) -> float:
        """CPU seconds of one case."""
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self._line())


def compare(other: Path) -> None:
    """Print a table of medians, and of their ratio."""
    before, after = Side(other), Side(HERE)
    print("| what | other, CPU ms | this, CPU ms | ratio |\n|---|---|---|---|")
    for name in after.names:
        pairs = [(before.seconds(name), after.seconds(name)) for _ in range(TURNS + 1)][
            1:
        ]  # the first compiles
        ratio = statistics.median(new / old for old, new in pairs)
        old, new = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"| {name} | {old:.1f} | {new:.1f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.versions OTHER_CHECKOUT")
    serve() if sys.argv[1] == "serve" else compare(Path(sys.argv[1]))
