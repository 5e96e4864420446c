"""Classification as a bandit, against plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.datasets import ClassData
from superarm.environments import classification
from superarm.simulation import run as rollout
from superarm.types import Decision

KEYS = jax.random.split(jax.random.key(0), 2000)


def rows_of_data(seed: int = 0, rows: int = 30, dim: int = 4, classes: int = 3):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, dim)) * [1.0, 10.0, 100.0, 0.0][:dim]
    return features, rng.permutation(np.arange(rows) % classes)


def scaled(features):
    """[-1, 1] per feature, 0 where it never changes: row by row, in plain Python."""
    result = np.zeros(features.shape)
    for place, column in enumerate(features.T):
        low, high = min(column), max(column)
        if low < high:
            result[:, place] = [2 * (value - low) / (high - low) - 1 for value in column]
    return result


def offers(world, state, keys=KEYS):
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(world.offer, in_axes=(None, 0)))(state, keys))


def choose(offer, item: int):
    """The decision for one arm of an offer."""
    yes = jnp.ones((), bool)
    features = jnp.asarray(offer.contexts)[item][None]
    return Decision(jnp.array([item], jnp.int32), yes[None], features, jnp.zeros(1), yes)


def one(offers, place):
    return jax.tree.map(lambda leaf: leaf[place], offers)


def test_arms_have_the_row_in_their_own_block():
    features, labels = rows_of_data()
    world = classification(features, labels)
    assert world.native
    assert world.spec == superarm.Spec(dim=12, num_arms=3)
    met = offers(world, world.init(jax.random.key(3)))
    assert met.contexts.shape == (2000, 3, 12)
    assert met.contexts.dtype == np.float64
    assert met.mask.all()
    plain = {tuple(row): label for row, label in zip(scaled(features), labels, strict=True)}
    counts = dict.fromkeys(plain, 0)
    for contexts, label in zip(met.contexts, met.label, strict=True):
        row = contexts[0, :4]
        for arm in range(3):
            expected = np.zeros(12)
            expected[4 * arm : 4 * arm + 4] = row
            np.testing.assert_array_equal(contexts[arm], expected)
        assert plain[tuple(row)] == label
        counts[tuple(row)] += 1
    # Uniform over 30 rows: chi-square with 29 degrees of freedom, whose 99.99 % point is 68.
    spread = sum((count - 2000 / 30) ** 2 for count in counts.values()) / (2000 / 30)
    assert 5 < spread < 68
    assert (met.contexts.min(), met.contexts.max()) == (-1.0, 1.0)


def test_features_can_be_taken_as_they_are():
    features, labels = rows_of_data()
    world = classification(features, labels, rescale=False)
    met = offers(world, world.init(jax.random.key(3)))
    rows = {tuple(row) for row in met.contexts[:, 0, :4]}
    assert rows == {tuple(row) for row in features}


def test_only_the_rows_are_kept():
    """The table of all disjoint features would be K^2 times as large."""
    features, labels = rows_of_data()
    state = classification(features, labels).init(jax.random.key(0))
    assert sorted(leaf.shape for leaf in jax.tree.leaves(state)) == [(30,), (30, 4)]


def test_feedback_says_whether_the_class_is_right():
    world = classification(*rows_of_data())
    with jax.enable_x64(True):
        state = world.init(jax.random.key(0))
        met = offers(world, state, KEYS[:12])
        for place in range(12):
            offer = one(met, place)
            for item in range(3):
                outcome = world.respond(state, KEYS[place], offer, choose(offer, item))
                right = float(item == offer.label)
                assert outcome.feedback.tolist() == [right]
                assert outcome.observed.tolist() == [True]
                assert [float(outcome.reward), float(outcome.value)] == [right, right]
                assert [float(outcome.best), float(outcome.best_reward)] == [1.0, 1.0]


def test_the_class_is_the_row_s_also_where_features_are_the_same():
    labels = [0, 1, 1, 1]
    world = classification(np.ones((4, 2)), labels)
    met = offers(world, world.init(jax.random.key(0)))
    assert np.all(met.contexts == 0.0)  # features that never change
    assert met.label.mean() == pytest.approx(0.75, abs=0.05)


def test_regret_counts_mistakes():
    table = superarm.simulate(
        superarm.uniform(), classification(*rows_of_data()), rounds=300, seeds=2, workers=0
    ).table
    np.testing.assert_array_equal(table["regret"], 1 - table["reward"])
    np.testing.assert_array_equal(table["realized_regret"], table["regret"])
    assert (table["best"] == 1.0).all()
    assert set(table["reward"]) == {0.0, 1.0}
    assert table["reward"].mean() == pytest.approx(1 / 3, abs=0.1)


def test_a_policy_learns_what_can_be_told():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(400, 3))
    world = classification(features, np.argmax(features, axis=1))
    policies = {"learns": superarm.lin_ucb(), "chance": superarm.uniform()}
    finals = superarm.compare(policies, world, rounds=500, seeds=2, workers=0).finals()
    assert finals.loc["learns", "regret"] < 0.5 * finals.loc["chance", "regret"]


def test_a_pool_limits_the_rows_and_changes_with_the_seed():
    features, labels = rows_of_data()
    world = classification(features, labels, pool=5)
    plain = {tuple(row): label for row, label in zip(scaled(features), labels, strict=True)}
    pools = []
    for seed in range(3):
        met = offers(world, world.init(jax.random.key(seed)), KEYS[:300])
        rows = {
            tuple(contexts[0, :4]): int(label)
            for contexts, label in zip(met.contexts, met.label, strict=True)
        }
        assert len(rows) == 5
        assert rows.items() <= plain.items()
        pools.append(frozenset(rows))
    assert len(set(pools)) == 3


def test_a_character_has_one_value_in_all_features_drawn_per_seed():
    rng = np.random.default_rng(0)
    codes = rng.choice([ord(character) for character in "abcxyz?"], size=(40, 5))
    labels = np.arange(40) % 2
    world = classification(codes, labels, categorical=True)
    drawn = []
    for seed in range(2):
        state = world.init(jax.random.key(seed))
        values = {}
        for code, value in zip(codes.ravel(), np.asarray(state.features).ravel(), strict=True):
            assert values.setdefault(code, value) == value
        assert len(set(values.values())) == 7
        assert all(-1.0 <= value <= 1.0 for value in values.values())
        np.testing.assert_array_equal(state.labels, labels)
        drawn.append(tuple(values[code] for code in sorted(values)))
    assert drawn[0] != drawn[1]
    assert min(drawn[0] + drawn[1]) < 0 < max(drawn[0] + drawn[1])
    pooled = classification(codes, labels, categorical=True, pool=7).init(jax.random.key(0))
    assert pooled.features.shape == (7, 5)


def test_several_classes_may_be_named_through_an_oracle():
    oracle = superarm.top_k(2)
    world = classification(*rows_of_data(), oracle=oracle)
    assert world.oracle is oracle
    table = superarm.simulate(superarm.uniform(oracle), world, rounds=300, seeds=1, workers=0).table
    assert (table["best"] == 1.0).all()
    assert table["reward"].mean() == pytest.approx(2 / 3, abs=0.1)


def test_loaded_data_is_taken_as_it_says():
    features, labels = rows_of_data()
    data = ClassData(features, labels, names=tuple("abcd"), class_names=("x", "y", "z", "never"))
    world = classification(data)
    assert world.spec == superarm.Spec(dim=16, num_arms=4)
    plain = classification(features, labels)
    np.testing.assert_array_equal(world.features, plain.features)
    np.testing.assert_array_equal(world.features, scaled(features))
    coded = ClassData(
        np.array([[97, 98], [98, 97]]), np.array([0, 1]), ("a", "b"), ("p", "e"), categorical=True
    )
    assert classification(coded).num_codes == 2


def test_every_policy_meets_the_same_rows():
    world = classification(*rows_of_data(), pool=10)
    frames = [
        rollout.run_seed(policy, world, rounds=40, seed=4, keep_items=True)
        for policy in (superarm.uniform(), superarm.lin_ts())
    ]
    items = [np.concatenate(frame["items"].to_list()) for frame in frames]
    same = items[0] == items[1]
    assert 3 < same.sum() < 40
    np.testing.assert_array_equal(frames[0]["reward"][same], frames[1]["reward"][same])
    both = frames[0]["reward"].to_numpy() + frames[1]["reward"].to_numpy()
    assert both[~same].max() == 1.0  # two classes are never both right


@dataclass
class Odd:
    features = np.zeros((2, 2))
    labels = np.array([0, 5])
    class_names = ("a", "b")
    categorical = False


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (([[1.0, 2.0]],), {}, TypeError, "data without labels must have features, labels, .*, got list"),
        ((np.zeros(3), [0, 1, 0]), {}, ValueError, r"features must have shape \(any, any\), got \(3,\)"),
        (
            (np.zeros((0, 2)), np.zeros(0, int)),
            {},
            ValueError,
            r"features must not be empty, got shape \(0, 2\)",
        ),
        (([[np.nan], [1.0]], [0, 1]), {}, ValueError, r"features must be finite, got nan at \(0, 0\)"),
        ((np.zeros((2, 1)), [0, 1, 1]), {}, ValueError, r"labels must have shape \(2,\), got \(3,\)"),
        ((np.zeros((2, 1)), [0.0, 1.0]), {}, TypeError, "labels must be whole numbers, got dtype float64"),
        ((np.zeros((2, 1)), [-1, 1]), {}, ValueError, "labels must be between 0 and .*, got -1 at 0"),
        ((np.zeros((2, 1)), [0, 0]), {}, ValueError, "labels must name at least 2 classes, got 1"),
        ((Odd(),), {}, ValueError, "labels must be between 0 and 1, got 5 at 1"),
        ((np.zeros((2, 1)), [0, 1]), {"pool": 3}, ValueError, "pool must be between 1 and 2, got 3"),
        ((np.zeros((2, 1)), [0, 1]), {"pool": 0}, ValueError, "pool must be >= 1, got 0"),
        (
            ([[0.5], [1.0]], [0, 1]),
            {"categorical": True},
            ValueError,
            "categorical features must be whole numbers >= 0, got other numbers",
        ),
        (
            ([[0], [1]], [0, 1]),
            {"categorical": True, "rescale": False},
            ValueError,
            "rescale must be True for codes, which are no numbers, got False",
        ),
    ],
)
def test_malformed_arguments_are_said_in_one_sentence(arguments, options, kind, message):
    with pytest.raises(kind, match=rf"^classification: {message}$"):
        classification(*arguments, **options)
