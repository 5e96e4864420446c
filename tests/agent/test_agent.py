"""The agent: choose now, learn later."""

from __future__ import annotations

import threading
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import superarm
from superarm import Agent, Store
from superarm.agent import learner
from superarm.agent.agent import Stats
from superarm.environments import linear_scores, logistic_scores
from superarm.errors import NoChoiceError, UnknownDecisionError
from superarm.evaluate import event_log
from superarm.precision import double
from superarm.simulation.round import keys_of, round_keys
from support.agent_presets import ARMS, BUILDS, DIM, agent_of, drive, leaves_of, same_state


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# The same as a simulation


@double
def played(agent: Agent, world, rounds: int, seed: int) -> list[list[int]]:
    """What an agent chooses in a simulated world, with feedback at once."""
    keys = keys_of(seed)
    instance = jax.jit(world.init)(keys.world)
    offered, respond, keys_at = jax.jit(world.offer), jax.jit(world.respond), jax.jit(round_keys)
    chosen = []
    for number in range(rounds):
        key_offer, key_respond, _, _ = keys_at(keys, np.int64(number))
        offer = offered(instance, key_offer)
        selection = agent.select(np.asarray(offer.contexts), mask=np.asarray(offer.mask))
        decision = superarm.Decision(
            items=np.array(selection.items, np.int32),
            mask=np.ones(len(selection.items), bool),
            features=selection.features,
            scores=selection.scores,
            healthy=np.array(True),
        )
        outcome = respond(instance, key_respond, offer, decision)
        agent.update(selection, np.asarray(outcome.feedback))
        chosen.append([int(item) for item in selection.items])
    return chosen


@pytest.mark.parametrize(
    "name",
    [
        "lin_es_anytime",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("lin_ts", "comb_lin_ucb", "neural_log_ucb_1", "glm_es")
        ),
    ],
)
def test_chooses_as_in_a_simulation(name):
    rounds, seed = 40, 3
    policy = BUILDS[name]()
    if policy.chooser.size > 1:
        world = linear_scores(superarm.top_k(3), dim=DIM, num_arms=ARMS)
    elif name == "neural_log_ucb_1":
        world = logistic_scores(latent="h1", dim=DIM, num_arms=ARMS, pool=50)
    else:
        world = linear_scores(dim=DIM, num_arms=ARMS)
    frame = superarm.simulate(policy, world, rounds=rounds, seeds=[seed], workers=0).table
    agent = agent_of(name, seed=seed)
    expected = [row.tolist() for row in frame["items"]]
    assert played(agent, world, rounds, seed) == expected


# Feedback: late, out of order, twice, in part, never


def ridge(features, feedback):
    """Posterior mean and covariance of lin_ucb's model: prior and noise 1."""
    precision = np.eye(features.shape[1]) + features.T @ features
    return np.linalg.solve(precision, features.T @ feedback), np.linalg.inv(precision)


def test_late_feedback_in_any_order(rng):
    agent = Agent(superarm.lin_ucb())
    decisions = [agent.select(rng.normal(size=(5, 3))) for _ in range(20)]
    rewards = rng.normal(size=20)
    for index in rng.permutation(20):
        assert agent.update(decisions[index].id, rewards[index])
    features = np.concatenate([one.features for one in decisions])
    mean, covariance = ridge(features, rewards)
    query = agent.select(rng.normal(size=(5, 3)))
    told = agent.explain(query).iloc[0]
    row = query.features[0]
    assert told["mean"] == pytest.approx(row @ mean, rel=1e-9)
    assert told["width"] == pytest.approx(np.sqrt(row @ covariance @ row), rel=1e-9)
    assert told["bonus"] == pytest.approx(told["score"] - told["mean"])
    assert agent.stats.updates == 20


def test_feedback_counts_once(rng):
    agent = Agent(superarm.lin_ucb())
    decision = agent.select(np.eye(3))
    assert agent.update(decision, 1.0)
    before = leaves_of(agent)
    assert not agent.update(decision, 1.0)
    assert not agent.update(decision.id, -5.0)
    for old, new in zip(before, leaves_of(agent), strict=True):
        np.testing.assert_array_equal(old, new)
    assert agent.stats.repeated == 2


def test_feedback_for_some_items_then_for_others(rng):
    agent = Agent(superarm.comb_lin_ucb(superarm.top_k(3)))
    decision = agent.select(rng.normal(size=(6, 3)), ids=list("abcdef"))
    first, second, third = decision.items
    assert agent.update(decision, {second: 1.0})
    assert not agent.update(decision, {second: 1.0})
    assert agent.stats.pending == 1
    assert agent.update(decision, [0.5, None, 2.0])
    assert agent.stats.pending == 0
    whole = Agent(superarm.comb_lin_ucb(superarm.top_k(3)))
    twin = whole.select(decision.features, ids=[first, second, third])
    order = {first: 0.5, second: 1.0, third: 2.0}
    whole.update(twin, order)
    query = rng.normal(size=(8, 3))
    one, other = agent.explain(agent.select(query)), whole.explain(whole.select(query))
    np.testing.assert_allclose(one["mean"], other["mean"], rtol=1e-9)
    np.testing.assert_allclose(one["width"], other["width"], rtol=1e-9)


def test_decisions_expire_by_number_and_by_age():
    now = [0.0]
    agent = Agent(superarm.lin_ucb(), max_pending=2, max_age=10.0, clock=lambda: now[0])
    first, second, third = (agent.select(np.eye(3)) for _ in range(3))
    assert not agent.update(first, 1.0)  # too many after it
    assert agent.update(second, 1.0)
    now[0] = 10.5
    assert not agent.update(third, 1.0)  # too old
    assert agent.stats == Stats(
        3, 1, 1, 1, 2, 0
    )  # what changes nothing is not in the log, and expires nothing
    agent.select(np.eye(3))
    assert agent.stats == Stats(4, 1, 1, 2, 2, 0)


def test_decisions_that_were_never_made():
    agent = Agent(superarm.lin_ucb())
    with pytest.raises(UnknownDecisionError, match="decision must be one that was made, got 0 of 0"):
        agent.update(0, 1.0)
    agent.select(np.eye(2))
    with pytest.raises(UnknownDecisionError, match="got 1 of 1"):
        agent.update(1, 1.0)
    with pytest.raises(TypeError, match="decision must be a Selection or its id, got str"):
        agent.update("0", 1.0)


@pytest.mark.parametrize(
    ("feedback", "error", "words"),
    [
        (float("nan"), ValueError, "feedback must be finite, got nan"),
        (float("inf"), ValueError, "feedback must be finite, got inf"),
        (1e30, ValueError, r"feedback must lie within \+-1e\+09, got 1e\+30; rescale"),
        ("1", TypeError, "feedback must be a number, got str"),
        (None, ValueError, "feedback must be given for an item at least, got none"),
        ([1.0, 2.0], ValueError, "feedback must be one number per item, 1, got 2"),
        ({"x": 1.0}, ValueError, r"feedback must be of \[0\], got 'x'"),
        ([[1.0]], TypeError, "feedback must be a number, got list"),
        (np.ones((1, 1)), TypeError, "feedback must be numbers, got an array in it"),
        (10**400, ValueError, "feedback must be finite, got more than a float holds"),
    ],
)
def test_feedback_that_is_refused(feedback, error, words):
    agent = Agent(superarm.lin_ucb())
    decision = agent.select(np.eye(1))
    with pytest.raises(error, match=words):
        agent.update(decision, feedback)
    assert agent.update(decision, 1.0)


def test_feedback_out_of_the_model_s_range():
    agent = Agent(superarm.comb_ts(superarm.top_k(1)), arms=3)
    decision = agent.select()
    with pytest.raises(ValueError, match=r"feedback must be between 0 and 1, got values from 1\.5 to 1\.5"):
        agent.update(decision, 1.5)


@pytest.mark.parametrize("yes", [True, np.True_])
def test_yes_and_no_are_feedback_of_a_duel(yes):
    said, told = Agent(superarm.max_inp()), Agent(superarm.max_inp())
    for agent, answer in ((said, yes), (told, 1.0)):
        agent.update(agent.select(np.eye(3)), answer)
    assert said.predict(np.eye(3)) == told.predict(np.eye(3))
    assert said.select(np.eye(3)).scores.tolist() == told.select(np.eye(3)).scores.tolist()


def test_duels_take_a_preference(rng):
    agent = Agent(superarm.max_inp())
    decision = agent.select(np.eye(3), ids=["a", "b", "c"])
    with pytest.raises(ValueError, match="feedback of a duel must be how much the first arm is preferred"):
        agent.update(decision, 2.0)
    with pytest.raises(ValueError, match="or two such numbers that add up to 1, got 1, None"):
        agent.update(decision, [1.0, None])
    assert agent.update(decision, 1.0)
    winner = decision.items[0]
    for _ in range(30):
        again = agent.select(np.eye(3), ids=["a", "b", "c"])
        agent.update(
            again,
            [float(item == winner) if winner in again.items else 0.5 for item in again.items]
            if len(set(again.items)) == 2
            else 0.5,
        )
    assert agent.predict(np.eye(3), ids=["a", "b", "c"])[0] == winner


# Arms that come and go


def test_any_number_of_arms_under_any_ids(rng):
    agent = Agent(superarm.lin_ts())
    for count in (1, 3, 20, 2):
        ids = [f"arm-{number}" for number in rng.permutation(100)[:count]]
        assert agent.select(rng.normal(size=(count, 3)), ids=ids).item in ids
    assert agent.select(np.eye(3), ids=[10, 20, 30], mask=[False, True, False]).item == 20


def test_arms_with_places(rng):
    agent = Agent(superarm.comb_ucb1(superarm.top_k(1)), arms=3)
    for name in ("b", "a", "c"):
        decision = agent.select(ids=[name])
        assert decision.items == (name,)
        agent.update(decision, {"a": 1.0, "b": 0.0, "c": 0.0}[name])
    assert agent.predict(ids=["c", "b", "a"]) == ("a",)
    assert agent.predict() == ("a",)
    with pytest.raises(ValueError, match="ids must be among the 3 arms, got 'd' beside them"):
        agent.select(ids=["a", "d"])


def test_arms_of_a_structure_by_name():
    edges = [(0, 1), (1, 2), (0, 2)]
    oracle = superarm.oracles.dag_path(edges, source=0, target=2)
    agent = Agent(superarm.comb_lin_ucb(oracle), arms=["first", "second", "short"])
    contexts = np.eye(3)
    decision = agent.select(contexts)
    assert set(decision.items) in ({"first", "second"}, {"short"})
    assert set(agent.select(contexts[:2], ids=["first", "second"]).items) == {"first", "second"}
    with pytest.raises(NoChoiceError, match="nothing feasible is on offer"):
        agent.select(contexts[:1], ids=["first"])
    assert agent.stats.decisions == 2


def test_features_that_must_stay():
    agent = Agent(superarm.glm_es(size=2, warmup=0, learn_every=5, memory="arms"), arms=["a", "b"])
    agent.select(np.eye(2))
    with pytest.raises(ValueError, match="the features of arm 'a' must stay as they were, got others"):
        agent.select(2 * np.eye(2))


@pytest.mark.parametrize(
    ("build", "arms", "words"),
    [
        (superarm.lin_ucb, 3, "arms must be None for lin_ucb, to which features are all that counts"),
        (superarm.lin_ucb, ["a"], "arms must be None for lin_ucb"),
        (lambda: superarm.comb_ucb1(superarm.top_k(1)), None, "arms must be given for comb_ucb1"),
        (lambda: superarm.comb_ucb1(superarm.top_k(2)), ["a"], "k must be at most the number of arms, 1"),
        (lambda: superarm.comb_ucb1(superarm.top_k(1)), ["a", "a"], "ids must differ, got 'a' twice"),
    ],
)
def test_arms_that_are_refused(build, arms, words):
    with pytest.raises(ValueError, match=words):
        Agent(build(), arms=arms)


# Tables


def test_tables_of_every_kind_are_the_same(rng):
    values = {name: rng.normal(size=5) for name in ("age", "price", "score")}
    turned = {name: values[name] for name in ("score", "age", "price")}
    first = Agent(superarm.lin_ucb()).select(pd.DataFrame(values))
    for table in (pa.table(turned), pl.DataFrame(turned), pd.DataFrame(turned)):
        agent = Agent(superarm.lin_ucb())
        agent.select(pd.DataFrame(values))
        agent.update(0, 1.0)
        other = Agent(superarm.lin_ucb())
        other.select(pd.DataFrame(values))
        other.update(0, 1.0)
        np.testing.assert_array_equal(
            agent.select(table).features, other.select(pd.DataFrame(values)).features
        )
    assert first.item in range(5)


def test_names_of_columns_must_stay():
    agent = Agent(superarm.lin_ucb())
    agent.select(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match="contexts must have the columns a, b, once each, got a, c"):
        agent.select(pd.DataFrame({"a": [1.0], "c": [2.0]}))
    with pytest.raises(TypeError, match="column b must be numbers, got dtype"):
        agent.select(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    agent.select(np.ones((2, 2)))  # an array has no names


def test_labels_of_pandas_are_ids():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["left", "right"])
    assert Agent(superarm.lin_ucb()).select(frame, mask=[False, True]).item == "right"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"contexts": None}, TypeError, "contexts must be given, got None"),
        ({"contexts": np.ones(3)}, ValueError, "contexts must have shape"),
        ({"contexts": np.ones((0, 3))}, ValueError, "contexts must not be empty"),
        ({"contexts": np.ones((2, 4))}, ValueError, "contexts must have 3 features, as before, got 4"),
        ({"contexts": np.full((2, 3), np.nan)}, ValueError, "contexts must be finite, got nan at"),
        ({"contexts": np.full((2, 3), 1e12)}, ValueError, "contexts must lie within"),
        ({"contexts": "abc"}, TypeError, "contexts must be an array of numbers, got str"),
        ({"ids": ["a"]}, ValueError, "ids must be one per row of contexts, 2, got 1"),
        ({"ids": ["a", "a"]}, ValueError, "ids must differ, got 'a' twice"),
        ({"ids": [1.5, 2.5]}, TypeError, "ids must be words or whole numbers, got float"),
        ({"ids": 3}, TypeError, "ids must be a list of words or whole numbers, got int"),
        ({"ids": [2**70, 1]}, ValueError, "ids must fit 64 bits"),
        ({"mask": [1, 0]}, TypeError, "mask must be True or False, got dtype int64"),
        ({"mask": [True]}, ValueError, r"mask must have shape \(2,\), got \(1,\)"),
        ({"mask": [False, False]}, ValueError, "mask must leave an arm on offer, got none"),
    ],
)
def test_offers_that_are_refused(arguments, error, words):
    agent = Agent(superarm.lin_ucb())
    agent.select(np.ones((2, 3)))
    with pytest.raises(error, match=words):
        agent.select(**{"contexts": np.ones((2, 3)), **arguments})
    assert agent.stats.decisions == 1


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"speed": 3}, TypeError, "an argument must be known by its name, got 'speed'; did you mean 'seed'?"),
        ({"seed": -1}, ValueError, "seed must be >= 0, got -1"),
        ({"max_pending": 0}, ValueError, "max_pending must be >= 1, got 0"),
        ({"max_age": -1.0}, ValueError, "max_age must be > 0, got -1.0"),
        ({"min_propensity": 2.0}, ValueError, "min_propensity must be between 0 and 1, got 2.0"),
        ({"background": 1}, TypeError, "background must be True or False, got int"),
    ],
)
def test_settings_that_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        Agent(superarm.lin_ucb(), **settings)


# Learning


def test_predict_is_greedy(rng):
    agent = Agent(superarm.lin_ts(), seed=1)
    theta = rng.normal(size=3)
    for _ in range(60):
        contexts = rng.normal(size=(6, 3))
        decision = agent.select(contexts)
        agent.update(decision, float(decision.features[0] @ theta))
    contexts = rng.normal(size=(6, 3))
    assert agent.predict(contexts) == (int(np.argmax(contexts @ theta)),)
    assert agent.stats.decisions == 60


def test_batches_are_one_by_one(rng):
    contexts = rng.normal(size=(10, 5, 3))
    one, other = Agent(superarm.lin_ts()), Agent(superarm.lin_ts())
    singles = [one.select(each) for each in contexts]
    batch = other.select_many([*contexts[:5], *({"contexts": each} for each in contexts[5:])])
    assert [each.items for each in singles] == [each.items for each in batch]
    rewards = rng.normal(size=10)
    for decision, reward in zip(singles, rewards, strict=True):
        one.update(decision, reward)
    assert other.update_many(zip(batch, rewards, strict=True)) == [True] * 10
    assert same_state(one, other)


def test_a_batch_is_checked_before_it_is_learned_from(rng):
    agent = Agent(superarm.lin_ucb())
    first, second = agent.select(np.eye(3)), agent.select(np.eye(3))
    before = leaves_of(agent)
    with pytest.raises(ValueError, match="feedback must be finite"):
        agent.update_many([(first, 1.0), (second, float("nan"))])
    for old, new in zip(before, leaves_of(agent), strict=True):
        np.testing.assert_array_equal(old, new)


def test_history_is_learned(rng):
    contexts, actions = rng.normal(size=(50, 4, 3)), rng.integers(4, size=50)
    rewards = rng.normal(size=50)
    agent = Agent(superarm.lin_ucb())
    assert agent.fit(event_log(contexts, actions, rewards)) == 50
    features = contexts[np.arange(50), actions]
    mean, _ = ridge(features, rewards)
    decision = agent.select(rng.normal(size=(4, 3)))
    assert decision.id == 50
    assert agent.explain(decision)["mean"][0] == pytest.approx(decision.features[0] @ mean, rel=1e-9)
    with pytest.raises(ValueError, match="log must have any number of arms with 3 features, got 4 with 2"):
        agent.fit(event_log(contexts[:, :, :2], actions, rewards))


@pytest.mark.full
@pytest.mark.parametrize("name", ["neural_ucb", "vacdb", "glm_fpl"])
def test_room_grows_with_what_is_kept(name, rng, monkeypatch):
    monkeypatch.setattr(learner, "FIRST_CAPACITY", 16)
    small = agent_of(name)
    drive(small, np.random.default_rng(1), 40, [])
    assert small._session.state.learner.run.capacity > 16
    monkeypatch.setattr(learner, "FIRST_CAPACITY", small._session.state.learner.run.capacity)
    large = agent_of(name)
    drive(large, np.random.default_rng(1), 40, [])
    for one, other in zip(leaves_of(small), leaves_of(large), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_room_ends(rng):
    agent = agent_of("neural_ucb", max_observations=3)
    decisions = [agent.select(rng.normal(size=(4, DIM))) for _ in range(4)]
    for decision in decisions[:3]:
        agent.update(decision, 1.0)
    with pytest.raises(ValueError, match="at most 3 observations must be kept, and as many came"):
        agent.update(decisions[3], 1.0)


def test_learns_in_the_background(rng):
    """Decisions are served from the last fit; what was learned aside is a fit of what had been recorded."""
    aside, front = agent_of("neural_ucb", background=True), agent_of("neural_ucb")
    contexts = rng.normal(size=(10, 6, DIM))
    for agent in (aside, front):
        for number in range(5):  # learn_every
            agent.update(agent.select(contexts[number]), float(number))
        agent.wait()
    assert same_state(aside, front)


def test_many_threads(rng):
    agent = Agent(superarm.lin_ucb())
    failures = []

    def work(seed):
        own = np.random.default_rng(seed)
        try:
            for _ in range(50):
                assert agent.update(agent.select(own.normal(size=(5, 3))), float(own.normal()))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert agent.stats == Stats(200, 200, 0, 0, 0, 0)


def test_save_load_and_go_on(tmp_path, rng):
    agent = Agent(superarm.lin_ts(), seed=5)
    waiting = [agent.select(rng.normal(size=(6, 3))) for _ in range(10)]
    agent.update(waiting[3], 1.0)
    again = Agent.load(agent.save(tmp_path / "agent.safetensors"))
    for _ in range(10):
        contexts = rng.normal(size=(6, 3))
        one, other = agent.select(contexts), again.select(contexts)
        assert one.items == other.items
        assert one.id == other.id
        assert agent.update(waiting[0], 2.0) == again.update(waiting[0].id, 2.0)
    assert same_state(agent, again)


# Calls by chance


def junk(rng: np.random.Generator):
    """Something that does not belong."""
    return [
        None, "word", b"bytes", 3, -1.5, float("nan"), float("inf"), 10**400, True, [], {}, [[]], [1, "x"],
        np.full((2, 3), np.nan), np.ones((2, 3), complex), np.array(["a"]), np.ones((1, 2, 3)), object(),
        {"a": 1.0}, np.ones(70_000, bool), [None], range(3), {1, 2}, pd.DataFrame({"a": ["x"]}), 2**63,
    ][int(rng.integers(25))]  # fmt: skip


def by_chance(agent: Agent, rng: np.random.Generator) -> bool:
    """Call with parts that fit and parts that do not; return whether it was refused."""
    arguments = {"contexts": rng.normal(size=(int(rng.integers(2, 9)), 3))}
    count = len(arguments["contexts"])
    if rng.random() < 0.3:
        arguments["ids"] = [f"arm-{number}" for number in range(count)]
    if rng.random() < 0.3:
        arguments["mask"] = rng.random(count) < 0.7
    if rng.random() < 0.5:
        arguments[["contexts", "ids", "mask"][int(rng.integers(3))]] = junk(rng)
    made = max(agent.stats.decisions, 1)  # of which the oldest have expired
    decision = int(rng.integers(max(0, made - 600), made)) if rng.random() < 0.8 else junk(rng)
    feedback = float(rng.random()) if rng.random() < 0.5 else junk(rng)
    if agent.policy.chooser.size == 2 and not agent._session.state.traits.compares and rng.random() < 0.5:
        feedback = [feedback, None]
    calls = (
        lambda: agent.select(**arguments),
        lambda: agent.predict(**arguments),
        lambda: agent.update(decision, feedback),
        lambda: agent.explain(decision),
        lambda: agent.select_many([arguments, arguments["contexts"]]),
        lambda: agent.update_many([(decision, feedback), (decision, 0.5)]),
        lambda: agent.shortlist(arguments["contexts"], junk(rng)),
        lambda: agent.fit(junk(rng)),
    )
    number = int(rng.choice(8, p=[0.4, 0.1, 0.3, 0.05, 0.02, 0.1, 0.02, 0.01]))
    before = known_to(agent)
    try:
        calls[number]()
    except (ValueError, TypeError, NoChoiceError, UnknownDecisionError):
        assert number == 4 or known_to(agent) == before  # of several choices those before it are made
        return True
    return False


def known_to(agent: Agent) -> tuple:
    """All that a refused call must leave as it was."""
    arms, stats = agent._session.state.arms, agent.stats
    known = dict(arms.places), arms.columns, stats.decisions, stats.updates, stats.pending
    return known, [leaf.tobytes() for leaf in leaves_of(agent)]


FUZZED = {
    "one arm": (superarm.lin_ts, {}),
    "a set": (lambda: superarm.comb_lin_ucb(superarm.top_k(2)), {}),
    "a duel": (superarm.max_inp, {}),
    "by index": (lambda: superarm.comb_ucb1(superarm.top_k(2)), {"arms": 12}),
    "rewards of 0 to 1": (superarm.ecolog, {"min_propensity": 0.01}),
}


@pytest.mark.parametrize(
    ("name", "calls"),
    [("one arm", 1_000), *(pytest.param(name, 100_000, marks=pytest.mark.full) for name in FUZZED)],
)
def test_only_documented_errors_and_nothing_changed(name, calls, tmp_path):
    rng = np.random.default_rng(0)
    build, options = FUZZED[name]
    store = Store(tmp_path / "agent", keep=100)
    agent = Agent(build(), draws=10, max_pending=500, max_observations=200_000, store=store, **options)
    agent.select(rng.normal(size=(4, 3)))
    refused = sum(by_chance(agent, rng) for _ in range(calls))
    assert 0.2 * calls < refused < 0.8 * calls
    assert agent.stats.updates > 0.02 * calls
    assert np.all(np.isfinite(agent.select(np.eye(3)).scores))
    agent._session.recorder.close()  # as if it had died
    agent._session.recorder = None
    with Agent.open(store) as again:
        assert known_to(again) == known_to(agent)


def test_unfit_arms_are_not_remembered():
    """What a refused call brings along leaves no trace: columns, sizes, places."""
    agent = Agent(superarm.lin_ucb())
    with pytest.raises(ValueError, match="ids must differ"):
        agent.select(pd.DataFrame({"a": [1.0, 2.0]}), ids=["x", "x"])
    agent.select(np.ones((2, 5)))
    placed = Agent(superarm.comb_ucb1(superarm.top_k(2)), arms=3)
    with pytest.raises(NoChoiceError):
        placed.select(ids=["a"])
    placed.select(ids=["b", "c"])
    assert replace(placed.stats, decisions=0) == Stats(0, 0, 1, 0, 0, 0)
    assert placed._session.state.arms.places == {"b": 0, "c": 1}


# Compiled once

QUICK = ("lin_ucb", "glm_es")
LASTING = [
    name for name in BUILDS if not name.endswith(("_anytime", "_doubling"))
]  # others change on the way


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in LASTING]
)
def test_a_size_class_is_compiled_once(name):
    """Any number of arms up to eight, late feedback and fits: each function of a policy is one program."""
    agent, rng = agent_of(name), np.random.default_rng(0)
    drive(agent, rng, 15, [])
    before = programs(agent)
    drive(agent, rng, 30, [])
    assert programs(agent) == before


def programs(agent: Agent) -> list[int]:
    """How many programs there are of each function."""
    compiled = agent._session.state.learner.run.compiled._compiled
    functions = [compiled.observe, compiled.learn, *compiled._selects.values()]
    return [function._cache_size() for function in functions]
