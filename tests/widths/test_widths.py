"""Rows, and what each width has of its own; `tests/contract/widths.py` has what all widths share."""

from __future__ import annotations

import functools
import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from superarm import rows as algebra
from superarm.models import perceptron
from superarm.rows import LayerRows, PairRows, flat
from superarm.widths import Auto, Diagonal, Dual, Full, Sketched, auto, dual
from superarm.widths.dual import DualFactor
from superarm.widths.full import FullFactor
from support.row_streams import (
    BLOCKS,
    LAYERS,
    QUERIES,
    SEEN,
    TILE,
    history_of,
    information,
    layer_rows,
    mask_of,
    matrix_rows,
    plain,
    stream,
    widths_of,
)


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual, "TILE", TILE)
        yield


# --- rows ---------------------------------------------------------------------------------------------------


@jax.jit
def answers(rows, others, weights, factor, keep):
    return {
        "flat": flat(rows),
        "products": algebra.products(rows, others),
        "mixed": algebra.products(rows, flat(others)),
        "squares": algebra.squares(rows),
        "weighted_squares": algebra.weighted_squares(rows, weights),
        "column_squares": algebra.column_squares(rows),
        "scaled": flat(algebra.scaled(rows, factor)),
        "only": flat(algebra.only(rows, keep)),
        "cast": flat(algebra.cast(rows, jnp.float32)).astype(jnp.float64),
    }


def check_answers(rows, others, weights, factor, keep):
    x, y = plain(rows), plain(others)
    expected = {
        "flat": x,
        "products": x @ y.T,
        "mixed": x @ y.T,
        "squares": np.sum(x**2, axis=1),
        "weighted_squares": x**2 @ weights,
        "column_squares": np.sum(x**2, axis=0),
        "scaled": factor * x,
        "only": np.where(keep[:, None], x, 0.0),
    }
    found = answers(rows, others, weights, np.asarray(factor), keep)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(found["cast"], x, rtol=1e-6, atol=1e-30, err_msg="cast")
    assert algebra.count_rows(rows) == x.shape[0]
    assert algebra.count_columns(rows) == x.shape[1]


def test_pair_rows_are_differences():
    rng = np.random.default_rng(5)
    with jax.enable_x64(True):
        rows, others = (PairRows(layer_rows(rng, count), layer_rows(rng, count)) for count in (3, 4))
        weights, keep = np.abs(rng.normal(size=plain(rows).shape[1])), np.array([True, False, True])
        check_answers(rows, others, weights, 1.7, keep)
        scale = rng.normal(size=3)
        found = flat(algebra.weighted(rows, jnp.asarray(scale)))
    np.testing.assert_allclose(found, scale[:, None] * plain(rows), rtol=1e-12, atol=1e-12)


def entries(*shape):
    # 2^-60 and the like would leave the range of float32 when multiplied.
    small = st.floats(-10, 10, allow_subnormal=False).map(lambda value: round(value, 6))
    return hnp.arrays(np.float64, shape, elements=small)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(entries(3, 2), entries(3, 3), entries(3, 1), entries(3, 2)),
    st.tuples(entries(4, 2), entries(4, 3), entries(4, 1), entries(4, 2)),
    entries(8),
    st.floats(-3, 3),
    hnp.arrays(bool, 3),
)
def test_layer_rows_are_the_flat_matrix(leaves, others, weights, factor, keep):
    first, second = (
        LayerRows(deltas=(delta, delta_), inputs=(inputs, inputs_))
        for delta, inputs, delta_, inputs_ in (leaves, others)
    )
    check_answers(first, second, weights, factor, keep)


def test_matrices_answer_as_layers_do():
    rng = np.random.default_rng(0)
    check_answers(
        matrix_rows(rng, 3), matrix_rows(rng, 4), rng.normal(size=6), 1.7, np.array([1, 0, 1], bool)
    )


# --- dual ---------------------------------------------------------------------------------------------------


def test_the_tile_of_the_library_is_crossed_too(monkeypatch):
    monkeypatch.undo()
    tile = 256
    monkeypatch.setattr(dual, "TILE", tile)
    rng = np.random.default_rng(2)
    rows, queries = matrix_rows(rng, 10, 30), matrix_rows(rng, QUERIES)
    seen = np.ones((10, 30), bool)
    factor, _, norms, _ = stream(Dual(), 1.0, rows, seen, np.zeros((10, 30)), queries, capacity=300)
    assert factor.upper.shape == (3, tile, tile)
    expected = [widths_of(matrix, queries)[0] for matrix in information(rows, seen, 1.0)]
    np.testing.assert_allclose(norms, np.stack(expected), rtol=1e-8)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_full_dual_counts_what_it_drops_and_keeps_its_widths(seed):
    """Widths are those of the rows kept, in order of arrival, and never grow."""
    rows, observed, residual, queries = history_of(np.random.default_rng(seed), layer_rows)
    factor, _, norms, _ = stream(Dual(), 1.5, rows, observed, residual, queries, capacity=TILE)
    assert (int(factor.count), int(factor.dropped)) == (TILE, SEEN - TILE)
    kept = observed & (np.cumsum(observed).reshape(observed.shape) <= TILE)
    matrices = information(rows, kept, 1.5**-2)
    expected = np.stack([widths_of(matrix, queries)[0] for matrix in matrices])
    np.testing.assert_allclose(norms, expected, rtol=1e-9)
    assert (np.diff(norms, axis=0) <= 1e-12).all()
    logdet = np.linalg.slogdet(matrices[-1] * 1.5**2)[1]
    np.testing.assert_allclose(factor.logdet, logdet, rtol=1e-9)


def test_a_dual_stream_without_observations_is_the_prior():
    rows, observed, residual, queries = history_of(np.random.default_rng(3), layer_rows)
    factor, _, norms, _ = stream(Dual(), 1.5, rows, np.zeros_like(observed), residual, queries)
    assert (int(factor.count), int(factor.dropped), float(factor.logdet)) == (0, 0, 0.0)
    prior = 1.5 * np.linalg.norm(plain(queries), axis=1)
    np.testing.assert_allclose(norms, np.tile(prior, (BLOCKS, 1)), rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), log_ridge=st.floats(-1, 3))
def test_float32_is_within_a_thousandth(seed, log_ridge):
    scale = 10.0 ** (-log_ridge / 2)
    history = history_of(np.random.default_rng(seed), layer_rows)
    single = stream(Dual("float32"), scale, *history)
    double = stream(Dual(), scale, *history)
    assert single[0].upper.dtype == np.float32
    assert single[0].upper.nbytes * 2 == double[0].upper.nbytes
    np.testing.assert_allclose(single[2], double[2], rtol=1e-3)
    np.testing.assert_allclose(single[0].logdet, double[0].logdet, rtol=1e-3)


@pytest.mark.full
def test_float32_keeps_its_digits_over_thousands_of_rows(monkeypatch):
    """As in the papers' experiments, which have up to 16,000: gradients of one network, ridge 1."""
    monkeypatch.setattr(dual, "TILE", 256)
    network, rng, count = perceptron(width=20), np.random.default_rng(0), 8192
    params = network.init(jax.random.key(0), 20)
    contexts = rng.normal(size=(count + 100, 20))
    contexts = (contexts / np.linalg.norm(contexts, axis=1, keepdims=True)).astype(np.float32)

    def gradients(part):
        return network.gradients(params, part)[1]

    def widths(precision):
        width = Dual(precision)
        factor = width.init(jax.eval_shape(gradients, contexts[:1]), 1.0, count)
        grow = jax.jit(
            lambda factor, part: width.absorb(factor, width.whiten(factor, gradients(part)), np.zeros(256))[0]
        )
        for block in contexts[:count].reshape(-1, 256, 20):
            factor = grow(factor, block)
        assert int(factor.count) == count
        return np.asarray(width.whiten(factor, gradients(contexts[count:])).norms(), np.float64)

    exact = widths("float64")
    rows = np.asarray(flat(gradients(contexts)), np.float64)
    matrix = np.eye(rows.shape[1]) + rows[:count].T @ rows[:count]
    np.testing.assert_allclose(exact, widths_of(matrix, rows[count:])[0], rtol=1e-6)
    np.testing.assert_allclose(widths("float32"), exact, rtol=1e-4)


# --- diagonal -----------------------------------------------------------------------------------------------


def test_the_log_determinant_stays_exact_over_many_blocks():
    """It is added up block by block, one logarithm per parameter."""
    with jax.enable_x64(True):
        width, rows = Diagonal(), jnp.asarray(np.random.default_rng(0).normal(size=(5000, 1, 20)))
        first = width.init(jax.ShapeDtypeStruct((1, 20), jnp.float64), jnp.asarray(0.5), 0)

        def take_in(factor, block):
            return width.absorb(factor, width.whiten(factor, block), jnp.zeros(1))[0], ()

        last, _ = jax.jit(lambda rows: jax.lax.scan(take_in, first, rows))(rows)
    exact = np.sum(np.log(np.asarray(last.precision) / float(first.ridge)))
    np.testing.assert_allclose(last.logdet, exact, rtol=1e-12)


# --- sketched -----------------------------------------------------------------------------------------------

RANK, DIM = 4, 12


def matrix_of(factor) -> np.ndarray:
    """a I + B'B."""
    directions, lengths = np.asarray(factor.directions), np.asarray(factor.lengths)
    return float(factor.ridge) * np.eye(directions.shape[1]) + (directions.T * lengths) @ directions


def check_sketch(factor, exact, scale, queries, norms, seen):
    """The stated error bounds the true one, the log det is above it; directions are orthonormal."""
    top = np.linalg.norm(exact, 2)
    sketch = matrix_of(factor)
    assert np.linalg.norm(exact - sketch, 2) <= float(factor.error) + 1e-9 * top
    live = np.linalg.norm(factor.directions, axis=1) > 0.5
    np.testing.assert_allclose(
        factor.directions @ factor.directions.T, np.diag(live.astype(float)), atol=1e-6
    )
    assert (np.asarray(factor.lengths)[~live] == 0.0).all()
    assert (np.asarray(factor.lengths) >= 0.0).all()
    np.testing.assert_allclose(norms, widths_of(sketch, queries)[0], rtol=1e-6)
    logdet = np.linalg.slogdet(exact * scale**2)[1]
    if float(factor.error) > 0.0:
        # The largest that the trace and the number of rows allow.
        assert float(factor.logdet) >= logdet * (1 - 1e-9)
        most = min(seen, len(exact))
        trace = np.trace(exact) * scale**2 - len(exact)
        logdet = most * np.log1p(trace / most)
    np.testing.assert_allclose(factor.logdet, logdet, rtol=1e-6, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    log_scale=st.floats(-2, 2),
    log_decay=st.floats(-1.5, 0.0),  # of the features' scales: how nearly the rows have a low rank
    repeats=st.booleans(),
    seen=st.integers(1, SEEN),
)
def test_the_error_of_a_sketch_is_bounded_by_what_it_says(seed, log_scale, log_decay, repeats, seen):
    rng = np.random.default_rng(seed)
    draw = functools.partial(matrix_rows, dim=DIM)
    rows, _, residual, queries = history_of(rng, draw)
    observed = mask_of(rng, seen)
    rows = np.asarray(rows) * 10.0 ** (log_decay * np.arange(DIM))
    if repeats:
        rows = rows[rng.integers(0, 2, BLOCKS)]
    scale = 10.0**log_scale
    factor, _, norms, _ = stream(Sketched(RANK), scale, rows, observed, residual, queries)
    exact = information(rows, observed, scale**-2)[-1]
    check_sketch(factor, exact, scale, queries, norms[-1], seen)
    # Every shrinking by d takes at least (r + 1) d of the rows' squared length.
    lengths = np.sum(np.where(observed[:, :, None], rows, 0.0) ** 2)
    assert float(factor.error) <= 0.5 * lengths / (RANK + 1) * (1 + 1e-9)
    assert float(factor.ridge) == pytest.approx(scale**-2 + float(factor.error), rel=1e-9)


def test_a_sketch_errs_only_beyond_its_rank():
    """Rows in a space of 4 dimensions are kept exactly, a fifth is not."""
    rng = np.random.default_rng(4)
    draw = functools.partial(matrix_rows, dim=DIM)
    rows, observed, residual, queries = history_of(rng, draw)
    basis = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    for rank, exact in ((RANK, True), (RANK + 1, False)):
        flat_rows = rows @ basis[:, :rank] @ basis[:, :rank].T
        factor, _, norms, _ = stream(Sketched(RANK), 0.7, flat_rows, observed, residual, queries)
        matrix = information(flat_rows, observed, 0.7**-2)[-1]
        missed = np.linalg.norm(matrix - matrix_of(factor), 2)
        assert (float(factor.error) < 1e-12 * np.linalg.norm(matrix, 2)) == exact
        assert (missed < 1e-12 * np.linalg.norm(matrix, 2)) == exact
        if exact:
            np.testing.assert_allclose(norms[-1], widths_of(matrix, queries)[0], rtol=1e-9)


# --- a million updates --------------------------------------------------------------------------------------

MILLION, POOL = 10**6, 64


@jax.jit
def absorb_one_by_one(width, scale, pool, updates):
    """Absorb row after row of the pool, round and round."""

    def step(index, factor):
        row = pool[index % POOL][None]
        return width.absorb(factor, width.whiten(factor, row), jnp.ones(1))[0]

    start = width.init(jax.ShapeDtypeStruct((1, pool.shape[1]), jnp.float64), scale, 0)
    return jax.lax.fori_loop(0, updates, step, start)


def long_run(width, pool, updates=MILLION, scale=1.0):
    """The factor after many rows, its widths of 6 queries, these, and the information matrix."""
    factor = absorb_one_by_one(width, np.asarray(scale), pool, updates)
    queries = np.random.default_rng(9).normal(size=(6, pool.shape[1]))
    norms = np.asarray(width.whiten(factor, jnp.asarray(queries)).norms())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(factor))
    assert (norms > 0).all()
    seen = np.bincount(np.arange(updates) % POOL)
    return factor, norms, queries, np.eye(pool.shape[1]) / scale**2 + (pool.T * seen) @ pool


def test_a_million_updates_of_the_diagonal_are_exact():
    factor, norms, queries, exact = long_run(Diagonal(), np.random.default_rng(5).normal(size=(POOL, DIM)))
    np.testing.assert_allclose(factor.precision, np.diag(exact), rtol=1e-9)
    np.testing.assert_allclose(norms, np.sqrt(queries**2 @ (1.0 / np.diag(exact))), rtol=1e-9)
    np.testing.assert_allclose(factor.logdet, np.sum(np.log(np.diag(exact))), rtol=1e-9)


def test_a_million_updates_of_the_last_layer_are_exact():
    """Features after a ReLU: none negative, one never on, two always equal."""
    pool = np.maximum(np.random.default_rng(6).normal(size=(POOL, 8)), 0.0)
    pool[:, 3], pool[:, 5] = 0.0, pool[:, 4]
    factor, norms, queries, exact = long_run(Full(), pool)
    np.testing.assert_allclose(norms, widths_of(exact, queries)[0], rtol=1e-6)
    np.testing.assert_allclose(factor.logdet, np.linalg.slogdet(exact)[1], rtol=1e-9)
    root = np.asarray(factor.root)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(exact), rtol=1e-6, atol=1e-9)


@pytest.mark.full
def test_a_million_updates_of_a_sketch_stay_sound():
    pool = np.random.default_rng(7).normal(size=(POOL, DIM))
    factor, norms, queries, exact = long_run(Sketched(RANK), pool)
    check_sketch(factor, exact, 1.0, queries, norms, MILLION)
    assert float(factor.error) <= 0.5 * np.trace(exact) / (RANK + 1)


def test_rounding_does_not_wear_off_the_prior_of_a_sketch():
    """Many rows of the sketch's own rank, and a prior far weaker than they are: it stays exact."""
    rng = np.random.default_rng(7)
    pool = rng.normal(size=(POOL, RANK)) @ np.linalg.qr(rng.normal(size=(DIM, RANK)))[0].T
    factor, norms, queries, exact = long_run(Sketched(RANK), pool, updates=10**5, scale=100.0)
    check_sketch(factor, exact, 100.0, queries, norms, 10**5)
    np.testing.assert_allclose(norms, widths_of(exact, queries)[0], rtol=1e-6)
    np.testing.assert_allclose(factor.logdet, np.linalg.slogdet(exact * 1e4)[1], rtol=1e-7)


# --- auto ---------------------------------------------------------------------------------------------------


def like_of(parameters):
    return jax.ShapeDtypeStruct((1, parameters), jnp.float32)


@pytest.mark.parametrize(
    ("parameters", "capacity", "name"), [(10, 1000, "full"), (1000, 100, "dual"), (1000, 0, "full")]
)
def test_auto_takes_the_one_with_fewer_operations(parameters, capacity, name):
    """Without a capacity full is all there is."""
    assert auto.cheapest(like_of(parameters), capacity, memory=4e9).name == name


def test_auto_s_estimates_by_hand():
    """Full: the factor, its update and one more, p^2 each; dual: a triangle, in whole tiles, and the rows."""
    full, dual = auto.estimates(like_of(10), 20)
    assert (full.bytes, full.operations) == (3 * 100 * 8, 500)
    assert (dual.bytes, dual.operations) == (24 * 24 // 2 * 8 + 24 * 10 * 4, 24 * 24 / 3 + 24 * 10)
    rows = jax.eval_shape(lambda: layer_rows(np.random.default_rng(0), 1))
    full, dual = auto.estimates(rows, 20)
    numbers = sum(out + size for out, size in LAYERS)
    assert full.operations == 5 * 40**2
    assert (dual.bytes, dual.operations) == (24 * 24 // 2 * 8 + 24 * numbers * 8, 24 * 24 / 3 + 24 * numbers)


def test_auto_takes_the_dearer_one_when_only_it_fits():
    full, dual = auto.estimates(like_of(1000), 2400)
    assert dual.operations < full.operations
    assert full.bytes < dual.bytes
    assert auto.cheapest(like_of(1000), 2400, memory=dual.bytes) == dual
    assert auto.cheapest(like_of(1000), 2400, memory=dual.bytes - 1) == full


@pytest.mark.parametrize("parameters", range(1, 30))
def test_auto_chooses_again_what_it_chose(parameters):
    """A factor made for 10 rows has room for 16; rebuilding it asks for these."""
    first = auto.cheapest(like_of(parameters), 10, memory=4e9)
    assert auto.cheapest(like_of(parameters), dual.room(10), memory=4e9) == first
    assert dual.room(10) == 2 * TILE


def test_auto_refuses_when_nothing_fits_and_says_what_would():
    message = (
        r"width: no exact width fits 0\.1 GB for 20000 parameters and 8000 observations "
        r"\(full 9\.6 GB and dual 0\.9 GB\); choose 'sketched', 'last-layer' or 'diagonal', or Auto"
    )
    like = jax.ShapeDtypeStruct((1, 20000), jnp.float32)
    for refuse in (Auto(memory=1e8).check, lambda *size: Auto(memory=1e8).init(size[0], 1.0, size[1])):
        with pytest.raises(ValueError, match=message):
            refuse(like, 8000)
    with pytest.raises(ValueError, match=r"for 20000 parameters and 0 observations \(full 9\.6 GB\);"):
        Auto().check(like, 0)


def test_dual_refuses_an_unknown_number_of_rows():
    like = jax.ShapeDtypeStruct((1, 3), jnp.float64)
    with pytest.raises(ValueError, match=r"dual width: spec\.capacity must say how many .* got 0; state it"):
        Dual().check(like, 0)
    Dual().check(like, 1)


@pytest.mark.parametrize(
    ("draw", "name", "made"), [(matrix_rows, "full", FullFactor), (layer_rows, "dual", DualFactor)]
)
def test_auto_makes_what_it_chose_and_logs_it(draw, name, made, caplog):
    like = draw(np.random.default_rng(8), 1)
    with caplog.at_level(logging.INFO, logger="superarm"):
        Auto().check(like, SEEN)
    parameters = plain(like).shape[-1]
    assert caplog.messages == [
        f"width: {name} for {parameters} parameters and {SEEN} observations, at most 0.00 GB"
    ]
    assert isinstance(Auto().init(like, jnp.asarray(0.8), SEEN), made)
