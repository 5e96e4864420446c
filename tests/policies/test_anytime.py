"""Epochs that begin anew: where they lie, what their policies are made for, that nothing is carried over."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference.sun2026 as reference
import superarm
from superarm.contract import Explorer
from superarm.environments import fixed_scores, linear_scores
from superarm.evaluate import event_log, replay
from superarm.models import Planned
from superarm.policies import glm_es_anytime, lin_es_anytime, neural_es_anytime
from superarm.policies.anytime import GROWTH, doubling, loss_constant, restarts
from superarm.policies.sun2026_anytime import members, perturbation
from superarm.pytree import pytree
from superarm.schedules.radius import Logarithmic
from superarm.simulation.round import keys_of, round_keys
from superarm.types import Array, Event, Offer, Spec

# --- epochs -------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 300), st.floats(1.001, 6.0), st.integers(1, 5000))
def test_epochs_are_those_of_the_transcription(first, growth, rounds):
    lengths = []

    def build(length):
        lengths.append(length)
        return superarm.lin_ucb()

    if growth * first < first + 1:
        with pytest.raises(ValueError, match=r"^restarts: growth must be more than 1, so that epochs grow"):
            restarts(build, first=first, growth=growth)
        return
    policy = restarts(build, first=first, growth=growth)
    lengths.clear()
    found = policy.epochs(rounds)
    expected = reference.epochs(first, growth, rounds)
    assert [(one.start, one.stop) for one in found] == [row[:2] for row in expected]
    assert lengths == [row[2] for row in expected]  # of the epoch as planned, where the run cuts it short
    assert all(not one.replay and one.origin == one.start for one in found)


def test_epochs_of_the_paper():
    epochs = restarts(lambda length: superarm.lin_ucb(), first=300).epochs(10_000)
    assert [(one.start, one.stop) for one in epochs] == [
        (0, 300),
        (300, 785),
        (785, 2056),
        (2056, 5383),
        (5383, 10_000),
    ]
    assert pytest.approx(reference.GOLDEN, rel=1e-15) == GROWTH


def test_epochs_that_replay_count_from_the_beginning():
    for replayed in (True, False):
        epochs = doubling(lambda epoch: superarm.lin_ucb(), period=50, replay=replayed).epochs(300)
        assert [one.origin for one in epochs] == ([0] * 4 if replayed else [0, 50, 100, 200])


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 10**6), st.floats(1.6, 9.0), st.floats(0.1, 0.9), st.floats(0.0, 3.0))
def test_the_loss_constant_is_the_transcription_s(first, growth, power, log_power):
    expected = reference.loss_constant(first, growth, power, log_power)
    assert loss_constant(first, growth, power=power, log_power=log_power) == pytest.approx(
        expected, rel=1e-12
    )


def test_the_loss_constant_of_the_paper():
    assert loss_constant(100, GROWTH) == pytest.approx(3.3, abs=0.05)
    assert loss_constant(100, GROWTH) == reference.loss_constant(100, GROWTH)
    # Lemma E.1, with the sums themselves: no run of whole epochs loses more than the constant says.
    ends = [math.floor(100 * GROWTH**i) for i in range(9)]
    spent = sum(math.sqrt(n) * math.log(n) ** 1.5 for n in np.diff([0, *ends]))
    assert spent <= loss_constant(100, GROWTH) * math.sqrt(ends[-1]) * math.log(ends[-1]) ** 1.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: restarts(lambda length: superarm.lin_ucb(), growth=1.0),
            "restarts: growth must be more than 1, so that epochs grow, got 1.0",
        ),
        (
            lambda: restarts(lambda length: superarm.lin_ucb(), first=10, growth=1.05),
            "restarts: growth must be more than 1, so that epochs grow, got 1.05",
        ),
        (
            lambda: restarts(lambda length: superarm.lin_ucb(), growth=float("nan")),
            "restarts: growth must be more than 1, so that epochs grow, got nan",
        ),
        (lambda: restarts(lambda length: superarm.lin_ucb(), first=0), "restarts: first must be >= 1, got 0"),
        (
            lambda: restarts(superarm.lin_ucb()),
            "restarts: build must be a function of one number, got Policy",
        ),
        (
            lambda: restarts(lambda length: length),
            "restarts: what build returns must have init, select, observe, learn, got int",
        ),
        (
            lambda: doubling(lambda epoch: superarm.lin_ucb(), period=0),
            "doubling: period must be >= 1, got 0",
        ),
        (
            lambda: doubling(superarm.lin_ucb(), period=9),
            "doubling: build must be a function of one number, got Policy",
        ),
        (lambda: loss_constant(1, 2.0), "loss_constant: first * (growth - 1) must be more than 1, got 1"),
        (lambda: lin_es_anytime(first=0), "restarts: first must be >= 1, got 0"),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == message


def test_the_policies_of_all_epochs_are_checked_before_any_round():
    def build(length):
        return superarm.lin_es(superarm.top_k(2 if length < 15 else 9))

    policy, world = restarts(build, first=10), linear_scores(superarm.top_k(2), dim=2, num_arms=5)
    policy.check(Spec(dim=2, num_arms=5, capacity=20))
    with pytest.raises(ValueError, match="k must be at most the number of arms, 5, got 9"):
        superarm.simulate(policy, world, rounds=20, workers=0)
    # Room for the history of its own epoch is enough.
    restarts(lambda length: superarm.glm_es(warmup=0), first=10).check(Spec(dim=2, num_arms=3, capacity=40))


# --- what epochs are made for -------------------------------------------------------------------------------


def test_members_and_perturbations_grow_with_the_epoch():
    epochs = lin_es_anytime(ridge=0.7).epochs(3000)
    assert [length for *_, length in reference.epochs(100, GROWTH, 3000)] == LENGTHS
    for epoch, length in zip(epochs, LENGTHS, strict=True):
        size, scale = reference.epoch_settings(length)
        assert epoch.policy.model.size == size == members(length)
        assert float(epoch.policy.model.scale) == pytest.approx(scale, rel=1e-12)
        assert float(epoch.policy.model.model.prior_scale) == pytest.approx(0.7**-0.5)
    assert [members(1), perturbation(1)] == [1, 0.0]
    own = lin_es_anytime(
        size=lambda length: 3, perturbation=lambda length: 1.0 / length, first=40, growth=2.0
    )
    sizes = [(one.policy.model.size, float(one.policy.model.scale)) for one in own.epochs(100)]
    assert sizes == [(3, 1 / 40), (3, 1 / 40), (3, 1 / 80)]


LENGTHS = [100, 161, 424, 1109, 2903]


def test_a_warm_up_longer_than_an_epoch_is_cut_to_half_of_it():
    epochs = glm_es_anytime(link="poisson", memory="arms", ridge=0.5).epochs(3000)
    assert [one.policy.explorer.rounds for one in epochs] == [50, 80, 212, 500, 500]
    for epoch, length in zip(epochs, LENGTHS, strict=True):
        model = epoch.policy.model
        assert isinstance(model, Planned)
        assert model.rounds == epoch.policy.explorer.rounds == reference.epoch_warm_up(500, length)
        assert (model.model.size, float(model.model.scale)) == pytest.approx(reference.epoch_settings(length))
        assert (model.model.model.fitting.link, model.model.model.memory.kind) == ("poisson", "arms")
    # Too short for any warm-up.
    assert not hasattr(glm_es_anytime(first=1, growth=2.0).epochs(1)[0].policy.explorer, "rounds")


@pytest.mark.full
@pytest.mark.parametrize("warmup", [None, 140])
def test_so_is_that_of_networks_which_may_try_each_arm_once(warmup):
    model = superarm.neural(superarm.perceptron(width=8), memory="arms")
    epochs = neural_es_anytime(model=model, warmup=warmup).epochs(3000)
    lengths = [one.policy.explorer.length(140) for one in epochs]
    assert lengths == [reference.epoch_warm_up(140, length) for length in LENGTHS] == [50, 140, 140, 140, 140]
    assert all(one.policy.model.model == model for one in epochs)
    assert [one.policy.model.size for one in epochs] == [members(length) for length in LENGTHS]


# --- runs ---------------------------------------------------------------------------------------------------

WORLD = fixed_scores(dim=3, num_arms=6)


@dataclass(frozen=True)
class Course:
    """items and rewards of a run, round by round."""

    items: list
    rewards: list


def ran(policy, world, rounds, seed=0):
    table = superarm.simulate(policy, world, rounds=rounds, seeds=[seed], workers=0).table
    return Course([row.tolist() for row in table["items"]], table["reward"].tolist())


@jax.jit
def play(policy, world, place, keys, state, count, start):
    """One round of a run; the policy counts from `start`."""
    key_offer, key_respond, key_select, key_observe = round_keys(keys, count)
    offer = world.offer(place, key_offer)
    decision = policy.select(state, key_select, Offer(offer.contexts, offer.mask), count - start)
    outcome = world.respond(place, key_respond, offer, decision)
    event = Event(decision.items, decision.features, outcome.feedback, outcome.observed, decision.memo)
    return policy.observe(state, key_observe, event), decision.items, outcome.reward


@jax.jit
def learn(policy, state, key):
    return replace(state, fit=policy.learn(state, key))


def apart(policy, world, rounds, seed=0):
    """Every epoch's policy on its own, from nothing, in a plain loop that counts its decisions from 0.

    The world and the keys of a round are those of the whole run.
    """
    keys, items, rewards = keys_of(seed), [], []
    place = world.init(keys.world)
    for number, epoch in enumerate(policy.epochs(rounds)):
        one = epoch.policy
        capacity = (epoch.stop - epoch.start) * one.chooser.size
        key_init = jax.random.fold_in(keys.init, number) if number else keys.init
        state = one.init(key_init, replace(world.spec, capacity=capacity))
        for count in range(epoch.start, epoch.stop):
            state, chosen, reward = play(one, world, place, keys, state, count, epoch.start)
            if one.learn_every and (count + 1 - epoch.start) % one.learn_every == 0:
                state = learn(one, state, jax.random.fold_in(keys.learn, count + 1))
            items.append(np.asarray(chosen).tolist())
            rewards.append(float(reward))
    return Course(items, rewards)


def same(policy, world, rounds):
    with jax.enable_x64(True):
        whole, pieces = ran(policy, world, rounds), apart(policy, world, rounds)
    assert whole.items == pieces.items
    np.testing.assert_allclose(whole.rewards, pieces.rewards, rtol=1e-9)
    return whole


@pytest.mark.full
def test_schedules_count_from_the_beginning_of_the_epoch():
    """UCB's radius grows with log t, and narrow as its noise is it decides."""

    def build(length):
        return superarm.lin_ucb(radius=Logarithmic(np.asarray(0.5 + 1.0 / length)), noise=0.5)

    policy = restarts(build, first=30, growth=1.9)
    whole = same(policy, WORLD, 150)  # 30, 57, 108, 150: no end is one of a chunk
    assert len(policy.epochs(150)) == 4
    # Other schedules would have chosen otherwise.
    other = ran(restarts(lambda length: build(30), first=30, growth=1.9), WORLD, 150)
    assert other.items[:30] == whole.items[:30]
    assert other.items != whole.items


@pytest.mark.parametrize(
    ("every", "memory"),
    [
        (1, "arms"),
        pytest.param(7, "arms", marks=pytest.mark.full),
        pytest.param(7, "all", marks=pytest.mark.full),
    ],
)
def test_fits_count_from_the_beginning_of_the_epoch(every, memory):
    """In every round, inside the compiled chunk, or between chunks; with room for the epoch's history."""

    def build(length):
        settings = {"perturbation": 10.0 / length, "learn_every": every, "memory": memory}
        return superarm.glm_es(size=3, warmup=4, plan="each", link="identity", **settings)

    same(restarts(build, first=40, growth=1.7), WORLD, 130)  # 40, 68, 115, 130


@pytree
@dataclass(frozen=True)
class Telling(Explorer):
    """Scores the arm whose turn it is by the policy's own count: choices tell how it counts."""

    def scores(self, key: Array, beliefs, count: Array) -> Array:
        num_arms = beliefs.mean.shape[0]
        return (jnp.arange(num_arms) == count % num_arms).astype(jnp.float64)


def telling(oracle=None):
    build = superarm.lin_ucb() if oracle is None else superarm.comb_lin_ucb(oracle)
    return replace(build, explorer=Telling())


@pytest.mark.full
@pytest.mark.parametrize("host", [False, True], ids=["compiled", "on the host"])
def test_decisions_are_counted_from_the_origin(host):
    oracle = superarm.oracles.function(lambda scores, mask: np.argsort(-scores)[:1], size=1) if host else None
    turns = [count % 6 for start, stop in [(0, 20), (20, 50), (50, 90)] for count in range(stop - start)]
    policy = restarts(lambda length: telling(oracle), first=20, growth=2.5)
    assert [(one.start, one.stop) for one in policy.epochs(90)] == [(0, 20), (20, 50), (50, 90)]
    assert ran(policy, WORLD, 90).items == [[turn] for turn in turns]
    again = doubling(lambda epoch: telling(oracle), period=20, replay=True)
    assert ran(again, WORLD, 90).items == [[count % 6] for count in range(90)]


@pytest.mark.full
def test_decisions_of_a_replayed_log_are_counted_from_the_origin():
    """Of a log an event counts when the policy would have made its choice."""
    rng = np.random.default_rng(0)
    log = event_log(rng.normal(size=(900, 3, 2)), rng.integers(0, 3, 900), rng.normal(size=900))
    policy = restarts(lambda length: telling(), first=20, growth=2.0)
    table = replay(policy, log, accepted=100)
    turns = [count % 3 for length in (20, 20, 40, 20) for count in range(length)]
    assert [int(row[0]) for row in table["items"]] == turns


@pytest.mark.full
def test_networks_are_drawn_anew_in_every_epoch():
    """With nothing to learn from the first fit, choices are those of the start: it must not stay."""
    model = superarm.neural(
        superarm.perceptron(width=8), learning_rate=1e-12, steps=1, learn_every=50, memory="arms"
    )
    policy = restarts(lambda length: superarm.neural_es(model=model, size=2, warmup=0), first=10, growth=2.0)
    items = np.array(ran(policy, WORLD, 160).items)[:, 0]
    chosen = [set(items[one.start : one.stop].tolist()) for one in policy.epochs(160)]
    assert all(len(one) == 1 for one in chosen)
    assert len(set.union(*chosen)) > 1


def small_network():
    settings = {"learning_rate": 0.1, "penalty": 1.0, "reduction": "mean", "memory": "arms"}
    return superarm.neural(superarm.perceptron(width=8), steps=10, **settings)


PRESETS = {
    "lin_es": lambda oracle, first: lin_es_anytime(oracle, first=first),
    "glm_es": lambda oracle, first: glm_es_anytime(oracle, first=first, warmup=6, memory="arms"),
    "neural_es": lambda oracle, first: neural_es_anytime(oracle, small_network(), first=first),
}


@pytest.mark.full
@pytest.mark.parametrize("name", PRESETS)
def test_the_anytime_presets_run_as_their_epochs_do_apart(name):
    same(PRESETS[name](None, 20), WORLD, 70)


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [*(pytest.param(one, marks=pytest.mark.full) for one in PRESETS if one != "lin_es"), "lin_es"]
)
def test_the_anytime_presets_learn_to_below_half_of_chance(name):
    pair = superarm.top_k(2)
    world = fixed_scores(pair, dim=3, num_arms=8, noise=0.2)
    policies = {name: PRESETS[name](pair, 60), "chance": superarm.uniform(pair)}
    totals = superarm.compare(policies, world, rounds=400, seeds=3, workers=0).finals()["regret"]
    assert totals[name] < 0.5 * totals["chance"]


@pytest.mark.full
def test_refused_fits_of_all_epochs_and_members_are_counted():
    """Epochs of 25, 25 and 10 rounds with a fit after every tenth of their own: 5 fits of 3 members."""
    model = superarm.neural(superarm.perceptron(width=4), learning_rate=1e20, steps=2, learn_every=10)
    policy = restarts(lambda length: superarm.neural_es(model=model, size=3), first=25, growth=2.0)
    with pytest.warns(RuntimeWarning, match="15 fits diverged and were refused"):
        superarm.simulate(policy, WORLD, rounds=60, seeds=1, workers=0)
