"""Bounds of LinUCB's scores from a quarter of their arithmetic, by which most of a catalogue is left out.

With eigenvalues s_k and eigenvectors v_k of Sigma, width^2 = x' Sigma x = sum_k s_k z_k^2 for z_k = v_k'x. A
quarter of the directions is looked at, the widest and the narrowest. The rest of x has the square length
|x|^2 - sum_k z_k^2, and none of it is wider than s, the widest direction left:

    width^2 <= s |x|^2 + sum_k (s_k - s) z_k^2,   k looked at.

How many of the widest it is, a sample of the items says. Few are enough where items are seen most in the
directions in which they vary most; all of them are needed for groups of indicators, whose sums are fixed, so
that differences of sums are never seen and stay as wide as at first.

Of any items that are scored, the size-th best has a score that all of the best reach. It is taken of those
with the highest bounds, and items whose bounds do not reach it are left out: nothing is approximate.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from superarm.contract import Beliefs, Explorer
from superarm.policy import Policy
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array, State

MIN_FEATURES = 32  # with fewer, bounds take nearly as long as scores
MAX_SIZE = 1024  # of a list: to find as many by their bounds takes longer than is saved
TRACE = 1e-30  # a square: float32 drops those below 1e-38, and no score is told by its root


@pytree
@dataclass(frozen=True)
class Bounds:
    """What bounds the mean and the width of rows (n, d).

    columns: (d, c) the posterior mean and the directions looked at, each times sqrt|s_k - s|.
    signs: (c,) 0 for the mean, and of s_k - s.
    rest: () sqrt(s); slacks: (2,) what rounding may take from mean and width, in lengths of x.
    """

    columns: Array
    signs: Array
    rest: Array
    slacks: Array


def bounded(policy: Policy, dim: int, size: int) -> bool:
    """Whether scores have bounds, and bounding them may pay."""
    return policy.traits.bounded and dim >= MIN_FEATURES and size <= MAX_SIZE


@jax.jit
def bounds_of(state: State, sample: Array) -> Bounds:
    """Return the bounds of a linear model's state with the full width, best for items like a sample (m, d).

    With u = 2^-24, a product of d terms is off by at most d u |x||w|, in whatever order they are added: a
    mean by d u |x||mean|, a width by 1.5 d u |x| sqrt(trace Sigma), here and again where it is scored;
    squares that are subtracted, by (sqrt(d) + 2) d u s |x|^2. A slack of 2 d^(3/2) u covers each: 6e-5 for
    d = 64.
    """
    mean, root = state.record.mean.astype(FLOAT), state.record.factor.root.astype(FLOAT)
    dim, num = root.shape[0], root.shape[0] // 4 - 1
    values, vectors = jnp.linalg.eigh(root @ root.T)  # ascending
    # What is left when 0, 1, ..., num of the widest are looked at, and how far its bound is off: (num + 1,).
    left = np.arange(num, -1, -1)[:, None] + np.arange(dim - num)[None]
    energies = jnp.mean((sample.astype(FLOAT) @ vectors) ** 2, axis=0)
    excess = jnp.sum((values[left[:, -1:]] - values[left]) * energies[left], axis=1)
    widest = jnp.argmin(excess)
    ends = (jnp.arange(num) - widest) % dim
    rest = values[dim - 1 - widest]
    gains = values[ends] - rest
    slack = dim**1.5 * 2.0**-23
    bounds = Bounds(
        columns=jnp.column_stack([mean, vectors[:, ends] * jnp.sqrt(jnp.abs(gains))[None]]),
        signs=jnp.append(jnp.zeros(1, FLOAT), jnp.sign(gains)),
        rest=jnp.sqrt(rest * (1.0 + slack)),
        slacks=slack * jnp.stack([jnp.linalg.norm(mean), jnp.linalg.norm(root)]),
    )
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), bounds)


@dataclass(frozen=True)
class _Highest(Beliefs):
    """Beliefs (n,) at their highest, for an explorer whose scores rise with mean and width."""

    mean: Array
    width: Array
    logdet: Array

    def norms(self) -> Array:
        return self.width


def upper(policy: Policy, state: State, bounds: Bounds, key: Array, count: Array, rows: Array) -> Array:
    """(n,) no less than the scores of rows (n, d) in single precision; NaN where they fall with the width."""
    products = rows @ bounds.columns
    lengths = jnp.sqrt(jnp.sum(rows**2, axis=1) + TRACE)
    square_widths = (bounds.rest * lengths) ** 2 + jnp.sum(bounds.signs[None] * products**2, axis=1)
    logdet = state.record.factor.logdet
    highest = _Highest(
        mean=products[:, 0] + bounds.slacks[0] * lengths,
        width=jnp.sqrt(square_widths + TRACE) + bounds.slacks[1] * lengths,
        logdet=logdet,
    )
    scores = policy.explorer.scores(key, highest, count)
    rises = _rises(policy.explorer, key, highest, count)
    return jnp.where(rises, scores, jnp.nan).astype(jnp.float32)  # as scores are: rounding keeps their order


def _rises(explorer: Explorer, key: Array, highest: _Highest, count: Array) -> Array:
    """() whether the wider of two arms scores no lower: it does, but for a radius below zero."""
    ends = jnp.arange(2, dtype=highest.width.dtype)
    two = _Highest(mean=jnp.zeros_like(ends), width=ends, logdet=highest.logdet)
    narrow, wide = explorer.scores(key, two, count)
    return wide >= narrow
