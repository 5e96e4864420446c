"""The commands of an agent's store: check it, repair a damaged one, back it up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from superarm.cli.errors import guarded

app = typer.Typer(help="Check, repair or back up the store of an agent.", no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(help="The folder of the store.")]
Out = Annotated[Path, typer.Option("--out", help="A new folder, empty or not there.")]
DAMAGED = 1


@app.command("check")
@guarded
def check_command(
    folder: Folder, as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """Read every row of a store and say what is wrong; exit code 1 where something is. Nothing is changed."""
    from superarm.agent.store.repair import check_store

    report = check_store(folder)
    if as_json:
        typer.echo(json.dumps(report.plain()))
    else:
        log = "no entries" if report.first is None else f"entries {report.first} to {report.last}"
        typer.echo(f"{folder.name}: a state after entry {report.checkpoint}, and {log} that agree")
        for problem in report.problems:
            typer.echo(f"  {problem}")
        typer.echo("whole" if report.whole else "damaged; `superarm store repair` saves what agrees")
    if not report.whole:
        raise typer.Exit(DAMAGED)


@app.command("repair")
@guarded
def repair_command(folder: Folder, out: Out) -> None:
    """Save what a damaged store still holds into a new folder; the store itself stays as it is."""
    from superarm.agent.store.repair import check_store, repair_store

    report, saved = repair_store(folder, out), check_store(out)
    for problem in report.problems:
        typer.echo(f"  {problem}")
    end = saved.last if saved.last is not None else saved.checkpoint
    typer.echo(f"{out.name}: holds what happened up to entry {end}; `Agent.open` goes on with it")
    if report.acknowledged is None:
        typer.echo("how much was acknowledged after that is not known")
    elif end is not None and report.acknowledged > end:
        typer.echo(f"{report.acknowledged - end} acknowledged entries after that are lost")


@app.command("backup")
@guarded
def backup_command(folder: Folder, out: Out) -> None:
    """Copy a store into a new folder, while its agent may be at work."""
    from superarm.agent.store.repair import backup_store

    typer.echo(f"{backup_store(folder, out).name}: written; `Agent.open` goes on with it")
