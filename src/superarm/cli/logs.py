"""The options of the commands that read a log: its layout, its columns and its arms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer


def told(
    layout: Annotated[str, typer.Option(help="Of the log: wide, long, open-bandit or coba.")] = "wide",
    action: Annotated[str | None, typer.Option(help="The column of chosen arms.")] = None,
    reward: Annotated[str | None, typer.Option(help="The column of rewards.")] = None,
    propensity: Annotated[
        str | None, typer.Option(help="The column of the log's chances; '' for none.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option("--feature", help="A column of features, or x_* for several; may be repeated."),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option("--category", help="A column of words, made one-hot; may be repeated."),
    ] = None,
    per_arm: Annotated[
        str | None, typer.Option(help="Wide: columns with a number per arm, such as affinity_*.")
    ] = None,
    arms: Annotated[
        list[str] | None, typer.Option("--arm", help="Wide: an arm's id, in order; may be repeated.")
    ] = None,
    items: Annotated[Path | None, typer.Option(help="Wide: a table with a row of features per arm.")] = None,
    cross: Annotated[
        bool | None, typer.Option("--cross/--no-cross", help="Wide: multiply features of context and arm.")
    ] = None,
    decision: Annotated[str | None, typer.Option(help="Long: the column of the decision's id.")] = None,
    chosen: Annotated[str | None, typer.Option(help="Long: the column with 1 where chosen.")] = None,
    position: Annotated[
        str | None, typer.Option(help="Long: the column of positions in a ranking, from 1.")
    ] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Read so many rows only.")] = None,
) -> dict[str, Any]:
    """Return those that were given, as `superarm.evaluate.read_log` takes them."""
    return {name: value for name, value in locals().items() if value not in (None, [])}


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options, which it gets as `columns`."""
    own, shared = (inspect.signature(one, eval_str=True) for one in (command, told))

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        command(columns=told(**{name: given.pop(name) for name in shared.parameters}), **given)

    kept = [one for one in own.parameters.values() if one.name != "columns"]
    signature = own.replace(parameters=[*kept, *shared.parameters.values()])
    annotations = {one.name: one.annotation for one in signature.parameters.values()}
    vars(wrapped)["__signature__"] = signature  # what Typer reads
    wrapped.__annotations__ = annotations
    return wrapped
