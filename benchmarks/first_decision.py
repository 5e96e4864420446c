"""From starting Python to an Agent's first decision: imports, compiling, and code that was kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

TURNS, TARGET = 5, 2.0
POLICIES = {
    "LinUCB": "superarm.lin_ucb()",
    "LinTS": "superarm.lin_ts()",
    "NeuralUCB": "superarm.neural_ucb()",
}
PROGRAM = """
import json, sys, time
begun = float(sys.argv[1])
import numpy as np
import superarm
superarm.low_latency()
superarm.keep_compiled()
imported = time.time()
agent = superarm.Agent({policy})
decision = agent.select(np.random.default_rng(0).normal(size=(10, 20)))
decided = time.time()
agent.update(decision, 1.0)
told = time.time()
print(json.dumps([imported - begun, decided - begun, told - begun]))
"""

HEAD = f"""## The first decision of an Agent: K = 10, d = 20

Seconds from starting Python: until superarm is imported, until `select` has answered, and until the first
`update` has returned, a fit included where the policy has one. "Cold" compiles; "warm" finds what
`superarm.keep_compiled()` kept on disk. The least of {TURNS} warm starts, in turns, after one that is cold.
The target is a warm decision in less than {TARGET:g} s.

| policy | cache | imported, s | first decision, s | first update, s |
|---|---|---|---|---|
"""


def section() -> str:
    """Measure cold, then warm."""
    with tempfile.TemporaryDirectory() as folder:
        cold = {name: started(code, f"{folder}/{name}") for name, code in POLICIES.items()}
        warm: dict[str, list[Any]] = {name: [] for name in POLICIES}
        for _ in range(TURNS):
            for name, code in POLICIES.items():
                warm[name].append(started(code, f"{folder}/{name}"))
    rows = []
    for name in POLICIES:
        rows.append(row(name, "cold", cold[name]))
        rows.append(row(name, "warm", min(warm[name], key=lambda times: times[1])))
    return HEAD + "".join(rows)


def started(policy: str, cache: str) -> list[float]:
    """Start Python once."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(policy=policy), repr(time.time())],
        env=environment | {"XDG_CACHE_HOME": cache},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def row(name: str, cache: str, times: list[float]) -> str:
    """One policy with one cache."""
    imported, decided, told = times
    return f"| {name} | {cache} | {imported:.2f} | **{decided:.2f}** | {told:.2f} |\n"
