"""Whether the command line is all that this process does: then settings of the whole process are its own."""

from __future__ import annotations

_own = {"process": False}


def take_over() -> None:
    """Say that this process is the command line's alone."""
    _own["process"] = True


def keep_compiled() -> None:
    """Keep what JAX compiles, once a command is about to; its settings are those of the whole process."""
    if _own["process"]:
        from superarm.compiler import SECONDS, keep_compiled

        keep_compiled(seconds=SECONDS)
