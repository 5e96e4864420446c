"""What every preset must do. One row per preset; a test says that no public preset is without one."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from contract.presets import ALIKE, DUELS, ROWS, SPEC, WRAPPERS, Row
from superarm import policies
from superarm.contract import Environment
from superarm.environments import linear_scores
from superarm.policy import Policy
from superarm.precision import double
from superarm.pytree import pytree, static
from superarm.types import Event, Offer


def rows_of(names):
    """The names as parameters; those whose parts others have only in the full tests."""
    return [pytest.param(name, marks=[pytest.mark.full] if name in ALIKE else []) for name in names]


every_preset = pytest.mark.parametrize(
    "row", [pytest.param(ROWS[one.values[0]], id=one.values[0], marks=one.marks) for one in rows_of(ROWS)]
)


TRACES: Counter[str] = Counter()
ALL = np.ones(SPEC.num_arms, bool)


def compiled(name: str) -> Callable[..., Any]:
    """A function of the contract, compiled once per structure of the policy; each trace is counted."""

    def traced(policy, *args):
        TRACES[name] += 1
        return getattr(policy, name)(*args)

    return double(jax.jit(traced))


choose, observe, learn = compiled("select"), compiled("observe"), compiled("learn")


def select(policy: Policy, state, key: jax.Array, contexts: jax.Array, count: int, mask=ALL):
    return choose(policy, state, key, Offer(contexts, mask), count)


def contexts(seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), (SPEC.num_arms, SPEC.dim))


def keys_of(seed: int) -> jax.Array:
    """Keys to select, for the feedback, to observe and to learn in the round of that number."""
    return jax.random.split(jax.random.key(seed), 4)


def answered(decision, seed: int) -> Event:
    """The event with 0/1 feedback."""
    feedback = jax.random.bernoulli(keys_of(seed)[1], 0.5, decision.items.shape).astype(jnp.float32)
    return Event(
        decision.items, decision.features, feedback, decision.mask, decision.memo, cache=decision.cache
    )


def recorded(policy: Policy, state, seed: int, event: Event):
    """Observe, and learn when that is due after this round."""
    state = observe(policy, state, keys_of(seed)[2], event)
    if policy.learn_every and (seed + 1) % policy.learn_every == 0:
        state = replace(state, fit=learn(policy, state, keys_of(seed)[3]))
    return state


def played(policy: Policy, state, seed: int):
    """One round: the state after it, the decision and the event."""
    decision = select(policy, state, keys_of(seed)[0], contexts(seed), seed)
    event = answered(decision, seed)
    return recorded(policy, state, seed, event), decision, event


def begun(policy: Policy):
    return policy.init(jax.random.key(0), SPEC)


def trained(policy: Policy, rounds: int = 7):
    state = begun(policy)
    for seed in range(rounds):
        state = played(policy, state, seed)[0]
    return state


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def assert_same(tree, other):
    for left, right in zip(leaves(tree), leaves(other), strict=True):
        np.testing.assert_array_equal(left, right)


def test_every_public_preset_has_a_row():
    assert set(ROWS) | WRAPPERS | DUELS == set(policies.__all__)
    assert set(policies.__all__) <= set(superarm.__all__)


@every_preset
def test_the_policy_is_a_pytree_of_float64_leaves(row):
    policy = row.build()
    flat, structure = jax.tree.flatten(policy)
    assert all(np.asarray(leaf).dtype == np.float64 for leaf in flat)
    assert jax.tree.unflatten(structure, flat) == policy
    assert hash(structure) == hash(jax.tree.structure(row.build()))


def has_network(model) -> bool:
    """Whether there is one, in the model or in what it wraps."""
    return hasattr(model, "network") or (hasattr(model, "model") and has_network(model.model))


@every_preset
def test_state_keeps_shapes_and_types_and_is_double(row):
    policy = row.build()
    first, state = begun(policy), trained(policy)
    assert jax.tree.structure(first) == jax.tree.structure(state)
    singles = {"float32"} if has_network(policy.model) else set()
    for old, new in zip(jax.tree.leaves(first), jax.tree.leaves(state), strict=True):
        assert (old.shape, old.dtype, old.weak_type) == (new.shape, new.dtype, new.weak_type)
        assert str(new.dtype) in {"float64", "int64", "bool"} | singles


# Step by step networks compile for long: one of each family is enough.
SLOW_STEPS = {"cn_ucb", "neural_ucb", "neural_ts", "ncbf_ucb", "neural_log_ucb_1", "neural_log_ts_1"} | {
    "neural_log_ts_2",
    "neural_log_ucb_1_theory",
    "neural_log_ts_1_theory",
    "neural_log_ts_2_theory",
    *(
        "neural_es",
        "neural_phe",
        "neural_es_theory",
        "glm_es",
        "glm_fpl",
        "glm_tsl",
        "glm_es_theory",
        "evill",
    ),
}


@pytest.mark.parametrize("name", rows_of(sorted(set(ROWS) - SLOW_STEPS)))
def test_works_step_by_step_with_64_bit_numbers_off(name):
    """As a user may call it, without compiling."""
    policy = ROWS[name].build()
    first = begun(policy)
    decision = policy.select(first, keys_of(0)[0], contexts(), 0)
    state = policy.observe(first, keys_of(0)[2], answered(decision, 0))
    assert not jax.config.jax_enable_x64
    together = select(policy, first, keys_of(0)[0], contexts(), 0)
    np.testing.assert_array_equal(decision.items, together.items)
    np.testing.assert_allclose(decision.scores, together.scores, rtol=1e-5)
    for old, new in zip(leaves(first), leaves(state), strict=True):
        assert old.dtype == new.dtype


@every_preset
def test_nothing_is_traced_twice(row):
    policy = row.build()
    state = begun(policy)
    for seed in range(3):
        decision = select(policy, state, keys_of(seed)[0], contexts(seed), seed)
        state = observe(policy, state, keys_of(seed)[2], answered(decision, seed))
        state = replace(state, fit=learn(policy, state, keys_of(seed)[3]))
        if seed == 0:
            traced = Counter(TRACES)
    assert traced == TRACES
    assert set(TRACES) == {"select", "observe", "learn"}


@every_preset
def test_hyperparameters_are_values_not_structure(row):
    policy = row.build()
    moved = jax.tree.map(lambda leaf: leaf * 1.5, policy)
    assert jax.tree.structure(moved) == jax.tree.structure(policy)


def varied(policy: Policy, by: float) -> Policy:
    """Every real hyperparameter moved, each by its own factor."""
    flat, structure = jax.tree.flatten(policy)
    return jax.tree.unflatten(structure, [leaf * by ** (1 + index) for index, leaf in enumerate(flat)])


@every_preset
def test_vmap_over_hyperparameters_and_keys_equals_a_loop(row):
    """A grid of ridges, rates, radii and the like in one call, from the first state to a fit and a choice."""
    policy = row.build()
    event, offered = replace(played(policy, begun(policy), 0)[2], memo=()), contexts()

    def course(policy, key, observe=Policy.observe, learn=Policy.learn, select=Policy.select):
        state = observe(policy, begun(policy), key, event)
        state = replace(state, fit=learn(policy, state, key))
        return select(policy, state, key, Offer(offered, ALL), 1)

    variants = [varied(policy, by) for by in (1.0, 0.8, 1.1)]
    grid = jax.tree.map(lambda *leaves: np.stack(leaves), *variants)
    keys = jax.random.split(jax.random.key(2), 3)
    together = double(jax.jit(jax.vmap(course)))(grid, keys)
    alone = [
        course(variant, key, observe, learn, choose) for variant, key in zip(variants, keys, strict=True)
    ]
    for index, decision in enumerate(alone):
        np.testing.assert_array_equal(together.items[index], decision.items)
        np.testing.assert_allclose(together.scores[index], decision.scores, rtol=1e-5)
    assert not np.allclose(alone[0].scores, alone[1].scores, rtol=1e-3)


@every_preset
def test_same_key_same_decision_and_the_state_is_left_alone(row):
    policy = row.build()
    state = trained(policy)
    kept = jax.tree.map(np.array, state)
    assert_same(*(select(policy, state, jax.random.key(7), contexts(), 5) for _ in range(2)))
    assert_same(*(learn(policy, state, jax.random.key(7)) for _ in range(2)))
    assert_same(kept, state)


@every_preset
def test_a_decision_says_what_a_log_needs(row):
    policy = row.build()
    decision = select(policy, trained(policy), jax.random.key(3), contexts(), 5)
    items = np.asarray(decision.items)
    assert items.shape == (policy.chooser.size,)
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
        decision = select(policy, state, jax.random.key(seed), contexts(seed), seed, mask)
        assert mask[np.asarray(decision.items)].all()
        assert bool(decision.healthy)


@every_preset
def test_too_few_arms_make_an_unhealthy_decision(row):
    policy = row.build()
    state = trained(policy)
    nothing = np.zeros(SPEC.num_arms, bool)
    decision = select(policy, state, jax.random.key(0), contexts(), 5, nothing)
    assert not bool(decision.healthy)
    assert not np.asarray(decision.mask).any()
    assert (np.asarray(decision.items) == -1).all()


def assert_same_but(names, tree, other):
    pairs = zip(jax.tree.leaves_with_path(tree), jax.tree.leaves(other), strict=True)
    for (path, left), right in pairs:
        if not names & {getattr(key, "name", "") for key in path}:
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@every_preset
def test_unobserved_items_change_nothing(row):
    policy = row.build()
    state = trained(policy)
    _, _, event = played(policy, state, 9)
    hidden = replace(event, feedback=event.feedback * jnp.nan, observed=jnp.zeros_like(event.observed))
    settled = observe(policy, state, jax.random.key(1), hidden)
    after = observe(policy, settled, jax.random.key(1), hidden)
    # A window counts decisions, not observations; the first event after a fit takes over the fit's factor.
    assert_same_but({"events"}, settled, after)
    assert_same_but({"events", "factor", "covered", "version"}, state, after)


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
    for seed in range(7, 12):
        state, decision, _ = played(policy, state, seed)
        loaded, again, _ = played(policy, loaded, seed)
        assert_same(decision, again)


@every_preset
def test_replaying_the_events_rebuilds_the_state(row):
    policy = row.build()
    state, log = begun(policy), []
    for seed in range(11):
        state, _, event = played(policy, state, seed)
        log.append(event)
    rebuilt = begun(policy)
    for seed, event in enumerate(log):
        rebuilt = recorded(policy, rebuilt, seed, event)
    assert_same(state, rebuilt)


@every_preset
def test_a_problem_that_does_not_fit_is_refused_before_any_round(row):
    policy = row.build()
    policy.check(SPEC)
    if policy.chooser.size == 1:
        return
    with pytest.raises(ValueError, match=r"^top_k: k must be at most the number of arms"):
        policy.check(replace(SPEC, num_arms=2))


def steep(contexts, theta, matrix):
    """Log-odds that tell arms well apart."""
    return 5.0 * (contexts @ theta)


def environment_for(row: Row, policy: Policy) -> Environment:
    oracle = getattr(policy.chooser, "oracle", None)
    if row.logistic:
        return superarm.environments.logistic_scores(oracle, latent=steep, dim=4, num_arms=12)
    if row.binary:
        means = np.linspace(0.05, 0.95, 12)
        return superarm.environments.catalogue(np.eye(12), means, oracle)
    return linear_scores(oracle, dim=4, num_arms=12)


@pytest.mark.parametrize("name", rows_of(name for name, row in ROWS.items() if row.learns))
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": 0.0}, "ridge must be > 0, got 0.0"),
        (
            {"ridge": None, "network": superarm.perceptron(parametrization="ntk")},
            "ridge must be a number, got NoneType",
        ),
        ({"row_scale": -1.0}, "row_scale must be > 0, got -1.0"),
        ({"learn_every": 0}, "learn_every must be >= 1, got 0"),
        ({"network": "deep"}, "network must have check, init, apply, gradients, last_layer, got str"),
    ],
)
def test_bad_arguments_of_the_neural_model(arguments, message):
    with pytest.raises((ValueError, TypeError)) as error:
        superarm.neural(**arguments)
    assert str(error.value) == f"neural: {message}"


@pytree
@dataclass(frozen=True)
class Once:
    number: Any
    power: int = static(default=1)

    def value(self):
        return self.number


@pytree
@dataclass(frozen=True)
class Twice:
    number: Any
    power: int = static(default=1)

    def value(self):
        return 2.0 * self.number


def test_classes_with_fields_alike_are_told_apart():
    """With `jax.tree_util.register_dataclass` their structures compare equal, and a cache can mix them up."""
    value = jax.jit(lambda one: one.value())
    assert [float(value(kind(np.float32(3.0)))) for kind in (Once, Twice, Once)] == [3.0, 6.0, 3.0]
    once = jax.tree.structure(Once(1.0))
    assert once != jax.tree.structure(Twice(1.0))
    assert once != jax.tree.structure(Once(1.0, power=2))
    assert once == jax.tree.structure(Once(2.0))
    assert hash(once) == hash(jax.tree.structure(Once(2.0)))
    ((path, leaf),) = jax.tree.leaves_with_path(Once(5.0))
    assert (jax.tree_util.keystr(path), leaf) == (".number", 5.0)
