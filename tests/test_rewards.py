"""What a set is worth: every reward against NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from superarm import rewards
from support.small_problems import quick, vectors

VALUE = jax.jit(lambda reward, items, mask, scores: reward.value(items, mask, scores))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


WEIGHTS, REVENUES = np.array([1.0, 0.7, 0.7, 0.2]), np.array([0.5, 1.0, 2.0, 4.0, 0.0])
REWARDS = {
    "sum": (rewards.Sum(), lambda items, v: v.sum(), 2.0),
    "position": (
        rewards.position_weighted(WEIGHTS),
        lambda items, v: (WEIGHTS[: len(v)] * v).sum(),
        np.linalg.norm(WEIGHTS),
    ),
    "cascade": (rewards.Cascade(), lambda items, v: 1.0 - np.prod(1.0 - np.clip(v, 0.0, 1.0)), 2.0),
    "mnl": (
        rewards.mnl_revenue(REVENUES),
        lambda items, v: (REVENUES[items] * np.exp(v)).sum() / (1.0 + np.exp(v).sum()),
        2.0,
    ),
    "function": (
        rewards.function(lambda items, mask, v: jnp.max(v, where=mask, initial=0.0)),
        lambda items, v: max(v.max(initial=0.0), 0.0),
        1.0,
    ),
}
every_reward = pytest.mark.parametrize("name", REWARDS)
ITEMS = jnp.array([3, 0, 1, 2], jnp.int32)
ALL = jnp.ones(4, bool)


@every_reward
def test_a_reward_is_its_formula_and_lipschitz(name):
    reward, formula, constant = REWARDS[name]

    @quick
    @given(vectors(-3, 3, 4), vectors(-3, 3, 4))
    def check(v, other):
        value = float(VALUE(reward, ITEMS, ALL, v))
        assert value == pytest.approx(formula(np.asarray(ITEMS), v), abs=1e-12)
        difference = abs(value - float(VALUE(reward, ITEMS, ALL, other)))
        assert difference <= constant * np.linalg.norm(v - other) + 1e-12

    check()


@every_reward
def test_a_slot_that_is_not_used_does_not_count(name):
    reward, formula, _ = REWARDS[name]
    v = np.array([0.3, 0.9])
    padded = np.array([*v, np.nan, 7.0])
    items, mask = jnp.array([3, 1, -1, -1], jnp.int32), jnp.array([True, True, False, False])
    assert float(VALUE(reward, items, mask, padded)) == pytest.approx(formula(np.array([3, 1]), v))
    nothing = VALUE(reward, jnp.full(4, -1, jnp.int32), jnp.zeros(4, bool), padded)
    assert float(nothing) == 0.0


@pytest.mark.parametrize("name", ["sum", "position", "cascade"])
def test_rewards_are_monotone_in_the_scores(name):
    reward = REWARDS[name][0]

    @quick
    @given(vectors(-0.5, 1.5, 4), vectors(0, 1, 4))
    def check(v, more):
        assert float(VALUE(reward, ITEMS, ALL, v + more)) >= float(VALUE(reward, ITEMS, ALL, v)) - 1e-12

    check()


def test_revenue_of_a_set_may_fall_when_a_cheap_item_gains_utility():
    reward, pair = rewards.mnl_revenue([1.0, 10.0]), (jnp.array([0, 1], jnp.int32), jnp.ones(2, bool))
    assert float(reward.value(*pair, jnp.array([3.0, 1.0]))) < float(
        reward.value(*pair, jnp.array([0.0, 1.0]))
    )


def test_revenue_with_utilities_beyond_the_exponent_range():
    reward, pair = rewards.mnl_revenue([1.0, 3.0]), (jnp.array([0, 1], jnp.int32), jnp.ones(2, bool))
    assert float(reward.value(*pair, jnp.array([1000.0, 1000.0]))) == 2.0
    assert float(reward.value(*pair, jnp.array([1000.0, -1000.0]))) == 1.0
    assert float(reward.value(*pair, jnp.array([-1000.0, -1000.0]))) == 0.0


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (
            lambda: rewards.position_weighted([0.5, 1.0]),
            ValueError,
            "position_weighted: weights must never rise, got 0.5 before 1",
        ),
        (
            lambda: rewards.position_weighted([1.0]).value(ITEMS, ALL, jnp.zeros(4)),
            ValueError,
            "position_weighted: a set must have at most 1 slots, got 4",
        ),
        (
            lambda: rewards.mnl_revenue([-1.0]),
            ValueError,
            "mnl_revenue: revenues must be >= 0, got values from -1 to -1",
        ),
        (lambda: rewards.function(3), TypeError, "function: fn must be callable, got int"),
    ],
)
def test_errors_say_what_must_hold(build, kind, message):
    with pytest.raises(kind) as error:
        build()
    assert str(error.value) == message
