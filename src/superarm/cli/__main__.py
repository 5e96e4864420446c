"""`python -m superarm.cli`."""

from superarm.cli.app import main

main()
