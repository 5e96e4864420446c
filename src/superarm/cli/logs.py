"""The commands of logs: the options that name a log's columns, `evaluate`, and `tune` on a log."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from superarm.cli.errors import guarded
from superarm.cli.process import keep_compiled

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
LogOption = Annotated[Path | None, typer.Option("--log", metavar="LOG", help="Judge by a log instead.")]
Train = Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of events to learn from.")]


def given_columns(
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
    own, shared = (inspect.signature(one, eval_str=True) for one in (command, given_columns))

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        command(columns=given_columns(**{name: given.pop(name) for name in shared.parameters}), **given)

    kept = [one for one in own.parameters.values() if one.name != "columns"]
    signature = own.replace(parameters=[*kept, *shared.parameters.values()])
    annotations = {one.name: one.annotation for one in signature.parameters.values()}
    vars(wrapped)["__signature__"] = signature  # what Typer reads
    wrapped.__annotations__ = annotations
    return wrapped


def tune_on_log(
    log: Path,
    columns: dict[str, Any],
    policy: Path,
    grid: dict[str, list[float]],
    train: float,
    as_json: bool,
) -> None:
    """Judge a policy by a log at every point of a grid, and show what came out."""
    from superarm.evaluate.command import Source, judged_lines, tune_file

    judged = tune_file(Source(log, columns), policy, grid, train=train)
    if as_json:
        for line in judged_lines(judged):
            typer.echo(line)
        return
    typer.echo(judged.table.to_string(index=False))
    words = ", ".join(f"{one}={value:g}" for one, value in judged.best.items())
    typer.echo(f"best: {words}; on events that had no part in choosing it:\n{judged.final}")


@guarded
@reads_log
def evaluate_command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A .parquet, .csv or .csv.gz file, or an agent's folder.")
    ],
    policy: Annotated[
        Path,
        typer.Option("--policy", metavar="FILE", help="A policy (.toml, .json) or an agent (.safetensors)."),
    ],
    columns: dict[str, Any],
    train: Train = 0.5,
    interval: Annotated[str, typer.Option(help="asymptotic or bootstrap.")] = "asymptotic",
    clip: Annotated[float | None, typer.Option(help="The largest weight to let stand.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="A folder for evaluation.json and .png.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate from a log of other choices what a policy would earn per decision, with intervals.

    A policy learns from the first events (--train) and is judged by the rest; an agent, which has learned
    elsewhere, by all. Methods: direct, IPS, self-normalized IPS and doubly robust.
    """
    from superarm.evaluate.command import Source, evaluate_file, write_estimates

    keep_compiled()
    options: dict[str, Any] = {"train": train, "interval": interval, "clip": clip, "seed": seed}
    found = evaluate_file(Source(log, columns), policy, **options)
    typer.echo(found.to_json() if as_json else str(found))
    if out is not None:
        write_estimates(found, out)
        typer.echo(f"written to {out}", err=True)
