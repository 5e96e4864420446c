"""What superarm asks of the compiler: options for small programs, and programs that are kept.

Programs are kept within a process (`compiled`) and between processes (`keep_compiled`). Code that was
compiled for one processor can crash on another, so a folder that machines share has a part for each kind of
processor and version of jaxlib. Importing this loads neither JAX nor NumPy.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from superarm import checks

SECONDS = 0.5  # of compiling, from which it is worth a file
MAX_MEMORY_MAPS = 30_000  # of the 65,530 that Linux gives a process; a compiled program takes hundreds
_PROGRAMS: dict[Any, Any] = {}


@cache
def cpu_options() -> dict[str, str] | None:
    """The options of `jax.jit` for small programs on the CPU; None where this XLA does not know them.

    XLA starts the steps of a program side by side where they do not wait for each other. Handing work to
    other threads costs a small program more than it brings: in order, a choice of LinUCB among 16 arms takes
    half the time.
    """
    import jax

    options = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
    try:
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except Exception:  # of many kinds: it is an option of the compiler, not of JAX
        return None
    return options


def low_latency() -> None:
    """Let JAX run on the CPU in the thread that calls, in this process.

    A small agent's `select` and `update` then take a third less time, and half on a busy machine. Call it
    before anything else: once JAX has started, it changes nothing. It is a setting of JAX for the whole
    process, so importing superarm does not make it.
    """
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)


def compiled(function: Any, *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Return a jitted function compiled for such arguments, once per process, and the seconds it took."""
    import jax
    import numpy as np

    leaves, structure = jax.tree.flatten(arguments)
    shapes = tuple((np.shape(leaf), str(leaf.dtype)) for leaf in leaves)
    name = (function, structure, shapes, tuple(options.items()))
    begun = time.perf_counter()
    if name in _PROGRAMS:
        return _PROGRAMS[name], 0.0
    forget_if_full()
    _PROGRAMS[name] = function.lower(*arguments, **options).compile(compiler_options=cpu_options())
    return _PROGRAMS[name], time.perf_counter() - begun


def forget_if_full() -> None:
    """Forget compiled programs before the process runs out of memory maps, which would end it."""
    path = Path("/proc/self/maps")
    if path.exists() and path.read_bytes().count(b"\n") > MAX_MEMORY_MAPS:
        forget_compiled()


def forget_compiled() -> None:
    """Forget all compiled programs of this process; each takes memory as long as it is kept."""
    import jax

    _PROGRAMS.clear()
    jax.clear_caches()


def cache_folder() -> Path:
    """Where compiled code is kept: `JAX_COMPILATION_CACHE_DIR`, or a folder in the user's cache."""
    import platformdirs

    if given := os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return Path(given)
    home = platformdirs.user_cache_path("superarm", appauthor=False)
    return home / "compiled" / f"jaxlib-{metadata.version('jaxlib')}-{_processor()}"


def cache_settings() -> dict[str, str]:
    """What a process must have in its environment to use it."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(SECONDS),
    }


@checks.named
def keep_compiled(folder: str | Path | None = None, *, seconds: float = 0.0) -> Path:
    """Keep what JAX compiles in this process, and use what was kept: the first decision comes much sooner.

    The command line does so by itself. It is a setting of JAX for the whole process, so importing superarm
    does not make it. A folder that JAX has begun to use stays.

    Compiled code is run as it is found: whoever can write to the folder can run code in this process. It must
    be the user's own, never one that others can write.

    Args:
        folder: where; None for the one of the command line, which is `JAX_COMPILATION_CACHE_DIR` or in the
            user's cache.
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
