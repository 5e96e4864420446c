"""What every width must do; `widths.py` has the rows."""

from __future__ import annotations

import functools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.widths import ROWS, Row
from superarm import rows as algebra
from superarm import widths
from superarm.contract import LinearWidth, Width
from superarm.rows import count_columns, flat
from superarm.types import State
from superarm.widths import dual
from support.rooms import defined, require_pytrees, require_rows
from support.row_streams import (
    DRAWS,
    QUERIES,
    SEEN,
    SIZE,
    TILE,
    history_of,
    information,
    layer_rows,
    matrix_rows,
    plain,
    stream,
    widths_of,
)

SCALE, RIDGE = 0.8, 0.8**-2
MADE_BY_OTHERS = {"DualAhead"}  # by `Whitened.lookahead`; tested there

# What "auto" chose is a row of its own: it goes through all of it in the full tests alone.
MARKS = {row: [pytest.mark.full] if row.name.startswith("Auto") else [] for row in ROWS}
every = pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=MARKS[row]) for row in ROWS])
all_rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
TRACES: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual, "TILE", TILE)
        yield


def like(rows):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((1, leaf.shape[-1]), leaf.dtype), rows)


@jax.jit
def taken_in(width, factor, rows, residual):
    """The factor after a block, and the shift."""
    TRACES[type(width).__name__] += 1
    return width.absorb(factor, width.whiten(factor, rows), residual)


@jax.jit
def measured(width, factor, rows):
    whitened = width.whiten(factor, rows)
    return whitened.norms(), whitened.covariance(), whitened.root(), width.logdet(factor)


def residual_of(seed: int):
    return jnp.asarray(np.random.default_rng(seed).normal(size=SIZE))


@functools.cache
def trained(row: Row, scale: float = SCALE):
    """Two blocks, the factors before and after each, and queries; made under doubles and small tiles."""
    rng = np.random.default_rng(0)
    blocks, queries = [row.rows(rng, SIZE) for _ in range(2)], row.rows(rng, QUERIES)
    factors = [row.width.init(like(queries), jnp.asarray(scale), SEEN)]
    for seed, block in enumerate(blocks):
        factors.append(taken_in(row.width, factors[-1], block, residual_of(seed))[0])
    return blocks, factors, queries


def close(left, right, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol)


def shapes(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


def test_every_width_has_a_row():
    parts = defined(widths, Width)
    named = {name: part for name, part in parts.items() if name not in MADE_BY_OTHERS}
    require_pytrees(parts)
    require_rows("widths.py", named, {row.name.split()[0] for row in ROWS})
    assert set(named) <= set(widths.__all__), "add it to `__all__` in src/superarm/widths/__init__.py"
    for row in ROWS:
        assert type(row.width).__name__ == row.name.split()[0]


# --- against the information matrix ---


@every
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), log_ridge=st.floats(-4, 4))
def test_a_width_is_that_of_what_it_keeps_of_the_information_matrix(row, draw, seed, log_ridge):
    """At every block: norms, and the mean's moves where there is one; at the end: covariance and log det."""
    ridge = 10.0**log_ridge
    rows, observed, residual, queries = history_of(np.random.default_rng(seed), draw)
    found = stream(row.width, 1.0 / np.sqrt(ridge), rows, observed, residual, queries)
    factor, shifts, norms, covariance = found
    matrices = row.keeps(information(rows, observed, ridge))
    close(norms, np.stack([widths_of(matrix, queries)[0] for matrix in matrices]), rtol=1e-6)
    expected, products = widths_of(matrices[-1], queries)
    close(covariance, products, rtol=1e-6, atol=1e-6 * np.min(expected) ** 2)
    logdet = np.linalg.slogdet(matrices[-1])[1] - len(matrices[-1]) * np.log(ridge)
    close(row.width.logdet(factor), logdet, rtol=1e-8)
    if not isinstance(shifts, tuple):
        # A block moves the mean exactly, given what was kept before it.
        before = np.concatenate([ridge * np.eye(matrices.shape[-1])[None], matrices[:-1]])
        seen = np.where(observed[:, :, None], plain(rows), 0.0)
        pulls = np.einsum("bki,bk->bi", seen, residual)[:, :, None]
        moves = np.linalg.solve(before + np.einsum("bki,bkj->bij", seen, seen), pulls)[:, :, 0]
        close(shifts, moves, rtol=1e-6, atol=1e-7 * np.abs(moves).max())


@every
def test_a_width_begins_as_the_prior(row):
    _, factors, queries = trained(row)
    norms, covariance, _, logdet = measured(row.width, factors[0], queries)
    rows = plain(queries)
    close(norms, SCALE * np.linalg.norm(rows, axis=1))
    close(covariance, SCALE**2 * rows @ rows.T)
    assert logdet.shape == ()
    assert logdet == pytest.approx(0.0, abs=1e-12)


# --- compiled code ---


@every
def test_a_factor_keeps_its_shapes_and_types_and_is_traced_once(row):
    blocks, factors, _ = trained(row)
    TRACES.clear()
    factor, shift = taken_in(row.width, factors[-1], blocks[0], residual_of(9))
    assert not TRACES
    assert shapes(factors[0]) == shapes(factors[1]) == shapes(factor)
    assert jax.tree.structure(factors[0]) == jax.tree.structure(factor)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(factor))
    if not row.shifts:  # rows are kept in the place of parameters
        assert row.width.capacity(factor) > 0
        assert shift == ()
    else:
        assert (shift.shape, shift.dtype) == ((count_columns(blocks[0]),), np.float64)


@every
def test_vmap_equals_a_loop(row):
    scales, blocks, queries = (0.5, 2.0), *trained(row)[::2]

    def course(scale, rows, residual):
        factor = row.width.init(like(queries), scale, SEEN)
        factor, shift = row.width.absorb(factor, row.width.whiten(factor, rows), residual)
        whitened = row.width.whiten(factor, queries)
        return shift, whitened.norms(), whitened.covariance(), row.width.logdet(factor)

    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *blocks)
    residuals = jnp.stack([residual_of(0), residual_of(1)])
    together = jax.jit(jax.vmap(course))(jnp.asarray(scales), stacked, residuals)
    for index, scale in enumerate(scales):
        factor = trained(row, scale)[1][0]
        factor, shift = taken_in(row.width, factor, blocks[index], residuals[index])
        norms, covariance, _, logdet = measured(row.width, factor, queries)
        alone = shift, norms, covariance, logdet
        for left, right in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            close(right[index], left)


@every
def test_rows_of_zeros_move_nothing(row):
    blocks, factors, queries = trained(row)
    zeros = jax.tree.map(jnp.zeros_like, blocks[0])
    factor, shift = taken_in(row.width, factors[-1], zeros, residual_of(3))
    for left, right in zip(
        measured(row.width, factors[-1], queries)[:2], measured(row.width, factor, queries)[:2], strict=True
    ):
        close(right, left)
    close(row.width.logdet(factor), row.width.logdet(factors[-1]))
    if row.shifts:
        close(shift, np.zeros_like(shift))


# --- rows as they were measured ---


@every
def test_widths_covariance_and_root_say_the_same(row):
    _, factors, queries = trained(row)
    norms, covariance, root, _ = measured(row.width, factors[-1], queries)
    assert (norms.shape, covariance.shape) == ((QUERIES,), (QUERIES, QUERIES))
    assert norms.dtype == covariance.dtype == np.float64
    assert (norms > 0.0).all()
    close(norms**2, np.diag(covariance))
    close(covariance, covariance.T)
    if root is not None:
        assert root.shape[0] == QUERIES
        close(root @ root.T, covariance)


@every
def test_a_block_of_a_catalogue_has_the_widths_of_its_rows(row):
    """`block_norms` takes plain matrices, wherever the rows of the factor came from."""
    _, factors, queries = trained(row)
    norms = jax.jit(row.width.block_norms)(factors[-1], flat(queries))
    close(norms, measured(row.width, factors[-1], queries)[0])


@every
def test_measured_rows_can_be_taken_and_hidden(row):
    """`take` and `only` equal measuring those rows."""
    _, factors, queries = trained(row)
    items, keep = np.array([4, 1, 1]), np.array([True, False, True, True, False, False, True])
    keep = np.resize(keep, QUERIES)

    @jax.jit
    def both(factor, queries):
        whitened = row.width.whiten(factor, queries)
        some = jax.tree.map(lambda leaf: leaf[items], queries)
        pairs = (
            (whitened.take(items), row.width.whiten(factor, some)),
            (whitened.only(keep), row.width.whiten(factor, algebra.only(queries, keep))),
        )
        return [[(one.norms(), one.covariance(), one.root()) for one in pair] for pair in pairs]

    answers = both(factors[-1], queries)
    for derived, direct in answers:
        for left, right in zip(jax.tree.leaves(derived), jax.tree.leaves(direct), strict=True):
            close(left, right, rtol=1e-10, atol=1e-12)
    hidden = np.asarray(answers[1][0][0])
    assert (hidden[~keep] == 0.0).all()
    assert (hidden[keep] > 0.1).all()


# --- what a width says that it can do ---


@all_rows
def test_a_factor_has_the_room_that_was_asked_for(row):
    """A width that keeps rows asks how many will come; one that does not takes any number."""
    blocks, factors, queries = trained(row)
    room = row.width.capacity(factors[0])
    assert room == row.width.capacity(factors[-1])
    assert room == 0 or room >= SEEN
    row.width.check(like(queries), SEEN)
    try:
        row.width.check(like(queries), 0)
    except ValueError as error:
        assert "got 0; " in str(error)  # noqa: PT017
        assert room > 0
        return
    unbounded = row.width.init(like(queries), jnp.asarray(SCALE), 0)
    assert row.width.capacity(unbounded) == 0
    taken_in(row.width, unbounded, blocks[0], residual_of(0))


@all_rows
def test_a_width_is_resolved_once_by_its_factor_or_a_state_or_their_shapes(row):
    _, factors, queries = trained(row)
    abstract = jax.eval_shape(lambda: factors[-1])
    answers = [row.width.resolved(one) for one in (factors[-1], State(factors[-1], ()), abstract)]
    assert answers[0] == answers[1] == answers[2]
    resolved = answers[0]
    assert resolved.resolved(factors[-1]) == resolved
    close(measured(resolved, factors[-1], queries)[0], measured(row.width, factors[-1], queries)[0])
    for ability in ("changes_ridge", "keeps_root", "by_product", "lookahead"):
        assert isinstance(getattr(row.width, ability), bool)
        if ability != "lookahead":  # which may be promised in vain: `Whitened.lookahead` then says None
            assert getattr(resolved, ability) >= getattr(row.width, ability)


@all_rows
def test_a_ridge_changes_as_if_it_had_been_so_from_the_start_or_is_refused(row):
    _, factors, queries = trained(row)
    if not row.width.changes_ridge:
        with pytest.raises(TypeError, match=rf"^{type(row.width).__name__}: the ridge cannot change$"):
            row.width.with_ridge(factors[-1], jnp.asarray(4.0))
        return
    changed = row.width.with_ridge(factors[-1], jnp.asarray(4.0))
    assert shapes(changed) == shapes(factors[-1])
    direct = trained(row, 0.5)[1][-1]
    for left, right in zip(
        measured(row.width, changed, queries), measured(row.width, direct, queries), strict=True
    ):
        if left is not None:
            close(left, right)


@all_rows
def test_a_root_is_kept_where_it_is_said(row):
    blocks, factors, _ = trained(row)
    width, factor = row.width.resolved(factors[-1]), factors[-1]
    assert width.keeps_root == hasattr(factor, "root"), "state `keeps_root` of the width as its factor is"
    if width.keeps_root:
        seen = np.stack([plain(block) for block in blocks])
        matrix = row.keeps(information(seen, np.ones(seen.shape[:2], bool), RIDGE))[-1]
        close(factor.root @ factor.root.T, np.linalg.inv(matrix), rtol=1e-7, atol=1e-10)


def primitives(jaxpr) -> Counter[str]:
    """How often each operation is in a program, those of inner programs too."""
    found: Counter[str] = Counter()
    for equation in jaxpr.eqns:
        inner = [one for one in jax.tree.leaves(list(equation.params.values())) if hasattr(one, "jaxpr")]
        for one in inner:
            found += primitives(one.jaxpr)
        if equation.primitive.name == "dot_general" and equation.outvars[0].aval.ndim < 2:
            continue  # with a vector: no matrix is multiplied by
        found[equation.primitive.name] += 1
    return found


@all_rows
def test_widths_are_one_product_where_it_is_said(row):
    """`by_product`: a block is multiplied by one matrix, and the norms of that are its widths."""
    _, factors, queries = trained(row)
    width = row.width.resolved(factors[-1])
    found = primitives(jax.make_jaxpr(width.block_norms)(factors[-1], flat(queries)).jaxpr)
    of_a_norm = {"convert_element_type", "integer_pow", "jit", "mul", "reduce_sum", "sqrt", "square"}
    one = found["dot_general"] == 1 and set(found) <= {"dot_general", *of_a_norm}
    assert width.by_product == one, dict(found)


@every
def test_rows_that_were_solved_for_ahead_have_the_same_widths(row):
    blocks, factors, queries = trained(row)
    ahead = row.width.whiten(factors[1], queries).lookahead()
    if ahead is None:
        assert not row.width.resolved(factors[1]).lookahead
        return
    assert row.width.lookahead
    part, some = ahead.part(jnp.asarray(2), 3), jax.tree.map(lambda leaf: leaf[2:5], queries)
    for factor in factors[1:]:  # what came since is taken into account
        close(measured(part, factor, some)[0], measured(row.width, factor, some)[0])
    again, _ = part.absorb(factors[1], row.width.whiten(factors[1], blocks[1]), residual_of(1))
    for left, right in zip(jax.tree.leaves(again), jax.tree.leaves(factors[2]), strict=True):
        close(left, right)


@every
def test_drawn_parameters_have_the_covariance_of_the_width(row):
    """20,000 draws: a variance is within 5 %, which is 5 standard deviations."""
    _, factors, queries = trained(row)
    if not isinstance(row.width, LinearWidth):
        assert not hasattr(row.width, "deviations"), "a width that draws must extend LinearWidth"
        return
    draw = jax.jit(row.width.deviations, static_argnames="num")
    draws = draw(factors[-1], jax.random.key(1), num=20_000)
    assert (draws.shape, draws.dtype) == ((20_000, count_columns(queries)), np.float64)
    np.testing.assert_array_equal(draws[:3], draw(factors[-1], jax.random.key(1), num=20_000)[:3])
    scores = np.asarray(draws) @ plain(queries).T
    norms, covariance, *_ = measured(row.width, factors[-1], queries)
    sizes = np.outer(norms, norms)
    np.testing.assert_allclose(scores.T @ scores / len(scores) / sizes, covariance / sizes, atol=0.05)
    np.testing.assert_allclose(scores.mean(axis=0) / norms, np.zeros(QUERIES), atol=0.04)


@pytest.mark.parametrize(
    ("width", "message"),
    [
        (widths.Sketched(0), "sketched width: rank must be >= 1, got 0"),
        (
            widths.Dual("float16"),
            "dual width: precision must be one of 'float32', 'float64', got 'float16'; "
            "did you mean 'float64'?",
        ),
    ],
)
def test_a_width_that_cannot_be_is_refused_before_any_round(width, message):
    for draw in (matrix_rows, layer_rows):
        with pytest.raises(ValueError) as error:
            width.check(like(draw(np.random.default_rng(0), 1)), SEEN)
        assert str(error.value) == message
