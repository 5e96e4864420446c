"""Replay of a log, against a plain loop over its events."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import superarm
from superarm.choosers import Best, Subset
from superarm.contract import Beliefs, Explorer, Model
from superarm.environments import fixed_arms
from superarm.evaluate import event_log, logged_world, replay
from superarm.policies import anytime
from superarm.policy import Policy
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.simulation.round import keys_of
from superarm.types import Event, State

COLUMNS = ["seed", "round", "regret", "realized_regret", "reward", "value", "best", "seconds", "items"]


def made_log(events: int = 300, num_arms: int = 3, dim: int = 2, seed: int = 0):
    """Uniform choices; the reward is the first feature, and tells events apart."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(events, num_arms, dim))
    actions = rng.integers(num_arms, size=events)
    return event_log(contexts, actions, contexts[np.arange(events), actions, 0])


# Parts that show what a policy is told


@pytree
@dataclass(frozen=True)
class Seen(Beliefs):
    """Beliefs: the fit's mean reward per arm, and how many events are recorded."""

    mean: jax.Array
    recorded: jax.Array


@pytree
@dataclass(frozen=True)
class Fit:
    """A mean per arm; `failures` counts the fits, so that the table's attrs tell them."""

    mean: jax.Array
    failures: jax.Array


@pytree
@dataclass(frozen=True)
class SlowMeans(Model):
    """A model whose fit is what was recorded when it last learned: when it learns shows in its choices."""

    num_arms: int = static()
    learn_every: int = static()

    def check(self, spec, width):
        pass

    def init(self, key, spec, width):
        zeros = jnp.zeros(self.num_arms, FLOAT)
        return State(record=(zeros, zeros), fit=Fit(mean=zeros, failures=jnp.zeros((), jnp.int32)))

    def beliefs(self, state, contexts, width):
        return Seen(mean=state.fit.mean, recorded=state.record[0].sum())

    def observe(self, state, key, event, width):
        counts, sums = state.record
        told = event.feedback[0] + jax.random.normal(key, (), FLOAT)
        return counts.at[event.items[0]].add(1.0), sums.at[event.items[0]].add(told)

    def learn(self, state, key, width):
        counts, sums = state.record
        noise = 0.1 * jax.random.normal(key, counts.shape, FLOAT)
        return Fit(mean=sums / jnp.maximum(counts, 1.0) + noise, failures=state.fit.failures + 1)

    def failures(self, state):
        return state.fit.failures


@pytree
@dataclass(frozen=True)
class Noisy(Explorer):
    """Mean and noise, so that all arms are tried."""

    def scores(self, key, beliefs, count):
        return beliefs.mean + jax.random.normal(key, beliefs.mean.shape, FLOAT)


@pytree
@dataclass(frozen=True)
class Turns(Explorer):
    """Arm count mod n; NaN from the event `broken` on, and where events recorded are not those counted."""

    broken: int = static(default=10**6)

    def scores(self, key, beliefs, count):
        arms = jnp.arange(beliefs.mean.size)
        chosen = (arms == count % beliefs.mean.size).astype(FLOAT)
        sound = (count < self.broken) & (beliefs.recorded == count.astype(FLOAT))
        return jnp.where(sound, chosen, jnp.nan)


def slow_policy(explorer=None, learn_every: int = 7, num_arms: int = 3) -> Policy:
    model = SlowMeans(num_arms=num_arms, learn_every=learn_every)
    return Policy(model=model, width=None, explorer=explorer or Noisy(), chooser=Best(), name="slow")


def slots_of(log, event, items):
    """Where the log has the items of a decision; None where it chose others, or ranked them otherwise."""
    logged = np.atleast_1d(log.actions[event]).tolist()
    if log.ranking and items != logged:
        return None
    return [logged.index(item) for item in items] if sorted(items) == sorted(logged) else None


def plain_replay(policy, log, *, accepted: int, seed: int, passes: int):
    """Li et al. (2011) in a plain loop: the events accepted, and how many were offered."""
    with jax.enable_x64(True):
        keys = keys_of(seed)
        select, observe, learn = jax.jit(policy.select), jax.jit(policy.observe), jax.jit(policy.learn)
        state = policy.init(keys.init, replace(log.spec, capacity=accepted))
        size, offered, found = len(log.rewards), 0, []
        for number in range(passes):
            order = jax.random.permutation(jax.random.fold_in(keys.world, number), size)
            for event in np.asarray(order):
                key_select, key_observe = jax.random.split(jax.random.fold_in(keys.policy, offered))
                offered += 1
                decision = select(state, key_select, log.contexts[event], len(found))
                slots = slots_of(log, event, decision.items.tolist())
                if slots is None:
                    continue
                seen = np.ones(len(slots), bool) if log.observed is None else log.observed[event][slots]
                met = Event(
                    items=decision.items,
                    features=decision.features,
                    feedback=jnp.array(np.atleast_1d(log.rewards[event])[slots]),
                    observed=jnp.array(seen),
                    memo=decision.memo,
                )
                state = observe(state, key_observe, met)
                found.append(int(event))
                if policy.learn_every and len(found) % policy.learn_every == 0:
                    state = replace(state, fit=learn(state, jax.random.fold_in(keys.learn, len(found))))
                if len(found) == accepted:
                    return found, offered
    return found, offered


@pytest.mark.parametrize(
    ("policy", "accepted", "passes"),
    [
        (superarm.lin_ts(), 80, 1),
        (superarm.lin_ucb(), 90, 1),
        (slow_policy(), 90, 1),
        (slow_policy(learn_every=100), 230, 3),
        (superarm.uniform(), 150, 2),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_replay_is_the_plain_loop(policy, accepted, passes):
    log = made_log()
    table = replay(policy, log, accepted=accepted, seed=5, passes=passes)
    events, offered = plain_replay(policy, log, accepted=accepted, seed=5, passes=passes)
    assert len(events) == accepted
    np.testing.assert_array_equal(table["reward"], np.asarray(log.rewards)[events])
    np.testing.assert_array_equal(np.concatenate(table["items"].to_list()), np.asarray(log.actions)[events])
    assert table["round"].tolist() == list(range(1, accepted + 1))
    assert table.attrs["offered"] == offered
    assert not table.attrs["log_ended"]
    assert set(table["seed"]) == {5}
    if policy.learn_every:
        assert table.attrs["refused_fits"] == accepted // policy.learn_every


def made_sets(ranking: bool, observed: bool = False, events: int = 700, num_arms: int = 4):
    """Uniform sets of two, or rankings; an item earns its first feature, and less in the second slot."""
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(events, num_arms, 3))
    actions = rng.permuted(np.tile(np.arange(num_arms), (events, 1)), axis=1)[:, :2]
    rewards = np.take_along_axis(contexts[:, :, 0], actions, axis=1) * [1.0, 0.5]
    parts = {"observed": rng.random((events, 2)) < 0.7} if observed else {}
    chance = (1 if ranking else 2) / num_arms
    return event_log(
        contexts, actions, rewards, ranking=ranking, propensities=np.full((events, 2), chance), **parts
    )


@pytest.mark.parametrize(("ranking", "observed"), [(False, True), (True, False)])
def test_replay_of_sets_and_rankings_is_the_plain_loop(ranking, observed):
    """A policy that learns from every item shows, by what it chooses next, what it was told of each."""
    log, policy = made_sets(ranking, observed), superarm.comb_lin_ts(superarm.top_k(2), noise=0.5)
    table = replay(policy, log, accepted=40, seed=5)
    events, offered = plain_replay(policy, log, accepted=40, seed=5, passes=1)
    assert table.attrs["offered"] == offered
    np.testing.assert_allclose(table["reward"], np.asarray(log.rewards)[events].sum(axis=1))
    items, logged = np.stack(table["items"].to_list()), np.asarray(log.actions)[events]
    assert np.array_equal(items, logged) == ranking  # a set in any order
    np.testing.assert_array_equal(np.sort(items, axis=1), np.sort(logged, axis=1))


@pytest.mark.full
def test_replay_of_sets_is_unbiased():
    """The two with the largest first features; rewards that depend on both items."""
    rng = np.random.default_rng(7)
    contexts = rng.normal(size=(9000, 4, 2))
    actions = rng.permuted(np.tile(np.arange(4), (9000, 1)), axis=1)[:, :2]

    def earned(items):
        pairs = np.take_along_axis(contexts[:, :, 0], items, axis=1)
        return pairs + pairs.prod(axis=1, keepdims=True)

    log = event_log(contexts, actions, earned(actions) + rng.normal(size=(9000, 2)))
    oracle = Subset(superarm.top_k(2))
    greedy = Policy(model=Shown(), width=None, explorer=First(), chooser=oracle, name="first")
    truth = earned(np.argsort(-contexts[:, :, 0], axis=1)[:, :2]).sum(axis=1)
    found = replay(greedy, log, accepted=1300)["reward"]
    assert found.mean() == pytest.approx(truth.mean(), abs=5 * found.std() / 1300**0.5)
    assert abs(truth.mean() - earned(actions).sum(axis=1).mean()) > 10 * found.std() / 1300**0.5


def test_the_table_is_that_of_a_run():
    table = replay(superarm.lin_ucb(), made_log(), accepted=20, seed=1)
    assert table.columns.tolist() == COLUMNS
    assert table[["regret", "realized_regret", "value", "best"]].isna().all(axis=None)
    assert (table["seconds"] > 0).all()
    assert set(table.attrs) == {"compile_seconds", "refused_fits", "offered", "log_ended"}
    again = replay(superarm.lin_ucb(), made_log(), accepted=20, seed=1)
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), again.drop(columns="seconds"))
    assert again.attrs["compile_seconds"] == 0.0
    other = replay(superarm.lin_ucb(), made_log(), accepted=20, seed=2)
    assert other.attrs["compile_seconds"] == 0.0
    assert other["reward"].tolist() != table["reward"].tolist()


def test_count_is_the_number_of_accepted_events():
    table = replay(slow_policy(Turns()), made_log(), accepted=60)
    assert np.concatenate(table["items"].to_list()).tolist() == [0, 1, 2] * 20


def test_an_unsound_decision_stops_the_run():
    with pytest.raises(superarm.SimulationError, match="slow: round 41 of seed 3 gave no sound decision"):
        replay(slow_policy(Turns(broken=40), learn_every=1000), made_log(), accepted=60, seed=3)


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_an_unsound_decision_stops_the_run_whatever_the_log_chose(seed):
    """With these seeds it is not what was chosen: the event must not be skipped."""
    made = made_log()
    contexts = np.array(made.contexts)
    contexts[::30, 1, 0] = -100.0
    log = event_log(contexts, made.actions, made.rewards)
    policy = Policy(model=Shown(), width=None, explorer=Root(), chooser=Best(), name="root")
    with jax.enable_x64(True):
        key = jax.random.fold_in(keys_of(seed).world, 0)
        order = np.asarray(jax.random.permutation(key, 300))
    first = int(np.argmax(order % 30 == 0))
    before = order[:first]
    accepted = np.sum(contexts[before, :, 0].argmax(axis=1) == np.asarray(log.actions)[before])
    with pytest.raises(
        superarm.SimulationError, match=f"root: round {accepted + 1} of seed {seed} gave no sound"
    ):
        replay(policy, log, accepted=90, seed=seed)


@pytest.mark.parametrize("passes", [1, 2])
def test_an_event_is_used_once_per_pass_and_a_log_that_ends_is_said(passes):
    log = made_log(events=130)
    words = rf"replay: the log ended after {130 * passes} events, of which \d+ were accepted; ask for fewer"
    with pytest.warns(RuntimeWarning, match=words) as told:
        table = replay(superarm.uniform(), log, accepted=1000, passes=passes)
    assert len(told) == 1
    assert table.attrs["offered"] == 130 * passes
    assert table.attrs["log_ended"]
    assert f"of which {len(table)} were" in str(told[0].message)
    assert len(table) == pytest.approx(130 * passes / 3, abs=25)
    times = table["reward"].value_counts()
    assert times.max() == (1 if passes == 1 else 2)
    assert set(table["reward"]) <= set(np.asarray(log.rewards))


def test_a_log_that_ends_with_the_last_event_asked_for_is_enough():
    log = event_log(np.ones((70, 1, 1)), np.zeros(70, int), np.arange(70.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = replay(superarm.lin_ucb(), log, accepted=70)
    assert sorted(table["reward"]) == list(range(70))
    assert not table.attrs["log_ended"]
    with pytest.warns(RuntimeWarning, match="of which 70 were accepted"):
        assert len(replay(superarm.lin_ucb(), log, accepted=71)) == 70


def test_a_policy_that_never_agrees_leaves_an_empty_table():
    log = made_log(events=40)
    never = event_log(log.contexts, np.full(40, 2), log.rewards)
    with pytest.warns(RuntimeWarning, match="ended after 40 events, of which 0 were accepted"):
        table = replay(slow_policy(Turns()), never, accepted=5)
    assert table.columns.tolist() == COLUMNS
    assert len(table) == 0
    assert table.attrs["offered"] == 40
    assert table.attrs["refused_fits"] == 0  # there was nothing to learn from


def test_replay_is_unbiased():
    """A policy's mean reward is its value, found from rewards that the log does not tell it."""
    rng = np.random.default_rng(7)
    events, num_arms = 12_000, 3
    contexts = rng.normal(size=(events, num_arms, 2))
    everything = contexts[:, :, 0] + np.arange(num_arms) + rng.normal(size=(events, num_arms))
    actions = rng.integers(num_arms, size=events)
    log = event_log(contexts, actions, everything[np.arange(events), actions])
    chance = replay(superarm.uniform(), log, accepted=3500, seed=0)
    assert chance["reward"].mean() == pytest.approx(everything.mean(), abs=5 * everything.std() / 3500**0.5)
    assert chance.attrs["offered"] == pytest.approx(3 * 3500, rel=0.05)
    share = np.bincount(np.concatenate(chance["items"].to_list()), minlength=3) / 3500
    np.testing.assert_allclose(share, 1 / 3, atol=5 * (2 / 9 / 3500) ** 0.5)
    # The policy that takes the larger first feature; it cannot learn.
    greedy = Policy(model=Shown(), width=None, explorer=First(), chooser=Best(), name="first")
    best = everything[np.arange(events), contexts[:, :, 0].argmax(axis=1)]
    table = replay(greedy, log, accepted=3500, seed=1)
    assert table["reward"].mean() == pytest.approx(best.mean(), abs=5 * best.std() / 3500**0.5)
    assert abs(best.mean() - everything.mean()) > 10 * best.std() / 3500**0.5  # the two differ


@pytree
@dataclass(frozen=True)
class Shown(Model):
    """A model that believes the first feature, and learns nothing."""

    learn_every = None

    def check(self, spec, width):
        pass

    def init(self, key, spec, width):
        return State(record=(), fit=())

    def beliefs(self, state, contexts, width):
        return Seen(mean=contexts[:, 0], recorded=jnp.zeros(()))

    def observe(self, state, key, event, width):
        return ()

    def learn(self, state, key, width):
        return ()


@pytree
@dataclass(frozen=True)
class First(Explorer):
    """The mean as it is."""

    def scores(self, key, beliefs, count):
        return beliefs.mean


@pytree
@dataclass(frozen=True)
class Root(Explorer):
    """Rises with the mean, and is NaN below -10."""

    def scores(self, key, beliefs, count):
        return jnp.sqrt(beliefs.mean + 10.0)


def test_rows_sum_their_events():
    fine = replay(superarm.uniform(), made_log(), accepted=70)
    coarse = replay(superarm.uniform(), made_log(), accepted=70, record_every=30)
    assert coarse["round"].tolist() == [30, 60, 70]
    np.testing.assert_allclose(
        coarse["reward"], [fine["reward"][a:b].sum() for a, b in [(0, 30), (30, 60), (60, 70)]]
    )
    assert "items" not in coarse


def test_compare_replays_a_log():
    log = made_log()
    policies = {"learns": superarm.lin_ucb(), "chance": superarm.uniform()}
    result = superarm.compare(policies, logged_world(log, passes=2), rounds=120, seeds=2, workers=0)
    alone = replay(policies["learns"], log, accepted=120, seed=1, passes=2)
    rows = result.table.query("policy == 'learns' and seed == 1")
    assert rows["reward"].tolist() == alone["reward"].tolist()
    assert result.finals()["regret"].isna().all()  # not 0
    finals = result.finals()["reward"]
    assert finals["learns"] > finals["chance"] + 40


@pytest.mark.full
def test_a_growing_policy_goes_on_in_the_log():
    log = made_log(events=400)
    grown = anytime.doubling(lambda epoch: superarm.lin_ucb(radius=2.0**-epoch), period=20)
    table = replay(grown, log, accepted=110)
    assert len(table) == 110
    assert table["reward"].is_unique
    with pytest.warns(RuntimeWarning, match="the log ended after 400 events") as told:
        longer = replay(grown, log, accepted=1000)
    assert len(told) == 1
    assert longer["reward"].is_unique
    assert longer["reward"][:110].tolist() == table["reward"].tolist()


def test_what_a_log_cannot_do_is_said():
    world = logged_world(made_log())
    with pytest.raises(
        ValueError, match=r"replay: policy must choose one arm, .*, got comb_lin_ucb with sets of 2"
    ):
        replay(superarm.comb_lin_ucb(superarm.top_k(2)), made_log(), accepted=5)
    sets = made_sets(ranking=False)
    for policy in (superarm.lin_ucb(), superarm.comb_lin_ucb(superarm.top_k(3)), superarm.max_inp()):
        with pytest.raises(
            ValueError, match="replay: policy must choose sets of 2, as the log, by a chooser"
        ):
            replay(policy, sets, accepted=5)
    with pytest.raises(TypeError, match="logged_world: a log must not be put into another environment"):
        superarm.simulate(superarm.lin_ucb(), fixed_arms(world), rounds=5, seeds=1, workers=0)
    with pytest.raises(TypeError, match="logged_world: a log must not be put into another environment"):
        world.respond(None, None, None, None)
    with pytest.raises(TypeError, match=r"logged_world: log must have contexts, .*, got list"):
        logged_world([1])
    with pytest.raises(TypeError, match="replay: policy must have epochs, check, got str"):
        replay("lin_ucb", made_log(), accepted=5)
    for name in ("accepted", "passes"):
        with pytest.raises(ValueError, match=f"{name} must be >= 1, got 0"):
            replay(superarm.lin_ucb(), made_log(), **({"accepted": 5} | {name: 0}))


ZEROS = np.zeros((2, 3, 1))


@pytest.mark.parametrize(
    ("actions", "options", "message"),
    [
        ([[0, 1], [2, -1]], {}, r"log must have 2 different items in every event, got \[2, -1\] at 1"),
        ([[0, 1], [2, 2]], {}, r"log must have 2 different items in every event, got \[2, 2\] at 1"),
        (
            [[0, 1], [2, 0]],
            {"propensities": np.full((2, 2), 1 / 3)},
            r"log must be of uniform choices, with a propensity of 2 / \(arms on offer\), got 0.5 to 0.5",
        ),
        (
            [[0, 1], [2, 0]],
            {"propensities": np.full((2, 2), 2 / 3), "ranking": True},
            r"log must be of uniform choices, with a propensity of 1 / \(arms on offer\), got 2 to 2",
        ),
    ],
)
def test_sets_that_are_not_uniform_are_refused(actions, options, message):
    with pytest.raises(ValueError, match=f"logged_world: {message}"):
        logged_world(event_log(ZEROS, actions, np.zeros((2, 2)), **options))


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (
            (np.zeros((2, 3)), [0, 1], [0, 1]),
            {},
            ValueError,
            r"contexts must have shape \(any, any, any\), got \(2, 3\)",
        ),
        ((np.zeros((0, 3, 1)), [], []), {}, ValueError, r"contexts must not be empty, got shape \(0, 3, 1\)"),
        (
            (ZEROS + np.inf, [0, 1], [0, 1]),
            {},
            ValueError,
            r"contexts must be finite, got inf at \(0, 0, 0\)",
        ),
        ((ZEROS, [0, 1, 2], [0, 1]), {}, ValueError, r"actions must have shape \(2,\), got \(3,\)"),
        ((ZEROS, [0.0, 1.0], [0, 1]), {}, TypeError, "actions must be whole numbers, got dtype float64"),
        ((ZEROS, [0, 3], [0, 1]), {}, ValueError, "actions must be between 0 and 2, got 3 at 1"),
        ((ZEROS, [-1, 0], [0, 1]), {}, ValueError, "actions must be between 0 and 2, got -1 at 0"),
        ((ZEROS, [0, 1], [0]), {}, ValueError, r"rewards must have shape \(2,\), got \(1,\)"),
        ((ZEROS, [0, 1], [0, np.nan]), {}, ValueError, r"rewards must be finite, got nan at \(1,\)"),
        ((ZEROS, [0, 1], [0, 0.5]), {"binary": True}, ValueError, "rewards must be 0 or 1, got 0.5 at 1"),
    ],
)
def test_a_malformed_log_is_said_in_one_sentence(arguments, options, kind, message):
    with pytest.raises(kind, match=rf"^event_log: {message}$"):
        event_log(*arguments, **options)


def test_rewards_that_are_not_binary_are_fine_unless_asked():
    assert event_log(ZEROS, [0, 1], [0, 0.5]).rewards.tolist() == [0.0, 0.5]
