"""The command line: `app` has the commands."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line."""
    from superarm.cli.app import main as run

    run()
