"""Optimal designs against their certificate and a slow transcription; plans that policies follow."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import reference.sun2026 as reference
import superarm
from superarm.environments import fixed_scores
from superarm.explorers import WarmUp
from superarm.models import Planned
from superarm.models import design as design_module
from superarm.models.design import TOLERANCE, design_counts, g_optimal
from superarm.policies import warm_up
from superarm.simulation.round import keys_of
from superarm.types import Event, Offer, Spec


def sphere(seed, num_arms, dim):
    arms = np.random.default_rng(seed).normal(size=(num_arms, dim))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def scattered(seed, num_arms, dim):
    """Of different length: the optimum is one, where arms on a sphere may share the weight in many ways."""
    return np.random.default_rng(seed).normal(size=(num_arms, dim))


def worst_case(arms, weights):
    """max_i |x_i|^2 in the norm of V(w)^-1, on the space that the arms span."""
    _, sizes, basis = np.linalg.svd(arms, full_matrices=False)
    rows = arms @ basis[sizes > 1e-9 * sizes[0]].T
    return reference.leverages(rows, weights).max(), rows.shape[1]


def check(arms, design, tolerance=TOLERANCE):
    """A design, and its own word on how good it is, hold."""
    assert design.weights.shape == (len(arms),)
    assert (design.weights >= 0.0).all()
    np.testing.assert_allclose(design.weights.sum(), 1.0, rtol=1e-12)
    worst, rank = worst_case(arms, design.weights)
    assert design.rank == rank
    np.testing.assert_allclose(design.worst, worst, rtol=1e-8)
    assert rank * (1 - 1e-9) <= worst <= rank * (1 + tolerance) * (1 + 1e-9)  # Kiefer and Wolfowitz
    np.testing.assert_allclose(design.gap, worst / rank - 1, atol=1e-8)


# --- designs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_arms", "dim"), [(12, 3), (50, 20), (6, 6)])
def test_as_good_as_the_transcription_s(num_arms, dim):
    """Both are within their tolerance of the largest log det V, which has one optimum."""
    for seed in range(3):
        arms = sphere(seed, num_arms, dim)
        design, theirs = g_optimal(arms), reference.g_optimal(arms, tolerance=1e-3)
        check(arms, design)
        logdets = [
            np.linalg.slogdet((arms * weights[:, None]).T @ arms)[1] for weights in (design.weights, theirs)
        ]
        assert abs(logdets[0] - logdets[1]) <= dim * np.log1p(1e-3)


def test_a_finer_tolerance_is_kept():
    arms = scattered(7, 12, 3)
    design = g_optimal(arms, tolerance=1e-9)
    check(arms, design, 1e-9)
    assert design.steps > g_optimal(arms).steps
    # Arms of the optimum are those whose worst case is d, and no others.
    measured = reference.leverages(arms, design.weights)
    np.testing.assert_allclose(measured[design.weights > 1e-6], 3.0, rtol=1e-5)
    assert (measured[design.weights == 0.0] < 3.0).all()
    assert 0 < (design.weights == 0.0).sum() < 12


SHAPES = [(1, 3), (2, 4), (5, 5), (8, 3)]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SHAPES).flatmap(lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(-3, 3))),
    hnp.arrays(np.float64, 8, elements=st.sampled_from([1.0, 1e-3, 1e3])),
)
def test_any_arms_have_a_certified_design(arms, scale):
    """Of low rank, doubled, of 0, of very different length: whole numbers leave no doubt of the rank."""
    arms = arms * scale[: len(arms), None]
    if np.any(arms):
        check(arms, g_optimal(arms))


def test_arms_of_low_rank():
    """Three dimensions in ten: the same design as without the others."""
    arms = scattered(1, 9, 3)
    turned = arms @ np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0][:3]
    design = g_optimal(turned)
    assert design.rank == 3
    check(turned, design)
    fine = [g_optimal(one, tolerance=1e-9).weights for one in (arms, turned)]
    np.testing.assert_allclose(fine[0], fine[1], atol=1e-6)


def test_doubled_arms_share_the_weight():
    arms = scattered(2, 6, 3)
    once, twice = g_optimal(arms, tolerance=1e-9), g_optimal(np.concatenate([arms, arms]), tolerance=1e-9)
    np.testing.assert_allclose(twice.weights[:6] + twice.weights[6:], once.weights, atol=1e-5)
    check(np.concatenate([arms, arms]), twice, 1e-9)


def test_one_arm_and_fewer_arms_than_features():
    assert g_optimal(np.array([[3.0, -1.0]])).weights.tolist() == [1.0]
    few = g_optimal(sphere(3, 4, 7))
    assert (few.rank, few.steps) == (4, 0)
    np.testing.assert_allclose(few.weights, 0.25)  # every arm is on an axis of its own


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: g_optimal(np.zeros((3, 2))), "g_optimal: arms must not all be 0, got shape (3, 2)"),
        (lambda: g_optimal([1.0, 2.0]), "g_optimal: arms must have shape (any, any), got (2,)"),
        (lambda: g_optimal([[np.nan, 1.0]]), "g_optimal: arms must be finite, got nan at (0, 0)"),
        (lambda: g_optimal(np.eye(2), tolerance=0.0), "g_optimal: tolerance must be > 0, got 0.0"),
        (lambda: design_counts(0, [1.0]), "design_counts: rounds must be >= 1, got 0"),
        (
            lambda: design_counts(5, [0.4, 0.4]),
            "design_counts: weights must be >= 0 and add up to 1, got a sum of 0.8",
        ),
        (
            lambda: design_counts(5, [1.5, -0.5]),
            "design_counts: weights must be >= 0 and add up to 1, got a sum of 1",
        ),
        (lambda: design_counts(5, [1.0], least=-1), "design_counts: least must be >= 0, got -1"),
        (
            lambda: warm_up(superarm.lin_ucb(), rounds=3, plan="best"),
            "warm_up: plan must be one of 'each', 'uniform', 'design', got 'best'",
        ),
        (
            lambda: warm_up(superarm.lin_ucb(), plan="design"),
            "warm_up: rounds must be given with plan='design', got None",
        ),
        (lambda: warm_up(superarm.lin_ucb(), rounds=0), "warm_up: rounds must be >= 1, got 0"),
        (
            lambda: warm_up(superarm.lin_ucb),
            "warm_up: policy must have model, explorer, chooser, got function",
        ),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == message


def test_a_design_that_is_not_good_enough_is_told(monkeypatch):
    monkeypatch.setattr(design_module, "STEPS_PER_ARM", 1)
    arms = scattered(7, 13, 2)  # a shape that nothing else has compiled
    with pytest.raises(RuntimeError, match=r"^g_optimal: stopped after 13 steps at a gap of 0\.\d+$"):
        g_optimal(arms, tolerance=1e-12)


# --- counts -------------------------------------------------------------------------------------------------

shares = hnp.arrays(np.float64, 7, elements=st.floats(0.0, 1.0)).map(lambda w: np.where(w < 1e-3, 0.0, w))


def normalized(weights):
    weights = weights if weights.any() else np.ones_like(weights)
    return weights / weights.sum()


@settings(max_examples=100, deadline=None)
@given(shares, st.sampled_from([4, 7, 20, 501]))
def test_counts_are_those_of_algorithm_3(weights, rounds):
    weights = normalized(weights)
    counts = design_counts(rounds, weights)
    np.testing.assert_array_equal(counts, reference.rounded(rounds, weights, np.eye(7)))
    assert counts.sum() == rounds
    assert not counts[weights == 0.0].any()
    support = (weights > 0.0).sum()
    if rounds >= support:  # with fewer, as printed, the weightiest may be left out
        # Every other arm of the support has one more than its share at most.
        assert np.abs(counts - rounds * weights).max() < support


def test_counts_of_designs_also_with_line_13():
    arms = sphere(0, 50, 20)
    weights = g_optimal(arms).weights
    for rounds in (60, 500):
        np.testing.assert_array_equal(
            design_counts(rounds, weights), reference.rounded(rounds, weights, arms)
        )
    held = (weights > 1e-9).sum()
    least = (20 * 21 / 2 + 1) / (0.5 * held)
    np.testing.assert_array_equal(
        design_counts(500, weights, least=least), reference.rounded(500, weights, arms, line13=True)
    )


def test_fewer_rounds_than_arms_are_spent_where_the_weight_is():
    """The transcription refuses some of these; a warm-up of any length must have a plan."""
    weights = normalized(np.array([8.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    for rounds in range(1, 11):
        counts = design_counts(rounds, weights)
        assert counts.sum() == rounds
        assert (counts >= 0).all()
    assert design_counts(1, weights).tolist() == [1] + [0] * 9


# --- plans --------------------------------------------------------------------------------------------------

NUM_ARMS, DIM, ROUNDS = 8, 3, 11
ARMS = sphere(4, NUM_ARMS, DIM)
SPEC = Spec(dim=DIM, num_arms=NUM_ARMS, capacity=40)
PLAN = reference.rounded(ROUNDS, g_optimal(ARMS).weights, ARMS)
TRIED = np.repeat(np.arange(NUM_ARMS), PLAN)


@jax.jit
def choose(policy, state, contexts, count, salt=0):
    key = jax.random.fold_in(jax.random.key(salt), count)
    return policy.select(state, key, contexts, count)


@jax.jit
def observe(policy, state, decision, count):
    key = jax.random.fold_in(jax.random.key(6), count)
    feedback = jax.random.normal(key, decision.items.shape, jnp.float64)
    event = Event(decision.items, decision.features, feedback, decision.mask, decision.memo)
    return policy.observe(state, key, event)


@pytest.fixture
def doubles():
    with jax.enable_x64(True):
        yield


def planned(oracle=None):
    policy = warm_up(superarm.lin_es(oracle, size=3), rounds=ROUNDS, plan="design")
    return policy, policy.init(jax.random.key(0), SPEC)


def test_the_plan_tries_some_arms_again_and_others_never():
    assert PLAN.max() > 1
    assert PLAN.min() == 0


@pytest.mark.usefixtures("doubles")
def test_the_first_decisions_are_the_plan_which_the_record_keeps():
    policy, state = planned()
    assert not bool(state.record.known)
    items = []
    for count in range(ROUNDS):
        # After the first observation the arms on offer do not change the plan any more.
        decision = choose(policy, state, ARMS if count == 0 else ARMS[::-1], count)
        items.append(int(decision.items[0]))
        state = observe(policy, state, decision, count)
        assert bool(state.record.known)
        np.testing.assert_array_equal(state.record.counts, PLAN)
    np.testing.assert_array_equal(items, TRIED)
    bare = replace(policy, model=policy.model.model, explorer=policy.explorer.explorer)
    after = replace(state, record=state.record.record)
    for count in range(ROUNDS, ROUNDS + 5):  # from then on the policy decides
        both = choose(policy, state, ARMS, count), choose(bare, after, ARMS, count)
        np.testing.assert_array_equal(both[0].items, both[1].items)
        np.testing.assert_array_equal(both[0].scores, both[1].scores)


@pytest.mark.usefixtures("doubles")
def test_the_plan_is_of_the_arms_on_offer():
    """Without the first two arms, whose directions the others must then cover."""
    policy, state = planned()
    mask = np.arange(NUM_ARMS) >= 2
    decision = jax.jit(policy.select)(state, jax.random.key(0), Offer(ARMS, mask), 0)
    offered = reference.rounded(ROUNDS, g_optimal(ARMS[2:]).weights, ARMS[2:])
    np.testing.assert_array_equal(decision.memo.counts, [0, 0, *offered])
    assert (PLAN[:2] > 0).any()
    assert int(decision.items[0]) == 2 + int(np.flatnonzero(offered)[0])
    chances = policy.propensities(state, Offer(ARMS, mask), 0)
    assert float(chances[decision.items[0]]) == 1.0


@pytest.mark.full
@pytest.mark.usefixtures("doubles")
def test_late_feedback_changes_nothing_of_the_plan():
    policy, state = planned()
    decisions = [choose(policy, state, ARMS, count) for count in range(ROUNDS)]
    np.testing.assert_array_equal([int(one.items[0]) for one in decisions], TRIED)
    for place in np.random.default_rng(0).permutation(ROUNDS):
        state = observe(policy, state, decisions[place], place)
        np.testing.assert_array_equal(state.record.counts, PLAN)
    again = [int(choose(policy, state, ARMS[::-1], count).items[0]) for count in range(ROUNDS)]
    np.testing.assert_array_equal(again, TRIED)
    # A log may have lost the memo: the plan is then made from the arms on offer, until one comes.
    fresh = planned()[1]
    fresh = observe(policy, fresh, replace(decisions[0], memo=()), 0)
    assert not bool(fresh.record.known)
    np.testing.assert_array_equal(choose(policy, fresh, ARMS, 1).items, decisions[1].items)


@pytest.mark.full
@pytest.mark.usefixtures("doubles")
def test_a_set_holds_the_planned_arm_and_others_at_random():
    policy, state = planned(superarm.top_k(3))
    company = np.zeros(NUM_ARMS)
    for count in range(ROUNDS):
        for salt in range(4):
            decision = choose(policy, state, ARMS, count, salt)
            items = np.asarray(decision.items)
            assert items[0] == TRIED[count]
            assert len(set(items.tolist())) == 3
            company[items[1:]] += 1
        state = observe(policy, state, decision, count)
    assert (company > 0).sum() > 5


def choices(result):
    return [int(row[0]) for row in result.table["items"]]


@pytest.mark.full
def test_a_run_begins_with_the_plan_of_its_own_arms():
    """Compiled, and on the host, where decisions have no memo and the plan is made anew."""
    world = fixed_scores(dim=DIM, num_arms=NUM_ARMS)
    with jax.enable_x64(True):
        arms = np.asarray(world.init(keys_of(0).world).arms)
    counts = reference.rounded(20, g_optimal(arms).weights, arms)
    host = superarm.oracles.function(lambda scores, mask: np.argsort(-scores)[:1], size=1)
    for oracle in (None, host):
        policy = warm_up(superarm.lin_ts(), rounds=20, plan="design")
        if oracle is not None:
            policy = warm_up(superarm.comb_lin_ts(oracle), rounds=20, plan="design")
        result = superarm.simulate(policy, world, rounds=30, seeds=[0], workers=0)
        assert choices(result)[:20] == np.repeat(np.arange(NUM_ARMS), counts).tolist()


# --- other plans --------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.usefixtures("doubles")
def test_each_arm_in_turn_and_at_random():
    each = warm_up(superarm.lin_ucb())
    assert each.explorer == WarmUp(superarm.lin_ucb().explorer, None, "each")
    assert not isinstance(each.model, Planned)
    state = each.init(jax.random.key(0), SPEC)
    turns = [int(choose(each, state, ARMS, count).items[0]) for count in range(NUM_ARMS)]
    assert turns == list(range(NUM_ARMS))
    bare = superarm.lin_ucb()
    after, alone = (choose(policy, state, ARMS, NUM_ARMS) for policy in (each, bare))
    np.testing.assert_array_equal(after.items, alone.items)
    longer = warm_up(superarm.lin_ucb(), rounds=2 * NUM_ARMS + 1)
    turns = [int(choose(longer, state, ARMS, count).items[0]) for count in range(2 * NUM_ARMS + 1)]
    assert turns == [*range(NUM_ARMS), *range(NUM_ARMS), 0]

    chance = warm_up(superarm.lin_ucb(), rounds=10**6, plan="uniform")
    many = jax.jit(jax.vmap(lambda key: chance.select(state, key, jnp.asarray(ARMS), 7).items[0]))(
        jax.random.split(jax.random.key(1), 8000)
    )
    tried = np.bincount(np.asarray(many), minlength=NUM_ARMS)
    assert np.sum((tried - 1000.0) ** 2) / 1000.0 < 30.0  # chi-square with 7 degrees: 1e-4


@pytest.mark.full
@pytest.mark.usefixtures("doubles")
def test_a_warm_up_learns_like_any_round():
    """The record after it is that of the policy without one that made the same choices."""
    policy = warm_up(superarm.glm_es(size=3, warmup=0, memory="arms"), rounds=ROUNDS, plan="design")
    bare = replace(policy, model=policy.model.model, explorer=policy.explorer.explorer)
    state, alone = (one.init(jax.random.key(0), SPEC) for one in (policy, bare))
    for count in range(ROUNDS):
        decision = choose(policy, state, ARMS, count)
        state = observe(policy, state, decision, count)
        alone = observe(bare, alone, replace(decision, memo=()), count)
    for left, right in zip(jax.tree.leaves(state.record.record), jax.tree.leaves(alone.record), strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(state.record.record.history.counts, PLAN)
