"""Many decisions and much feedback in one call are as one by one; and what is short for speed is the same."""

from __future__ import annotations

import numpy as np
import pytest

import superarm
from superarm import Agent, Store
from superarm.agent import compiled as program
from superarm.errors import NoChoiceError
from superarm.features import tables
from support.agent_presets import BUILDS, DIM, FEATURES, agent_of, drive, outcome, same_state

# Of every kind: bounds, draws, sets, duels, arms by index, fits, a memo, and epochs that end inside a batch.
SOME = ("lin_ucb", "comb_lin_ts", "ndb_ucb", "lin_es_anytime")
OTHERS = [pytest.param(name, marks=pytest.mark.full) for name in sorted(set(BUILDS) - set(SOME))]


def offers(agent, rng, count):
    fixed = agent._session.state.arms.fixed is not None
    return [FEATURES if fixed else rng.normal(size=(6, DIM)) for _ in range(count)]


def assert_same(one, other):
    assert (one.id, one.items) == (other.id, other.items)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(one.features, other.features)
    for left, right in ((one.propensities, other.propensities), (one.errors, other.errors)):
        assert (left is None) == (right is None)
        if left is not None:
            np.testing.assert_allclose(left, right, atol=1e-12)


@pytest.mark.parametrize("name", [*SOME, *OTHERS])
def test_many_decisions_are_those_of_one_after_another(name):
    loop, many = agent_of(name, draws=10), agent_of(name, draws=10)
    for agent in (loop, many):
        drive(agent, np.random.default_rng(1), 12, [])
    contexts = offers(loop, np.random.default_rng(2), 14)
    one_by_one, together = [loop.select(each) for each in contexts], many.select_many(contexts)
    for one, other in zip(one_by_one, together, strict=True):
        assert_same(one, other)
    rewards = [outcome(loop, one, np.random.default_rng(3)) for one in together]
    told = [loop.update(*pair) for pair in zip(one_by_one, rewards, strict=True)]
    assert many.update_many(zip(together, rewards, strict=True)) == told
    assert same_state(loop, many)


def test_many_decisions_are_one_call(monkeypatch):
    agent, calls = agent_of("lin_ts"), []
    agent.select(FEATURES)
    plain = program.CompiledPolicy.select_all
    monkeypatch.setattr(
        program.CompiledPolicy,
        "select_all",
        lambda self, *args: calls.append(len(args[3])) or plain(self, *args),
    )
    rng = np.random.default_rng(0)
    # Others between them have a shape of their own, and few are not worth a program.
    wanted = [*offers(agent, rng, 9), *(rng.normal(size=(20, DIM)) for _ in range(8)), *offers(agent, rng, 3)]
    made = agent.select_many(wanted)
    assert calls == [9, 8]
    assert [one.id for one in made] == list(range(1, 21))


def test_those_before_one_that_is_refused_are_made():
    agent = agent_of("lin_ucb")
    agent.select(FEATURES)
    with pytest.raises(ValueError, match="contexts must have 4 features, as before, got 3"):
        agent.select_many([*[FEATURES] * 10, np.eye(3), FEATURES])
    assert agent.stats.decisions == agent.stats.pending == 11


def test_those_before_one_without_a_sound_choice_are_made():
    quota = superarm.oracles.quota([0, 0, 1, 1], [1, 1])
    agent = Agent(superarm.comb_lin_ucb(quota), arms=4)
    offer, bad = (
        {"contexts": np.eye(4)},
        {"contexts": np.eye(4), "mask": np.array([True, True, False, False])},
    )
    agent.select(**offer)
    with pytest.raises(NoChoiceError):
        agent.select_many([*[offer] * 9, bad, offer])
    assert agent.stats.decisions == 10


def test_new_arms_in_a_batch_get_their_places_in_turn():
    alone, many = (Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=12) for _ in range(2))
    wanted = [{"contexts": np.eye(3), "ids": ids} for ids in ([5, 6, 7], [7, 8, 9]) for _ in range(9)]
    one_by_one = [alone.select(**one) for one in wanted]
    for one, other in zip(one_by_one, many.select_many(wanted), strict=True):
        assert_same(one, other)
    assert (
        many._session.state.arms.places == alone._session.state.arms.places == {5: 0, 6: 1, 7: 2, 8: 3, 9: 4}
    )


def test_a_batch_is_rebuilt_from_the_log(tmp_path):
    agent = agent_of("neural_ucb", store=Store(tmp_path / "agent", checkpoint_every=1000))
    drive(agent, np.random.default_rng(0), 6, [])
    made = agent.select_many(offers(agent, np.random.default_rng(1), 9))
    agent.update_many((one, 1.0) for one in made)
    agent._session.recorder.close()
    agent._session.recorder = None
    again = Agent.open(tmp_path / "agent")
    assert same_state(agent, again)
    again.close()


def test_what_comes_twice_in_a_batch_is_learned_once():
    agent = Agent(superarm.comb_lin_ucb(superarm.top_k(2)))
    decision, other = agent.select(np.eye(4)), agent.select(np.eye(4))
    first, second = decision.items
    pairs = [(decision, {first: 1.0}), (other, [0.0, 1.0]), (decision.id, {first: 1.0, second: 0.0})]
    assert agent.update_many([*pairs, (decision, [1.0, 0.0])]) == [True, True, True, False]
    assert (agent.stats.updates, agent.stats.repeated, agent.stats.pending) == (3, 1, 0)


NUMBERS = (0.5, 1, np.float32(0.5), np.int64(1), [1.0])


@pytest.mark.parametrize("feedback", NUMBERS, ids=[type(one).__name__ for one in NUMBERS])
def test_a_number_of_any_kind_is_the_same_feedback(feedback):
    agents = [agent_of("lin_ucb") for _ in range(2)]
    value = float(np.ravel(feedback)[0])
    for agent, told in zip(
        agents, (feedback, {agent_of("lin_ucb").select(FEATURES).item: value}), strict=True
    ):
        assert agent.update(agent.select(FEATURES), told)
    assert same_state(*agents)


@pytest.mark.parametrize("feedback", [True, np.True_, 2e9, -(10**30), float("nan"), "1", np.float64("inf")])
def test_what_is_no_such_number_is_refused(feedback):
    agent = agent_of("lin_ucb")
    decision = agent.select(FEATURES)
    with pytest.raises((TypeError, ValueError), match="feedback must"):
        agent.update(decision, feedback)
    assert agent.stats.pending == 1


def test_one_feature_is_enough():
    agent = Agent(superarm.lin_ucb())
    assert agent.update(agent.select(np.array([[1.0], [2.0]])), 1.0)
    assert len(agent.select_many([np.ones((2, 1))] * 9)) == 9


def test_contexts_may_lie_in_memory_in_any_way():
    made = [
        agent_of("lin_ucb").select(one)
        for one in (FEATURES, np.asfortranarray(FEATURES), FEATURES[::-1][::-1])
    ]
    for one in made:
        assert_same(one, made[0])


@pytest.mark.parametrize("large", [1e9, -1e9, 9e8])
def test_features_are_bounded_one_by_one(large):
    """Their squares may sum up to more than that of the largest."""
    contexts = np.full((3, 2), large)
    assert tables.read_table("select", contexts).values is contexts
    with pytest.raises(ValueError, match="contexts must lie within"):
        tables.read_table("select", 2.0 * contexts)


def test_ids_are_words_and_whole_numbers():
    assert tables.ids_of("select", np.array([3, 1], np.uint8), 2) == (3, 1)
    assert tables.ids_of("select", ["a", 1, np.int32(2)], None) == ("a", 1, 2)
    for bad in ([1.0, 2.0], [True, 2], np.array([0.5])):
        with pytest.raises(TypeError, match="ids must be words or whole numbers"):
            tables.ids_of("select", bad, None)
    for bad in ([2**63], np.array([2**63], np.uint64), [-(2**63) - 1]):
        with pytest.raises(ValueError, match="ids must fit 64 bits"):
            tables.ids_of("select", bad, None)


def test_the_features_of_an_arm_must_stay(tmp_path):
    agent = Agent(superarm.lin_phe(memory="arms"), arms=["a", "b", "c"])
    agent.select(FEATURES[:2], ids=["b", "a"])
    changed = FEATURES[:3].copy()
    changed[1, 2] += 1.0
    for again in (agent, Agent.load(agent.save(tmp_path / "agent.safetensors"))):
        with pytest.raises(ValueError, match="the features of arm 'a' must stay as they were, got others"):
            again.select(changed, ids=["b", "a", "c"])
        assert again.select(FEATURES[:3], ids=["b", "a", "c"]).item in "abc"
