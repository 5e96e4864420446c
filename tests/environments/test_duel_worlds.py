"""Worlds of duels against NumPy formulas of their own parameters: utilities, regret, preferences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.environments import answer_duels, class_duels, duels, matrix_duels
from superarm.types import Decision, Offer

DRAWS = 4000
TABLE = np.array([[0.5, 0.6, 0.1, 0.2], [0.4, 0.5, 0.3, 0.9], [0.9, 0.7, 0.5, 0.8], [0.8, 0.1, 0.2, 0.5]])


def all_pairs(world, state, offer, draws):
    """What the world answers to every ordered pair: (n, n, draws), with (2,) feedback behind it."""
    num = offer.contexts.shape[0]

    def answer(first, second, key):
        items = jnp.stack([first, second]).astype(jnp.int32)
        both = jnp.ones(2, bool)
        decision = Decision(items, both, offer.contexts[items], jnp.zeros(2), jnp.ones((), bool))
        return world.respond(state, key, offer, decision)

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(8), (num, num, draws))
        arms = jnp.arange(num)
        over_draws = jax.vmap(answer, in_axes=(None, None, 0))
        over_second = jax.vmap(over_draws, in_axes=(None, 0, 0))
        answers = jax.jit(jax.vmap(over_second, in_axes=(0, None, 0)))(arms, arms, keys)
    return jax.tree.map(np.asarray, answers)


def begun(world, seed):
    """The world's parameters and an offer of it."""
    with jax.enable_x64(True):
        state = world.init(jax.random.key(seed))
        return state, world.offer(state, jax.random.key(seed + 100))


def logistic(gaps):
    return 1.0 / (1.0 + np.exp(-gaps))


def assert_as_often(feedback, chances):
    """Wins of the first arm (n, n, draws, 2) come with the chances (n, n), within 4.5 deviations."""
    np.testing.assert_array_equal(feedback.sum(axis=-1), 1.0)
    assert set(np.unique(feedback)) <= {0.0, 1.0}
    draws = feedback.shape[2]
    deviation = np.sqrt(chances * (1.0 - chances) / draws)
    assert np.all(np.abs(feedback[..., 0].mean(axis=2) - chances) <= 4.5 * deviation)


def assert_regret(told, gaps):
    """Regret is half the sum of both arms' gaps (n,), realized regret the smaller of them."""
    average, weak = (gaps[:, None] + gaps) / 2.0, np.minimum(gaps[:, None], gaps)
    np.testing.assert_allclose(told.best - told.value, spread_out(average, told), atol=1e-12)
    np.testing.assert_allclose(told.best_reward - told.reward, spread_out(weak, told), atol=1e-12)


def spread_out(values, told):
    """(n, n, draws), the same in all draws."""
    return np.broadcast_to(values[:, :, None], told.value.shape)


def cosine(x, theta):
    return np.cos(3.0 * np.dot(theta[0], x))


def square(x, theta):
    return 10.0 * np.dot(theta[0], x) ** 2


def quadratic(x, theta):
    return x @ (theta @ theta.T) @ x


def of_an_answer(features, taste):
    """2 (sum_k tanh(sum_j (answer * prompt)_j taste_jk) + style'answer), with 3 numbers an embedding."""
    answer, fit = features[:3], features[3:]
    fits = sum(np.tanh(sum(fit[j] * taste[j, k] for j in range(3))) for k in range(3))
    return 2.0 * (fits + np.dot(taste[3], answer))


WORLDS = [
    pytest.param(duels("cosine", dim=3, num_arms=4), cosine, id="cosine"),
    pytest.param(duels("square", dim=3, num_arms=4), square, id="square"),
    pytest.param(duels("quadratic", dim=3, num_arms=4), quadratic, id="quadratic"),
    pytest.param(answer_duels(dim=3, num_arms=4, sharpness=2.0), of_an_answer, id="answers"),
]


@pytest.mark.parametrize(("world", "utility"), WORLDS)
def test_utilities_regret_and_preferences_follow_from_the_worlds_parameters(world, utility):
    state, offer = begun(world, 1)
    utilities = np.array([utility(x, np.asarray(state)) for x in np.asarray(offer.contexts)])
    assert np.ptp(utilities) > 0.3
    told = all_pairs(world, state, offer, DRAWS)
    np.testing.assert_allclose(told.value[:, :, 0].diagonal(), utilities, rtol=1e-12)
    assert_regret(told, utilities.max() - utilities)
    assert_as_often(told.feedback, logistic(utilities[:, None] - utilities))


def test_contexts_have_norm_one_and_theta_fills_its_cube():
    world = duels("quadratic", dim=4, num_arms=50)
    with jax.enable_x64(True):
        thetas = np.asarray(jax.vmap(world.init)(jax.random.split(jax.random.key(0), 200)))
    offer = begun(world, 3)[1]
    np.testing.assert_allclose(np.linalg.norm(offer.contexts, axis=1), 1.0, rtol=1e-12)
    assert thetas.min() < -0.99
    assert thetas.max() > 0.99
    assert np.abs(thetas).max() <= 1.0
    assert abs(thetas.var() - 1.0 / 3.0) < 0.02  # of the uniform law on [-1, 1]


def test_an_answers_features_are_its_embedding_and_its_product_with_the_prompts():
    contexts = np.asarray(begun(answer_duels(dim=3, num_arms=4), 2)[1].contexts)
    answers, fits = contexts[:, :3], contexts[:, 3:]
    prompts = fits / answers / np.sqrt(3.0)
    np.testing.assert_allclose(np.linalg.norm(answers, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(prompts, prompts[[0, 0, 0, 0]], rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(prompts[0]), 1.0, rtol=1e-9)


def test_average_and_weak_regret_of_a_case_by_hand():
    """Utilities 3, 1, -2, and 5 of an arm that is not available."""
    world = duels(lambda contexts, theta: contexts[:, 0], dim=1, num_arms=4)
    with jax.enable_x64(True):
        contexts, mask = jnp.array([[3.0], [1.0], [-2.0], [5.0]]), jnp.array([True, True, True, False])
        offer = Offer(contexts, mask)
    told = all_pairs(world, np.zeros((1, 1)), offer, 1)
    average, weak = (told.best - told.value)[:3, :3, 0], (told.best_reward - told.reward)[:3, :3, 0]
    np.testing.assert_array_equal(average, [[0.0, 1.0, 2.5], [1.0, 2.0, 3.5], [2.5, 3.5, 5.0]])
    np.testing.assert_array_equal(weak, [[0.0, 0.0, 0.0], [0.0, 2.0, 2.0], [0.0, 2.0, 5.0]])


def test_a_table_of_chances_is_kept_and_regret_is_against_the_arm_that_beats_all():
    """Arm 2 beats all; 0 beats 1, 1 beats 3 and 3 beats 0, so that no utilities give this table."""
    world = matrix_duels(TABLE)
    state, offer = begun(world, 0)
    told = all_pairs(world, state, offer, DRAWS)
    assert_as_often(told.feedback, TABLE)
    assert_regret(told, np.array([0.4, 0.2, 0.0, 0.3]))  # chances of arm 2 against each, less one half


def test_the_tables_regret_is_average_and_its_realized_regret_weak():
    policy = superarm.uniform_duel()
    result = superarm.simulate(policy, matrix_duels(TABLE), rounds=40, seeds=1, workers=0, keep_items=True)
    gaps = np.array([0.4, 0.2, 0.0, 0.3])
    met = gaps[np.stack(result.table["items"].to_list())]
    assert len(np.unique(met, axis=0)) > 8
    np.testing.assert_allclose(result.table["regret"], met.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.table["realized_regret"], met.min(axis=1), atol=1e-12)


def rows_of_classes():
    return np.random.default_rng(4).uniform(-1, 1, (30, 2)), np.arange(30) % 4


def test_the_true_class_beats_another_with_chance_seven_tenths():
    world = class_duels(*rows_of_classes())
    labels = set()
    for seed in (0, 3):
        state, offer = begun(world, seed)
        label = int(offer.label)
        labels.add(label)
        block = np.asarray(offer.contexts)[label].reshape(4, 2)[label]  # the row, in the block of the class
        row = int(np.argmin(np.abs(np.asarray(state.features) - block).sum(axis=1)))
        np.testing.assert_array_equal(np.asarray(state.features)[row], block)
        assert label == int(state.labels[row])
        chances = np.full((4, 4), 0.5)  # of two wrong classes, or of one with itself
        chances[label], chances[:, label], chances[label, label] = 0.7, 0.3, 0.5
        told = all_pairs(world, state, offer, DRAWS)
        assert_as_often(told.feedback, chances)
        assert_regret(told, np.log(0.7 / 0.3) * (np.arange(4) != label))
    assert len(labels) == 2


def test_of_ordered_classes_the_higher_index_always_wins_whatever_the_row():
    world = class_duels(*rows_of_classes(), ordered=True)
    classes = np.arange(4)
    chances = np.where(classes[:, None] == classes, 0.5, classes[:, None] > classes)
    labels = set()
    for seed in (0, 3):
        state, offer = begun(world, seed)
        labels.add(int(offer.label))
        told = all_pairs(world, state, offer, 400)
        assert_as_often(told.feedback, chances)
        np.testing.assert_array_equal(told.value[:, :, 0], (classes[:, None] + classes) / 2.0)  # u_k = k
        np.testing.assert_array_equal(told.reward[:, :, 0], np.maximum(classes[:, None], classes))
        np.testing.assert_array_equal(told.best, 3.0)
        np.testing.assert_array_equal(told.best_reward, 3.0)
    assert len(labels) == 2
