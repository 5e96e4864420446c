"""Oracles for rewards that are no sums: rankings and assortments, against all sets."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm
from superarm import oracles
from support.small_problems import SOLVE, best_revenue, in_double, quick, revenue, vectors

TOP = superarm.top_k(3)
WEIGHTS = np.array([1.0, 0.7, 0.7, 0.2])  # of positions


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@quick
@given(vectors(-1, 2, 5), st.integers(0, 99))
@in_double
def test_top_k_is_the_best_ranking(scores, seed):
    with jax.numpy_rank_promotion("allow"):
        items = np.asarray(SOLVE(TOP, jax.random.key(seed), scores, np.ones(5, bool)).items)
    weights = WEIGHTS[[0, 1, 3]]
    lists = [list(items) for items in itertools.permutations(range(5), 3)]
    for worth in (
        lambda v: (weights * v).sum(),
        lambda v: 1.0 - np.prod(1.0 - np.clip(v, 0.0, 1.0)),
    ):
        assert worth(scores[items]) >= max(worth(scores[items]) for items in lists) - 1e-12


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.one_of(vectors(0, 10, 7), st.lists(st.integers(0, 3), min_size=7, max_size=7).map(np.array)),
    vectors(-1, 1, 7),
    st.sampled_from([1.0, 5.0, 50.0, 800.0]),
    st.lists(st.booleans(), min_size=7, max_size=7).map(np.array),
    st.integers(0, 99),
)
@in_double
def test_assortments_are_best(revenues, utilities, scale, mask, seed):
    revenues, utilities = revenues.astype(float), scale * utilities
    choice = SOLVE(oracles.assortment(revenues, 3), jax.random.key(seed), utilities, mask)
    items = np.asarray(choice.items)[np.asarray(choice.mask)]
    best = best_revenue(revenues, utilities, mask, 3)
    assert bool(choice.feasible)
    assert np.all(mask[items])
    assert len(set(items)) == len(items)
    assert revenue(revenues, utilities, items) >= best * (1 - 1e-12)
    assert len(items) > 0 or not np.any(mask & (revenues > 0))


@quick
@given(vectors(0, 10, 6), vectors(-3, 3, 6), vectors(0, 2, 6))
@in_double
def test_revenue_of_the_best_assortment_is_monotone(revenues, utilities, more):
    everything = np.ones(6, bool)
    before = best_revenue(revenues, utilities, everything, 3)
    assert best_revenue(revenues, utilities + more, everything, 3) >= before - 1e-12


def test_assortments_break_ties_by_key():
    oracle, scores = oracles.assortment(np.full(4, 2.0), 2), jnp.zeros(4)
    found = {
        tuple(sorted(SOLVE(oracle, jax.random.key(s), scores, jnp.ones(4, bool)).items.tolist()))
        for s in range(60)
    }
    assert found == set(itertools.combinations(range(4), 2))
