"""An agent lives in a service: it needs little, and imports less."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ABSENT = {"loky", "matplotlib", "pandas", "pyarrow", "rich", "typer"}

WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted(ABSENT)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""

LIVES = """
import numpy as np
import superarm

contexts = np.eye(3)
policies = [superarm.lin_ucb(), superarm.comb_lin_ts(superarm.top_k(2))]
policies += [superarm.neural_ucb(superarm.neural(steps=2)), superarm.max_inp()]
for policy in policies:
    store = f"{sys.argv[1]}/{policy.name}"
    with superarm.Agent(policy, store=store) as agent:
        for _ in range(2):
            decision = agent.select(contexts, ids=["red", "green", "blue"])
            agent.update(decision, [1.0, 0.0] if policy.name == "comb_lin_ts" else 1.0)
    with superarm.Agent.open(store) as agent:
        again = agent.select(contexts, ids=["red", "green", "blue"])
        print(policy.name, agent.stats.updates, agent.stats.decisions)
        try:
            agent.explain(again)
        except ImportError as error:
            print(error)
"""


def ran(code, *arguments):
    """What a Python of its own prints."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_agent_with_a_store_needs_no_more_than_the_core(tmp_path):
    lacks = "explain: the package pandas must be installed, got none; run `pip install pandas`"
    assert ran(WITHOUT + LIVES, tmp_path) == [
        line
        for name in ("lin_ucb", "comb_lin_ts", "neural_ucb", "max_inp")
        for line in (f"{name} 2 3", lacks)
    ]


def test_a_public_name_says_what_it_lacks():
    code = "import superarm\ntry:\n    superarm.simulate\nexcept ImportError as error:\n    print(error)"
    (line,) = ran(WITHOUT + code)
    assert re.fullmatch(
        r"superarm.simulate: the package \w+ must be installed, got none; run `pip install superarm`", line
    )


LOADED = "\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"


@pytest.mark.parametrize(
    ("code", "never"),
    [
        ("import superarm", {"jax", "numpy", "scipy", "optax"}),
        ("from superarm import checks, errors", {"jax", "scipy", "optax"}),
        ("import superarm; superarm.lin_ucb()", {"scipy", "optax", "equinox", "sqlite3"}),
        (
            "import superarm; superarm.Agent(superarm.lin_ucb())",
            {"scipy", "optax", "equinox", "sqlite3", "safetensors", "tomllib", "tomli_w", "platformdirs"},
        ),
    ],
)
def test_nothing_is_imported_before_it_is_used(code, never):
    (loaded,) = ran(f"import sys\n{code}{LOADED}")
    assert not (never | ABSENT) & set(loaded.split())


def test_the_page_names_all_that_is_needed():
    page = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
    command = re.search(r"--no-deps superarm\n    pip install (.*)\n", page)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    all_needed = {re.match(r"[\w-]+", line).group() for line in project["dependencies"]}
    assert all_needed >= ABSENT
    assert all_needed - ABSENT <= set(command.group(1).split())
    assert not ABSENT & set(command.group(1).split())
