"""Neural logistic and generalized linear bandits against their transcription in plain NumPy.

Policy and transcription start from the same weights and meet the same contexts, rewards and standard normals.
Every round both must score all arms alike and choose the same one. Networks are float64, so that hundreds of
fits may differ by rounding alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference.bae2026 as reference
import superarm
from superarm.types import Event, Spec

ARMS, DIM, UNITS = 5, 3, 6
CLOSE = 1e-9


@dataclass(frozen=True)
class World:
    """contexts (T, K, d) and feedback (T, K), 0 or 1."""

    contexts: np.ndarray
    feedback: np.ndarray


def world(rounds):
    rng = np.random.default_rng(3)
    contexts = rng.uniform(-1, 1, (rounds, ARMS, DIM))
    chance = reference.sigmoid(3.0 * np.sin(contexts @ np.array([2.0, -1.0, 1.5])))
    return World(contexts, (rng.uniform(size=chance.shape) < chance).astype(float))


def in_double(policy, **network):
    """The policy with a float64 network."""
    network = superarm.perceptron(width=UNITS, precision="float64", **network)
    return replace(policy, model=replace(policy.model, network=network))


@jax.jit
def one_round(policy, state, key, contexts, feedback, count):
    """Select, show the reward of the chosen arm, observe; return the scores (K,) of all arms, too."""
    key_select, key_observe = jax.random.split(key)
    decision = policy.select(state, key_select, contexts, count)
    scores = policy.score(state, jax.random.split(key_select)[0], contexts, count)[1]
    event = Event(decision.items, decision.features, feedback[decision.items], decision.mask, decision.memo)
    return policy.observe(state, key_observe, event), decision, scores


@jax.jit
def fitted(policy, state):
    return replace(state, fit=policy.learn(state, jax.random.key(0)))


def round_keys(rounds):
    return jax.random.split(jax.random.key(1), rounds)


def normals_of(rounds, count):
    """(T, count) the standard normals that a policy takes from the rounds' keys."""

    def one(key):
        key_explore = jax.random.split(jax.random.split(key)[0])[0]
        return jax.random.normal(key_explore, (1, count), jnp.float64)[0]

    with jax.enable_x64(True):
        return np.asarray(jax.vmap(one)(round_keys(rounds)))


def started(policy, rounds, seed=2):  # of few units most draws leave some arms without a gradient: ties
    """The first state, and theta_0 as the transcription holds it."""
    state = policy.init(jax.random.key(seed), Spec(dim=DIM, num_arms=ARMS, capacity=rounds))
    first = state.fit.first if hasattr(state.fit, "first") else ()
    return state, tuple(np.asarray(matrix) for matrix in first)


def play(policy, met):
    """Items (T,), scores (T, K) and the last state."""
    rounds = len(met.contexts)
    keys, (state, _) = round_keys(rounds), started(policy, rounds)
    items, scores = [], []
    with jax.enable_x64(True):
        for count in range(rounds):
            state, decision, all_scores = one_round(
                policy, state, keys[count], met.contexts[count], met.feedback[count], count
            )
            if policy.learn_every and (count + 1) % policy.learn_every == 0:
                state = fitted(policy, state)
            assert bool(decision.healthy)
            items.append(int(decision.items[0]))
            scores.append(np.asarray(all_scores))
    return items, scores, state


def agree(policy, met, run, tolerance=CLOSE):
    """The policy plays as the transcription did, every score and every choice."""
    items, scores, _ = play(policy, met)
    order = -np.sort(-np.asarray(run["scores"]), axis=1)
    assert (order[:, 0] - order[:, 1] > 1e-8).all()  # no ties, in which either may be chosen
    np.testing.assert_allclose(scores, run["scores"], rtol=tolerance, atol=tolerance)
    assert items == list(run["items"])


THEORY = {
    "NeuralLog-UCB-1": superarm.neural_log_ucb_1_theory,
    "NeuralLog-UCB-2": superarm.neural_log_ucb_2_theory,
    "NeuralLog-TS-1": superarm.neural_log_ts_1_theory,
    "NeuralLog-TS-2": superarm.neural_log_ts_2_theory,
}


@pytest.mark.parametrize(("depth", "rounds"), [(2, 150), pytest.param(3, 60, marks=pytest.mark.full)])
@pytest.mark.parametrize("method", THEORY)
def test_theory_form(method, depth, rounds):
    met = world(rounds)
    constants = {"norm_bound": 20.0, "delta": 0.2, "c1": 0.3}
    kappa = {} if method.endswith("2") else {"kappa": 6.0}
    policy = THEORY[method](
        units=UNITS,
        depth=depth,
        precision="float64",
        learning_rate=0.006,
        steps=30,
        c_radius=1e-5,
        **constants,
        **kappa,
    )
    _, theta_0 = started(policy, rounds)
    run = reference.run_theory(
        method,
        met.contexts,
        met.feedback,
        theta_0,
        S=20.0,
        delta=0.2,
        kappa=6.0,
        eta=0.006 / UNITS,
        steps=30,
        C1=0.3,
        C6=1e-5,
        C7=1e-5,
        normals=normals_of(rounds, ARMS),
    )
    assert np.ptp(run["weights"]) > 0.02  # the network has learned, so that weights differ
    agree(policy, met, run)


def test_theory_form_with_weights_at_feedback():
    met = world(100)
    policy = superarm.neural_log_ucb_2_theory(
        norm_bound=20.0, delta=0.2, units=UNITS, precision="float64", learning_rate=0.006, steps=30, c1=0.3
    )
    policy = replace(policy, model=replace(policy.model, weigh="feedback"))
    _, theta_0 = started(policy, 100)
    run = reference.run_theory(
        "NeuralLog-UCB-2",
        met.contexts,
        met.feedback,
        theta_0,
        S=20.0,
        delta=0.2,
        kappa=1.0,
        eta=0.006 / UNITS,
        steps=30,
        C1=0.3,
        weight_at="feedback",
    )
    agree(policy, met, run)


def test_the_theory_form_learns_at_its_default_constants():
    """The penalty m lambda_t outgrows any fixed step; Condition 4.4's falls with it, and no fit diverges."""
    met = world(100)
    policy = superarm.neural_log_ucb_2_theory(norm_bound=1.0, delta=0.1, units=UNITS)
    state = play(policy, met)[2]
    assert int(state.fit.failures) == 0
    moved = max(
        float(np.abs(new - old).max()) for new, old in zip(state.fit.params, state.fit.first, strict=True)
    )
    assert moved > 1e-6
    rate = policy.model.fitting.learning_rate
    with jax.enable_x64(True):
        first = reference.lambda_zero(L=2, S=1.0, delta=0.1)
        ridge = reference.lambda_now(30, 4.0, first, L=2, S=1.0, delta=0.1, C1=1.0)
        np.testing.assert_allclose(rate.at(jnp.int64(30), jnp.float64(4.0)), 1.0 / (60 + ridge), rtol=1e-12)


FIGURES = {
    "NeuralLog-UCB-1": superarm.neural_log_ucb_1,
    "NeuralLog-UCB-2": superarm.neural_log_ucb_2,
    "NeuralLog-TS-1": superarm.neural_log_ts_1,
    "NeuralLog-TS-2": superarm.neural_log_ts_2,
    "NCBF-UCB": superarm.ncbf_ucb,
    "Logistic-UCB-1": superarm.logistic_ucb_1,
    "ada-OFU-ECOLog": superarm.ada_ofu_ecolog,
}


@pytest.mark.parametrize("width", ["diagonal", pytest.param("full", marks=pytest.mark.full)])
@pytest.mark.parametrize("method", FIGURES)
def test_experiment_form(method, width):
    rounds = 300
    met = world(rounds)
    settings = {"nu": 0.05, "kappa": 8.0, "norm_bound": 1.3}
    policy = FIGURES[method](ridge=0.6, learning_rate=0.3, steps=20, learn_every=25, width=width, **settings)
    linear = method in ("Logistic-UCB-1", "ada-OFU-ECOLog")
    policy = policy if linear else in_double(policy)
    theta_0 = None if linear else started(policy, rounds)[1]
    run = reference.run_experiment(
        method,
        met.contexts,
        met.feedback,
        theta_0,
        nu=0.05,
        lam=0.6,
        kappa=8.0,
        S=1.3,
        every=25,
        steps=20,
        lr=0.3,
        full=width == "full",
        normals=normals_of(rounds, ARMS),
    )
    agree(policy, met, run)


LINKS = ["identity", "logistic", "poisson", "probit"]


@pytest.mark.parametrize("link", LINKS)
def test_glm_ucb(link):
    met = world(200)
    run = reference.run_glm_ucb(met.contexts, met.feedback, rho=0.4, ridge=0.7, link=link)
    agree(superarm.glm_ucb(radius=0.4, ridge=0.7, link=link), met, run, 1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_thompson_sampling_by_laplace(link):
    """Any root of H^-1 gives draws of the same law: the transcription is given the normals that ours uses."""
    met = world(200)
    policy = superarm.logistic_ts(scale=0.8, ridge=0.7, link=link)
    normals = normals_of(200, DIM)
    keys, (state, _) = round_keys(200), started(policy, 200)
    run_items, turned = [], []
    with jax.enable_x64(True):
        for count in range(200):
            features = np.asarray(met.contexts[count])
            root = np.asarray(state.fit.factor.root if count else state.record.factor.root)
            # theta_hat + scale S z = theta_hat + scale L'^-1 (L' S z)
            hessian = np.linalg.inv(root @ root.T)
            turned.append(np.linalg.cholesky(hessian).T @ (root @ normals[count]))
            state, decision, _ = one_round(policy, state, keys[count], features, met.feedback[count], count)
            run_items.append(int(decision.items[0]))
            state = fitted(policy, state)
    run = reference.run_laplace_ts(
        met.contexts, met.feedback, np.array(turned), scale=0.8, ridge=0.7, link=link
    )
    agree(policy, met, run, 1e-6)


def test_logistic_ucb_1_as_its_authors_run_it():
    met = world(200)
    run = reference.run_logistic_ucb_1(met.contexts, met.feedback, radius=0.5)
    agree(superarm.logistic_ucb_1_original(dim=DIM, radius=0.5), met, run, 1e-6)


def test_ecolog():
    met = world(300)
    run = reference.run_ecolog(met.contexts, met.feedback, radius=0.6, lam=0.8, S=1.5)
    agree(superarm.ecolog(radius=0.6, ridge=0.8, norm_bound=1.5), met, run, 1e-9)
