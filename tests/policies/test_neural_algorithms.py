"""CN-UCB, CN-TS, NeuralUCB, NeuralTS and doubling against their transcription in plain NumPy.

Policy and transcription start from the same weights and meet the same contexts, noise and standard normals.
Every round both must score all arms alike and choose the same set. Networks are float64, so that hundreds of
fits may differ by rounding alone.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference.neural as reference
import superarm
from superarm.contract import Environment
from superarm.policies import cn_ts_doubling, cn_ucb_doubling
from superarm.policies.anytime import doubling
from superarm.pytree import pytree
from superarm.simulation import run as rollout
from superarm.simulation.round import keys_of
from superarm.simulation.round import round_keys as keys_of_round
from superarm.types import Event, Offer, Outcome, Spec
from superarm.widths.dual import DualFactor
from superarm.widths.full import FullFactor

ARMS, DIM, UNITS, SIZE = 6, 3, 8, 2
ORACLE = superarm.top_k(SIZE)
TARGET = np.array([0.6, -0.4, 0.7])
SEED = 54  # of theta_0: of few units most draws leave some arms without a gradient, and those tie
CLOSE = 1e-11
RUN = 47  # seed of the runs with doubling: each epoch's network has a gradient for every arm


def expected(contexts):
    return np.cos(3.0 * (contexts @ TARGET))


def net(width=UNITS, **kwargs):
    return superarm.perceptron(width=width, precision="float64", **kwargs)


@dataclass(frozen=True)
class World:
    """contexts (T, N, d) and noise (T, N)."""

    contexts: np.ndarray
    noise: np.ndarray

    @property
    def weights(self):
        """(T, N) what each arm shows when it is chosen."""
        return expected(self.contexts) + self.noise

    @property
    def told(self):
        """What the transcription is given."""
        return self.contexts, self.noise, expected


def world(rounds):
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(rounds, ARMS, DIM))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    return World(contexts, rng.normal(0, 0.1, (rounds, ARMS)))


def event_of(decision, weights):
    return Event(
        items=decision.items,
        features=decision.features,
        feedback=weights[decision.items],
        observed=decision.mask,
        memo=decision.memo,
        cache=decision.cache,
    )


@jax.jit
def one_round(policy, state, key, contexts, weights, count):
    """Select, show the weights of the chosen arms, observe; return the scores (N,) of all arms, too."""
    key_select, key_observe = jax.random.split(key)
    decision = policy.select(state, key_select, contexts, count)
    scores = policy.score(state, jax.random.split(key_select)[0], contexts, count)[1]
    return policy.observe(state, key_observe, event_of(decision, weights)), decision, scores


@jax.jit
def fitted(policy, state):
    return replace(state, fit=policy.learn(state, jax.random.key(0)))


@jax.jit
def observed(policy, state, event):
    return policy.observe(state, jax.random.key(0), event)


def started(policy, rounds):
    """The first state, and its theta_0 as the transcription holds it."""
    spec = Spec(dim=DIM, num_arms=ARMS, capacity=rounds * policy.chooser.size)
    state = policy.init(jax.random.key(SEED), spec)
    return state, [np.asarray(matrix) for matrix in state.fit.first]


def round_keys(rounds):
    return jax.random.split(jax.random.key(1), rounds)


def normals_of(rounds, draws):
    """(T, M, N) the standard normals that a policy with draws apart takes from the rounds' keys."""

    def one(key):
        key_select, _ = jax.random.split(key)
        key_explore, _ = jax.random.split(key_select)
        return jax.random.normal(key_explore, (draws, ARMS), jnp.float64)

    with jax.enable_x64(True):
        return np.asarray(jax.vmap(one)(round_keys(rounds)))


def rounds_of(policy, met):
    """Play; yield (count, the state that decided, decision, scores (N,), the state after)."""
    keys, (state, _) = round_keys(len(met.noise)), started(policy, len(met.noise))
    with jax.enable_x64(True):
        for count, (contexts, weights) in enumerate(zip(met.contexts, met.weights, strict=True)):
            before = state
            state, decision, scores = one_round(policy, state, keys[count], contexts, weights, count)
            if (count + 1) % policy.learn_every == 0:
                state = fitted(policy, state)
            assert bool(decision.healthy)
            yield count, before, decision, np.asarray(scores), state


def agree(policy, met, run):
    """The policy plays as the transcription did."""
    played = list(rounds_of(policy, met))
    order = -np.sort(-run.scores, axis=1)
    size = policy.chooser.size
    assert (order[:, size - 1] - order[:, size] > 1e-8).all()  # no ties, in which either may be chosen
    np.testing.assert_allclose([one[3] for one in played], run.scores, rtol=CLOSE, atol=CLOSE)
    np.testing.assert_array_equal([np.sort(one[2].items) for one in played], run.chosen)
    fit = played[-1][-1].fit
    assert int(fit.failures) == 0
    for ours, theirs, first in zip(fit.params, run.weights, fit.first, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=CLOSE, atol=CLOSE)
        assert np.abs(ours - first).max() > 0.005  # something was learned


@pytest.mark.parametrize(
    ("depth", "rate", "rounds", "widths"),
    [
        pytest.param(2, 0.004, 180, ("full", "dual"), marks=pytest.mark.full),
        (3, 0.001, 140, ("dual",)),
    ],
)
def test_cn_ucb_of_the_theory(depth, rate, rounds, widths):
    """Equation 2's network; every round a fit to all history from theta_0, with penalty m lambda to it."""
    network = net(depth=depth, parametrization="ntk")
    model = superarm.neural(network, ridge=0.5, learning_rate=rate, steps=2, restart=True)
    policies = [superarm.cn_ucb(ORACLE, model, radius=0.7, offset=0.3, width=width) for width in widths]
    met, (_, first) = world(rounds), started(policies[0], rounds)
    hyper = {"ridge": 0.5, "eta": rate / UNITS, "steps": 2, "gamma": 0.7, "offset": 0.3}
    run = reference.cn_ucb(first, *met.told, SIZE, **hyper)
    for policy in policies:
        agree(policy, met, run)


def figures(**kwargs):
    """The model of the paper's figures with fewer and shorter steps, and the transcription's words for it."""
    fitting = {"ridge": 0.5, "steps": 8, "learn_every": 10}
    ours = superarm.neural(net(), learning_rate=0.004, memory="window", memory_size=101, **fitting)
    plain = {"parametrization": "standard", "penalty": 0.0, "warm": True, "eta": 0.004, "window": 101}
    return ours, {**fitting, **plain, **kwargs}


def test_cn_ucb_of_the_figures():
    model, hyper = figures(gamma=0.6)
    met, policy = world(200), superarm.cn_ucb(ORACLE, model, radius=0.6)
    agree(policy, met, reference.cn_ucb(started(policy, 200)[1], *met.told, SIZE, **hyper))


@pytest.mark.parametrize(("draws", "squared", "width"), [(10, False, "full"), (1, True, "dual")])
def test_cn_ts(draws, squared, width):
    model, hyper = figures(nu=1.3, offset=0.2, variance_as_deviation=squared)
    met, policy = (
        world(200),
        superarm.cn_ts(ORACLE, model, scale=1.3, offset=0.2, draws=draws, squared=squared, width=width),
    )
    drawn = normals_of(200, draws)
    agree(policy, met, reference.cn_ts(started(policy, 200)[1], *met.told, SIZE, drawn, **hyper))


def single_arm(ridge, **kwargs):
    """A model as in the authors' experiments, and the transcription's words for it."""
    ours = superarm.neural(
        net(biases=True),
        ridge=ridge,
        learning_rate=0.05,
        penalty=ridge,
        row_scale=1.0,
        reduction="mean",
        anchored=False,
        **kwargs,
    )
    return ours, {"ridge": ridge, "eta": 0.05, "warm": True, **kwargs}


def test_neural_ucb():
    model, hyper = single_arm(0.3, steps=2)
    met, policy = world(200), superarm.neural_ucb(model, radius=math.sqrt(0.3 * 0.4))
    agree(policy, met, reference.neural_single(started(policy, 200)[1], *met.told, nu=0.4, **hyper))


def test_neural_ts():
    model, hyper = single_arm(0.3, steps=4, learn_every=3)
    met, policy = world(200), superarm.neural_ts(model, scale=math.sqrt(0.4))
    drawn = normals_of(200, 1)
    agree(policy, met, reference.neural_single(started(policy, 200)[1], *met.told, drawn, nu=0.4, **hyper))


def test_cn_ucb_with_the_radius_and_offset_of_lemma_1():
    ridge, rate, steps = 0.5, 0.004, 4
    radius = superarm.lemma1_radius(
        norm_bound=1.5,
        noise=0.1,
        delta=0.05,
        ridge=ridge,
        width=UNITS,
        depth=2,
        size=SIZE,
        rate=rate,
        steps=steps,
        c1=1e-4,
        c_gamma1=1e-5,
        c_gamma2=1e-4,
        c_gamma3=1e-7,
        c3=1e-3,
        c4=1e-3,
    )
    network = {"K": SIZE, "L": 2, "m": UNITS, "ridge": ridge}
    fitting = {"eta": rate / UNITS, "steps": steps}
    bounds = {"rho": 0.1, "delta": 0.05, "B": 1.5, "C1": 1e-4, "G1": 1e-5, "G2": 1e-4, "G3": 1e-7}
    model = superarm.neural(
        net(parametrization="ntk"),
        ridge=ridge,
        learning_rate=rate,
        steps=steps,
        restart=True,
        learn_every=5,
    )
    met, policy = world(200), superarm.cn_ucb(ORACLE, model, radius=radius, offset=0.2, width="full")
    run = reference.cn_ucb(
        started(policy, 200)[1],
        *met.told,
        SIZE,
        gamma=lambda t, logdet: reference.lemma1_gamma(t, logdet, **network, **fitting, **bounds),
        offset=lambda t, gamma: 0.2 + reference.lemma1_offset(t, gamma, **network, C3=1e-3, C4=1e-3),
        ridge=ridge,
        learn_every=5,
        **fitting,
    )
    agree(policy, met, run)


# Doubling: runs as the simulator makes them.


@pytree
@dataclass(frozen=True)
class Telling(Environment):
    """New contexts every round. The value that it reports is the sum of the scores that decided."""

    native: ClassVar[bool] = True
    spec: ClassVar[Spec] = Spec(dim=DIM, num_arms=ARMS)

    def check(self):
        pass

    def init(self, key):
        return ()

    def offer(self, world, key):
        normals = jax.random.normal(key, (ARMS, DIM), jnp.float64)
        contexts = normals / jnp.linalg.norm(normals, axis=1, keepdims=True)
        return Offer(contexts=contexts, mask=jnp.ones(ARMS, bool))

    def noise(self, key):
        return 0.1 * jax.random.normal(key, (ARMS,), jnp.float64)

    def respond(self, world, key, offer, decision):
        shown = (jnp.cos(3.0 * (offer.contexts @ TARGET)) + self.noise(key))[decision.items]
        zero = jnp.zeros((), jnp.float64)
        return Outcome(
            feedback=shown,
            observed=decision.mask,
            reward=jnp.sum(shown),
            value=jnp.sum(decision.scores),
            best=zero,
            best_reward=zero,
        )


@functools.cache
def met_in_run():
    """What a run meets in 200 rounds: contexts (T, N, d), noise (T, N), standard normals (T, 3, N)."""

    @jax.jit
    def met(keys):
        def one(count):
            key_offer, key_respond, key_select, _ = keys_of_round(keys, count)
            key_explore, _ = jax.random.split(key_select)
            normals = jax.random.normal(key_explore, (3, ARMS), jnp.float64)
            return Telling().offer((), key_offer).contexts, Telling().noise(key_respond), normals

        return jax.lax.map(one, jnp.arange(200))

    with jax.enable_x64(True):
        return tuple(np.asarray(one) for one in met(keys_of(RUN)))


def first_weights(policy):
    """epoch -> theta_0, as a run draws it."""

    def draw(epoch):
        with jax.enable_x64(True):
            key = keys_of(RUN).init
            key_init = jax.random.fold_in(key, epoch) if epoch else key
            return [np.asarray(one) for one in policy.build(epoch, PERIOD).model.network.init(key_init, DIM)]

    return draw


def ran(policy, rounds):
    """Chosen sets (T, K), and the sums of their scores (T,)."""
    frame = rollout.run_seed(policy, Telling(), rounds=rounds, seed=RUN, keep_items=True)
    assert frame.attrs["refused_fits"] == 0
    return np.array([np.sort(items) for items in frame["items"]]), frame["value"].to_numpy()


def agree_in_run(policy, run):
    chosen, values = ran(policy, len(run.chosen))
    np.testing.assert_array_equal(chosen, run.chosen)
    sums = np.take_along_axis(run.scores, run.chosen, axis=1).sum(axis=1)
    np.testing.assert_allclose(values, sums, rtol=CLOSE, atol=CLOSE)


PERIOD = 70


def units(epoch):
    return 8 if epoch < 2 else 12


def of_epoch(epoch):
    """What differs between epochs, in the words of `neural` and of the transcription alike."""
    return {"ridge": 0.5 + 0.2 * epoch, "learn_every": 5 if epoch < 2 else 7}


def growing(epoch):
    return superarm.neural(
        net(units(epoch)), **of_epoch(epoch), steps=4, memory="window", memory_size=60, learning_rate=0.01
    )


GROWING = {"parametrization": "standard", "penalty": 0.0, "warm": True, "eta": 0.01, "steps": 4, "window": 60}


@pytest.mark.full
def test_cn_ucb_with_doubling():
    policy = cn_ucb_doubling(
        ORACLE,
        growing,
        period=PERIOD,
        radius=lambda epoch: 1.0 / (1 + epoch),
        offset=lambda epoch: 0.1 * epoch,
        width="full",
    )
    contexts, noise, _ = met_in_run()
    run = reference.cn_ucb_doubling(
        first_weights(policy),
        PERIOD,
        contexts,
        noise,
        expected,
        SIZE,
        schedule=lambda epoch: {**of_epoch(epoch), "gamma": 1.0 / (1 + epoch), "offset": 0.1 * epoch},
        **GROWING,
    )
    assert len(policy.epochs(200)) == 3
    agree_in_run(policy, run)


@pytest.mark.full
def test_cn_ucb_with_doubling_and_lemma_1():
    """Algorithm 3's gamma counts all rounds, also those before the epoch, and its Z is the replayed one."""
    known = {
        "norm_bound": 1.5,
        "noise": 0.1,
        "delta": 0.05,
        "depth": 2,
        "size": SIZE,
        "rate": 0.003,
        "steps": 4,
    }
    bounds = {"rho": 0.1, "delta": 0.05, "B": 1.5, "C1": 0.0, "G1": 1e-5, "G2": 0.0, "G3": 0.0}

    def radius(epoch):
        return superarm.lemma1_radius(
            **known, ridge=of_epoch(epoch)["ridge"], width=units(epoch), c_gamma1=1e-5
        )

    def model(epoch):
        return superarm.neural(
            net(units(epoch), parametrization="ntk"),
            **of_epoch(epoch),
            learning_rate=0.003,
            steps=4,
            restart=True,
        )

    def schedule(epoch):
        own = {"K": SIZE, "L": 2, "m": units(epoch), "ridge": of_epoch(epoch)["ridge"]}
        fitting = {"eta": 0.003 / units(epoch), "steps": 4}
        gamma = functools.partial(reference.lemma1_gamma, **own, **fitting, **bounds)
        return {**of_epoch(epoch), **fitting, "gamma": gamma}

    policy = cn_ucb_doubling(ORACLE, model, period=PERIOD, radius=radius, width="full")
    contexts, noise, _ = (column[:160] for column in met_in_run())
    run = reference.cn_ucb_doubling(
        first_weights(policy), PERIOD, contexts, noise, expected, SIZE, schedule=schedule
    )
    agree_in_run(policy, run)


@pytest.mark.full
def test_cn_ts_with_doubling():
    rate = 0.003

    def model(epoch):
        return superarm.neural(
            net(units(epoch), parametrization="ntk"),
            **of_epoch(epoch),
            learning_rate=rate,
            steps=4,
            restart=True,
            memory="window",
            memory_size=60,
        )

    def schedule(epoch):
        return {**of_epoch(epoch), "nu": 0.5 + epoch, "eta": rate / units(epoch)}

    policy = cn_ts_doubling(
        ORACLE, model, period=PERIOD, draws=3, scale=lambda epoch: 0.5 + epoch, offset=0.2, width="full"
    )
    contexts, noise, normals = (column[:160] for column in met_in_run())
    run = reference.cn_ts_doubling(
        first_weights(policy),
        PERIOD,
        contexts,
        noise,
        expected,
        SIZE,
        normals,
        schedule=schedule,
        offset=0.2,
        steps=4,
        window=60,
    )
    assert len(policy.epochs(160)) == 3
    agree_in_run(policy, run)


def test_doubling_with_a_long_period_is_the_plain_policy():
    plain = superarm.cn_ucb(ORACLE, growing(2), width="full")
    wrapped = doubling(lambda epoch: plain, period=1000)
    for ours, theirs in zip(ran(wrapped, 80), ran(plain, 80), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_doubling_without_replay_begins_every_epoch_from_nothing():
    policy = doubling(
        lambda epoch: superarm.cn_ucb(ORACLE, growing(epoch), width="full"), period=PERIOD, replay=False
    )
    (contexts, noise, _), draw = met_in_run(), first_weights(policy)
    runs = [
        reference.cn_ucb(
            draw(epoch), contexts[part], noise[part], expected, SIZE, **of_epoch(epoch), **GROWING
        )
        for epoch, part in enumerate([slice(PERIOD), slice(PERIOD, 2 * PERIOD), slice(2 * PERIOD, 160)])
    ]
    whole = reference.Run(*(np.concatenate([run[column] for run in runs]) for column in range(4)), [], None)
    agree_in_run(policy, whole)


# The parts that a simulation does not show.


def small(width="full", units=UNITS, **kwargs):
    """CN-UCB with a small network that learns every 5 rounds."""
    model = superarm.neural(net(units), ridge=0.5, steps=5, learn_every=5, **kwargs)
    return superarm.cn_ucb(ORACLE, model, radius=0.8, width=width)


class Bounds(reference.Learner):
    """The upper confidence bounds of `small`, from a network that is given and rows that are told."""

    def __init__(self, params):
        super().__init__(
            [np.asarray(one) for one in params], reference.Hyper(ridge=0.5, parametrization="standard")
        )

    def holding(self, params):
        self.weights = [np.asarray(one) for one in params]
        return self

    def absorb(self, contexts):
        for x in np.asarray(contexts):
            self.gram = self.gram + np.outer(self.phi(x), self.phi(x))

    def scores(self, contexts):
        return [self.net.forward(self.weights, x) + 0.8 * self.norm(x) for x in np.asarray(contexts)]


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def same(tree, other, rtol=1e-12):
    pairs = zip(leaves(tree), leaves(other), strict=True)
    return all(np.allclose(left, right, rtol=rtol, atol=rtol) for left, right in pairs)


def after(policy, rounds):
    """The state after some rounds, and the contexts and weights of the next."""
    met = world(rounds + 1)
    keys, (state, _) = round_keys(rounds), started(policy, 60)
    for count in range(rounds):
        state, *_ = one_round(policy, state, keys[count], met.contexts[count], met.weights[count], count)
    return state, met.contexts[-1], met.weights[-1]


def asked(policy, state, contexts):
    """The decision and the scores (N,) of contexts."""
    key, nothing = jax.random.key(0), np.zeros(len(contexts))
    return one_round(policy, state, key, contexts, nothing, 0)[1:]


@pytest.mark.parametrize("width", ["full", "dual"])
def test_a_cache_is_used_only_by_the_state_that_made_it(width):
    policy = small(width)
    with jax.enable_x64(True):
        state, contexts, weights = after(policy, 12)
        event = event_of(asked(policy, state, contexts)[0], weights)
        other = event_of(asked(policy, state, contexts[::-1] ** 2)[0], weights)
        fresh = replace(event, cache=())
        assert same(observed(policy, state, event).record, observed(policy, state, fresh).record)
        for moved in (observed(policy, state, other), fitted(policy, state)):
            plain = observed(policy, moved, fresh).record
            assert same(observed(policy, moved, event).record, plain)
            # Taken for the moved state's own, the cache does harm: so it was not taken.
            stamp = replace(event.cache.stamp, seen=moved.record.history.seen, version=moved.fit.version)
            forged = replace(event, cache=replace(event.cache, stamp=stamp))
            assert not same(observed(policy, moved, forged).record, plain, rtol=1e-6)


@pytest.mark.parametrize(
    ("policy", "factor", "window"),
    [
        (small("full", refresh=True), FullFactor, 1000),
        # With more parameters than observations the dual form is chosen.
        (small("auto", refresh=True, units=40, memory="window", memory_size=6), DualFactor, 6),
    ],
    ids=["full", "dual"],
)
def test_a_refreshed_width_is_that_of_the_history_under_the_new_network(policy, factor, window):
    met = world(42)  # more observations than are absorbed at once
    kept, bounds = [], None
    for count, before, decision, scores, state in rounds_of(policy, met):
        bounds = bounds or Bounds(before.fit.params)
        np.testing.assert_allclose(scores, bounds.scores(met.contexts[count]), rtol=CLOSE)
        bounds.absorb(decision.features)
        kept = [*kept, np.asarray(decision.features)][-window:]
        if state.fit.version > before.fit.version:
            bounds = Bounds(state.fit.params)
            bounds.absorb(np.concatenate(kept))
    assert isinstance(state.record.factor, factor)
    assert (int(state.fit.version), int(state.fit.failures)) == (8, 0)


def test_events_may_come_late_out_of_order_and_in_part():
    """Rows enter Z with the gradient of the network in force when their feedback comes."""
    policy, met = small(), world(7)
    with jax.enable_x64(True):
        state, first = started(policy, 60)
        bounds = Bounds(first)
        decisions = [asked(policy, state, contexts)[0] for contexts in met.contexts[:6]]
        events = [event_of(*pair) for pair in zip(decisions, met.weights, strict=False)]
        shown = np.array([True, False])
        events[3] = replace(events[3], observed=shown, feedback=np.where(shown, events[3].feedback, np.nan))
        for place, index in enumerate((4, 1, 3, 5, 0, 2)):
            event = events[index]
            bounds.holding(state.fit.params).absorb(event.features[np.asarray(event.observed)])
            state = observed(policy, state, event)
            if place == 3:
                state = fitted(policy, state)
        decision, scores = asked(policy, state, met.contexts[6])
    assert bool(decision.healthy)
    assert (int(state.record.history.seen), int(state.record.history.events)) == (11, 6)
    np.testing.assert_allclose(scores, bounds.holding(state.fit.params).scores(met.contexts[6]), rtol=CLOSE)


def test_a_fit_that_diverged_is_refused_and_decisions_stay_sound():
    policy = small()
    hasty = replace(policy.model.fitting, learning_rate=np.float64(1e6))
    with jax.enable_x64(True):
        state, contexts, _ = after(policy, 5)
        failed = fitted(replace(policy, model=replace(policy.model, fitting=hasty)), state)
        assert (int(failed.fit.failures), bool(failed.fit.diverged), int(failed.fit.version)) == (1, True, 1)
        assert same(failed.fit.params, state.fit.params, rtol=0.0)
        assert bool(asked(policy, failed, contexts)[0].healthy)
        contexts[2, 1] = np.nan
        assert not bool(asked(policy, failed, contexts)[0].healthy)
        again = fitted(policy, failed)
        assert (int(again.fit.failures), bool(again.fit.diverged), int(again.fit.version)) == (1, False, 2)


def test_the_last_layer_width_is_that_of_ridge_regression_on_its_inputs():
    policy, met = small("last-layer"), world(30)
    network, gram = reference.Net("standard"), 0.5 * np.eye(UNITS)
    for count, before, decision, scores, _ in rounds_of(policy, met):
        params = [np.asarray(one) for one in before.fit.params]
        inputs = np.array([network.layers(params, x)[0][-1] for x in met.contexts[count]]) / math.sqrt(UNITS)
        widths = np.sqrt(np.sum(inputs * np.linalg.solve(gram, inputs.T).T, axis=1))
        means = [network.forward(params, x) for x in met.contexts[count]]
        np.testing.assert_allclose(scores, means + 0.8 * widths, rtol=CLOSE)
        chosen = inputs[np.asarray(decision.items)]
        gram = gram + chosen.T @ chosen


@pytest.mark.parametrize("width", ["full", "dual"])
def test_joint_draws_have_the_covariance_of_the_gradients(width):
    policy, count = small(width), 100_000
    with jax.enable_x64(True):
        state, contexts, _ = after(policy, 12)
        contexts[5] = contexts[0]  # a singular covariance
        beliefs = policy.model.beliefs(state, jnp.asarray(contexts), policy.width)
        joint = np.asarray(beliefs.draws(jax.random.key(0), np.float64(1.5), count, True))
        apart = np.asarray(beliefs.draws(jax.random.key(0), np.float64(1.5), count, False))
    bounds = Bounds(state.fit.params)
    bounds.absorb(state.record.history.contexts[:24])
    phi = np.array([bounds.phi(x) for x in contexts])
    covariance = 1.5**2 * phi @ np.linalg.solve(bounds.gram, phi.T)
    error = 6.0 * covariance.diagonal().max() / math.sqrt(count)
    np.testing.assert_allclose(np.cov(joint.T), covariance, atol=error)
    np.testing.assert_allclose(np.cov(apart.T), np.diag(covariance.diagonal()), atol=error)
    np.testing.assert_allclose(joint[:, 5], joint[:, 0], atol=1e-6)
    means = [bounds.net.forward(bounds.weights, x) for x in contexts]
    np.testing.assert_allclose(joint.mean(axis=0), means, atol=math.sqrt(error) / 10)
