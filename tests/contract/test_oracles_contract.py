"""Every oracle against brute force, and what all oracles share; `oracles.py` has the rows."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import superarm
from contract.oracles import ROWS, Row, grid_edges
from superarm.choosers import oracles
from superarm.choosers.oracles.top_items import best_of
from superarm.contract import Oracle
from support.rooms import defined, require_exported, require_pytrees, require_rows

SOLVE = jax.jit(lambda oracle, key, scores, mask: oracle.solve(key, scores, mask))
HOST = [row for row in ROWS if not row.oracle.native]
# One row per class: each compiles anew.
NATIVE = list({type(row.oracle): row for row in reversed(ROWS) if row.oracle.native}.values())[::-1]


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def table(rows):
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def solver(oracle):
    """A native oracle is an argument of the compiled function: it must be a pytree, and compiles once."""
    return functools.partial(SOLVE, oracle) if oracle.native else oracle.solve


def solve(row: Row, scores, mask=None, seed: int = 0):
    mask = np.ones(row.num_arms, bool) if mask is None else np.asarray(mask)
    return solver(row.oracle)(jax.random.key(seed), jnp.asarray(scores, float), jnp.asarray(mask))


def chosen(choice) -> tuple[int, ...]:
    items, mask = np.asarray(choice.items), np.asarray(choice.mask)
    assert items.dtype == np.int32
    assert np.all((items == -1) == ~mask)
    return tuple(sorted(items[mask].tolist()))


def optima(row: Row, scores, mask=None) -> tuple[set[tuple[int, ...]], float]:
    """The best of the feasible sets that are available, and their value."""
    mask = np.ones(row.num_arms, bool) if mask is None else np.asarray(mask)
    available = ~np.any(row.member & ~mask, axis=1)
    values = np.where(available, [row.value(items, scores) for items in row.sets], -np.inf)
    best = values.max()
    return {row.sets[index] for index in np.flatnonzero(available & (values >= best - 1e-9))}, best


def arms(values, num_arms: int):
    return st.lists(values, min_size=num_arms, max_size=num_arms)


def problems(num_arms: int):
    """Scores, ties among them or not, negative or not, and a mask; of a fixed shape, to compile once."""
    scores = st.one_of(
        arms(st.integers(-2, 2), num_arms),
        arms(st.integers(1, 2), num_arms),
        arms(st.floats(-10, 10, allow_subnormal=False), num_arms),
    )
    masks = st.one_of(st.just([True] * num_arms), arms(st.sampled_from([True, True, True, False]), num_arms))
    return st.tuples(scores, masks, st.integers(0, 2**31))


@table(ROWS)
def test_answers_are_feasible_and_best(row):
    @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(problems(row.num_arms))
    def check(problem):
        scores, mask, seed = problem
        choice, (best_sets, best) = solve(row, scores, mask, seed), optima(row, scores, mask)
        assert choice.items.shape == choice.mask.shape == (row.oracle.size,)
        assert bool(choice.feasible) == bool(best_sets)
        if best_sets:
            items = chosen(choice)
            assert items in row.sets
            assert all(mask[item] for item in items)
            assert row.value(items, scores) >= row.oracle.factor * best - 1e-9

    check()


@table(ROWS)
def test_no_arms_have_no_answer_but_the_empty_set(row):
    choice = solve(row, np.ones(row.num_arms), np.zeros(row.num_arms, bool))
    assert bool(choice.feasible) == (() in row.sets)
    assert chosen(choice) == ()


@table(ROWS)
def test_nan_is_flagged_unless_its_arm_is_masked(row):
    scores = np.where(np.arange(row.num_arms) == 0, np.nan, 1.0)
    assert not solve(row, scores).feasible
    without = np.arange(row.num_arms) != 0
    assert bool(solve(row, scores, without).feasible) == bool(optima(row, np.ones(row.num_arms), without)[0])


@table(ROWS)
def test_same_key_same_answer(row):
    scores = np.ones(row.num_arms)
    assert len({tuple(solve(row, scores, seed=5).items.tolist()) for _ in range(5)}) == 1


@table([row for row in ROWS if row.ties])
def test_every_optimum_is_found_over_many_keys(row):
    rng = np.random.default_rng(3)
    for scores in (np.ones(row.num_arms), rng.integers(1, 3, row.num_arms).astype(float)):
        best_sets, _ = optima(row, scores)
        found, seed = set(), 0
        while found != best_sets and seed < 60 * len(best_sets):
            found.add(chosen(solve(row, scores, seed=seed)))
            seed += 1
        assert found == best_sets


def test_ties_are_fair():
    row = next(row for row in ROWS if row.name == "top_k")
    keys = jax.random.split(jax.random.key(0), 4000)
    items = jax.jit(jax.vmap(row.oracle.solve, (0, None, None)))(keys, jnp.zeros(6), jnp.ones(6, bool)).items
    counts = np.bincount(np.asarray(items).ravel(), minlength=6)
    # Each arm is in half of the sets: 2000 +- 4 standard deviations of 31.6.
    assert np.all(np.abs(counts - 2000) < 127)


@table(NATIVE)
def test_native_answers_are_the_same_under_vmap(row):
    rng = np.random.default_rng(0)
    scores = jnp.asarray(rng.integers(-2, 3, (6, row.num_arms)).astype(float))
    mask, keys = jnp.asarray(rng.random((6, row.num_arms)) < 0.9), jax.random.split(jax.random.key(1), 6)
    together = jax.jit(jax.vmap(row.oracle.solve))(keys, scores, mask)
    for index in range(6):
        alone = solver(row.oracle)(keys[index], scores[index], mask[index])
        for one, batched in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            assert np.array_equal(one, batched[index])


def test_native_answers_are_the_same_without_jit():
    row = next(row for row in ROWS if row.name == "grid_path shortest")
    scores, mask = jnp.ones(row.num_arms), jnp.ones(row.num_arms, bool)
    plain = row.oracle.solve(jax.random.key(0), scores, mask)
    assert np.array_equal(plain.items, solve(row, scores).items)


@table(NATIVE)
def test_native_answers_in_single_precision(row):
    rng = np.random.default_rng(1)
    with jax.enable_x64(False):
        scores, mask = rng.integers(-2, 3, row.num_arms).astype(np.float32), np.ones(row.num_arms, bool)
        choice = jax.jit(row.oracle.solve)(jax.random.key(0), scores, mask)
    _, best = optima(row, scores)
    assert row.value(chosen(choice), scores) >= row.oracle.factor * best - 1e-6


@table(ROWS)
def test_passes_through_jax_as_a_pytree(row):
    leaves, structure = jax.tree.flatten(row.oracle)
    again = jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in leaves])
    scores, mask = jnp.arange(row.num_arms, dtype=float), jnp.ones(row.num_arms, bool)
    assert chosen(solver(again)(jax.random.key(0), scores, mask)) == chosen(solve(row, scores))


@table(ROWS)
def test_a_problem_fits_its_own_arms_only(row):
    row.oracle.check(row.num_arms)
    with pytest.raises(ValueError, match=r"must be .*, got \d"):
        row.oracle.check(row.oracle.size - 1)


@table([NATIVE[0], HOST[0], next(row for row in ROWS if row.name == "knapsack")])
def test_a_policy_chooses_through_it(row):
    policy = superarm.comb_lin_ts(row.oracle)
    state = policy.init(jax.random.key(0), superarm.Spec(dim=3, num_arms=row.num_arms))
    contexts = jax.random.normal(jax.random.key(1), (row.num_arms, 3), float)
    select = jax.jit(policy.select) if policy.native else policy.select
    decision = select(state, jax.random.key(2), contexts, 0)
    assert bool(decision.healthy)
    assert chosen(decision) in row.sets


def test_every_factory_has_a_row():
    factories = {name for name in oracles.__all__ if name.islower()}
    parts = defined(oracles, Oracle)
    require_pytrees(parts)
    require_exported(oracles, parts)
    require_rows("oracles.py", factories, {row.name.split()[0] for row in ROWS} - {"guide"})
    require_rows("oracles.py", parts, {type(row.oracle).__name__ for row in ROWS} - {"Block"})


# --- each structure beyond what brute force reaches ---


def value(choice, scores) -> float:
    assert bool(choice.feasible)
    return float(np.asarray(scores)[list(chosen(choice))].sum())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(arms(st.sampled_from([0.0, -0.0, 1.0, 1 + 2**-52, -1.0, -1 - 2**-52, 1e-300, -1e300, 1e300, 2.5]), 12))
def test_selection_orders_as_float64_does(scores):
    with jax.enable_x64(True):
        items, used = jax.jit(best_of, static_argnums=3)(
            jnp.zeros(12, jnp.float32), np.array(scores), np.ones(12, bool), 5
        )
        assert np.all(used)
        assert np.array_equal(np.array(scores)[items], sorted(scores, reverse=True)[:5])


def quota_in_numpy(groups, low, high, size, scores):
    """The best of each group that must be in, then one by one the best that may be."""
    order = np.argsort(-scores, kind="stable")
    taken: list[int] = []
    for group, bound in enumerate(low):
        taken += order[groups[order] == group][:bound].tolist()
    for item in order:
        group = groups[item]
        full = np.sum(groups[taken] == group) >= high[group]
        if len(taken) < size and item not in taken and not full:
            taken.append(int(item))
    return sorted(taken)


def test_quota_with_many_uneven_groups():
    rng = np.random.default_rng(0)
    groups = np.unique(np.minimum(rng.zipf(1.6, 800), 15), return_inverse=True)[1]
    counts = np.bincount(groups)
    low, high = rng.integers(0, 2, counts.size), np.minimum(counts, rng.integers(2, 6, counts.size))
    oracle = oracles.quota(
        groups, size=30, at_least=dict(enumerate(low.tolist())), at_most=dict(enumerate(high.tolist()))
    )
    compiled = jax.jit(oracle.solve)
    for seed in range(3):
        scores = rng.normal(size=800)
        choice = compiled(jax.random.key(seed), jnp.asarray(scores), jnp.ones(800, bool))
        assert chosen(choice) == tuple(quota_in_numpy(groups, low, high, 30, scores))


def grid_in_numpy(m, scores):
    right, down = scores[: m * (m + 1)].reshape(m + 1, m), scores[m * (m + 1) :].reshape(m, m + 1)
    best = np.zeros((m + 1, m + 1))
    for i, j in np.ndindex(m + 1, m + 1):
        ways = [best[i, j - 1] + right[i, j - 1]] if j else []
        ways += [best[i - 1, j] + down[i - 1, j]] if i else []
        best[i, j] = max(ways, default=0.0)
    return best[m, m]


def test_large_grid_and_the_same_grid_as_a_graph():
    m, rng = 40, np.random.default_rng(0)
    scores, mask = rng.normal(size=2 * m * (m + 1)), np.ones(2 * m * (m + 1), bool)
    best = grid_in_numpy(m, scores)
    graph = oracles.dag_path(grid_edges(m), source=0, target=(m + 1) ** 2 - 1)
    assert graph.size == 2 * m
    for oracle in (oracles.grid_path(m), graph):
        choice = jax.jit(oracle.solve)(jax.random.key(0), jnp.asarray(scores), mask)
        assert value(choice, scores) == pytest.approx(best)
        # In order: each edge starts where the last one ended.
        edges = np.array(grid_edges(m))[np.asarray(choice.items)]
        assert np.array_equal(edges[1:, 0], edges[:-1, 1])


def test_tree_with_zero_negative_and_parallel_edges():
    rng = np.random.default_rng(0)
    edges = np.vstack([[(node, node + 1) for node in range(29)], rng.choice(30, (170, 2))])
    edges = edges[edges[:, 0] != edges[:, 1]]
    for seed in range(5):
        scores = rng.integers(-2, 3, len(edges)).astype(float)
        label, best = np.arange(30), 0.0
        for edge in np.argsort(-scores):  # Kruskal's algorithm
            one, other = label[edges[edge]]
            if one != other:
                label[label == other] = one
                best += scores[edge]
        oracle = oracles.spanning_tree(edges, 30)
        assert value(oracle.solve(jax.random.key(seed), scores, np.ones(len(edges), bool)), scores) == best


def test_matching_and_knapsack_agree_with_integer_programs():
    rng = np.random.default_rng(0)
    edges = np.argwhere(rng.random((8, 10)) < 0.4)
    incident = np.vstack([edges[:, 0] == np.arange(8)[:, None], edges[:, 1] == np.arange(10)[:, None]])
    weights = rng.uniform(1, 5, 40)
    pairs = [
        (oracles.matching(edges, 8, 10), oracles.milp(incident, at_most=1)),
        (oracles.knapsack(weights, 20.0), oracles.milp(weights[None], at_most=20.0)),
    ]
    for oracle, program in pairs:
        for seed in range(5):
            scores = rng.normal(size=program.rows.shape[1])
            key, mask = jax.random.key(seed), rng.random(scores.size) < 0.9
            expected = value(program.solve(key, scores, mask), scores)
            assert value(oracle.solve(key, scores, mask), scores) == pytest.approx(expected, abs=1e-9)


def test_milp_tells_scores_apart_however_small_they_are():
    oracle = oracles.milp(np.ones((1, 3)), at_most=1)
    scores = 1e-9 * np.array([1.0, 1.0 + 1e-6, 1.0 - 1e-6])
    assert all(chosen(oracle.solve(jax.random.key(s), scores, np.ones(3, bool))) == (1,) for s in range(6))


def test_milp_under_a_time_limit_promises_nothing():
    oracle = oracles.milp(np.ones((1, 4)), at_most=2, time_limit=10.0)
    assert oracle.factor == 0.0
    assert chosen(oracle.solve(jax.random.key(0), np.arange(4.0), np.ones(4, bool))) == (2, 3)


def test_knapsack_fills_exactly_with_rounded_weights():
    for method in ("exact", "greedy"):
        oracle = oracles.knapsack([0.1, 0.1, 0.1], 0.3, method=method)
        assert oracle.size == 3
        assert chosen(solver(oracle)(jax.random.key(0), jnp.ones(3), jnp.ones(3, bool))) == (0, 1, 2)


def test_knapsack_finds_every_optimum_however_heavy():
    oracle, scores = oracles.knapsack([4.0, 3.0, 2.0, 2.0], 4.0), np.array([2.0, 2.0, 1.0, 1.0])
    found = {chosen(oracle.solve(jax.random.key(seed), scores, np.ones(4, bool))) for seed in range(60)}
    assert found == {(0,), (1,), (2, 3)}


def test_greedy_knapsack_where_density_misleads():
    # By density alone it would take the small item, and 1 / 50 of the optimum.
    oracle, scores = oracles.knapsack([1.0, 100.0], 100.0, method="greedy"), jnp.array([2.0, 100.0])
    assert chosen(SOLVE(oracle, jax.random.key(0), scores, jnp.ones(2, bool))) == (1,)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(arms(st.floats(0, 10, allow_subnormal=False), 10), arms(st.integers(1, 9), 10), st.integers(9, 30))
def test_exact_knapsack_is_a_table_and_greedy_half_of_it(scores, weights, capacity):
    best = np.zeros(capacity + 1)  # by capacity; the textbook table
    for score, weight in zip(scores, weights, strict=True):
        best[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + score)
    key, mask = jax.random.key(0), np.ones(10, bool)
    with jax.enable_x64(True):
        exact = oracles.knapsack(weights, capacity).solve(key, jnp.asarray(scores), mask)
        # All slots, whatever fits: the size is static, and each would compile anew.
        greedy = replace(oracles.knapsack(weights, capacity, method="greedy"), size=10)
        half = SOLVE(greedy, key, jnp.asarray(scores), mask)
        assert value(exact, scores) == pytest.approx(best[-1])
        assert value(half, scores) >= 0.5 * best[-1] - 1e-9


# --- a user's function ---


def test_a_function_may_say_that_there_is_no_answer():
    oracle = oracles.function(lambda scores, mask: None, size=2)
    assert not oracle.solve(jax.random.key(0), jnp.zeros(3), jnp.ones(3, bool)).feasible


def test_a_function_may_answer_in_booleans():
    oracle = oracles.function(lambda scores, mask: mask & (scores > 0), size=3)
    choice = oracle.solve(jax.random.key(0), jnp.array([1.0, -1.0, 2.0]), jnp.ones(3, bool))
    assert choice.items.tolist() == [0, 2, -1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0, 5], "function: the answer's indices must be from 0 to 3, got 5"),
        ([-1, 0], "function: the answer's indices must be from 0 to 3, got -1"),
        ([1, 1], "function: the answer's indices must differ, got [1, 1]"),
        ([0, 3], "function: the answer's arms must be available, got 3"),
        ([0, 1, 2], "function: the answer must have at most size = 2 arms, got 3"),
        ([0.0, 1.0], "got float64 of shape (2,)"),
        ([True, False], "got bool of shape (2,)"),
    ],
)
def test_wrong_answers_of_a_host_function(answer, message):
    oracle = oracles.function(lambda scores, mask: np.array(answer), size=2)
    with pytest.raises(ValueError) as error:
        oracle.solve(jax.random.key(0), jnp.zeros(4), jnp.array([True, True, True, False]))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("answer", "feasible"),
    [([0, 1], True), ([2], True), ([2, -1], True), ([0, 4], False), ([1, 1], False), ([0, 3], False)],
)
def test_answers_of_a_native_function(answer, feasible):
    oracle = oracles.function(lambda scores, mask: jnp.array(answer), size=2, native=True)
    choice = oracle.solve(jax.random.key(0), jnp.zeros(4), jnp.array([True, True, True, False]))
    assert bool(choice.feasible) == feasible
    assert chosen(choice) == (tuple(sorted(set(answer) - {-1})) if feasible else ())


def test_a_native_function_that_answers_too_much():
    many = oracles.function(lambda scores, mask: jnp.arange(3), size=2, native=True)
    with pytest.raises(ValueError, match="function: the answer must be indices of at most size = 2 arms"):
        many.solve(jax.random.key(0), jnp.zeros(4), jnp.ones(4, bool))
    every = oracles.function(lambda scores, mask: mask, size=2, native=True)
    assert not SOLVE(every, jax.random.key(0), jnp.zeros(4), jnp.ones(4, bool)).feasible


# --- errors ---

EDGES = [(0, 1), (1, 2)]
ERRORS = [
    (lambda: oracles.top_k(0), "top_k: k must be >= 1, got 0"),
    (lambda: oracles.top_k(3).check(2), "top_k: k must be at most the number of arms, 2, got 3"),
    (lambda: oracles.quota([[0]], size=1), "quota: groups must have shape (any,), got (1, 1)"),
    (lambda: oracles.quota([0, -1], size=1), "quota: groups must be >= 0, got -1"),
    (lambda: oracles.quota([0, 1], size=1).check(3), "quota: groups must be as many as the arms, 3, got 2"),
    (lambda: oracles.quota([0, 1], size=3), "quota: size must be at most what the groups may give, 2, got 3"),
    (
        lambda: oracles.quota([0, 0, 1], size=3, at_most={0: 1}),
        "quota: size must be at most what the groups may give, 2, got 3",
    ),
    (
        lambda: oracles.quota([0, 0, 1], size=2, at_least={1: 2}),
        "quota: at_least of group 1 must be at most its arms, 1, got 2",
    ),
    (
        lambda: oracles.quota([0, 0, 1], size=2, at_least={0: 2}, at_most={0: 1}),
        "quota: at_least of group 0 must be at most its at_most, 1, got 2",
    ),
    (
        lambda: oracles.quota([0, 0, 1], size=2, at_least={0: 2, 1: 1}),
        "quota: at_least must sum to at most size, 2, got 3",
    ),
    (
        lambda: oracles.quota([0, 0, 1], size=2, at_least={2: 1}),
        "quota: at_least must name groups from 0 to 1, got 2",
    ),
    (
        lambda: oracles.quota([0, 1], size=1, exactly={0: 1}, at_most={0: 1}),
        "quota: exactly must name groups without other bounds, got group 0",
    ),
    (lambda: oracles.quota([0, 1], [1]), "quota: sizes must have one entry per group, 2, got 1"),
    (
        lambda: oracles.quota([0, 1], [1, 1], size=2),
        "quota: sizes must come alone, got it beside other bounds",
    ),
    (lambda: oracles.grid_path(0), "grid_path: m must be >= 1, got 0"),
    (
        lambda: oracles.grid_path(2).check(10),
        "grid_path: the edges of a grid with m = 2 must be as many as the arms, 10, got 12",
    ),
    (lambda: oracles.dag_path([], source=0, target=1), "dag_path: edges must not be empty, got shape (0,)"),
    (
        lambda: oracles.dag_path([0, 1], source=0, target=1),
        "dag_path: edges must have shape (any, 2), got (2,)",
    ),
    (
        lambda: oracles.dag_path([*EDGES, (2, 0)], source=0, target=1),
        "dag_path: edges must have no cycle, got 0 -> 1 -> 2 -> 0",
    ),
    (
        lambda: oracles.dag_path([*EDGES, (3, 3)], source=0, target=1),
        "dag_path: edges must have no cycle, got 3 -> 3",
    ),
    (
        lambda: oracles.dag_path(EDGES, source=2, target=0),
        "dag_path: target must be reachable from source, 2, got 0",
    ),
    (lambda: oracles.dag_path(EDGES, source=7, target=0), "dag_path: source must be a node of edges, got 7"),
    (lambda: oracles.dag_path(EDGES, source=0, target=7), "dag_path: target must be a node of edges, got 7"),
    (lambda: oracles.dag_path(EDGES, source=0, target=0), "dag_path: target must differ from source, got 0"),
    (
        lambda: oracles.spanning_tree(EDGES, 4),
        "spanning_tree: edges must join all 4 nodes, got 2 separate parts",
    ),
    (lambda: oracles.spanning_tree(EDGES, 2), "spanning_tree: the nodes of edges must be < 2, got 2"),
    (
        lambda: oracles.spanning_tree([(0, 1), (1, 1)], 2),
        "spanning_tree: edges must join two different nodes, got 1 twice",
    ),
    (lambda: oracles.matching(EDGES, 1, 3), "matching: the left nodes of edges must be < 1, got 1"),
    (lambda: oracles.matching(EDGES, 2, 2), "matching: the right nodes of edges must be < 2, got 2"),
    (
        lambda: oracles.matching([(0, 0), (1, 0)], 2, 2, perfect=True),
        "matching: edges must allow 2 pairs for a perfect matching, got at most 1",
    ),
    (lambda: oracles.knapsack([1.0, -1.0], 2.0), "knapsack: weights must be >= 0, got values from -1 to 1"),
    (lambda: oracles.knapsack([], 2.0), "knapsack: weights must not be empty, got shape (0,)"),
    (lambda: oracles.knapsack([1.0], 0.0), "knapsack: capacity must be > 0, got 0.0"),
    (
        lambda: oracles.knapsack([3.0, 2.0], 1.0),
        "knapsack: capacity must be at least the smallest weight, 2, got 1",
    ),
    (
        lambda: oracles.knapsack([1.0], 1.0, method="dp"),
        "knapsack: method must be one of 'exact', 'greedy', got 'dp'",
    ),
    (
        lambda: oracles.milp([[1, 1]], at_least=3),
        "milp: rows, at_least and at_most must admit a set, got constraints that none satisfies",
    ),
    (
        lambda: oracles.milp([[1, 1]], at_most=0),
        "milp: rows, at_least and at_most must admit an item, got only the empty set",
    ),
    (lambda: oracles.milp([1, 1]), "milp: rows must have shape (any, any), got (2,)"),
    (
        lambda: oracles.milp([[1]], at_most=[1, 2]),
        "milp: at_most must have one entry per row, 1, got shape (2,)",
    ),
    (lambda: oracles.milp([[1]], at_most=np.nan), "milp: at_most must not be NaN, got nan"),
    (lambda: oracles.milp([[1]]).check(2), "milp: the columns of rows must be as many as the arms, 2, got 1"),
    (
        lambda: oracles.assortment([2.0, -1.0], 1),
        "assortment: revenues must be >= 0, got values from -1 to 2",
    ),
    (lambda: oracles.assortment([1.0], 0), "assortment: size must be >= 1, got 0"),
    (
        lambda: oracles.assortment([1.0], 2),
        "assortment: size must be at most the number of revenues, 1, got 2",
    ),
    (
        lambda: oracles.assortment([1.0], 1).check(2),
        "assortment: revenues must be as many as the arms, 2, got 1",
    ),
    (
        lambda: oracles.function(max, size=3).check(2),
        "function: size must be at most the number of arms, 2, got 3",
    ),
    (lambda: oracles.function(max, size=1, factor=2.0), "function: factor must be between 0 and 1, got 2.0"),
]


@pytest.mark.parametrize(("build", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_errors_say_what_must_hold(build, message):
    with pytest.raises(ValueError) as error:
        build()
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: oracles.top_k(2.0), "top_k: k must be a whole number, got float"),
        (lambda: oracles.quota([0, 1]), "quota: size must be a whole number, got NoneType"),
        (lambda: oracles.quota([0.5], size=1), "quota: groups must be whole numbers, got dtype float64"),
        (lambda: oracles.function(3, size=1), "function: fn must be callable, got int"),
    ],
)
def test_errors_of_type(build, message):
    with pytest.raises(TypeError) as error:
        build()
    assert str(error.value) == message
