"""The net under every change: what each preset decides in a short run is written down.

`tests/golden/runs.json` was made with the code of commit 08d0735: hashes of the items chosen by a run and by
an agent, the run's regret and the sum of the agent's propensities. A row may change only with a reason in the
changelog; that of a new preset is made by `RECORD`. A preset must also decide alike in a compiled world and
in the same world stepped on the host.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from contract.presets import DUELS, ROWS
from superarm.contract import Environment
from superarm.environments import catalogue, duels, linear_scores, logistic_scores
from superarm.environments.face import WrappedEnvironment
from superarm.environments.linear import LinearScores
from superarm.pytree import pytree
from support.agent_presets import BUILDS, agent_of, drive

TABLE = Path(__file__).parents[1] / "golden" / "runs.json"
GOLDEN = json.loads(TABLE.read_text(encoding="utf-8"))
RECORD = "pytest -n0 tests/contract/test_golden_runs.py --record"
ARMS, DIM, ROUNDS, SEED = 8, 4, 60, 3

# Networks compile for long: `make test-full` has all presets, these are one of each kind.
QUICK = {"lin_ucb", "comb_lin_ts", "comb_ts", "epsilon_greedy", "glm_duel", "warm_up"}
MANY = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in sorted(BUILDS)]
PLANNED = {"planned": lambda: superarm.warm_up(superarm.lin_ucb(), rounds=10, plan="design")}


@pytree
@dataclass(frozen=True)
class OnHost(WrappedEnvironment):
    """Another environment, stepped round by round."""

    environment: Environment

    @property
    def native(self) -> bool:
        return False


@pytree
@dataclass(frozen=True)
class LongAndShort(WrappedEnvironment):
    """Another environment, in which no two arms have features of one length."""

    environment: Environment

    def offer(self, world, key):
        offer = self.environment.offer(world, key)
        lengths = jnp.linspace(0.5, 1.5, ARMS)[:, None]
        return replace(offer, contexts=offer.contexts * lengths)


def steep(contexts, theta, matrix):
    """Log-odds that tell arms well apart."""
    return 5.0 * (contexts @ theta)


def world_of(name: str, policy) -> Environment:
    """A world in which the preset learns something."""
    if name in DUELS:
        return duels("square", dim=DIM, num_arms=ARMS)
    oracle, row = getattr(policy.chooser, "oracle", None), ROWS.get(name)
    if row is not None and row.logistic:
        return logistic_scores(oracle, latent=steep, dim=DIM, num_arms=ARMS)
    if row is not None and row.binary:
        return catalogue(np.eye(ARMS), np.linspace(0.05, 0.95, ARMS), oracle)
    return linear_scores(oracle, dim=DIM, num_arms=ARMS)


def hashed(items) -> str:
    """A hash of whole numbers, as the golden table has it."""
    array = np.ascontiguousarray(np.concatenate([np.asarray(row, np.int64) for row in items]))
    return hashlib.sha256(str(array.dtype).encode() + array.tobytes()).hexdigest()[:16]


def ran(policy, world, rounds: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of fits that diverge in so short a run
        return superarm.simulate(policy, world, rounds=rounds, seeds=[SEED], workers=0).table


def of_a_run(name: str) -> dict[str, Any]:
    """What the table has of a preset's run."""
    policy = BUILDS[name]()
    table = ran(policy, world_of(name, policy), ROUNDS)
    return {"items": hashed(table["items"]), "regret": float(table["regret"].sum())}


def of_an_agent(name: str) -> dict[str, Any]:
    """What the table has of an agent with a preset."""
    agent, chosen = agent_of(name), []
    select = agent.select

    def noted(*arguments, **named):
        chosen.append(select(*arguments, **named))
        return chosen[-1]

    agent.select = noted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        drive(agent, np.random.default_rng(11), 25, [])
    known = [decision.propensities for decision in chosen if decision.propensities is not None]
    return {
        "agent_items": hashed([decision.items for decision in chosen]),
        "agent_propensity": sum(float(one.sum()) for one in known),
    }


def record(table: Path, names: Collection[str]) -> list[str]:
    """Make the rows that the table has not; a row that is there stays."""
    rows = json.loads(table.read_text(encoding="utf-8"))
    missing = sorted(set(names) - set(rows))
    rows |= {name: of_a_run(name) | of_an_agent(name) for name in missing}
    text = json.dumps({name: rows[name] for name in sorted(rows)}, indent=1)
    table.write_text(f"{text}\n", encoding="utf-8")
    return missing


def test_every_preset_is_in_the_table(request):
    """With `--record`, those that are not are written into it."""
    if request.config.getoption("record"):
        record(TABLE, BUILDS)
        GOLDEN.update(json.loads(TABLE.read_text(encoding="utf-8")))
    missing = sorted(set(BUILDS) - set(GOLDEN))
    assert not missing, f"make the row of {', '.join(missing)} in {TABLE.name} by: {RECORD}"
    gone = sorted(set(GOLDEN) - set(BUILDS))
    assert not gone, f"remove the row of {', '.join(gone)} from {TABLE.name}: there is no such preset"
    assert set(BUILDS) == set(superarm.policies.__all__)


def test_a_row_is_recorded_as_it_was(tmp_path):
    table = tmp_path / "runs.json"
    rows = {name: row for name, row in GOLDEN.items() if name != "comb_ts"}
    table.write_text(json.dumps(rows), encoding="utf-8")
    assert record(table, GOLDEN) == ["comb_ts"]
    recorded = json.loads(table.read_text(encoding="utf-8"))
    require_golden("comb_ts", recorded.pop("comb_ts"))
    assert recorded == rows
    written = table.read_text(encoding="utf-8")
    assert record(table, GOLDEN) == []
    assert table.read_text(encoding="utf-8") == written


def test_the_guide_says_how_a_row_is_made():
    assert RECORD in (TABLE.parents[2] / "docs" / "add-a-policy.md").read_text(encoding="utf-8")


def require_golden(name: str, found: dict[str, Any]) -> None:
    """Hashes as they are, numbers to the rounding of another processor."""
    for key, value in found.items():
        expected = GOLDEN[name][key]
        assert value == (expected if isinstance(value, str) else pytest.approx(expected, rel=1e-9)), key


@pytest.mark.parametrize("name", MANY)
def test_a_run_is_as_it_was(name):
    require_golden(name, of_a_run(name))


@pytest.mark.parametrize("name", MANY)
def test_an_agent_decides_as_it_did(name):
    require_golden(name, of_an_agent(name))


@pytest.mark.parametrize("name", [*MANY, pytest.param("planned")])
def test_a_world_stepped_on_the_host_meets_the_same_decisions(name):
    """The plan of a warm-up, which is a memo, was dropped there: 42 of 60 decisions agreed."""
    policy = (BUILDS | PLANNED)[name]()
    world = world_of(name, policy)
    if isinstance(world, LinearScores):  # whose arms have one length, so that rounding breaks the first ties
        world = LongAndShort(world)
    native, stepped = (ran(policy, one, 25) for one in (world, OnHost(world)))
    for left, right in zip(native["items"], stepped["items"], strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_allclose(native["regret"], stepped["regret"], rtol=1e-9, atol=1e-12)
