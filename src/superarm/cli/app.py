"""The command line: list, run, claims, report, tune, evaluate, demo, store.

Heavy imports wait until a command needs them, so that `--help` and `list` answer at once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from superarm.cli import experiments, logs, process, stores
from superarm.cli.errors import BAD_INPUT, FINE, say_error

HELP = """
Contextual bandits whose action is one arm, a set of arms, or a duel.

Exit codes: 0 fine; 1 a claim fails (with --strict), or a store is damaged; 2 bad input (unknown id,
unwritable folder, damaged data, bad option); 70 an error of superarm
itself; 130 interrupted, finished seeds are kept.
"""

app = typer.Typer(help=HELP, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

# In the order of the help.
COMMANDS: dict[str, Callable[..., None]] = {
    "list": experiments.list_command,
    "run": experiments.run_command,
    "claims": experiments.claims_command,
    "report": experiments.report_command,
    "tune": experiments.tune_command,
    "evaluate": logs.evaluate_command,
    "demo": experiments.demo_command,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(stores.app, name="store")


def main() -> NoReturn:
    """Run the command line; usage errors are one sentence too."""
    process.take_over()
    # A job that is told to end stops as on Ctrl-C: workers are ended with it, finished seeds are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(prog_name="superarm", standalone_mode=False)
    except Exception as error:
        # Typer's own errors (click's, or its copy of them) carry a code and a sentence.
        if not hasattr(error, "format_message"):
            raise
        say_error(f"{error.format_message().rstrip('.')}; see `superarm --help`")
        code = BAD_INPUT
    sys.exit(code if isinstance(code, int) else FINE)


def _version(asked: bool) -> None:
    if asked:
        from importlib import metadata

        typer.echo(f"superarm {metadata.version('superarm')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False,
) -> None:
    """Show the help when no command is given."""
    if debug:
        os.environ["SUPERARM_DEBUG"] = "1"
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
