"""Which tests are heavy: measured, and listed in `tests/heavy_tests.txt`, which `make test` leaves out.

    SUPERARM_TEST_COSTS=costs.txt python -m pytest          # all tests, on a machine with nothing compiled
    python tests/support/heavy.py costs.txt > tests/heavy_tests.txt

Tests from `SECONDS` of CPU time on are heavy, but for those that a change should always meet.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).parents[1] / "heavy_tests.txt"
SECONDS = 1.2
KEPT = (  # the README, the first steps, crashes, and the shape of the house
    "tests/docs/test_docs.py::test_examples_run[README.md]",
    "tests/docs/test_docs.py::test_examples_run[quick-start.md]",
    "tests/agent/test_light_install.py",
    "tests/agent/test_repair.py",
    "tests/agent/test_store.py",
    "tests/agent/test_way_of_a_decision.py",
    "tests/faults",
    "tests/test_house.py",
)


def listed() -> frozenset[str]:
    """The ids of heavy tests."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def heavy(costs: Iterable[str]) -> list[str]:
    """The ids of heavy tests, from lines with CPU seconds, megabytes and an id."""
    rows = (line.split(maxsplit=2) for line in costs)
    found = {test.strip() for seconds, _, test in rows if float(seconds) >= SECONDS}
    return sorted(test for test in found if not test.startswith(KEPT))


if __name__ == "__main__":
    print("\n".join(heavy(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())))
