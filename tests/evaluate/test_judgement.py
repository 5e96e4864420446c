"""Policies judged by logs: an agent's own, or a table's."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import superarm
from superarm import Agent
from superarm.agent.store import offers
from superarm.cli.app import app
from superarm.errors import StoreError
from superarm.evaluate import LogError, agent_log, command, event_log, judge, judge_grid
from superarm.evaluate.command import judged_lines
from superarm.evaluate.logs import room

EVENTS = 3000


@pytest.fixture(scope="module")
def made():
    """Uniform choices among 3 arms; the reward is the first feature, with noise."""
    rng = np.random.default_rng(0)
    contexts, actions = rng.normal(size=(EVENTS, 3, 2)), rng.integers(3, size=EVENTS)
    rewards = contexts[np.arange(EVENTS), actions, 0] + 0.3 * rng.normal(size=EVENTS)
    return event_log(contexts, actions, rewards, propensities=np.full(EVENTS, 1 / 3))


BEST = 0.8463  # the mean of the largest of three standard normal draws, 3 / (2 sqrt(pi))


def test_a_policy_learns_and_is_judged(made):
    found = judge(superarm.epsilon_greedy(epsilon=0.1), made, train=0.3)
    assert found["dr"].n == 2100
    # It learns all there is to learn from 900 events: 0.9 of the best.
    assert found["dr"].low < 0.9 * BEST < found["dr"].high


def test_duels_have_no_rewards_to_judge_by():
    contexts, actions = np.ones((4, 3, 2)), np.array([[0, 1]] * 4)
    log = event_log(contexts, actions, np.array([[1.0, 0.0]] * 4), propensities=np.full((4, 2), 2 / 3))
    for policy in (superarm.max_inp(), Agent(superarm.max_inp())):
        with pytest.raises(ValueError, match="policy must earn rewards, which a duel does not, got max_inp"):
            judge(policy, log)


def test_nothing_is_learned_from_no_events(made):
    found = judge(superarm.uniform(), made, train=0.0)
    assert found["ips"].estimate == pytest.approx(float(np.mean(made.rewards)), abs=1e-9)


def test_an_agent_is_judged_as_it_is(made):
    agent = Agent(superarm.epsilon_greedy(epsilon=0.2))
    agent.fit(made.take(slice(0, 1000)))
    rest = made.take(slice(1000, None))
    found = judge(agent, rest)
    assert found["dr"].n == 2000
    assert found["dr"].low < 0.8 * BEST < found["dr"].high


def test_a_grid_is_reported_on_other_events(made):
    judged = judge_grid(
        lambda epsilon: superarm.epsilon_greedy(epsilon=epsilon), {"epsilon": [0.1, 0.8]}, made
    )
    assert judged.best == {"epsilon": 0.1}
    assert judged.table["estimate"][0] > judged.table["estimate"][1]
    assert judged.final["dr"].n == 750
    assert judged.final["dr"].low < 0.9 * BEST < judged.final["dr"].high


def largest_or_chance(chance):
    """UCB takes the longest features before it has learned; epsilon-greedy by chance."""
    return superarm.epsilon_greedy(epsilon=1.0) if chance else superarm.lin_ucb()


def test_a_point_without_an_estimate_is_not_the_best(made):
    shortest = np.argmin(np.sum(np.asarray(made.contexts) ** 2, axis=2), axis=1)
    log = event_log(made.contexts, shortest, np.ones(EVENTS), propensities=np.full(EVENTS, 0.5))
    options = {"train": 0.0, "method": "snips"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        judged = judge_grid(largest_or_chance, {"chance": [0, 1]}, log, **options)
        with pytest.raises(ValueError, match=r"grid must have a point that .*, got an estimate of none of 2"):
            judge_grid(largest_or_chance, {"chance": [0, 0]}, log, **options)
    assert judged.best == {"chance": 1}
    assert judged.table["estimate"].isna().tolist() == [True, False]
    lines = [json.loads(line, parse_constant=pytest.fail) for line in judged_lines(judged)]
    assert [(line["estimate"], line["best"]) for line in lines] == [(None, False), (1.0, True)]


def test_a_grid_without_propensities_is_judged_by_the_model(made):
    log = event_log(made.contexts, made.actions, made.rewards)
    judged = judge_grid(largest_or_chance, {"chance": [0, 1]}, log, method="direct")
    assert judged.best == {"chance": 0}
    assert judged.final.table["method"].tolist() == ["direct"]
    with pytest.raises(ValueError, match="judge_grid: log must have propensities for dr, got None"):
        judge_grid(largest_or_chance, {"chance": [0, 1]}, log)


@pytest.mark.parametrize(
    ("train", "words"),
    [(1.0, "train must leave 2 events to judge by"), (1.5, "train must be between 0 and 1")],
)
def test_shares_that_are_refused(made, train, words):
    with pytest.raises(ValueError, match=words):
        judge(superarm.uniform(), made, train=train)


# The log of an agent


def test_the_log_of_single_choices(tmp_path):
    rng = np.random.default_rng(0)
    told, expected = [], []
    with Agent(superarm.lin_ucb(), min_propensity=0.1, store=tmp_path / "agent") as agent:
        for number in range(20):
            count = int(rng.integers(2, 5))
            contexts, mask = rng.normal(size=(count, 3)), np.ones(count, bool)
            mask[0] = number % 2 == 0
            decision = agent.select(contexts, ids=[f"arm-{arm}" for arm in range(count)], mask=mask)
            if number % 4:
                told.append((number, decision, float(number)))
                expected.append((contexts, mask, int(decision.item[4:]), float(decision.propensities[0])))
        for _, decision, reward in told[::-1]:
            agent.update(decision, reward)
        log = agent_log(tmp_path / "agent")  # while it is at work
    assert log.rewards.tolist() == [reward for _, _, reward in told]
    for row, (contexts, mask, action, propensity) in enumerate(expected):
        count = len(contexts)
        np.testing.assert_array_equal(log.contexts[row, :count], contexts)
        np.testing.assert_array_equal(log.mask[row], np.pad(mask, (0, log.mask.shape[1] - count)))
        assert (log.actions[row], log.propensities[row]) == (action, propensity)


def test_the_log_of_sets(tmp_path):
    rng = np.random.default_rng(0)
    policy = superarm.epsilon_greedy(superarm.top_k(2), epsilon=0.5)
    with Agent(policy, store=tmp_path / "agent") as agent:
        for _ in range(10):
            decision = agent.select(rng.normal(size=(4, 3)))
            agent.update(decision, {decision.items[1]: 1.0})
    log = agent_log(tmp_path / "agent")
    assert log.actions.shape == (10, 2)
    assert log.observed.tolist() == [[False, True]] * 10
    again = Agent(policy)
    assert again.fit(log) == 10  # what was not observed is not learned from
    assert again._session.state.learner.run.observations == 10


def ranked_log(tmp_path, policy, rounds=200, **settings):
    """The log of an agent that ranks 3 of 6; an item earns its first feature, less at later positions."""
    rng = np.random.default_rng(0)
    with Agent(policy, ranking=True, store=tmp_path / "agent", **settings) as agent:
        for _ in range(rounds):
            decision = agent.select(rng.normal(size=(6, 2)))
            agent.update(decision, decision.features[:, 0] * [1.0, 0.6, 0.3] + 1.0)
    return agent_log(tmp_path / "agent")


def test_a_log_of_rankings_is_judged_by_positions(tmp_path):
    policy = superarm.uniform(superarm.top_k(3))
    log = ranked_log(tmp_path, policy, arms=6)
    assert log.ranking
    assert log.take(slice(0, 9)).ranking
    np.testing.assert_allclose(log.propensities, 1 / 6)
    # The log's own policy: every weight is 1.
    found = judge(policy, log, train=0.0)
    assert found["ips"].estimate == pytest.approx(log.rewards.sum(axis=1).mean())
    assert found["ips"].max_weight == pytest.approx(1.0)


def test_an_agent_that_ranks_is_judged_with_its_floor(tmp_path):
    """A floor of 1 / 2 under 3 of 6: it ranks by chance."""
    log = ranked_log(tmp_path, superarm.comb_lin_ucb(superarm.top_k(3)), min_propensity=0.5)
    agent = Agent(superarm.comb_lin_ucb(superarm.top_k(3)), min_propensity=0.5, ranking=True)
    agent.fit(log)
    found = judge(agent, log)
    assert found["ips"].estimate == pytest.approx(log.rewards.sum(axis=1).mean())


def shuffled_logs(tmp_path):
    """Arms with a memory each, offered in any order and not always all; "d" is best. At work, and closed."""
    rng, earns = np.random.default_rng(0), {"a": 0.1, "b": 0.2, "c": 0.1, "d": 0.9, "e": 0.1}
    store = superarm.Store(tmp_path / "agent", checkpoint_every=40, keep=None)
    with Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=5, min_propensity=0.1, store=store) as agent:
        for number in range(150):
            ids = rng.permutation([*"abcd", *("e" if number > 125 else "")]).tolist()
            decision = agent.select(np.zeros((len(ids), 1)), ids=ids, mask=np.array(ids) != "a")
            agent.update(decision, float(rng.random() < earns[decision.items[0]]))
        yield agent, agent_log(tmp_path / "agent")
    yield None, agent_log(tmp_path / "agent")


def test_arms_with_a_memory_keep_their_places(tmp_path):
    for agent, log in shuffled_logs(tmp_path):
        arms = np.array(log.arms)
        assert sorted(arms) == list("abcde")
        assert np.mean(log.rewards[arms[log.actions] == "d"]) > 0.7
        assert not log.mask[:, arms == "a"].any()
        assert log.mask[:, arms == "e"].sum() == 24
        if agent is not None:
            assert agent.arms == log.arms
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # 150 events are few
                assert judge(agent, log)["snips"].estimate > 0.6
    again = Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=log.arms)
    again.fit(log)
    assert again.predict(ids=["a", "c", "d", "e"]) == ("d",)
    other = Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=sorted(log.arms, reverse=True))
    for call in (other.fit, lambda log: judge(other, log)):
        with pytest.raises(ValueError, match="arms must be those of the log in their order"):
            call(log)


def test_an_offer_that_comes_again_is_read_once(tmp_path, monkeypatch):
    read = []
    module = sys.modules["superarm.evaluate.logs.agent_log"]
    monkeypatch.setattr(
        module, "offer_of", lambda *args: read.append(args[2].offer) or offers.offer_of(*args)
    )
    contexts = np.random.default_rng(0).normal(size=(2, 4, 3))
    with Agent(superarm.epsilon_greedy(epsilon=0.5), store=tmp_path / "agent") as agent:
        for number in range(12):
            mask = np.arange(4) != number % 3
            agent.update(agent.select(contexts[number % 2], mask=mask), float(number))
    log = agent_log(tmp_path / "agent")
    assert len(read) == 2
    np.testing.assert_array_equal(log.contexts, contexts[np.arange(12) % 2])
    np.testing.assert_array_equal(log.mask, np.arange(4) != np.arange(12)[:, None] % 3)
    few = agent_log(tmp_path / "agent", rows=5)
    assert few.rewards.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="agent_log: rows must be >= 1, got 0"):
        agent_log(tmp_path / "agent", rows=0)
    read.clear()
    monkeypatch.setattr(room, "MAX_NUMBERS", 100)
    with pytest.raises(LogError, match=r"agent_log: log must have at most 100 numbers .*, got 12 x 4 x 3"):
        agent_log(tmp_path / "agent")
    assert read == []
    assert agent_log(tmp_path / "agent", rows=5).contexts.shape == (5, 4, 3)


def test_a_log_is_read_as_it_was_while_its_agent_forgets(tmp_path, monkeypatch):
    store = superarm.Store(tmp_path / "agent", checkpoint_every=10**6, keep=0)
    rng = np.random.default_rng(0)
    agent = Agent(superarm.lin_ucb(), min_propensity=0.1, store=store)
    for _ in range(5):
        agent.update(agent.select(rng.normal(size=(3, 2))), 1.0)
    offer_of = offers.offer_of

    def late(*args):
        agent.checkpoint()  # the entries that were read are gone from the file
        return offer_of(*args)

    monkeypatch.setattr(sys.modules["superarm.evaluate.logs.agent_log"], "offer_of", late)
    assert agent_log(tmp_path / "agent").contexts.shape == (5, 3, 2)
    with pytest.raises(LogError, match="got none"):
        agent_log(tmp_path / "agent")
    agent.close()


def test_policies_that_choose_otherwise_are_refused(made, tmp_path):
    with pytest.raises(ValueError, match="judge: policy must choose as many arms as the log, 1, got 2"):
        judge(superarm.comb_lin_ucb(superarm.top_k(2)), made)
    ranked = event_log(made.contexts, np.tile([0, 1], (EVENTS, 1)), np.zeros((EVENTS, 2)), ranking=True)
    with pytest.raises(ValueError, match="as many arms as the log, 2, got 3"):
        judge(superarm.comb_lin_ucb(superarm.top_k(3)), ranked)
    with pytest.raises(TypeError, match="judge: policy must have epochs, chooser, got str"):
        judge("lin_ucb", made)


def test_logs_that_are_refused(tmp_path):
    with pytest.raises(StoreError, match=r"must be the folder of an agent, with log\.sqlite, got none"):
        agent_log(tmp_path)
    Agent(superarm.lin_ucb(), store=tmp_path / "agent").close()
    with pytest.raises(LogError, match="log must have decisions with chances and feedback, got none"):
        agent_log(tmp_path / "agent")


# The command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    context, arm = rng.normal(size=(2000, 2)), rng.integers(3, size=2000)
    reward = np.where(arm == 0, context[:, 0], np.where(arm == 1, context[:, 1], 0.0))
    columns = {"action": np.array(["x", "y", "z"])[arm], "reward": reward, "propensity": 1 / 3}
    pd.DataFrame(columns | {"x_1": context[:, 0], "x_2": context[:, 1]}).to_csv("log.csv", index=False)
    (tmp_path / "policy.toml").write_text('preset = "epsilon_greedy"\nepsilon = 0.1\n')
    return tmp_path


def run(*words: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of few events
        return CliRunner().invoke(app, list(words))


def test_evaluate_from_files(files):
    result = run("evaluate", "log.csv", "--policy", "policy.toml", "--out", "found", "--json")
    assert result.exit_code == 0
    rows = {row["method"]: row for row in json.loads(result.stdout)["estimates"]}
    assert list(rows) == ["direct", "ips", "snips", "dr"]
    # E max(x, y, 0) = (1 + 1 / sqrt(2)) / sqrt(2 pi) = 0.681, explored away by a tenth.
    assert rows["dr"]["low"] < 0.9 * (1 + 2**-0.5) / np.sqrt(2 * np.pi) < rows["dr"]["high"]
    assert {path.name for path in (files / "found").iterdir()} == {"evaluation.json", "evaluation.png"}


def test_evaluate_an_agent_of_a_file(files):
    log = superarm.evaluate.read_log("log.csv")
    agent = Agent(superarm.epsilon_greedy(epsilon=0.3))
    agent.fit(log.take(slice(0, 500)))
    agent.save("agent.safetensors")
    result = run("evaluate", "log.csv", "--policy", "agent.safetensors")
    assert result.exit_code == 0
    assert "95 % intervals, asymptotic" in result.stdout


def test_tune_on_a_log(files):
    result = run("tune", "--log", "log.csv", "--policy", "policy.toml", "--grid", "epsilon=0.1,0.9", "--json")
    assert result.exit_code == 0
    points = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(point["epsilon"], point["best"]) for point in points] == [(0.1, True), (0.9, False)]


EVALUATE = ("evaluate", "log.csv", "--policy", "policy.toml")
TUNE = ("tune", "--log", "log.csv", "--policy", "policy.toml")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("evaluate", "no.csv", "--policy", "policy.toml"), "no.csv: there is no such file"),
        (("evaluate", "log.csv", "--policy", "no.toml"), "no.toml: there is no such file"),
        (("evaluate", "log.csv", "--policy", "log.csv"), "log.csv: must end in .toml or .json, got .csv"),
        (("evaluate", "log.csv", "--policy", "policy.toml", "--reward", "click"), "missing click"),
        (("tune", "--policy", "policy.toml"), "tune: name an experiment, or a log with --log"),
        (("tune", "bae2026/h1", "--policy", "x", "--reward", "y"), "tune: columns are for --log, not for"),
        ((*EVALUATE, "--interval", "foo"), "interval must be one of 'asymptotic', 'bootstrap', got 'foo'"),
        ((*EVALUATE, "--layout", "nope"), "layout must be one of 'wide', 'long', 'open-bandit', 'coba', got"),
        ((*EVALUATE, "--train", "1.0"), "judge: train must leave 2 events to judge by, got 1 of 2000"),
        ((*EVALUATE, "--clip", "0"), "clip must be > 0, got 0.0"),
        ((*EVALUATE, "--propensity", ""), "log must have propensities for ips, snips, dr, got None"),
        (("evaluate", "log.csv", "--policy", "duel.toml"), "must earn rewards, which a duel does not"),
        (("evaluate", "log.csv", "--policy", "set.toml"), "must choose as many arms as the log, 1, got 2"),
        ((*TUNE, "--grid", "epsilon=2,3"), "epsilon must be between 0 and 1, got 2.0"),
        ((*TUNE, "--grid", "epsilon=0.5", "--propensity", ""), "must have propensities for dr, got None"),
        (
            ("evaluate", "shop", "--policy", "policy.toml", "--reward", "y"),
            "read without columns, got reward",
        ),
    ],
)
def test_what_is_refused(files, words, sentence):
    (files / "duel.toml").write_text('preset = "max_inp"\n')
    (files / "set.toml").write_text('preset = "comb_lin_ucb"\noracle = { preset = "top_k", k = 2 }\n')
    (files / "shop").mkdir()
    result = run(*words)
    assert result.exit_code == 2, result.stderr
    assert sentence in result.stderr
    assert "internal error" not in result.stderr


@pytest.mark.parametrize("error", [ValueError("shapes (3,) and (4,) not aligned"), KeyError("theta")])
def test_a_fault_of_superarm_is_not_called_bad_input(files, monkeypatch, error):
    def fault(*_, **__):
        raise error

    monkeypatch.setattr(command, "judge", fault)
    result = run(*EVALUATE)
    assert result.exit_code == 70
    assert "internal error" in result.stderr


def test_a_long_table_from_a_file(files):
    """Rankings of 2 of 3, uniform, judged by one that takes the best first; columns under other names."""
    rng = np.random.default_rng(0)
    prices = rng.normal(size=(400, 3))
    places = rng.permuted(np.tile([1, 2, 0], (400, 1)), axis=1)
    columns = {
        "visit": np.repeat(np.arange(400), 3),
        "place": places.ravel(),
        "sold": prices.ravel() / np.maximum(places.ravel(), 1),
        "chance": 1 / 3,
        "price": prices.ravel(),
        "kind": np.tile(["dry", "cold", "dry"], 400),
    }
    pd.DataFrame(columns).to_csv("long.csv", index=False)
    (files / "ranker.toml").write_text(
        'preset = "epsilon_greedy"\nepsilon = 0.1\noracle = { preset = "top_k", k = 2 }\n'
    )
    given = ("--layout", "long", "--decision", "visit", "--position", "place", "--reward", "sold")
    given += ("--propensity", "chance", "--feature", "price", "--category", "kind")
    result = run("evaluate", "long.csv", "--policy", "ranker.toml", *given, "--json")
    assert result.exit_code == 0, result.stderr
    rows = {row["method"]: row for row in json.loads(result.stdout)["estimates"]}
    # The largest of three, and half of the second, which is 0 on average; a tenth is explored away.
    assert rows["dr"]["low"] < 0.9 * BEST < rows["dr"]["high"]
    result = run("evaluate", "long.csv", "--policy", "ranker.toml", *given, "--rows", "600", "--json")
    assert json.loads(result.stdout)["estimates"][0]["n"] == 100


def test_the_folder_of_an_agent_is_read_in_part(files):
    rng = np.random.default_rng(0)
    with Agent(superarm.epsilon_greedy(epsilon=1.0), store="shop") as agent:
        for _ in range(60):
            decision = agent.select(rng.normal(size=(2, 2)))
            agent.update(decision, float(decision.features[0, 0]))
    result = run("evaluate", "shop", "--policy", "policy.toml", "--rows", "40", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["estimates"][0]["n"] == 20


def test_an_agent_of_another_size_is_refused():
    rng = np.random.default_rng(0)
    agent = superarm.Agent(superarm.lin_ucb())
    agent.select(rng.normal(size=(4, 3)))
    chances = np.full(20, 0.25)
    log = event_log(rng.normal(size=(20, 4, 2)), rng.integers(4, size=20), np.ones(20), propensities=chances)
    with pytest.raises(ValueError, match="snapshot: dim must be 3, as before, got 2"):
        judge(agent, log)
    placed = superarm.Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=3)
    placed.select(np.ones((3, 2)))
    with pytest.raises(ValueError, match="judge: log must have the agent's 3 arms, got 4"):
        judge(placed, log)


def test_a_ranking_of_one():
    """Its chances have a position, as the log's do."""
    rng = np.random.default_rng(0)
    contexts, actions = rng.normal(size=(1000, 3, 2)), rng.integers(3, size=(1000, 1))
    rewards, chances = actions.astype(float), np.full((1000, 1), 1 / 3)
    log = event_log(contexts, actions, rewards, propensities=chances, ranking=True)
    assert judge(superarm.uniform(), log)["ips"].estimate == pytest.approx(rewards.mean(), abs=0.1)
