"""`make bench`: measure, print, and write benchmarks/README.md.

Everything runs on one thread, in turns, so that a busy machine slows both sides alike. `python -m benchmarks
NAME ...` measures some sections anew and leaves the others as they were.
"""

from __future__ import annotations

import os

# Before NumPy and JAX start.
os.environ["NPROC"] = "1"  # the threads of XLA's CPU client; its flags leave large products two or more
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import datetime
import importlib
import sys
from pathlib import Path

import superarm
from benchmarks.machine import machine
from superarm.provenance import commit, versions

SECTIONS = (
    "peers",
    "logistic_peer",
    "agent_speed",
    "agent_profile",
    "first_decision",
    "paths",
    "exact_width",
    "calvera_peer",
    "neural_log",
    "ensembles",
    "duels",
    "fits",
    "catalogue",
    "growth",
    "growth_presets",
    "quick",
)
HERE = Path(__file__).parent

HEAD = """# Benchmarks

`make bench` measures, prints and rewrites this page. One thread on every side. Read the ratios: absolute
times depend on the machine and on what else it does. Sections may be of different commits and days; the last
line of each says its own. Before commit 149bf6c large products could take a second thread of XLA's.

"""


def main() -> None:
    """Measure the sections that are named, or all."""
    superarm.low_latency()
    for name in sys.argv[1:] or SECTIONS:
        if name not in SECTIONS:
            sys.exit(f"benchmarks: section must be one of {', '.join(SECTIONS)}, got {name!r}")
        text = importlib.import_module(f"benchmarks.{name}").section() + "\n" + origin()
        print(text, flush=True)
        (HERE / "sections" / f"{name}.md").write_text(text, encoding="utf-8")
    parts = [HERE / "sections" / f"{name}.md" for name in SECTIONS]
    written = [part.read_text(encoding="utf-8") for part in parts if part.exists()]
    (HERE / "README.md").write_text(HEAD + "\n".join(written), encoding="utf-8")


def origin() -> str:
    """When, on what and with what a section was measured."""
    named = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"{datetime.date.today().isoformat()}, commit {commit()[:10]}, {machine()}, {named}.\n"


if __name__ == "__main__":
    main()
