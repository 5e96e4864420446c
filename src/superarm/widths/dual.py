"""The dual form: the exact width from inner products of the rows seen, whatever the number of parameters.

With rows X (t, p), prior scale s and K = s^2 X X', the full width is

    x' (I / s^2 + X'X)^-1 x  =  s^2 x'x - |L^-1 k|^2,   L L' = I + K,   k = s^2 X x.

The triangle is kept as U = L' in square tiles, and only those in use are ever read: a query of n widths costs
n t^2 operations and t^2 / 2 numbers of memory, where the full form takes 2 n p^2 and p^2. Rows that are
gradients of a network stay in their factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.contract import Whitened, Width
from superarm.pytree import pytree, static
from superarm.rows import Rows, cast, count_rows, only, products, squares
from superarm.types import Array

PRECISIONS = ("float32", "float64")
TILE = 256  # rows of a tile: enough for matrix products at full rate, few enough for short histories


@pytree
@dataclass(frozen=True)
class DualFactor:
    """The rows seen and the factor of their Gram matrix.

    Attributes:
        rows: the capacity of rows, those after `count` unused.
        upper: (b (b + 1) / 2, TILE, TILE) the upper triangle U, tile (j, i) at i (i + 1) / 2 + j; its unused
            part is the identity.
        count: () rows in use.
        dropped: () rows that came when the capacity was used up; widths stay those of the rows kept, which
            are never too small.
        scale: () prior standard deviation s.
        logdet: () log det (I + K).
    """

    rows: Rows
    upper: Array
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
class DualWhitened(Whitened):
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

    def lookahead(self) -> DualAhead:
        """The rows as a width that has solved for them."""
        return DualAhead(self.rows, self.solved, self.count)

    def only(self, keep: Array) -> DualWhitened:
        """The same with rows of 0 where keep (n,) is False."""
        return replace(self, rows=only(self.rows, keep), solved=jnp.where(keep[:, None], self.solved, 0.0))

    def take(self, items: Array) -> DualWhitened:
        """The same of some of the rows."""
        rows = jax.tree.map(lambda leaf: leaf[items], self.rows)
        return replace(self, rows=rows, solved=self.solved[items])


@pytree
@dataclass(frozen=True)
class Dual(Width):
    """Width ||x||_{Z^-1} from the rows seen. O(n t^2) per query of n widths after t observations, O(k t) per
    block of k rows.

    Args:
        precision: of the triangle: "float64"; "float32" halves time and memory, and its widths are good to
            about 1e-4 of the prior's.
    """

    lookahead: ClassVar[bool] = True

    precision: str = static(default="float64")

    def init(self, like: Rows, scale: Array, capacity: int) -> DualFactor:
        """Return the factor of N(0, scale^2 I), with room for `capacity` rows like the given ones."""
        blocks = room(capacity) // TILE
        dtype = jnp.dtype(self.precision)
        rows = jax.tree.map(lambda leaf: jnp.zeros((blocks * TILE, leaf.shape[1]), leaf.dtype), like)
        tiles = jnp.zeros((blocks * (blocks + 1) // 2, TILE, TILE), dtype)
        diagonal = jnp.arange(blocks) * (jnp.arange(blocks) + 3) // 2
        zero = jnp.zeros((), jnp.int64)
        return DualFactor(
            rows=rows,
            upper=tiles.at[diagonal].set(jnp.eye(TILE, dtype=dtype)[None]),
            count=zero,
            dropped=zero,
            scale=jnp.asarray(scale, dtype),
            logdet=jnp.zeros((), jnp.float64),
        )

    def check(self, like: Rows, capacity: int) -> None:
        """Refuse to keep rows without knowing how many will come."""
        checks.one_of("dual width", "precision", self.precision, PRECISIONS)
        if capacity < 1:
            raise ValueError(
                "dual width: spec.capacity must say how many observations will come, got 0; state it, or "
                "choose 'full', 'sketched', 'last-layer' or 'diagonal'"
            )

    def capacity(self, factor: DualFactor) -> int:
        """Rows that there is room for."""
        return factor.capacity

    def whiten(self, factor: DualFactor, rows: Rows, solved: Array | int = 0, since: Any = 0) -> DualWhitened:
        """Solve y U = k' for every new row, block by block, over the blocks in use.

        Where the same rows were solved for before, when `since` rows were in use, only what came after is.
        """
        dtype = factor.upper.dtype
        new = cast(rows, dtype)

        def solve_block(block: Array, solved: Array) -> Array:
            seen = jax.tree.map(
                lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, block * TILE, TILE), factor.rows
            )
            kernel = products(new, cast(seen, dtype)) * factor.scale**2
            used = block * TILE + jnp.arange(TILE) < factor.count
            first = block * (block + 1) // 2

            def subtract(row: Array, rest: Array) -> Array:
                part = jax.lax.dynamic_slice_in_dim(solved, row * TILE, TILE, axis=1)
                return rest - part @ factor.upper[first + row]

            rest = jax.lax.fori_loop(0, block, subtract, jnp.where(used[None], kernel, 0.0))
            corner = factor.upper[first + block]
            done = jax.lax.linalg.triangular_solve(corner, rest, left_side=False, lower=False)
            return jax.lax.dynamic_update_slice_in_dim(solved, done, block * TILE, axis=1)

        known = since // TILE  # whole blocks
        before = jnp.where(jnp.arange(factor.capacity) < known * TILE, solved, jnp.zeros((), dtype))
        start = jnp.broadcast_to(before, (count_rows(rows), factor.capacity))
        in_use = (factor.count + TILE - 1) // TILE
        found = jax.lax.fori_loop(known, in_use, solve_block, start)
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

        def write(index: Array, tiles: Array) -> Array:
            line = whitened.solved[index].at[place].set(triangle[index], mode="drop")
            return _write_column(tiles, line.reshape(-1, TILE, 1), place[index], room[index])

        tiles = jax.lax.fori_loop(0, count, write, factor.upper)
        rows = jax.tree.map(
            lambda kept, new: kept.at[place].set(new.astype(kept.dtype), mode="drop"),
            factor.rows,
            whitened.rows,
        )
        gain = 2.0 * jnp.sum(jnp.log(jnp.diagonal(triangle)))
        return DualFactor(
            rows=rows,
            upper=tiles,
            count=factor.count + jnp.sum(room),
            dropped=factor.dropped + jnp.sum(keep & ~room),
            scale=factor.scale,
            logdet=factor.logdet + gain.astype(jnp.float64),
        ), ()


@pytree
@dataclass(frozen=True)
class DualAhead(Width):
    """A dual width that has solved for rows before they are asked for, many at once, which is faster.

    Attributes:
        rows: those that will be asked for; computed anew, few at a time, they may round otherwise, and what
            is solved is these rows'.
        solved: (n, t) of them.
        since: () rows in use at that time; later ones are taken into account when asked.
    """

    rows: Rows
    solved: Array
    since: Array

    def part(self, start: Array, count: int) -> DualAhead:
        """The same for some of the rows."""

        def own(leaf: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(leaf, start, count)

        rows, solved = jax.tree.map(own, (self.rows, self.solved))
        return DualAhead(rows, solved, self.since)

    def whiten(self, factor: DualFactor, rows: Rows) -> DualWhitened:
        """Solve for what came since."""
        return Dual().whiten(factor, self.rows, self.solved, self.since)

    def init(self, like: Rows, scale: Array, capacity: int) -> DualFactor:
        """As `Dual`."""
        return Dual().init(like, scale, capacity)

    def check(self, like: Rows, capacity: int) -> None:
        """As `Dual`."""
        Dual().check(like, capacity)

    def absorb(self, factor: DualFactor, whitened: DualWhitened, residual: Array) -> tuple[DualFactor, Any]:
        """As `Dual`."""
        return Dual().absorb(factor, whitened, residual)


def room(capacity: int) -> int:
    """Rows that there is room for when so many are asked for: whole tiles."""
    return -(-capacity // TILE) * TILE


def _write_column(tiles: Array, line: Array, place: Array, write: Array) -> Array:
    """Write line (b, TILE, 1) as column `place` of U, tile by tile down to the diagonal."""
    block, column = place // TILE, place % TILE
    first = block * (block + 1) // 2

    def write_tile(row: Array, tiles: Array) -> Array:
        return jax.lax.dynamic_update_slice(tiles, line[row][None], (first + row, 0, column))

    return jax.lax.fori_loop(0, jnp.where(write, block + 1, 0), write_tile, tiles)
