"""Compiled code that is kept between processes, apart for every kind of processor and version of jaxlib.

Code that was compiled for one processor can crash on another, so a folder that machines share has a part for
each kind.
"""

from __future__ import annotations

import hashlib
import os
import platform
from importlib import metadata
from pathlib import Path

SECONDS = 0.5  # of compiling, from which it is worth a file


def cache_folder() -> Path:
    """Where compiled code is kept: `JAX_COMPILATION_CACHE_DIR`, or a folder in the user's cache."""
    if given := os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return Path(given)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "superarm" / "compiled" / f"jaxlib-{metadata.version('jaxlib')}-{_processor()}"


def cache_settings() -> dict[str, str]:
    """What a process must have in its environment to use it."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(SECONDS),
    }


def keep_compiled(folder: str | Path | None = None, *, seconds: float = 0.0) -> Path:
    """Keep what JAX compiles in this process, and use what was kept: the first decision comes much sooner.

    The command line does so by itself. It is a setting of JAX for the whole process, so importing superarm
    does not make it. A folder that JAX has begun to use stays.

    Args:
        folder: where; None for the one of the command line.
        seconds: of compiling, from which a program is kept.

    Returns:
        The folder.
    """
    import jax

    path = cache_folder() if folder is None else Path(folder)
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", seconds)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return path


def _processor() -> str:
    """A short word for what the processor can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        told = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    except OSError:
        told = [platform.machine(), platform.processor()]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]
