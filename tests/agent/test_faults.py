"""What must not go wrong when something else does: crashes, interruptions, full disks, odd calls."""

from __future__ import annotations

import os
import sqlite3
import threading
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import superarm
from superarm import Agent, Store
from superarm.agent import compiled as program
from superarm.agent import inspection, learner
from superarm.agent.compiled import CompiledPolicy
from superarm.agent.store import recorder, state_file
from superarm.errors import NoChoiceError, StoreError
from superarm.evaluate import agent_log, event_log, judge
from support.agent_presets import agent_of, same_state

CONTEXTS = np.random.default_rng(0).normal(size=(4, 3))


def died(agent: Agent) -> None:
    """Let go of the files without a last word."""
    agent._session.recorder.close()
    agent._session.recorder = None


def told(agent: Agent, times: int) -> None:
    for _ in range(times):
        assert agent.update(agent.select(CONTEXTS), 1.0)


# The order of what happened


@pytest.mark.parametrize("keep", [0, 2])
def test_numbers_of_forgotten_entries_are_not_given_again(keep, tmp_path):
    """What is acknowledged after a restart must come after the checkpoint, also when the log was emptied."""
    store = Store(tmp_path / "agent", keep=keep)
    agent = Agent(superarm.lin_ucb(), store=store)
    late = agent.select(CONTEXTS)
    told(agent, 5)
    agent.update(late, 1.0)  # the newest entry is of the oldest decision
    agent.close()
    agent = Agent.open(store)
    told(agent, 3)
    died(agent)
    agent = Agent.open(store)
    assert agent.stats.updates == 9
    told(agent, 1)
    agent.close()


def test_a_missing_entry_is_found(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    told(agent, 5)
    died(agent)
    base = sqlite3.connect(tmp_path / "agent" / "log.sqlite")
    base.execute("DELETE FROM log WHERE seq = 4")
    base.commit()
    base.close()
    must = (
        r"log\.sqlite: is damaged: entry 5 does not agree with its checksum, or the one before it is missing"
    )
    with pytest.raises(StoreError, match=must):
        Agent.open(tmp_path / "agent")


def test_a_damaged_entry_is_told_in_one_sentence(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    told(agent, 2)
    died(agent)
    base = sqlite3.connect(tmp_path / "agent" / "log.sqlite")
    base.execute("UPDATE log SET content = x'00' WHERE seq = 2")
    base.commit()
    base.close()
    with pytest.raises(
        StoreError, match=r"log\.sqlite: is damaged: entry 2 does not agree with its checksum"
    ):
        Agent.open(tmp_path / "agent")


def test_a_state_without_its_place_in_the_log_is_refused(tmp_path):
    Agent(superarm.lin_ucb(), store=tmp_path / "agent").close()
    Agent(superarm.lin_ucb()).save(tmp_path / "agent" / recorder.STATE)
    with pytest.raises(StoreError, match="agent: is damaged: "):
        Agent.open(tmp_path / "agent")


def test_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = Agent(superarm.lin_ucb(), store=Store("agent", checkpoint_every=2, keep=0))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    told(agent, 5)
    died(agent)
    assert not list(elsewhere.iterdir())
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 5


# Interrupted


def test_an_interrupted_fit_is_only_late(tmp_path, monkeypatch):
    agent = agent_of("neural_ucb", store=tmp_path / "agent")
    for _ in range(4):
        agent.update(agent.select(np.eye(4)), 1.0)
    decision = agent.select(np.eye(4))

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CompiledPolicy, "learn", stop)
        with pytest.raises(KeyboardInterrupt):
            agent.update(decision, 1.0)  # the fifth: a fit is due
    assert not agent.update(decision, 1.0)  # it was counted
    assert agent._session.state.learner.updates == 5
    agent._session.state.repeated = 0  # which is not logged
    died(agent)
    with Agent.open(tmp_path / "agent") as again:
        assert same_state(agent, again)  # no fit is made that was not made before


def test_a_fit_whose_failure_cannot_be_logged_stops_the_agent(tmp_path, monkeypatch):
    agent = agent_of("neural_ucb", store=tmp_path / "agent")
    for _ in range(4):
        agent.update(agent.select(np.eye(4)), 1.0)
    decision = agent.select(np.eye(4))

    def fail(*_):
        raise StoreError("no more")

    monkeypatch.setattr(CompiledPolicy, "learn", fail)
    monkeypatch.setattr(recorder.Recorder, "failed", fail)
    with pytest.raises(StoreError, match="no more"):
        agent.update(decision, 1.0)
    with pytest.raises(StoreError, match="a call was interrupted"):
        agent.select(np.eye(4))
    died(agent)


def test_a_fit_that_fails_leaves_the_one_before(monkeypatch):
    agent = agent_of("neural_ucb")

    def fail(*_):
        raise RuntimeError("no more")

    monkeypatch.setattr(CompiledPolicy, "learn", fail)
    for _ in range(4):
        agent.update(agent.select(np.eye(4)), 1.0)
    decision = agent.select(np.eye(4))
    with warnings.catch_warnings():  # where they are errors, the agent goes on, too
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="agent: a fit failed: no more"):
            agent.update(decision, 1.0)
    agent.select(np.eye(4))
    assert agent.stats.updates == 5


def test_an_interrupted_record_stops_the_agent(tmp_path, monkeypatch):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    decision = agent.select(CONTEXTS)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learner.EpochRun, "observe", stop)
        with pytest.raises(KeyboardInterrupt):
            agent.update(decision, 1.0)
    for call in (lambda: agent.update(decision, 1.0), lambda: agent.select(CONTEXTS), agent.learn):
        with pytest.raises(StoreError, match="a call was interrupted; open or load the agent again"):
            call()
    agent.close()
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 1  # it was written before it was interrupted


@pytest.mark.parametrize("call", ["select", "update", "fit"])
def test_an_interrupt_between_the_log_and_memory_stops_the_agent(call, tmp_path, monkeypatch):
    """It would go on with less than the log says, and what it logs next would not fit."""
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    decision = agent.select(CONTEXTS)
    log = event_log(CONTEXTS[None], [1], [1.0])
    append = recorder.Journal.append

    def stop(self, *arguments, **named):
        append(self, *arguments, **named)
        raise KeyboardInterrupt

    calls = {
        "select": lambda: agent.select(CONTEXTS),
        "update": lambda: agent.update(decision, 1.0),
        "fit": lambda: agent.fit(log),
    }
    with monkeypatch.context() as patch:
        patch.setattr(recorder.Journal, "append", stop)
        with pytest.raises(KeyboardInterrupt):
            calls[call]()
    for refused in (calls[call], agent.checkpoint):  # a checkpoint would forget what was logged
        with pytest.raises(StoreError, match="a call was interrupted; open or load the agent again"):
            refused()
    agent.close()
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.decisions == {"select": 2, "update": 1, "fit": 2}[call]
        assert again.stats.updates == {"select": 0, "update": 1, "fit": 1}[call]


class Interrupted:
    """A connection that is interrupted right after it has begun a transaction."""

    def __init__(self, base):
        self.base = base

    def __getattr__(self, name):
        return getattr(self.base, name)

    def execute(self, words, *arguments):
        found = self.base.execute(words, *arguments)
        if words.startswith("BEGIN"):
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("call", ["update_many", "checkpoint"])
def test_an_interrupt_as_a_batch_begins_loses_nothing(call, tmp_path):
    agent = Agent(superarm.lin_ucb(), store=Store(tmp_path / "agent", keep=0))
    told(agent, 2)
    decision, journal = agent.select(CONTEXTS), agent._session.recorder.journal
    calls = {
        "update_many": lambda: agent.update_many([(decision, 1.0)]),
        "checkpoint": agent.checkpoint,
    }
    journal._base = Interrupted(journal._base)
    with pytest.raises(KeyboardInterrupt):
        calls[call]()
    journal._base = journal._base.base
    acknowledged = 2
    try:
        told(agent, 3)
        acknowledged += 3
    except StoreError:
        pass  # it takes no more, which is as good
    died(agent)
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == acknowledged


def test_a_fit_aside_is_of_what_was_known_when_it_began(tmp_path, monkeypatch):
    """One that is due while another runs begins after that one is taken over, and from it."""
    policy = superarm.glm_ucb(learn_every=2, steps=1)
    agent = Agent(policy, background=True, store=tmp_path / "agent")
    learn, go_on = CompiledPolicy.learn, threading.Event()

    def slow(*arguments):
        assert go_on.wait(60)
        return learn(*arguments)

    monkeypatch.setattr(CompiledPolicy, "learn", slow)
    for number in range(4):  # the second makes a fit due, and the fourth another
        agent.update(agent.select(CONTEXTS + number), float(number % 2))
    go_on.set()
    agent.wait()
    agent.select(CONTEXTS)  # which begins the other
    agent.wait()
    assert int(agent._session.state.learner.state.fit.version) == 2
    died(agent)
    with Agent.open(tmp_path / "agent") as again:
        assert same_state(agent, again)


def test_without_a_thread_no_fit_is_begun(monkeypatch):
    agent = agent_of("neural_ucb", background=True)

    def fail(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        for _ in range(4):
            agent.update(agent.select(np.eye(4)), 1.0)
        decision = agent.select(np.eye(4))
        with pytest.warns(RuntimeWarning, match="no fit was begun: can't start new thread"):
            assert agent.update(decision, 1.0)
    agent.wait()
    agent.learn()


def test_what_was_accepted_in_time_is_in_time_when_it_is_replayed(tmp_path):
    times = iter([0.0, 9.99, 10.01, 10.02])
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent", clock=lambda: next(times), max_age=10.0)
    decision = agent.select(CONTEXTS)
    assert agent.update(decision, 1.0)
    died(agent)
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 1


def test_a_compaction_that_fails_is_tried_again(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=Store(tmp_path / "agent", keep=0))
    told(agent, 3)
    base = agent._session.recorder.journal._base
    base.execute("CREATE TRIGGER no BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'not now'); END")
    with pytest.raises(StoreError, match=r"log\.sqlite: could not be used: not now"):
        agent.checkpoint()
    told(agent, 1)
    base.execute("DROP TRIGGER no")
    agent.close()
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 4


def test_an_offer_whose_decision_was_not_written_is_not_referred_to(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    base = agent._session.recorder.journal._base
    base.execute("CREATE TRIGGER no BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'not now'); END")
    with pytest.raises(StoreError, match="not now"):
        agent.select(CONTEXTS)
    base.execute("DROP TRIGGER no")
    agent.select(CONTEXTS)
    agent.select(CONTEXTS)
    offers = base.execute("SELECT offer FROM log WHERE kind = 'decision'").fetchall()
    assert offers == [(None,), (2,)]
    agent.close()


def test_what_a_killed_writer_left_is_cleared_away(tmp_path):
    Agent(superarm.lin_ucb(), store=tmp_path / "agent").close()
    left = tmp_path / "agent" / f".{recorder.STATE}.abc"
    left.write_bytes(b"half")
    Agent.open(tmp_path / "agent").close()
    assert not left.exists()


def test_a_store_of_the_same_preset_with_other_settings_is_refused(tmp_path):
    Agent(superarm.lin_ucb(noise=0.5), store=tmp_path / "agent").close()
    with pytest.raises(StoreError, match="is of another lin_ucb, with other settings than those given"):
        Agent.open(tmp_path / "agent", policy=superarm.lin_ucb(noise=0.6))
    Agent.open(tmp_path / "agent", policy=superarm.lin_ucb(noise=0.5)).close()


def test_shapes_of_memos_are_found_once(tmp_path, monkeypatch):
    """Thousands of decisions may wait; a trace for each would take minutes."""
    agent = agent_of("neural_ucb", store=tmp_path / "agent")
    for _ in range(5):
        agent.select(np.eye(4))
    agent.checkpoint()
    for _ in range(5):
        agent.select(np.eye(4))
    died(agent)
    traced = []
    blank = inspection.blank_memo
    monkeypatch.setattr(inspection, "blank_memo", lambda *one: traced.append(1) or blank(*one))
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.pending == 10
    assert len(traced) == 1


def test_a_refused_choice_begins_no_epoch(tmp_path):
    oracle = superarm.oracles.dag_path([(0, 1), (1, 2), (0, 2)], source=0, target=2)
    build = superarm.config.register("by_length", lambda length: superarm.comb_lin_ucb(oracle))
    policy = superarm.anytime.restarts(build, first=3)
    names = ["a", "b", "c"]
    agent = Agent(policy, arms=names, store=tmp_path / "agent")
    made = [agent.select(np.eye(3)) for _ in range(3)]
    with pytest.raises(NoChoiceError):
        agent.select(np.eye(1, 3), ids=["a"])  # no path: and the fourth decision would begin an epoch
    assert agent._session.state.learner.number == 0
    agent.update(made[0], np.ones(len(made[0].items)))
    died(agent)
    again = Agent.open(tmp_path / "agent", policy=policy)
    assert same_state(agent, again)
    again.close()


# Batches, checkpoints and fits aside


def seq_of(folder) -> int:
    return state_file.read_state(folder / recorder.STATE)[1]["seq"]


def test_batches_and_bare_decisions_are_followed_by_checkpoints(tmp_path):
    folder = tmp_path / "agent"
    agent = Agent(superarm.lin_ucb(), store=Store(folder, checkpoint_every=5))
    made = agent.select_many([CONTEXTS] * 12)
    assert seq_of(folder) == 13  # the first entry says that the store was opened
    agent.update_many((one, 1.0) for one in made)
    assert seq_of(folder) == 25
    for _ in range(7):
        agent.select(CONTEXTS)
    assert seq_of(folder) >= 30
    agent.close()


def test_checkpoints_are_written_though_fits_never_end(tmp_path):
    folder = tmp_path / "agent"
    model = superarm.neural(superarm.perceptron(width=4), steps=2, learn_every=1)
    agent = Agent(superarm.neural_ucb(model), background=True, store=Store(folder, checkpoint_every=5))
    for _ in range(30):
        agent.update(agent.select(CONTEXTS), 1.0)
    agent.wait()
    assert seq_of(folder) > 30
    agent.close()


def test_a_batch_from_a_generator_that_updates(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    first = agent.select(CONTEXTS)

    def wanted():
        agent.update_many([(first, 1.0)])
        yield CONTEXTS

    assert len(agent.select_many(wanted())) == 1
    agent.close()


def test_a_full_disk_in_a_batch(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    base = agent._session.recorder.journal._base
    made = [agent.select(CONTEXTS) for _ in range(400)]
    pages = base.execute("PRAGMA page_count").fetchone()[0]
    base.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full"):
        agent.update_many((one, 1.0) for one in made)
    with pytest.raises(StoreError, match="a batch could not be written; open the agent again"):
        agent.update(made[-1], 1.0)
    agent.close()  # without a checkpoint of what the log does not have
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 0  # nothing of the batch was acknowledged
        told(again, 3)
    with Agent.open(tmp_path / "agent") as again:
        assert again.stats.updates == 3


def test_a_checkpoint_that_fails_is_tried_again(tmp_path, monkeypatch):
    folder = tmp_path / "agent"
    agent = Agent(superarm.lin_ucb(), store=Store(folder, checkpoint_every=2))

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        decision = agent.select(CONTEXTS)
        with pytest.warns(RuntimeWarning, match="no checkpoint could be written: .* No space left on device"):
            assert agent.update(decision, 1.0)
    told(agent, 1)
    assert seq_of(folder) == 5
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StoreError, match="could not be written"):
            agent.close()
    with Agent.open(folder) as again:  # the lock was given back
        assert again.stats.updates == 2


def test_a_closed_agent_takes_no_more(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    decision = agent.select(CONTEXTS)
    agent.close()
    agent.close()
    for call in (lambda: agent.update(decision, 1.0), lambda: agent.select(CONTEXTS)):
        with pytest.raises(StoreError, match=r"it was closed; Agent\.open goes on with its store"):
            call()


def test_a_store_that_was_hardly_begun(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StoreError, match="could not be written"):
            Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    Agent(superarm.lin_ucb(), store=tmp_path / "agent").close()


@pytest.mark.parametrize("fails", ["fit", "log"])
def test_a_fit_aside_that_fails_keeps_nobody_waiting(fails, tmp_path, monkeypatch):
    agent = agent_of("neural_ucb", background=True, store=tmp_path / "agent")

    def fail(*_):
        raise StoreError("no more")

    monkeypatch.setattr(
        *((CompiledPolicy, "learn", fail) if fails == "fit" else (recorder.Recorder, "learned", fail))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            agent.update(agent.select(np.eye(4)), 1.0)
        agent.wait()
    agent.select(np.eye(4))
    agent.close()


def test_a_fit_is_due_in_every_epoch():
    """Also after as many updates as the last one of the epoch before."""
    agent = Agent(superarm.glm_es_anytime(first=8, learn_every=5), arms=4, background=True)
    agent.select(CONTEXTS)
    while agent._session.state.learner.number < 1 or agent._session.state.learner.updates < 5:
        agent.update(agent.select(CONTEXTS), 1.0)
        agent.wait()
    assert int(np.asarray(agent._session.state.learner.state.fit.version)) == 1


def test_decisions_are_served_while_a_fit_is_made(monkeypatch):
    agent = agent_of("neural_ucb", background=True)
    learn, begun, go_on = CompiledPolicy.learn, threading.Event(), threading.Event()

    def slow(*arguments):
        begun.set()
        assert go_on.wait(60)
        return learn(*arguments)

    monkeypatch.setattr(CompiledPolicy, "learn", slow)
    for _ in range(5):
        agent.update(agent.select(np.eye(4)), 1.0)
    assert begun.wait(60)
    agent.update(agent.select(np.eye(4)), 1.0)  # neither waits for the fit
    assert agent.stats.updates == 6
    assert int(agent._session.state.learner.state.fit.version) == 0
    go_on.set()
    agent.wait()
    assert int(agent._session.state.learner.state.fit.version) == 1


@pytest.mark.full
def test_an_epoch_that_replays_has_learned_in_the_background_too():
    agent = agent_of("cn_ucb_doubling", background=True)
    for _ in range(21):
        decision = agent.select(np.random.default_rng(0).normal(size=(4, 4)))
        agent.update(decision, [1.0, 0.0])
        agent.wait()
    core = agent._session.state.learner
    assert core.number == 1
    assert int(core.state.fit.version) >= 4


def test_columns_survive_a_crash(tmp_path):
    agent = Agent(superarm.lin_ucb(), store=tmp_path / "agent")
    agent.select(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    died(agent)
    with Agent.open(tmp_path / "agent") as again:
        decision = again.select(pd.DataFrame({"b": [3.0], "a": [1.0]}))
        assert decision.features.tolist() == [[1.0, 3.0]]


# Calls that must leave no trace, and calls that must work


def test_a_decision_of_another_agent_is_refused():
    one, other = Agent(superarm.lin_ucb()), Agent(superarm.lin_ucb())
    decision = one.select(CONTEXTS, ids=["a", "b", "c", "d"])
    other.select(CONTEXTS)
    with pytest.raises(ValueError, match="update: decision must be one of this agent's, whose number 0"):
        other.update(decision, 1.0)


def test_features_stay_after_history_too():
    agent = Agent(superarm.glm_es(warmup=0, memory="arms"), arms=4)
    agent.fit(event_log(np.stack([CONTEXTS] * 3), [0, 1, 2], [1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="the features of arm 'w' must stay as they were, got others"):
        agent.select(CONTEXTS + 1.0, ids=["w", "x", "y", "z"])
    agent.select(CONTEXTS, ids=["w", "x", "y", "z"])


def test_features_stay_after_a_restart_and_not_after_a_refusal(tmp_path):
    policy = superarm.glm_es(warmup=0, memory="arms")
    log = event_log(np.stack([CONTEXTS] * 3), [0, 1, 2], [1.0, 0.0, 1.0])
    agent = Agent(policy, arms=4, store=tmp_path / "agent")
    agent._session.recorder.journal._base.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError):
        agent.fit(log)
    agent._session.recorder.journal._base.execute("PRAGMA query_only = OFF")
    assert agent._session.state.arms.features is None
    agent.fit(log)
    died(agent)
    with Agent.open(tmp_path / "agent") as again, pytest.raises(ValueError, match="must stay as they were"):
        again.select(CONTEXTS + 1.0)


def test_feedback_that_comes_twice_takes_room_once():
    agent = Agent(superarm.glm_ucb(learn_every=10), max_observations=1)
    decision = agent.select(CONTEXTS)
    assert agent.update_many([(decision, 1.0), (decision, 1.0)]) == [True, False]


def test_huge_contexts_are_refused_without_a_warning():
    with pytest.raises(ValueError, match="contexts must lie within"):
        Agent(superarm.lin_ucb()).select(np.full((2, 3), 1e200))


def test_history_of_duels():
    agent, told_so = Agent(superarm.glm_duel()), Agent(superarm.glm_duel())
    log = event_log(np.stack([CONTEXTS] * 2), [[0, 1], [2, 1]], [[1.0, 0.0], [0.25, 0.75]])
    assert agent.fit(log) == 2
    core = told_so._session.state.started(3)
    for pair, shares in (([0, 1], [1.0, 0.0]), ([2, 1], [0.25, 0.75])):
        event = program.Observation(
            np.array(pair, np.int32), CONTEXTS[pair], np.array(shares), np.ones(2, bool)
        )
        told_so._session.state.take_in(event)
        core.learn_if_due()
    assert same_state(agent, told_so)
    wrong = event_log(CONTEXTS[None], [[0, 1]], [[1.0, 1.0]])
    with pytest.raises(ValueError, match="fit: feedback of a duel must be"):
        agent.fit(wrong)


def test_room_is_counted_as_it_is_taken(monkeypatch):
    agent = agent_of("cn_ucb_doubling")
    for _ in range(3):
        agent.update(agent.select(np.eye(4)), np.ones(2))
    core = agent._session.state.learner
    assert core._replayed == sum(int(one.observed.sum()) for one in core.events) == 6


@pytest.mark.full
def test_looking_settles_nothing():
    agent = Agent(superarm.lin_ucb(), max_observations=5)
    agent.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="decision must be one of this agent's"):
        agent.explain(Agent(superarm.lin_ucb()).select(np.ones((2, 7))))
    log = event_log(np.ones((9, 2, 3)), np.zeros(9, int), np.ones(9))
    keeping = agent_of("neural_ucb", max_observations=5)
    with pytest.raises(ValueError, match="at most 5 observations must be kept"):
        keeping.fit(log)
    keeping.select(np.ones((2, 5)))
    agent.select(np.ones((2, 5)))


def test_a_batch_that_does_not_fit_is_refused_whole():
    agent = agent_of("neural_ucb", max_observations=3)
    made = [agent.select(np.eye(4)) for _ in range(5)]
    with pytest.raises(ValueError, match="at most 3 observations must be kept"):
        agent.update_many((one, 1.0) for one in made)
    assert agent.stats.updates == 0


def test_more_slots_than_the_fewest_arms():
    agent = Agent(superarm.comb_lin_ucb(superarm.top_k(10)))
    assert len(agent.select(np.eye(20)).items) == 10
    with pytest.raises(NoChoiceError):
        agent.select(np.eye(5, 20))


def test_tables_whose_names_are_numbers():
    agent = Agent(superarm.lin_ucb())
    agent.select(pd.DataFrame(CONTEXTS))
    turned = pd.DataFrame(CONTEXTS)[[2, 0, 1]]
    np.testing.assert_array_equal(
        agent.select(turned, mask=[True, False, False, False]).features[0], CONTEXTS[0]
    )
    odd = pd.DataFrame(CONTEXTS, index=[0.5, 1.5, 2.5, 3.5])
    assert agent.select(odd, ids=["a", "b", "c", "d"]).item in "abcd"


def test_numbers_of_numpy_are_settings(tmp_path):
    agent = Agent(superarm.lin_ucb(), seed=np.int64(3), max_age=np.float32(1.5))
    assert Agent.load(agent.save(tmp_path / "agent.safetensors")).settings == agent.settings
    with pytest.raises(ValueError, match="seed must be between"):
        Agent(superarm.lin_ucb(), seed=2**70)


def test_slots_that_are_used_come_first():
    def second(scores, mask):
        return jnp.array([-1, 2])

    agent = Agent(superarm.comb_lin_ucb(superarm.oracles.function(second, size=2, native=True)))
    decision = agent.select(np.eye(3))
    assert decision.items == (2,)
    agent.update(decision, [1.0])
    assert agent.explain(decision)["mean"][0] == pytest.approx(0.5)


@pytest.mark.full
def test_auto_does_not_change_its_mind(monkeypatch):
    monkeypatch.setattr(learner, "FIRST_CAPACITY", 8)
    model = superarm.neural(superarm.perceptron(width=20), learn_every=50, steps=2)
    agent = Agent(superarm.neural_ucb(model, width="auto"), draws=0)
    for _ in range(20):
        agent.update(agent.select(CONTEXTS), 1.0)
    windowed = superarm.neural(superarm.perceptron(width=4), memory="window", memory_size=5, steps=2)
    dual = Agent(superarm.neural_ucb(windowed, width="dual"))
    told(dual, 3)


def test_greedy_choices_and_explanations_are_of_rewards():
    """Two arms at rate 0.4 earn more than one at 0.6, though their log-odds add up to less."""
    oracle = superarm.oracles.dag_path([(0, 1), (1, 2), (0, 2)], source=0, target=2)
    for policy in (superarm.glm_ucb(oracle, radius=0.0, learn_every=5), superarm.ecolog(oracle, radius=0.0)):
        agent = Agent(policy, arms=["a", "b", "direct"])
        for number in range(60):
            decision = agent.select(np.eye(3))
            rates = {"a": 0.4, "b": 0.4, "direct": 0.6}
            agent.update(decision, [rates[name] for name in decision.items])
            if number > 50:
                assert agent.predict(np.eye(3)) == decision.items
        found = agent.explain(agent.select(np.eye(3)))
        np.testing.assert_allclose(found["bonus"], 0.0, atol=1e-9)


# Chances


def test_chances_are_at_most_one(tmp_path):
    with Agent(superarm.lin_es(size=9), store=tmp_path / "agent") as agent:
        told(agent, 15)
        found = agent_log(tmp_path / "agent")
    assert np.max(found.propensities) <= 1.0


def test_an_agent_is_judged_with_its_floor():
    rng = np.random.default_rng(0)
    contexts, actions = rng.normal(size=(2000, 4, 2)), rng.integers(4, size=2000)
    log = event_log(
        contexts, actions, contexts[np.arange(2000), actions, 0], propensities=np.full(2000, 0.25)
    )
    agent = Agent(superarm.lin_ucb(), min_propensity=0.25)  # of 4 arms: it chooses by chance
    agent.fit(log.take(slice(0, 500)))
    found = judge(agent, log)["ips"]
    assert found.estimate == pytest.approx(float(np.mean(log.rewards)), abs=1e-9)


def test_drawn_chances_are_never_sure():
    agent = Agent(superarm.lin_ts(scale=1e-9), draws=20)
    told(agent, 3)
    decision = agent.select(CONTEXTS)
    assert decision.propensities[0] == 1.0
    assert 0.0 < decision.errors[0] < 0.1


# Feedback


def test_an_empty_set_takes_no_feedback():
    agent = Agent(superarm.comb_ucb1(superarm.oracles.knapsack([3.0, 3.0, 3.0], 4.0)), arms=3)
    for _ in range(3):
        agent.update(agent.select(), -100.0)
    before = agent._session.state.learner.arrays()
    decision = agent.select()
    assert decision.items == ()
    with pytest.raises(ValueError, match="feedback must be one number per item, 0, got 1"):
        agent.update(decision, 1.0)
    after = agent._session.state.learner.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_decision_that_the_caller_changes_is_learned_from_as_it_was():
    changed, left = Agent(superarm.lin_ucb()), Agent(superarm.lin_ucb())
    for agent in (changed, left):
        decision = agent.select(np.eye(3))
        if agent is changed:
            decision.features[:] *= 5.0
            decision.scores[:] = 7.0
        agent.update(decision, 1.0)
    for one, other in zip(
        changed._session.state.learner.arrays().values(),
        left._session.state.learner.arrays().values(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_a_choice_with_a_hole_is_refused():
    _, used, features = program._placed(np.array([3, 1, -1], np.int32), np.eye(4))
    assert used == 2
    assert np.array_equal(features, [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match="slots of a choice that are used must come first"):
        program._placed(np.array([1, -1, 2], np.int32), np.eye(4))
