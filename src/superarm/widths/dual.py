"""The dual form: the exact width from inner products of the rows seen, whatever the number of parameters.

With rows X (t, p), prior scale s and K = s^2 X X', the full width is

    x' (I / s^2 + X'X)^-1 x  =  s^2 x'x - |L^-1 k|^2,   L L' = I + K,   k = s^2 X x.

The triangle is kept as U = L' in slabs, and only those in use are ever read: a query of n widths costs n t^2
operations and t^2 / 2 numbers of memory, where the full form takes 2 n p^2 and p^2. Rows that are gradients
of a network stay in their factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm.types import Array, pytree, static
from superarm.widths.rows import Rows, cast, count_rows, only, products, squares

TILE = 256  # columns of U solved at a time: enough for fast products, few enough for short histories
WIDE = (
    2  # tiles in a slab: products of (n, 512) by (512, 256) run at twice the rate of (n, 256) by (256, 256)
)


@pytree
@dataclass(frozen=True)
class DualFactor:
    """The rows seen and the factor of their Gram matrix.

    Attributes:
        rows: the capacity of rows, those after `count` unused.
        slabs: (s, WIDE TILE, TILE) the upper triangle U by columns of TILE, those of column block i from
            `_first(i)` on, whole slabs down to the diagonal; its unused part is the identity.
        count: () rows in use.
        dropped: () rows that came when the capacity was used up; widths stay those of the rows kept, which
            are never too small.
        scale: () prior standard deviation s.
        logdet: () log det (I + K).
    """

    rows: Rows
    slabs: Array
    count: Array
    dropped: Array
    scale: Array
    logdet: Array

    @property
    def capacity(self) -> int:
        """Rows that there is room for."""
        return count_rows(self.rows)


@pytree
@dataclass(frozen=True)
class DualWhitened:
    """New rows, and solved (n, t) = (L^-1 k)' of each, with room for all rows seen: `count` of them."""

    rows: Rows
    solved: Array
    scale: Array
    count: Array

    def norms(self) -> Array:
        """(n,) widths."""
        variance = squares(self.rows) * self.scale**2 - jnp.sum(self.solved**2, axis=1)
        return jnp.sqrt(jnp.maximum(variance, 0.0))  # a direction seen often may round below 0

    def covariance(self) -> Array:
        """(n, n) covariance of the rows' scores."""
        return products(self.rows, self.rows) * self.scale**2 - self.solved @ self.solved.T

    def only(self, keep: Array) -> DualWhitened:
        """The same with rows of 0 where keep (n,) is False."""
        return replace(self, rows=only(self.rows, keep), solved=jnp.where(keep[:, None], self.solved, 0.0))

    def take(self, items: Array) -> DualWhitened:
        """The same of some of the rows."""
        rows = jax.tree.map(lambda leaf: leaf[items], self.rows)
        return replace(self, rows=rows, solved=self.solved[items])


@pytree
@dataclass(frozen=True)
class Dual:
    """Width ||x||_{Z^-1} from the rows seen. O(n t^2) per query of n widths after t observations, O(k t) per
    block of k rows.

    Args:
        precision: of the triangle: "float64"; "float32" halves time and memory, and its widths are good to
            about 1e-4 of the prior's.
    """

    precision: str = static(default="float64")

    def init(self, like: Rows, scale: Array, capacity: int) -> DualFactor:
        """Return the factor of N(0, scale^2 I), with room for `capacity` rows like the given ones."""
        blocks = room(capacity) // TILE
        dtype = jnp.dtype(self.precision)
        rows = jax.tree.map(lambda leaf: jnp.zeros((blocks * TILE, leaf.shape[1]), leaf.dtype), like)
        slabs = jnp.zeros((_first(blocks), WIDE * TILE, TILE), dtype)
        block, row = jnp.divmod(jnp.arange(blocks * TILE), TILE)
        diagonal = (_first(block) + block // WIDE, block % WIDE * TILE + row, row)
        zero = jnp.zeros((), jnp.int64)
        return DualFactor(
            rows=rows,
            slabs=slabs.at[diagonal].set(jnp.ones((), dtype)),
            count=zero,
            dropped=zero,
            scale=jnp.asarray(scale, dtype),
            logdet=jnp.zeros((), jnp.float64),
        )

    def check(self, like: Rows, capacity: int) -> None:
        """Refuse to keep rows without knowing how many will come."""
        if capacity < 1:
            raise ValueError(
                "dual width: spec.capacity must say how many observations will come, got 0; state it, or "
                "choose 'full', 'sketched', 'last-layer' or 'diagonal'"
            )

    def whiten(self, factor: DualFactor, rows: Rows, solved: Array | int = 0, since: Any = 0) -> DualWhitened:
        """Solve y U = k' for every new row, block by block, over the blocks in use.

        Where the same rows were solved for before, when `since` rows were in use, only what came after is.
        """
        dtype = factor.slabs.dtype
        new = cast(rows, dtype)
        width, wide = count_rows(rows), WIDE * TILE

        def solve_block(block: Array, solved: Array) -> Array:
            seen = jax.tree.map(
                lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, block * TILE, TILE), factor.rows
            )
            kernel = products(new, cast(seen, dtype)) * factor.scale**2
            used = block * TILE + jnp.arange(TILE) < factor.count
            first = _first(block)

            # A slab may reach down to the diagonal, where nothing is solved yet: products with 0.
            def subtract(slab: Array, rest: Array) -> Array:
                part = jax.lax.dynamic_slice_in_dim(solved, slab * wide, wide, axis=1)
                return rest - part @ factor.slabs[first + slab]

            rest = jax.lax.fori_loop(
                0, (block + WIDE - 1) // WIDE, subtract, jnp.where(used[None], kernel, 0.0)
            )
            corner = jax.lax.dynamic_slice(
                factor.slabs, (first + block // WIDE, block % WIDE * TILE, 0), (1, TILE, TILE)
            )[0]
            done = jax.lax.linalg.triangular_solve(corner, rest, left_side=False, lower=False)
            return jax.lax.dynamic_update_slice_in_dim(solved, done, block * TILE, axis=1)

        known = since // TILE  # whole blocks
        before = jnp.where(jnp.arange(factor.capacity) < known * TILE, solved, jnp.zeros((), dtype))
        start = jnp.zeros((width, -(-factor.capacity // wide) * wide), dtype)
        start = start.at[:, : factor.capacity].set(before)
        in_use = (factor.count + TILE - 1) // TILE
        found = jax.lax.fori_loop(known, in_use, solve_block, start)[:, : factor.capacity]
        return DualWhitened(rows=new, solved=found, scale=factor.scale, count=factor.count)

    def absorb(self, factor: DualFactor, whitened: DualWhitened, residual: Array) -> tuple[DualFactor, Any]:
        """Append the rows that are not 0; the dual form has no parameters to shift."""
        capacity = factor.capacity
        size = squares(whitened.rows)
        keep = size > 0.0  # a row of zeros moves nothing
        place = factor.count + jnp.cumsum(keep) - 1
        room = keep & (place < capacity)
        count = size.shape[0]
        # Rows that are not kept become the identity's, which adds 0 to the logarithm.
        corner = jnp.eye(count, dtype=size.dtype) + jnp.where(
            room[:, None] & room[None], whitened.covariance(), 0.0
        )
        triangle = jnp.linalg.cholesky(corner)
        place = jnp.where(room, place, capacity)  # out of bounds: dropped by the writes

        def write(index: Array, slabs: Array) -> Array:
            line = whitened.solved[index].at[place].set(triangle[index], mode="drop")
            return _write_column(slabs, line, place[index], room[index])

        slabs = jax.lax.fori_loop(0, count, write, factor.slabs)
        rows = jax.tree.map(
            lambda kept, new: kept.at[place].set(new.astype(kept.dtype), mode="drop"),
            factor.rows,
            whitened.rows,
        )
        gain = 2.0 * jnp.sum(jnp.log(jnp.diagonal(triangle)))
        return DualFactor(
            rows=rows,
            slabs=slabs,
            count=factor.count + jnp.sum(room),
            dropped=factor.dropped + jnp.sum(keep & ~room),
            scale=factor.scale,
            logdet=factor.logdet + gain.astype(jnp.float64),
        ), ()


@pytree
@dataclass(frozen=True)
class DualAhead:
    """A dual width that has solved for rows before they are asked for, many at once, which is faster.

    Attributes:
        solved: (n, t) of the rows that will be asked for.
        since: () rows in use at that time; later ones are taken into account when asked.
    """

    solved: Array
    since: Array

    def whiten(self, factor: DualFactor, rows: Rows) -> DualWhitened:
        """Solve for what came since."""
        return Dual().whiten(factor, rows, self.solved, self.since)


def room(capacity: int) -> int:
    """Rows that there is room for when so many are asked for: whole tiles."""
    return -(-capacity // TILE) * TILE


def _first(block: Any) -> Any:
    """Slabs before a block of columns: the sum over r < block of r // WIDE + 1."""
    whole, rest = block // WIDE, block % WIDE
    return WIDE * (whole * (whole + 1) // 2) + rest * (whole + 1)


def _write_column(slabs: Array, line: Array, place: Array, write: Array) -> Array:
    """Write line (t,) as column `place` of U, slab by slab down to the diagonal."""
    block, column = place // TILE, place % TILE
    wide = WIDE * TILE
    padded = jnp.pad(line, (0, -line.shape[0] % wide)).reshape(-1, wide, 1)

    def write_slab(slab: Array, slabs: Array) -> Array:
        return jax.lax.dynamic_update_slice(slabs, padded[slab][None], (_first(block) + slab, 0, column))

    return jax.lax.fori_loop(0, jnp.where(write, block // WIDE + 1, 0), write_slab, slabs)
