"""All experiments at the scale "quick", from the command line, with two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from superarm.reproduce.registry import EXPERIMENTS

PROGRAM = "from superarm.cli import main; main()"
COMMAND = ("-c", PROGRAM, "run", "--scale", "quick", "--workers", "2")

HEAD = """## All experiments at the scale "quick"

`superarm run --all --scale quick --workers 2` into an empty folder, with nothing compiled before. What is not
run needs files that are not here (`SUPERARM_DATA`). Claims are the papers'; at this scale few seeds decide
them.

"""
COLUMNS = """| minutes | experiments | not run | claims | hold | fail | open |
|---|---|---|---|---|---|---|
"""


def section(ids: tuple[str, ...] = ("--all",)) -> str:
    """Run all, or some."""
    wanted = len(EXPERIMENTS) if ids == ("--all",) else len(ids)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *COMMAND, *ids, "--out", str(out)],
            env=os.environ | {"JAX_COMPILATION_CACHE_DIR": f"{folder}/compiled"},
            capture_output=True,
            text=True,
            check=False,
        )
        minutes = (time.perf_counter() - begun) / 60.0
        found = [json.loads(path.read_text(encoding="utf-8")) for path in out.glob("**/summary.json")]
    verdicts = Counter(claim["verdict"] for one in found for claim in one["claims"])
    counts = f"{len(found)} | {wanted - len(found)} | {verdicts.total()}"
    kinds = " | ".join(str(verdicts[kind]) for kind in ("holds", "fails", "open"))
    return HEAD + COLUMNS + f"| **{minutes:.1f}** | {counts} | {kinds} |\n" + trouble(done)


def trouble(done: subprocess.CompletedProcess[str]) -> str:
    """What ended the command before its time: the first part of its sentence, which has no paths in it."""
    if not done.returncode:
        return ""
    sentence = done.stderr.strip().splitlines()[-1].removeprefix("superarm: ")
    return f"\nIt ended before its time: {sentence.partition(': ')[0]}.\n"
