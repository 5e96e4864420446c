"""Rows: the features whose width matters, as a matrix or as the factors of a network's gradients.

The gradient of a layer with matrix W (out, in) for one example is the outer product of its output's
sensitivity (delta) and its input. Kept as these two vectors, n gradients cost n (out + in) numbers instead
of n out in, and <g_i, g_j> is a product of two small inner products per layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from superarm.pytree import pytree
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class LayerRows:
    """Gradients of n examples as factors, one pair per layer.

    Attributes:
        deltas: per layer (n, out), sensitivity of the network's output to the layer's output.
        inputs: per layer (n, in), what the layer was given.
    """

    deltas: tuple[Array, ...]
    inputs: tuple[Array, ...]


@pytree
@dataclass(frozen=True)
class PairRows:
    """Differences of the gradients of n pairs of examples: first - second, as factors."""

    first: LayerRows
    second: LayerRows


Rows = Array | LayerRows | PairRows


def count_rows(rows: Rows) -> int:
    """The number of rows (n)."""
    if isinstance(rows, PairRows):
        return count_rows(rows.first)
    return rows.deltas[0].shape[0] if isinstance(rows, LayerRows) else rows.shape[0]


def count_columns(rows: Rows) -> int:
    """The number of parameters that a row speaks of (p)."""
    if isinstance(rows, PairRows):
        return count_columns(rows.first)
    if isinstance(rows, LayerRows):
        return sum(d.shape[1] * a.shape[1] for d, a in zip(rows.deltas, rows.inputs, strict=True))
    return rows.shape[1]


def cast(rows: Rows, dtype: jnp.dtype) -> Rows:
    """The same rows in another precision."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype), rows)


def scaled(rows: Rows, factor: Array) -> Rows:
    """Every row times a number."""
    if isinstance(rows, PairRows):
        return _both(lambda one: scaled(one, factor), rows)
    if isinstance(rows, LayerRows):
        return LayerRows(tuple(delta * factor.astype(delta.dtype) for delta in rows.deltas), rows.inputs)
    return rows * factor.astype(rows.dtype)


def weighted(rows: Rows, weights: Array) -> Rows:
    """Every row times a number of its own, weights (n,)."""
    if isinstance(rows, PairRows):
        return _both(lambda one: weighted(one, weights), rows)
    if isinstance(rows, LayerRows):
        deltas = tuple(delta * weights[:, None].astype(delta.dtype) for delta in rows.deltas)
        return LayerRows(deltas, rows.inputs)
    return rows * weights[:, None].astype(rows.dtype)


def only(rows: Rows, keep: Array) -> Rows:
    """The rows with 0 where keep (n,) is False."""
    return jax.tree.map(lambda leaf: jnp.where(keep[:, None], leaf, 0.0), rows)


def flat(rows: Rows) -> Array:
    """(n, p) the rows as a matrix."""
    if isinstance(rows, PairRows):
        return flat(rows.first) - flat(rows.second)
    if not isinstance(rows, LayerRows):
        return rows
    count = count_rows(rows)
    outer = [d[:, :, None] * a[:, None, :] for d, a in zip(rows.deltas, rows.inputs, strict=True)]
    return jnp.concatenate([layer.reshape(count, -1) for layer in outer], axis=1)


def products(rows: Rows, others: Rows) -> Array:
    """(n, n') inner products of two sets of rows."""
    if not isinstance(rows, LayerRows) or not isinstance(others, LayerRows):
        return flat(rows) @ flat(others).T
    layers = zip(rows.deltas, rows.inputs, others.deltas, others.inputs, strict=True)
    terms = [(delta @ delta_.T) * (inputs @ inputs_.T) for delta, inputs, delta_, inputs_ in layers]
    return sum(terms[1:], terms[0])


def squares(rows: Rows) -> Array:
    """(n,) squared norms."""
    if not isinstance(rows, LayerRows):
        return jnp.sum(flat(rows) ** 2, axis=1)
    layers = zip(rows.deltas, rows.inputs, strict=True)
    terms = [jnp.sum(delta**2, axis=1) * jnp.sum(inputs**2, axis=1) for delta, inputs in layers]
    return sum(terms[1:], terms[0])


def weighted_squares(rows: Rows, weights: Array) -> Array:
    """(n,) sum_j weights_j x_ij^2 for weights (p,), without forming the n x p matrix of factors."""
    if not isinstance(rows, LayerRows):
        return flat(rows) ** 2 @ weights
    total, start = jnp.zeros(count_rows(rows), weights.dtype), 0
    for delta, inputs in zip(rows.deltas, rows.inputs, strict=True):
        out, size = delta.shape[1], inputs.shape[1]
        block = weights[start : start + out * size].reshape(out, size)
        total = total + jnp.sum((delta**2 @ block) * inputs**2, axis=1)
        start += out * size
    return total


def column_squares(rows: Rows) -> Array:
    """(p,) sum_i x_ij^2."""
    if isinstance(rows, PairRows):  # (a - b)^2 = a^2 + b^2 - 2 a b, each a product of factors
        one, two = rows.first, rows.second
        mixed = [
            ((delta * delta_).T @ (inputs * inputs_)).reshape(-1)
            for delta, delta_, inputs, inputs_ in zip(
                one.deltas, two.deltas, one.inputs, two.inputs, strict=True
            )
        ]
        return jnp.maximum(column_squares(one) + column_squares(two) - 2.0 * jnp.concatenate(mixed), 0.0)
    if not isinstance(rows, LayerRows):
        return jnp.sum(rows**2, axis=0)
    layers = zip(rows.deltas, rows.inputs, strict=True)
    return jnp.concatenate([((delta**2).T @ inputs**2).reshape(-1) for delta, inputs in layers])


def _both(change: Callable[[LayerRows], Rows], rows: PairRows) -> PairRows:
    """The rows with a change of both sides."""
    return jax.tree.map(change, rows, is_leaf=lambda one: isinstance(one, LayerRows))
