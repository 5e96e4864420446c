"""Streams of rows, matrices or layer factors, and the information matrix that they make, in plain NumPy."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from superarm.rows import LayerRows, PairRows

TILE = 8  # of the dual width in tests: small, so that a short history crosses tiles
BLOCKS, SIZE, SEEN = 12, 5, 30  # events, slots of each, and slots observed in all: half, at random
LAYERS = ((5, 6), (2, 5))  # (out, in): p = 40 > SEEN
QUERIES = 7


def layer_rows(rng, *leading, layers=LAYERS) -> LayerRows:
    return LayerRows(
        deltas=tuple(jnp.asarray(rng.normal(size=(*leading, out))) for out, _ in layers),
        inputs=tuple(jnp.asarray(rng.normal(size=(*leading, size))) for _, size in layers),
    )


def matrix_rows(rng, *leading, dim=6) -> jax.Array:
    return jnp.asarray(rng.normal(size=(*leading, dim)))


def plain(rows) -> np.ndarray:
    """The flat matrix (..., p), by NumPy: each layer's outer product, row by row."""
    if isinstance(rows, PairRows):
        return plain(rows.first) - plain(rows.second)
    if not isinstance(rows, LayerRows):
        return np.asarray(rows)
    outer = [
        np.einsum("...o,...i->...oi", delta, inputs)
        for delta, inputs in zip(rows.deltas, rows.inputs, strict=True)
    ]
    return np.concatenate([layer.reshape(*layer.shape[:-2], -1) for layer in outer], axis=-1)


def stream(width, scale, rows, observed, residual, queries, *, capacity=SEEN):
    """Absorb blocks (b, k, ...) in order: the factor, each block's shift, norms (b, n) after each."""
    return compiled_stream(width, np.asarray(scale), rows, observed, residual, queries, capacity)


@functools.partial(jax.jit, static_argnames=("capacity",))
def compiled_stream(width, scale, rows, observed, residual, queries, capacity):
    like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((1, leaf.shape[-1]), leaf.dtype), rows)

    def step(factor, block):
        rows, observed, residual = block
        whitened = width.whiten(factor, rows).only(observed)
        factor, shift = width.absorb(factor, whitened, jnp.where(observed, residual, 0.0))
        return factor, (shift, width.whiten(factor, queries).norms())

    factor, (shifts, norms) = jax.lax.scan(
        step, width.init(like, scale, capacity), (rows, observed, residual)
    )
    return factor, shifts, norms, width.whiten(factor, queries).covariance()


def mask_of(rng, count=SEEN):
    """(b, k) with `count` True."""
    return (rng.permutation(BLOCKS * SIZE) < count).reshape(BLOCKS, SIZE)


def history_of(rng, draw):
    """Rows (b, k), which were observed, residuals and queries; some of these are rows seen."""
    rows, observed = draw(rng, BLOCKS, SIZE), mask_of(rng)
    queries = jax.tree.map(
        lambda fresh, seen: jnp.concatenate([fresh, seen[0, :2]]), draw(rng, QUERIES - 2), rows
    )
    return rows, observed, rng.normal(size=(BLOCKS, SIZE)), queries


def information(rows, observed, ridge):
    """Z = lambda I + X'X after each block (b, p, p)."""
    x = np.where(observed[:, :, None], plain(rows), 0.0)
    return ridge * np.eye(x.shape[-1]) + np.cumsum(np.einsum("bki,bkj->bij", x, x), axis=0)


def widths_of(matrix, queries):
    """sqrt(x' Z^-1 x), and the covariance, by a solve."""
    x = plain(queries)
    covariance = x @ np.linalg.solve(matrix, x.T)
    return np.sqrt(np.diag(covariance)), covariance


DRAWS = {"n > p": matrix_rows, "p > n, layers": layer_rows}
