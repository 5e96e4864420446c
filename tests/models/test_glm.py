"""Links, penalized maximum likelihood, and the width of generalized linear models."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import reference.bae2026 as reference
import superarm
from superarm.models.history import History
from superarm.models.links import LINKS, link_of
from superarm.models.losses import LOSSES
from superarm.precision import double
from superarm.types import Event, Spec

NAMES = tuple(LINKS)


def history_of(features, rewards, slots=None):
    slots = slots or len(rewards)
    contexts, feedback = np.zeros((slots, features.shape[1])), np.zeros(slots)
    contexts[: len(rewards)], feedback[: len(rewards)] = features, rewards
    filled = np.arange(slots) < len(rewards)
    count = jnp.int64(len(rewards))
    return History(jnp.asarray(contexts), jnp.asarray(feedback), jnp.asarray(filled, float), count, count)


@jax.jit
def fit(model, history, start, root):
    return model.fitting.fit(
        model.network, start, jnp.zeros_like(start), history, history.seen, jax.random.key(0), root
    )


@double
def fitted(features, rewards, link, ridge, *, slots=None, start=None, root=None, steps=50):
    model = superarm.glm(link=link, ridge=ridge, steps=steps)
    history = history_of(features, rewards, slots)
    start = jnp.zeros(features.shape[1]) if start is None else jnp.asarray(start)
    return fit(model, history, start, root)


def data(link, count=60, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, dim))
    means = np.asarray(LINKS[link].mean(jnp.asarray(features @ rng.normal(size=dim))))
    if link == "identity":
        return features, means + rng.normal(size=count)
    if link == "poisson":
        return features, rng.poisson(means).astype(float)
    return features, (rng.uniform(size=count) < means).astype(float)


@pytest.mark.parametrize("link", NAMES)
@double
def test_links_are_their_formulas(link):
    scores = np.linspace(-4, 4, 17)
    mean = {
        "identity": scores,
        "logistic": 1 / (1 + np.exp(-scores)),
        "poisson": np.exp(scores),
        "probit": stats.norm.cdf(scores),
        "exponential": stats.laplace.cdf(scores),
    }[link]
    slope = {
        "identity": np.ones(17),
        "logistic": mean * (1 - mean),
        "poisson": mean,
        "probit": stats.norm.pdf(scores) ** 2 / (stats.norm.cdf(scores) * stats.norm.sf(scores)),
        "exponential": stats.laplace.pdf(scores) ** 2
        / (stats.laplace.cdf(scores) * stats.laplace.sf(scores)),
    }[link]
    one = LINKS[link]
    np.testing.assert_allclose(one.mean(jnp.asarray(scores)), mean, rtol=1e-12)
    np.testing.assert_allclose(one.information(jnp.asarray(scores)), slope, rtol=1e-10)
    assert link_of(one.loss) is one


@pytest.mark.parametrize("link", NAMES)
@double
def test_information_is_the_expected_curvature_of_the_loss(link):
    scores, loss = np.linspace(-2, 2, 8), LOSSES[LINKS[link].loss]  # at 0 one of them has a kink
    means = LINKS[link].mean(jnp.asarray(scores))
    curvature = jax.vmap(jax.grad(jax.grad(loss)))(jnp.asarray(scores), means)  # linear in the reward
    np.testing.assert_allclose(curvature, LINKS[link].information(jnp.asarray(scores)), rtol=1e-9)


@double
def test_the_probit_weight_of_extreme_scores_is_finite():
    weights = LINKS["probit"].information(jnp.asarray([-30.0, -8.0, 8.0, 30.0]))
    assert np.all(np.isfinite(weights))
    assert float(weights[0]) < float(weights[1]) < 1e-10


@pytest.mark.parametrize("link", NAMES)
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 50.0])
def test_newton_finds_the_optimum(link, ridge):
    features, rewards = data(link)
    found = fitted(features, rewards, link, ridge)
    expected = reference.glm_fit(features, rewards, link, ridge)
    np.testing.assert_allclose(found.params, expected, rtol=1e-6, atol=1e-9)
    assert int(found.steps) < 30


@pytest.mark.parametrize("link", NAMES)
def test_blocks_and_empty_slots_change_nothing(link):
    features, rewards = data(link, count=1100)
    plain = fitted(features, rewards, link, 1.0)
    padded = fitted(features, rewards, link, 1.0, slots=1500)
    np.testing.assert_allclose(plain.params, padded.params, rtol=1e-9)
    np.testing.assert_allclose(plain.params, reference.glm_fit(features, rewards, link, 1.0), rtol=1e-6)


def test_a_warm_start_is_at_its_goal_at_once():
    features, rewards = data("logistic")
    first = fitted(features, rewards, "logistic", 1.0)
    again = fitted(features, rewards, "logistic", 1.0, start=first.params, root=first.root)
    assert int(again.steps) == 1
    np.testing.assert_array_equal(again.root, first.root)
    np.testing.assert_allclose(again.params, first.params, rtol=1e-9)


@pytest.mark.parametrize("link", NAMES)
@pytest.mark.parametrize("size", [1e-8, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e8, np.nan])
def test_any_curvature_to_begin_with_leads_to_the_optimum(link, size):
    features, rewards = data(link, dim=40, count=120)
    features, rewards = features / 6.0, np.minimum(rewards, 5.0)  # counts of scores that are now smaller
    root = size * np.linalg.cholesky(features.T @ features / 4 + np.eye(40))
    expected = reference.glm_fit(features, rewards, link, 1.0)
    start = expected + 1e-3 * np.cos(np.arange(40))  # close: as if one observation had come
    found = fitted(features, rewards, link, 1.0, start=start, root=root)
    np.testing.assert_allclose(found.params, expected, rtol=1e-6, atol=2e-6)


def test_a_curvature_is_kept_while_it_serves_and_renewed_when_it_does_not():
    """Of 30 fits to one observation more each, most do without a new one, and all are at the optimum."""
    features, rewards = data("logistic", dim=100, count=1530)
    found, renewed = fitted(features[:1500], rewards[:1500], "logistic", 1.0), 0
    for count in range(1501, 1531):
        before = found
        held = features[:count], rewards[:count]
        found = fitted(*held, "logistic", 1.0, slots=1530, start=found.params, root=found.root)
        renewed += not np.array_equal(found.root, before.root)
        slope = reference.glm_gradient(np.asarray(found.params), *held, "logistic", 1.0)
        assert np.linalg.norm(slope) < 1e-5
    assert renewed < 15
    doubled = np.repeat(features, 4, axis=0), np.repeat(rewards, 4)
    again = fitted(*doubled, "logistic", 1.0, start=found.params, root=found.root)
    assert not np.array_equal(again.root, found.root)


def test_one_step_is_newtons_own_whatever_the_curvature_before():
    features, rewards = data("identity")
    found = fitted(features, rewards, "identity", 1.0, root=100.0 * np.eye(3), steps=1)
    expected = np.linalg.solve(features.T @ features + np.eye(3), features.T @ rewards)
    np.testing.assert_allclose(found.params, expected, rtol=1e-9)


def test_an_arm_of_another_scale_does_not_leave_fits_stuck():
    """A count at x = 40 raises the curvature e^40 times: no step with that of before lowers the objective."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 2))
    rewards = rng.poisson(np.exp(features @ [1.0, -0.5])).astype(float)
    before = fitted(features, rewards, "poisson", 1.0)
    features, rewards = np.vstack([features, [40.0, 0.0]]), np.append(rewards, 2.0)
    found = fitted(features, rewards, "poisson", 1.0, start=before.params, root=before.root)
    found = fitted(features, rewards, "poisson", 1.0, start=found.params, root=found.root)
    slope = reference.glm_gradient(np.asarray(found.params), features, rewards, "poisson", 1.0)
    assert np.linalg.norm(slope) < 1e-4


@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("ridge", [1e-8, 1e-3])
def test_separable_data_have_a_finite_answer(link, ridge):
    features = np.array([[1.0, 0.2], [2.0, -0.1], [-1.0, 0.3], [-2.0, 0.1]])
    found = fitted(features, np.array([1.0, 1.0, 0.0, 0.0]), link, ridge)
    slope = reference.glm_gradient(np.asarray(found.params), features, np.array([1.0, 1, 0, 0]), link, ridge)
    assert np.all(np.isfinite(found.params))
    assert np.linalg.norm(slope) < 1e-5
    assert float(found.params[0]) > 0


@pytest.mark.parametrize("link", NAMES)
@pytest.mark.parametrize("start", [60.0, -60.0])
def test_extreme_scores_do_not_throw_newton_off(link, start):
    """From where weights vanish, or e^s is huge, every fit lowers the objective, and the fits come back.

    (Where e^s is huge a Newton step lowers s by 1: that takes several fits.)
    """
    features, rewards = data(link)
    found = fitted(features, rewards, link, 1.0, start=np.full(3, start))
    for _ in range(6):
        before, found = found, fitted(features, rewards, link, 1.0, start=found.params)
        assert float(found.objective) <= float(before.objective)
    expected = reference.glm_fit(features, rewards, link, 1.0)
    np.testing.assert_allclose(found.params, expected, rtol=1e-5, atol=1e-7)


@given(
    scale=st.floats(0.01, 30.0),
    ridge=st.floats(1e-4, 1e3),
    seed=st.integers(0, 10_000),
    link=st.sampled_from(["logistic", "identity", "probit"]),
)
@settings(max_examples=25, deadline=None)
def test_the_gradient_vanishes_at_the_fit(scale, ridge, seed, link):
    features, rewards = data(link, count=25, seed=seed)
    features = features * scale
    found = fitted(features, rewards, link, ridge)
    slope = reference.glm_gradient(np.asarray(found.params), features, rewards, link, ridge)
    size = np.abs(features).sum() + ridge * np.abs(np.asarray(found.params)).max()
    assert np.linalg.norm(slope) < 1e-5 * size


@given(reward=st.floats(-3.0, 4.0), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_a_logistic_link_takes_any_reward(reward, seed):
    features, rewards = data("logistic", count=20, seed=seed)
    rewards[0] = reward
    found = fitted(features, rewards, "logistic", 0.5)
    slope = reference.glm_gradient(np.asarray(found.params), features, rewards, "logistic", 0.5)
    assert np.linalg.norm(slope) < 1e-6


@pytest.mark.parametrize("link", NAMES)
@double
def test_the_width_is_the_hessian_of_the_last_fit(link):
    features, rewards = data(link, count=90)
    policy = superarm.logistic_ts(ridge=0.3, link=link, learn_every=30)
    state = policy.init(jax.random.key(0), Spec(dim=3, num_arms=4, capacity=90))
    for first in range(0, 90, 30):
        for one in range(first, first + 30):
            state = observed(policy, state, event(features[one], rewards[one]))
        state = superarm.State(record=state.record, fit=learned(policy, state))
    root = np.asarray(state.fit.factor.root)
    expected = reference.laplace_covariance(features, np.asarray(state.fit.params), link, 0.3)
    np.testing.assert_allclose(root @ root.T, expected, rtol=1e-6)


@jax.jit
def learned(policy, state):
    return policy.learn(state, jax.random.key(0))


@jax.jit
def observed(policy, state, one):
    return policy.observe(state, jax.random.key(0), one)


def event(features, reward, observed=True):
    return Event(
        items=jnp.zeros(1, jnp.int32),
        features=jnp.asarray(features)[None],
        feedback=jnp.asarray([reward]),
        observed=jnp.asarray([observed]),
    )


@double
def test_one_pass_ignores_what_was_not_observed():
    policy = superarm.ecolog()
    state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=3))
    seen = observed(policy, state, event([1.0, 0.5], 1.0))
    unseen = observed(policy, seen, event([1.0, 0.5], np.nan, observed=False))
    for before, after in zip(jax.tree.leaves(seen), jax.tree.leaves(unseen), strict=True):
        np.testing.assert_allclose(before, after, rtol=1e-12)


@given(seed=st.integers(0, 1000), size=st.floats(0.01, 100.0))
@settings(max_examples=20, deadline=None)
@double
def test_one_pass_takes_the_step_of_its_definition(seed, size):
    rng = np.random.default_rng(seed)
    policy = superarm.ecolog(ridge=0.5, norm_bound=2.0)
    state = policy.init(jax.random.key(0), Spec(dim=3, num_arms=3))
    theta, matrix = np.zeros(3), 0.5 * np.eye(3)
    for _ in range(4):
        features, reward = size * rng.normal(size=3), float(rng.integers(2))
        state = observed(policy, state, event(features, reward))
        theta = reference.ecolog_step(theta, matrix, features, reward, diameter=4.0)
        matrix = matrix + reference.sigmoid_slope(features @ theta) * np.outer(features, features)
    np.testing.assert_allclose(state.record.mean, theta, rtol=1e-6, atol=1e-9)
    root = np.asarray(state.record.factor.root)
    np.testing.assert_allclose(np.linalg.inv(root @ root.T), matrix, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"link": "cauchy"},
            "glm: link must be one of "
            "'identity', 'logistic', 'poisson', 'probit', 'exponential', got 'cauchy'",
        ),
        ({"ridge": 0.0}, "glm: ridge must be > 0, got 0.0"),
        ({"penalty": -1.0}, "glm: penalty must be > 0, got -1.0"),
        ({"weights": "all"}, "glm: weights must be one of 'none', 'feedback', 'fit', 'refit', got 'all'"),
        (
            {"weights": "fit", "memory": "window", "memory_size": 5},
            "glm: weights must not be 'fit' with memory='window', got 'fit'",
        ),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match="^" + words.replace("(", r"\(") + "$"):
        superarm.glm(**arguments)
