"""What a result was made with: the commit, the versions, the processor."""

from __future__ import annotations

import platform
import shutil
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path


@lru_cache(maxsize=1)
def commit() -> str:
    """Return the commit of this source tree, with "+" when it was changed since; "" when it has none."""
    root = Path(__file__).resolve().parents[2]
    git = shutil.which("git")
    # An installed package may lie inside somebody else's repository.
    if git is None or not (root / ".git").exists() or not (root / "src" / "superarm").is_dir():
        return ""
    head = _git(git, root, "rev-parse", "HEAD")
    changed = _git(git, root, "status", "--porcelain", "--", "src", "pyproject.toml")
    return head + "+" if head and changed else head


def _git(git: str, root: Path, *arguments: str) -> str:
    command = [git, "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603 (git)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    packages = ("superarm", "jax", "jaxlib", "numpy", "scipy")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}


def cpu_model() -> str:
    """Return the processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
