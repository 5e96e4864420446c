"""What an agent keeps on disk: nothing that was acknowledged is lost, and what is damaged is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import superarm
from superarm import Agent, Store
from superarm.agent.store import journal, state_file
from superarm.agent.store.pending import ids_in
from superarm.errors import StoreError
from superarm.evaluate import agent_log
from support.agent_presets import BUILDS, DIM, FEATURES, agent_of, drive, same_state

GOLDEN = Path(__file__).parents[1] / "golden"
QUICK = ("ensemble_duel",)


def quick(names):
    """All as parameters, most of them in the full tests only."""
    return [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in names]


# Rebuilt from the log


@pytest.mark.parametrize("name", quick(BUILDS))
def test_the_log_rebuilds_the_state_bit_for_bit(name, tmp_path):
    rng, waiting = np.random.default_rng(0), []
    agent = agent_of(name, store=Store(tmp_path / "agent", checkpoint_every=13))
    drive(agent, rng, 45, waiting)
    agent._session.recorder.close()  # as if it had died: no last checkpoint
    agent._session.recorder = None
    again = Agent.open(tmp_path / "agent")
    assert same_state(agent, again)
    fixed = agent._session.state.arms.fixed is not None
    contexts = FEATURES if fixed else rng.normal(size=(6, DIM))
    for _ in range(3):
        one, other = agent.select(contexts), again.select(contexts)
        assert (one.id, one.items) == (other.id, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)
    decision = waiting[0]  # made before the restart
    feedback = (
        1.0
        if len(decision.items) == 1 or agent._session.state.traits.compares
        else np.ones(len(decision.items))
    )
    assert agent.update(decision, feedback)
    assert again.update(decision.id, feedback)
    assert same_state(agent, again)
    again.close()


def test_fits_made_aside_are_rebuilt(tmp_path):
    """A fit begun after one update and taken over some updates later is so again."""
    rng = np.random.default_rng(0)
    agent = agent_of("neural_ucb", background=True, store=Store(tmp_path / "agent", checkpoint_every=7))
    drive(agent, rng, 60, [])
    agent.wait()
    agent.learn()
    agent._session.recorder.close()
    agent._session.recorder = None
    again = Agent.open(tmp_path / "agent")
    assert same_state(agent, again)
    assert int(agent._session.state.learner.state.fit.version) > 1
    again.close()


def test_history_is_rebuilt(tmp_path):
    rng = np.random.default_rng(0)
    log = superarm.evaluate.event_log(
        rng.normal(size=(30, 4, 3)), rng.integers(4, size=30), rng.normal(size=30)
    )
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    agent.fit(log)
    agent._session.recorder.close()
    agent._session.recorder = None
    again = Agent.open(tmp_path / "agent")
    assert same_state(agent, again)
    again.close()


def test_names_of_columns_and_places_are_kept(tmp_path):
    import pandas as pd

    with Agent(superarm.lin_ucb(), store=tmp_path / "one") as agent:
        agent.select(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with Agent.open(tmp_path / "one") as again, pytest.raises(ValueError, match="must have the columns a, b"):
        again.select(pd.DataFrame({"c": [1.0], "b": [2.0]}))
    with Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=5, store=tmp_path / "two") as agent:
        agent.select(ids=["x", "y"])
    with Agent.open(tmp_path / "two") as again:
        assert again._session.state.arms.places == {"x": 0, "y": 1}


# Killed at any moment

WORK = """
    import sys
    import numpy as np
    import superarm

    folder, seed, way, begun = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    rng = np.random.default_rng(seed)
    batch = 3 if way == "batches" else 1
    store = superarm.Store(folder, checkpoint_every=5, keep=4 if way == "batches" else None)
    if begun:
        agent = superarm.Agent.open(store)
    elif way == "aside":
        agent = superarm.Agent(superarm.logistic_ts(learn_every=3), store=store, background=True, draws=0)
    else:
        agent = superarm.Agent(superarm.lin_ucb(), store=store)
    print("ready", flush=True)
    while True:
        decisions = agent.select_many([rng.normal(size=(4, 3)) for _ in range(batch)])
        rewards = [float(rng.random() < 0.5) for _ in decisions]
        agent.update_many(list(zip(decisions, rewards)))
        lines = [
            " ".join(map(str, [one.id, *one.features[0].tolist(), reward]))
            for one, reward in zip(decisions, rewards)
        ]
        print("\\n".join(lines), flush=True)  # one write, which is whole or not there
"""
WAYS = ("one by one", "batches", "twice", "aside")


def killed(folder: Path, seed: int, way: str, begun: bool = False) -> np.ndarray:
    """Start an agent in another process, kill it at a random moment, and return what it acknowledged."""
    rng = np.random.default_rng([seed, begun])
    command = [sys.executable, "-c", textwrap.dedent(WORK), str(folder), str(seed), way, str(int(begun))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        lines = [process.stdout.readline() for _ in range(int(rng.integers(1, 40)))]
        time.sleep(float(rng.random() * 0.002))
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
    whole = [line.split() for line in lines if line.endswith("\n")]
    return np.array([[float(word) for word in words] for words in whole]).reshape(-1, 5)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 200))]
)
def test_a_killed_process_loses_no_acknowledged_update(seed, tmp_path):
    way = WAYS[seed % len(WAYS)]
    told = killed(tmp_path / "agent", seed, way)
    cut_off = 3 if way == "batches" else 1  # updates that may have been made and not been told
    if way == "twice":
        told = np.concatenate([told, killed(tmp_path / "agent", seed, way, begun=True)])
        cut_off = 2
    with Agent.open(tmp_path / "agent") as agent:
        assert len(told) <= agent.stats.updates <= len(told) + cut_off
        assert agent.stats.decisions <= agent.stats.updates + cut_off
        if agent.stats.updates == len(told) and way != "aside":
            features, rewards = told[:, 1:4], told[:, 4]
            precision = np.eye(3) + features.T @ features
            mean = np.linalg.solve(precision, features.T @ rewards)
            np.testing.assert_allclose(agent._session.state.learner.state.record.mean, mean, rtol=1e-9)
        agent.update(agent.select(np.eye(3)), 1.0)


# One writer


def test_one_agent_at_a_time(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    with pytest.raises(StoreError, match="agent: is in use by another agent"):
        Agent.open(tmp_path / "agent")
    agent.close()
    with pytest.raises(StoreError, match=r"agent: holds an agent; use Agent\.open to go on with it"):
        Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    Agent.open(tmp_path / "agent").close()


def test_one_process_at_a_time(tmp_path):
    code = "import sys, superarm; superarm.Agent.open(sys.argv[1])"
    with Agent(superarm.lin_ucb(), store=tmp_path / "agent"):
        command = [sys.executable, "-c", code, str(tmp_path / "agent")]
        other = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert "StoreInUseError: agent: is in use by another agent" in other.stderr


@pytest.mark.parametrize(("power_safe", "level"), [(False, 1), (True, 2)])
def test_power_safe_waits_for_the_disk(power_safe, level, tmp_path):
    """In WAL mode SQLite waits at every commit at level FULL, 2, and not at NORMAL, 1."""
    with Agent(superarm.lin_ucb(), store=Store(tmp_path / "agent", power_safe=power_safe)) as agent:
        base = agent._session.recorder.journal._base
        assert base.execute("PRAGMA synchronous").fetchone() == (level,)
        assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# Bounded


def test_the_write_ahead_log_stays_small_without_checkpoints(tmp_path, monkeypatch):
    """A view of the log is kept open, and as long as it is the write-ahead log grows."""
    monkeypatch.setattr(journal, "MAX_WAL", 2**18)
    with Agent(superarm.lin_ucb(), store=Store(tmp_path / "agent", checkpoint_every=10**9)) as agent:
        rng = np.random.default_rng(0)
        for _ in range(150):
            agent.update(agent.select(rng.normal(size=(4, 3))), 1.0)
        agent.update_many((made, 1.0) for made in agent.select_many(rng.normal(size=(100, 4, 3))))
        agent.update(agent.select(np.eye(3)), 1.0)
        assert (tmp_path / "agent" / "log.sqlite-wal").stat().st_size < 3 * 2**18
        assert len(agent_log(tmp_path / "agent").rewards) == 251


def test_a_program_that_writes_to_the_log_is_noticed_once(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    agent.update(agent.select(np.eye(3)), 1.0)
    base = sqlite3.connect(tmp_path / "agent" / "log.sqlite")
    base.execute("CREATE TABLE notes (words TEXT)")
    base.close()
    with pytest.raises(StoreError, match=r"log\.sqlite: could not be used: "):
        agent.select(np.eye(3))
    agent.update(agent.select(np.eye(3)), 1.0)
    agent.close()
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 2


def test_the_log_is_compacted(tmp_path):
    store = Store(tmp_path / "agent", checkpoint_every=10, keep=15)
    agent = Agent(superarm.lin_ucb(), store=store)
    rng = np.random.default_rng(0)
    for number in range(100):
        decision = agent.select(rng.normal(size=(4, 3)))
        if number != 50:
            agent.update(decision, 1.0)
    agent.checkpoint()
    base = sqlite3.connect(tmp_path / "agent" / "log.sqlite")
    rows = base.execute("SELECT kind, decision FROM log").fetchall()
    base.close()
    assert [number for kind, number in rows if kind == "decision"] == list(range(85, 100))
    assert rows[0] == ("feedback", 84)  # what came before the oldest decision that is kept is gone
    assert len(rows) == 31
    agent.close()
    with Agent.open(store) as again:
        assert again.update(50, 1.0)  # still waiting, though its entry is gone


def test_what_is_offered_again_is_kept_once(tmp_path):
    with Agent(superarm.lin_ucb(), store=tmp_path / "agent") as agent:
        for _ in range(10):
            agent.select(np.eye(3), ids=["a", "b", "c"], mask=[True, True, False])
        base = sqlite3.connect(tmp_path / "agent" / "log.sqlite")
        rows = base.execute("SELECT offer, length(content) FROM log WHERE kind = 'decision'").fetchall()
        base.close()
        assert [offer for offer, _ in rows] == [None, *[2] * 9]
        assert rows[1][1] < rows[0][1]


# Files that are refused, and files that stay


@pytest.fixture
def saved(tmp_path):
    agent = Agent(superarm.lin_ucb())
    agent.update(agent.select(np.eye(3)), 1.0)
    return agent.save(tmp_path / "agent.safetensors")


def test_damage_anywhere_is_found(saved):
    raw = saved.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(raw), 60, replace=False):
        saved.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        with pytest.raises(StoreError, match=r"agent\.safetensors|state file"):
            Agent.load(saved)
    for length in (0, 5, 100, len(raw) - 1):
        saved.write_bytes(raw[:length])
        with pytest.raises(StoreError, match=r"agent\.safetensors: is damaged"):
            Agent.load(saved)
    saved.write_bytes(raw)
    Agent.load(saved)


def rewritten(path: Path, change) -> None:
    """The file with other plain data, and the checksum that belongs to it."""
    arrays, content = state_file.read_state(path)
    change(content)
    text = json.dumps({"schema": state_file.SCHEMA, **content}, sort_keys=True).encode()
    plain = {**arrays, state_file.PLAIN: np.frombuffer(text, np.uint8)}
    save_file(plain, path, {"checksum": state_file._checksum(arrays, text)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content.update(schema=99), "has schema 99, newer than 2, which this superarm reads"),
        (lambda content: content.update(schema=0), "has schema 0, which no version of superarm wrote"),
        (lambda content: content.pop("settings"), "is damaged, or no state of an agent"),
        (lambda content: content["counts"].update(decisions=-1), "decisions must be >= 0, got -1"),
        (lambda content: content.update(dim=4), "is of another policy: state.record"),
        (lambda content: content.update(policy={"preset": "eval"}), "preset must be a factory of superarm"),
    ],
)
def test_files_of_another_kind_are_refused(saved, change, words):
    rewritten(saved, change)
    with pytest.raises((StoreError, ValueError), match=words):
        Agent.load(saved)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match=r"no\.safetensors: could not be read: No such file"):
        Agent.load(tmp_path / "no.safetensors")
    with pytest.raises(StoreError, match=r"nowhere: must be the folder of an agent"):
        Agent.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_cannot_be_written_leaves_the_one_before(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    agent = Agent.load(saved)
    agent.select(np.eye(3))
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match="could not be written: No space left on device"):
        agent.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_log_of_another_program_is_refused(tmp_path):
    Agent(superarm.lin_ucb(), store=tmp_path / "agent").close()
    path = tmp_path / "agent" / "log.sqlite"
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 7")
    base.close()
    with pytest.raises(StoreError, match=r"log\.sqlite: has schema 7, newer than 2"):
        Agent.open(tmp_path / "agent")
    path.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match=r"log\.sqlite: could not be used: "):
        Agent.open(tmp_path / "agent")


def test_a_log_that_cannot_be_written_changes_nothing(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    decision = agent.select(np.eye(3))
    agent._session.recorder.journal._base.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"log\.sqlite: could not be used: "):
        agent.update(decision, 1.0)
    with pytest.raises(StoreError, match=r"log\.sqlite: could not be used: "):
        agent.select(np.eye(3))
    assert (agent.stats.decisions, agent.stats.updates) == (1, 0)
    agent._session.recorder.journal._base.execute("PRAGMA query_only = OFF")
    assert agent.update(decision, 1.0)
    agent.close()


def test_functions_without_a_name_come_with_the_policy(tmp_path):
    def only(scores, available):
        return np.flatnonzero(available)[:1]

    policy = superarm.comb_lin_ucb(superarm.oracles.function(only, size=1))
    path = Agent(policy).save(tmp_path / "agent.safetensors")
    with pytest.raises(StoreError, match="policy must be given to load comb_lin_ucb"):
        Agent.load(path)
    assert Agent.load(path, policy=policy).select(np.eye(3)).item == 0


# Files of old


def test_files_of_schema_1_are_read():
    """Written by the first version; decisions must go on as they did there."""
    agent = Agent.load(GOLDEN / "agent-1.safetensors")
    expected = json.loads((GOLDEN / "agent-1.json").read_text())
    assert agent.stats.decisions == expected["decisions"]
    for contexts, items in zip(expected["contexts"], expected["items"], strict=True):
        assert list(agent.select(np.array(contexts)).items) == items
    assert "state.record.mean" in load_file(GOLDEN / "agent-1.safetensors")


def write_schema_1(path: Path, arrays, content) -> None:
    """A state file as the first version wrote it, memos and all."""
    plain = {one: array for one, array in arrays.items() if not one.startswith("pending.")}
    waiting = []
    if "pending.number" in arrays:
        ids = ids_in(arrays["pending.ids"], len(arrays["pending.number"]))
        times = zip(*(arrays[f"pending.{one}"].tolist() for one in ("number", "time", "epoch")), strict=True)
        waiting = [
            {"number": number, "ids": names, "time": when, "epoch": epoch}
            for names, (number, when, epoch) in zip(ids, times, strict=True)
        ]
        plain |= {f"pending.{one}": arrays[f"pending.{one}"] for one in ("items", "features", "seen")}
        for row, index in enumerate(arrays.get("pending.remembered", [])):
            memos = (one for one in arrays if one.startswith("pending.memo"))
            plain |= {one.replace("memo", f"memo.{index}", 1): np.array(arrays[one][row]) for one in memos}
    old = {one: value for one, value in content.items() if one not in ("agent", "chain", "schema")}
    text = json.dumps({**old, "schema": 1, "pending": waiting}, sort_keys=True)
    save_file(plain, path, {"superarm": text, "checksum": state_file._checksum(plain, text.encode())})


@pytest.mark.parametrize("name", ["glm_ucb", "vacdb", "evill"])
def test_files_from_before_curvatures_were_kept_are_loaded(name, tmp_path):
    """What they lack only saves time: the next fit is the same."""
    rng, waiting = np.random.default_rng(0), []
    agent = agent_of(name)
    drive(agent, rng, 20, waiting)
    agent.save(tmp_path / "new.safetensors")
    arrays, content = state_file.read_state(tmp_path / "new.safetensors")
    kept = {one for one in arrays if one.endswith(".root") and ".factor." not in one}
    assert kept
    older = {one: array for one, array in arrays.items() if one not in kept}
    write_schema_1(tmp_path / "old.safetensors", older, content)
    again = Agent.load(tmp_path / "old.safetensors")
    for one in (agent, again):
        drive(one, np.random.default_rng(1), 10, [])
    leaves = [jax.tree_util.tree_leaves_with_path(one._session.state.learner.state) for one in (agent, again)]
    for (path, leaf), (_, other) in zip(*leaves, strict=True):
        if not jax.tree_util.keystr(path).endswith(".root"):
            np.testing.assert_allclose(leaf, other, rtol=1e-4, atol=1e-6, err_msg=str(path))


def test_stores_of_schema_1_are_opened(tmp_path):
    """Written by the first version, which was killed: a checkpoint, and a log that goes on after it."""
    shutil.copytree(GOLDEN / "store-1", tmp_path / "agent")
    expected = json.loads((GOLDEN / "store-1.json").read_text())
    with Agent.open(tmp_path / "agent") as agent:
        assert agent.stats.updates == expected["updates"]
        assert agent.stats.pending == expected["pending"]
        np.testing.assert_allclose(
            agent._session.state.learner.state.record.mean, expected["mean"], rtol=1e-12
        )
        assert [agent.select(np.eye(3)).item for _ in range(5)] == expected["items"]


def test_files_of_an_older_schema_are_brought_up(saved, monkeypatch):
    """Two schemas from now: every step is taken, in order, and what is then missing is found."""
    taken = []

    def step(name):
        def change(arrays, content):
            taken.append(name)
            return arrays, {**content, "repeated": content["repeated"] + 5}

        return change

    monkeypatch.setattr(state_file, "SCHEMA", 4)
    monkeypatch.setattr(state_file, "MIGRATIONS", {2: step("2 to 3"), 3: step("3 to 4")})
    assert Agent.load(saved).stats.repeated == 10
    assert taken == ["2 to 3", "3 to 4"]
    monkeypatch.setattr(state_file, "MIGRATIONS", {3: step("3 to 4")})
    with pytest.raises(StoreError, match="has schema 2, which no version of superarm wrote"):
        Agent.load(saved)
