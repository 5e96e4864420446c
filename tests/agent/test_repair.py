"""A store that is damaged: what is wrong is said, and what agrees is saved into a new folder."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import superarm
from superarm import Agent, Store
from superarm.agent.store.repair import backup_store, check_store, repair_store
from superarm.cli.app import app
from superarm.errors import StoreError
from support.agent_presets import same_state

CONTEXTS = np.random.default_rng(0).normal(size=(4, 3))


@pytest.fixture
def store(tmp_path):
    """A store whose agent died after 30 rounds, the last checkpoint after 20."""
    agent = Agent(superarm.lin_ucb(), store=Store(tmp_path / "agent", checkpoint_every=40, keep=None))
    for number in range(30):
        agent.update(agent.select(CONTEXTS + number), 1.0)
    agent._session.release()
    return tmp_path / "agent"


def changed(store, statement: str) -> None:
    base = sqlite3.connect(store / "log.sqlite")
    base.execute(statement)
    base.commit()
    base.close()


def test_a_store_that_is_whole(store):
    report = check_store(store)
    assert report.whole
    assert (report.first, report.last, report.acknowledged) == (1, 61, 61)
    assert report.checkpoint == 41


def test_what_comes_before_a_damaged_entry_is_saved(store, tmp_path):
    changed(store, "UPDATE log SET time = time + 1 WHERE seq = 51")
    with pytest.raises(StoreError, match=r"entry 51 does not agree .*`superarm store repair` saves"):
        Agent.open(store)
    before = {path.name: path.read_bytes() for path in store.iterdir()}
    report = repair_store(store, tmp_path / "saved")
    assert report.last == 50
    assert any("11 acknowledged entries after entry 50 are missing" in one for one in report.problems)
    assert before.items() <= {path.name: path.read_bytes() for path in store.iterdir()}.items()
    with Agent.open(tmp_path / "saved") as agent:
        assert (agent.stats.decisions, agent.stats.updates) == (25, 24)
        agent.update(agent.select(CONTEXTS), 1.0)
    assert check_store(tmp_path / "saved").whole


def test_a_lost_state_is_made_again_from_the_log(store, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(store, whole)
    (store / "state.safetensors").write_bytes(b"nothing")
    repair_store(store, tmp_path / "saved")
    with Agent.open(tmp_path / "saved") as agent, Agent.open(whole) as expected:
        assert same_state(agent, expected)


@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_without_a_log_the_state_alone_is_saved(damage, store, tmp_path):
    for path in store.glob("log.sqlite*"):
        path.unlink()
    if damage == "garbage":
        (store / "log.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreError):
        Agent.open(store)
    repair_store(store, tmp_path / "saved")
    with Agent.open(tmp_path / "saved") as agent:
        assert (agent.stats.decisions, agent.stats.updates) == (20, 20)
        agent.update(agent.select(CONTEXTS), 1.0)
    with Agent.open(tmp_path / "saved") as agent:
        assert agent.stats.updates == 21


def test_a_lost_lock_is_repaired(store, tmp_path):
    (store / "lock").unlink()
    with pytest.raises(
        StoreError, match="lock: is missing or empty, so that the end of the log is not known"
    ):
        Agent.open(store)
    repair_store(store, tmp_path / "saved")
    with Agent.open(tmp_path / "saved") as agent:
        assert agent.stats.updates == 30


def test_what_cannot_be_saved_is_said(store, tmp_path):
    (store / "state.safetensors").unlink()
    changed(store, "DELETE FROM log WHERE seq = 1")
    with pytest.raises(StoreError, match="agent: cannot be repaired: the state cannot be read"):
        repair_store(store, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_nothing_is_written_over(store, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    for write in (repair_store, backup_store):
        with pytest.raises(StoreError, match="full: must be empty or not there"):
            write(store, tmp_path / "full")


def test_a_backup_of_an_agent_at_work(tmp_path):
    """It opens to a state that the agent was in, whatever is written meanwhile."""
    agent = Agent(superarm.lin_ucb(), store=Store(tmp_path / "agent", checkpoint_every=20, keep=30))
    stop = threading.Event()

    def work():
        while not stop.is_set():
            agent.update(agent.select(CONTEXTS), 1.0)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for number in range(5):
            before = agent.stats.updates
            agent.backup(tmp_path / f"inside-{number}")
            backup_store(tmp_path / "agent", tmp_path / f"outside-{number}")
            after = agent.stats.updates
            for name in (f"inside-{number}", f"outside-{number}"):
                with Agent.open(tmp_path / name) as copy:
                    assert before <= copy.stats.updates <= after + 1
                    mean = np.asarray(copy._session.state.learner.state.record.mean)
                    assert np.isfinite(mean).all()
                    copy.update(copy.select(CONTEXTS), 1.0)
    finally:
        stop.set()
        worker.join()
    agent.close()
    assert check_store(tmp_path / "agent").whole


def test_an_agent_without_a_store_has_no_backup(tmp_path):
    with pytest.raises(ValueError, match="backup: agent must have a store, got none; use save"):
        Agent(superarm.lin_ucb()).backup(tmp_path / "copy")


def test_the_command_line(store, tmp_path):
    run = CliRunner().invoke
    whole = run(app, ["store", "check", str(store)])
    assert (whole.exit_code, whole.stdout.splitlines()[-1]) == (0, "whole")
    assert run(app, ["store", "backup", str(store), "--out", str(tmp_path / "copy")]).exit_code == 0
    assert check_store(tmp_path / "copy").whole
    changed(store, "DELETE FROM log WHERE seq = 60")
    damaged = run(app, ["store", "check", str(store), "--json"])
    assert damaged.exit_code == 1
    assert json.loads(damaged.stdout)["whole"] is False
    repaired = run(app, ["store", "repair", str(store), "--out", str(tmp_path / "saved")])
    assert repaired.exit_code == 0
    assert "2 acknowledged entries after that are lost" in repaired.stdout
    nowhere = run(app, ["store", "check", str(tmp_path / "nowhere")])
    assert nowhere.exit_code == 2
