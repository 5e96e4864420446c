"""What ends a command: which error becomes which sentence and which exit code."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import ParamSpec

import typer

P = ParamSpec("P")

FINE, CLAIM_FAILS, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors into one sentence and an exit code; SUPERARM_DEBUG=1 shows where they came from."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if os.environ.get("SUPERARM_DEBUG"):
                raise
            code, sentence = explained(error)
            say_error(sentence)
            raise typer.Exit(code) from None

    return wrapped


def explained(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the sentence of an error."""
    from superarm.datasets import DataError
    from superarm.errors import ConfigError, StoreError
    from superarm.evaluate import LogError
    from superarm.experiments.experiment import ExperimentError

    if isinstance(error, KeyboardInterrupt):
        kept = f": {error}; the same command without --fresh goes on from there" if str(error) else ""
        return INTERRUPTED, f"interrupted{kept}"
    if isinstance(error, ExperimentError | DataError | ConfigError | StoreError | LogError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        return BAD_INPUT, f"{error.filename or 'a file'}: {error.strerror or error}"
    return INTERNAL, f"internal error, {type(error).__name__}: {error}; SUPERARM_DEBUG=1 shows where"


def say_error(sentence: str) -> None:
    """Write a sentence to standard error."""
    typer.echo(f"superarm: {sentence}", err=True)
