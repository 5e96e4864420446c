"""What every preset must do. One row per preset; a test says that no public preset is without one."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm import policies
from superarm.environments import linear_scores
from superarm.policy import Policy
from superarm.types import Environment, Event, Spec

SET = superarm.top_k(3)
SPEC = Spec(dim=4, num_arms=8)


@dataclass(frozen=True)
class Row:
    build: Callable[..., Policy]
    learns: bool = True
    binary: bool = False
    bad: tuple[tuple[dict, str], ...] = ()


LINEAR_BAD = (
    ({"noise": -1.0}, "noise must be > 0, got -1.0"),
    ({"noise": float("nan")}, "noise must be finite, got nan"),
    ({"prior_scale": 0}, "prior_scale must be > 0, got 0"),
    ({"prior_scale": "big"}, "prior_scale must be a number, got str"),
    ({"width": "wide"}, "width must be one of 'full', 'diagonal', got 'wide'"),
)
SET_BAD = (({"oracle": 3}, "oracle must have native, size, factor, check, solve, got int"),)

ROWS = {
    "lin_ucb": Row(
        lambda **kw: policies.lin_ucb(**{"noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, ({"radius": -1}, "radius must be >= 0, got -1")),
    ),
    "lin_ts": Row(
        lambda **kw: policies.lin_ts(**{"noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, ({"draws": 0}, "draws must be >= 1, got 0")),
    ),
    "comb_lin_ts": Row(
        lambda **kw: policies.comb_lin_ts(**{"oracle": SET, "noise": 0.1, **kw}), bad=LINEAR_BAD + SET_BAD
    ),
    "comb_lin_ucb": Row(
        lambda **kw: policies.comb_lin_ucb(**{"oracle": SET, "noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, *SET_BAD, ({"radius": "wide"}, "radius must be a number, got str")),
    ),
    "comb_ucb1": Row(
        lambda **kw: policies.comb_ucb1(**{"oracle": SET, **kw}),
        binary=True,
        bad=(*SET_BAD, ({"scale": 0.0}, "scale must be > 0, got 0.0")),
    ),
    "comb_ts": Row(
        lambda **kw: policies.comb_ts(**{"oracle": SET, **kw}),
        binary=True,
        bad=(*SET_BAD, ({"prior_wins": 0.0}, "prior_wins must be > 0, got 0.0")),
    ),
    "epsilon_greedy": Row(
        lambda **kw: policies.epsilon_greedy(**{"oracle": SET, "noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, ({"epsilon": 1.5}, "epsilon must be between 0 and 1, got 1.5")),
    ),
    "uniform": Row(lambda **kw: policies.uniform(**{"oracle": SET, **kw}), learns=False, bad=SET_BAD),
}

every_preset = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())


def contexts(seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), (SPEC.num_arms, SPEC.dim))


def observed(policy: Policy, state, seed: int, mask=None):
    """Select, answer with a 0/1 feedback, and return (state, decision, event)."""
    key_select, key_feedback, key_observe = jax.random.split(jax.random.key(seed), 3)
    decision = policy.select(state, key_select, contexts(seed), seed, mask)
    event = Event(
        items=decision.items,
        features=decision.features,
        feedback=jax.random.bernoulli(key_feedback, 0.5, decision.items.shape).astype(jnp.float32),
        observed=decision.mask,
    )
    return policy.observe(state, key_observe, event), decision, event


def trained(policy: Policy, rounds: int = 5):
    state = policy.init(jax.random.key(0), SPEC)
    for seed in range(rounds):
        state = observed(policy, state, seed)[0]
    return state


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_every_public_preset_has_a_row():
    assert set(ROWS) == set(policies.__all__)
    assert set(policies.__all__) <= set(superarm.__all__)


@every_preset
def test_the_policy_is_a_pytree_of_float64_leaves(row):
    policy = row.build()
    flat, structure = jax.tree.flatten(policy)
    assert all(np.asarray(leaf).dtype == np.float64 for leaf in flat)
    assert jax.tree.unflatten(structure, flat) == policy
    assert hash(structure) == hash(jax.tree.structure(row.build()))


@every_preset
def test_state_keeps_shapes_and_dtypes_and_is_double(row):
    policy = row.build()
    before = policy.init(jax.random.key(0), SPEC)
    after = trained(policy)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for old, new in zip(leaves(before), leaves(after), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype)
        assert new.dtype == np.float64
    assert not jax.config.jax_enable_x64


@every_preset
def test_selects_and_observes_with_one_trace_each(row):
    policy, count = row.build(), {"select": 0, "observe": 0}

    def select(*args):
        count["select"] += 1
        return policy.select(*args)

    def observe(*args):
        count["observe"] += 1
        return policy.observe(*args)

    with jax.enable_x64(True):
        select, observe = jax.jit(select), jax.jit(observe)
        state = policy.init(jax.random.key(0), SPEC)
        for seed in range(4):
            decision = select(state, jax.random.key(seed), contexts(seed), jnp.int64(seed), None)
            event = Event(decision.items, decision.features, jnp.ones(decision.items.shape), decision.mask)
            state = observe(state, jax.random.key(seed), event)
    assert count == {"select": 1, "observe": 1}


@every_preset
def test_hyperparameters_are_values_not_structure(row):
    policy = row.build()
    moved = jax.tree.map(lambda leaf: leaf * 1.5, policy)
    assert jax.tree.structure(moved) == jax.tree.structure(policy)


@every_preset
def test_same_key_same_decision_and_the_state_is_left_alone(row):
    policy = row.build()
    state = trained(policy)
    kept = leaves(state)
    first = policy.select(state, jax.random.key(7), contexts(), 5)
    second = policy.select(state, jax.random.key(7), contexts(), 5)
    for left, right in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(left, right)
    for left, right in zip(kept, leaves(state), strict=True):
        np.testing.assert_array_equal(left, right)


@every_preset
def test_a_decision_says_what_a_log_needs(row):
    policy = row.build()
    decision = policy.select(trained(policy), jax.random.key(3), contexts(), 5)
    items = np.asarray(decision.items)
    assert len(set(items.tolist())) == len(items)
    assert bool(decision.healthy)
    np.testing.assert_allclose(decision.features, np.asarray(contexts(), np.float64)[items])
    assert np.isfinite(decision.scores).all()


@every_preset
def test_only_available_arms_are_chosen(row):
    policy = row.build()
    state = trained(policy)
    for seed in range(20):
        mask = np.random.default_rng(seed).permutation(SPEC.num_arms) < 4
        _, decision, _ = observed(policy, state, seed, mask)
        assert mask[np.asarray(decision.items)].all()
        assert bool(decision.healthy)


@every_preset
def test_too_few_arms_make_an_unhealthy_decision(row):
    policy = row.build()
    state = trained(policy)
    decision = policy.select(state, jax.random.key(0), contexts(), 5, np.zeros(SPEC.num_arms, bool))
    assert not bool(decision.healthy)
    assert not np.asarray(decision.mask).any()
    assert (np.asarray(decision.items) == -1).all()


@every_preset
def test_unobserved_items_change_nothing(row):
    policy = row.build()
    state = trained(policy)
    _, _, event = observed(policy, state, 9)
    hidden = Event(event.items, event.features, event.feedback * jnp.nan, jnp.zeros_like(event.observed))
    for left, right in zip(
        leaves(state), leaves(policy.observe(state, jax.random.key(1), hidden)), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@every_preset
def test_vmap_over_keys_equals_a_loop(row):
    policy = row.build()
    state = trained(policy)
    keys = jax.random.split(jax.random.key(11), 6)
    together = jax.vmap(lambda key: policy.select(state, key, contexts(), 5))(keys)
    for index, key in enumerate(keys):
        alone = policy.select(state, key, contexts(), 5)
        np.testing.assert_array_equal(together.items[index], alone.items)
        np.testing.assert_allclose(together.scores[index], alone.scores, rtol=1e-9)


@every_preset
def test_a_saved_state_goes_on_as_before(row):
    policy = row.build()
    state = trained(policy)
    flat, structure = jax.tree.flatten(state)
    file = io.BytesIO()
    np.savez(file, *[np.asarray(leaf) for leaf in flat])
    file.seek(0)
    stored = np.load(file)
    loaded = jax.tree.unflatten(structure, [stored[name] for name in stored.files])
    for seed in range(5, 8):
        state, decision, _ = observed(policy, state, seed)
        loaded, again, _ = observed(policy, loaded, seed)
        np.testing.assert_array_equal(decision.items, again.items)
        np.testing.assert_array_equal(decision.scores, again.scores)


@every_preset
def test_replaying_the_events_rebuilds_the_state(row):
    policy = row.build()
    state, log = policy.init(jax.random.key(0), SPEC), []
    for seed in range(6):
        state, _, event = observed(policy, state, seed)
        log.append((jax.random.split(jax.random.key(seed), 3)[2], event))
    rebuilt = policy.init(jax.random.key(0), SPEC)
    for key, event in log:
        rebuilt = policy.observe(rebuilt, key, event)
    for left, right in zip(leaves(state), leaves(rebuilt), strict=True):
        np.testing.assert_array_equal(left, right)


def environment_for(row: Row, policy: Policy) -> Environment:
    oracle = getattr(policy.chooser, "oracle", None)
    if row.binary:
        means = np.linspace(0.05, 0.95, 12)
        return superarm.environments.catalogue(np.eye(12), means, oracle)
    return linear_scores(oracle, dim=4, num_arms=12)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.learns])
def test_learns_to_below_half_of_chance(name):
    row = ROWS[name]
    policy = row.build()
    world = environment_for(row, policy)
    chance = policies.uniform(getattr(policy.chooser, "oracle", None))
    result = superarm.compare({name: policy, "chance": chance}, world, rounds=400, seeds=3, workers=0)
    totals = result.finals()["regret"]
    assert totals[name] < 0.5 * totals["chance"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [(name, arguments, message) for name, row in ROWS.items() for arguments, message in row.bad],
)
def test_bad_arguments_are_told_in_one_sentence(name, arguments, message):
    with pytest.raises((ValueError, TypeError)) as error:
        ROWS[name].build(**arguments)
    assert str(error.value) == f"{name}: {message}"
