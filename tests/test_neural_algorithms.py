"""CN-UCB, CN-TS, NeuralUCB, NeuralTS and doubling against their transcription in plain NumPy.

Policy and transcription start from the same weights and meet the same contexts, noise and standard normals.
Every round both must score all arms alike and choose the same set. Networks are float64, so that hundreds of
fits may differ by rounding alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neural_reference as reference
import superarm
from superarm import rollout
from superarm.anytime import cn_ts_doubling, cn_ucb_doubling, doubling
from superarm.types import Event, Offer, Outcome, Spec, pytree

ARMS, DIM, UNITS, SIZE = 6, 3, 8, 2
ORACLE = superarm.top_k(SIZE)
TARGET = np.array([0.6, -0.4, 0.7])
SEED = 54  # of theta_0: of few units most draws leave some arms without a gradient, and those tie
CLOSE = 1e-10


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
    )


@jax.jit
def one_round(policy, state, key, contexts, weights, count):
    """Select, show the weights of the chosen arms, observe; return the scores (N,) of all arms, too."""
    key_select, key_observe = jax.random.split(key)
    decision = policy.select(state, key_select, contexts, count)
    scores = policy.scores(state, jax.random.split(key_select)[0], contexts, count)
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
        assert np.abs(ours - first).max() > 0.01  # something was learned


@pytest.mark.parametrize(("depth", "rounds"), [(2, 200), (3, 150)])
def test_cn_ucb_of_the_theory(depth, rounds):
    """Equation 2's network; every round a fit to all history from theta_0, with penalty m lambda to it."""
    network = net(depth=depth, parametrization="ntk")
    model = superarm.neural(network, ridge=0.5, learning_rate=0.004, steps=2, restart=True)
    policies = [
        superarm.cn_ucb(ORACLE, model, radius=0.7, offset=0.3, width=width) for width in ("full", "dual")
    ]
    met, (_, first) = world(rounds), started(policies[0], rounds)
    hyper = {"ridge": 0.5, "eta": 0.004 / UNITS, "steps": 2, "gamma": 0.7, "offset": 0.3}
    run = reference.cn_ucb(first, *met.told, SIZE, **hyper)
    for policy in policies:
        agree(policy, met, run)


def figures(**kwargs):
    """The model of the paper's figures with fewer steps, and the transcription's words for it."""
    fitting = {"ridge": 0.5, "steps": 8, "learn_every": 10}
    ours = superarm.neural(net(), memory="window", memory_size=101, **fitting)
    plain = {"parametrization": "standard", "penalty": 0.0, "warm": True, "eta": 0.01, "window": 101}
    return ours, {**fitting, **plain, **kwargs}


def test_cn_ucb_of_the_figures():
    model, hyper = figures(gamma=0.6)
    met, policy = world(250), superarm.cn_ucb(ORACLE, model, radius=0.6)
    agree(policy, met, reference.cn_ucb(started(policy, 250)[1], *met.told, SIZE, **hyper))


@pytest.mark.parametrize(("draws", "squared"), [(10, False), (1, False), (10, True)])
def test_cn_ts(draws, squared):
    model, hyper = figures(nu=1.3, offset=0.2, variance_as_deviation=squared)
    met, policy = (
        world(250),
        superarm.cn_ts(ORACLE, model, scale=1.3, offset=0.2, draws=draws, squared=squared),
    )
    drawn = normals_of(250, draws)
    agree(policy, met, reference.cn_ts(started(policy, 250)[1], *met.told, SIZE, drawn, **hyper))


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
    met, policy = world(200), superarm.cn_ucb(ORACLE, model, radius=radius, width="full")
    run = reference.cn_ucb(
        started(policy, 200)[1],
        *met.told,
        SIZE,
        gamma=lambda t, logdet: reference.lemma1_gamma(t, logdet, **network, **fitting, **bounds),
        offset=lambda t, gamma: reference.lemma1_offset(t, gamma, **network, C3=1e-3, C4=1e-3),
        ridge=ridge,
        learn_every=5,
        **fitting,
    )
    agree(policy, met, run)


# Doubling: runs as the simulator makes them.


@pytree
@dataclass(frozen=True)
class Telling:
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


def met_in_run(seed, rounds, draws=1):
    """What a run of that seed meets: a World, and the policy's standard normals (T, M, N)."""

    @jax.jit
    @jax.vmap
    def one(count):
        key_offer, key_respond, key_select, _ = rollout._round_keys(keys, count)
        key_explore, _ = jax.random.split(key_select)
        normals = jax.random.normal(key_explore, (draws, ARMS), jnp.float64)
        return Telling().offer((), key_offer).contexts, Telling().noise(key_respond), normals

    with jax.enable_x64(True):
        keys = rollout._keys(seed)
        contexts, noise, normals = one(jnp.arange(rounds))
    return World(np.asarray(contexts), np.asarray(noise)), np.asarray(normals)


def first_weights(policy, seed):
    """epoch -> theta_0, as a run of that seed draws it."""

    def draw(epoch):
        with jax.enable_x64(True):
            key = rollout._keys(seed).init
            key_init = jax.random.fold_in(key, epoch) if epoch else key
            return [np.asarray(one) for one in policy.build(epoch).model.network.init(key_init, DIM)]

    return draw


def ran(policy, seed, rounds):
    """Chosen sets (T, K), and the sums of their scores (T,)."""
    frame = rollout.run_seed(policy, Telling(), rounds=rounds, seed=seed, keep_items=True)
    assert frame.attrs["refused_fits"] == 0
    return np.array([np.sort(items) for items in frame["items"]]), frame["value"].to_numpy()


def agree_in_run(policy, seed, run):
    chosen, values = ran(policy, seed, len(run.chosen))
    np.testing.assert_array_equal(chosen, run.chosen)
    sums = np.take_along_axis(run.scores, run.chosen, axis=1).sum(axis=1)
    np.testing.assert_allclose(values, sums, rtol=CLOSE, atol=CLOSE)


PERIOD = 35


def units(epoch):
    return 6 if epoch == 0 else 12


def of_epoch(epoch):
    """What differs between epochs, in the words of `neural` and of the transcription alike."""
    return {"ridge": 0.5 + 0.2 * epoch, "learn_every": 5 if epoch == 0 else 7}


def growing(epoch):
    return superarm.neural(
        net(units(epoch)), **of_epoch(epoch), steps=4, memory="window", memory_size=60, learning_rate=0.02
    )


GROWING = {"parametrization": "standard", "penalty": 0.0, "warm": True, "eta": 0.02, "steps": 4, "window": 60}


def test_cn_ucb_with_doubling():
    policy = cn_ucb_doubling(
        ORACLE, growing, period=PERIOD, radius=lambda epoch: 1.0 / (1 + epoch), width="full"
    )
    met, _ = met_in_run(3, 200)
    run = reference.cn_ucb_doubling(
        first_weights(policy, 3),
        PERIOD,
        *met.told,
        SIZE,
        schedule=lambda epoch: {**of_epoch(epoch), "gamma": 1.0 / (1 + epoch)},
        **GROWING,
    )
    assert len(policy.epochs(200)) == 4
    agree_in_run(policy, 3, run)


def test_cn_ts_with_doubling():
    def model(epoch):
        network = net(8 * 2**epoch, parametrization="ntk")
        return superarm.neural(network, learning_rate=0.004, steps=3, restart=True, **of_epoch(epoch))

    policy = cn_ts_doubling(
        ORACLE, model, period=40, draws=3, scale=lambda epoch: 0.5 + epoch, width="dual"
    )
    met, normals = met_in_run(5, 140, draws=3)
    run = reference.cn_ts_doubling(
        first_weights(policy, 5),
        40,
        *met.told,
        SIZE,
        normals,
        schedule=lambda epoch: {**of_epoch(epoch), "nu": 0.5 + epoch, "eta": 0.004 / (8 * 2**epoch)},
        steps=3,
    )
    assert [len(run.weights[0]), len(policy.epochs(140))] == [32, 3]
    agree_in_run(policy, 5, run)


def test_doubling_with_a_long_period_is_the_plain_policy():
    plain = superarm.cn_ucb(ORACLE, growing(1), width="full")
    wrapped = doubling(lambda epoch: plain, period=1000)
    for ours, theirs in zip(ran(wrapped, 3, 80), ran(plain, 3, 80), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_doubling_without_replay_begins_every_epoch_from_nothing():
    policy = doubling(
        lambda epoch: superarm.cn_ucb(ORACLE, growing(epoch), width="full"), period=PERIOD, replay=False
    )
    (met, _), draw, rounds = met_in_run(3, 110), first_weights(policy, 3), 110
    runs = [
        reference.cn_ucb(
            draw(epoch), met.contexts[begin:end], met.noise[begin:end], expected, SIZE, **of_epoch(epoch), **GROWING
        )
        for epoch, (begin, end) in enumerate([(0, PERIOD), (PERIOD, 2 * PERIOD), (2 * PERIOD, rounds)])
    ]
    whole = reference.Run(*(np.concatenate([run[column] for run in runs]) for column in range(4)), [], None)
    agree_in_run(policy, 3, whole)
