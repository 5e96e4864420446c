"""The longest path across a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers.oracles.arguments import one_per_arm
from superarm.choosers.oracles.native import whole_or_nothing
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["GridPath", "grid_path"]


@pytree
@dataclass(frozen=True)
class GridPath(Oracle):
    """Exact, native, O(m^2) in 2m vector steps. Build it with `grid_path`."""

    m: int = static()
    shortest: bool = static(default=False)

    native: ClassVar[bool] = True
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum"})
    factor: ClassVar[float] = 1.0

    @property
    def size(self) -> int:
        """2m, the edges of every path."""
        return 2 * self.m

    @property
    def num_edges(self) -> int:
        """L = 2m(m + 1), the edges of the grid."""
        return 2 * self.m * (self.m + 1)

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than the grid has edges."""
        one_per_arm("grid_path", f"the edges of a grid with m = {self.m}", self.num_edges, num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the edges of the best path, from the upper left to the lower right."""
        lengths = jnp.where(mask, -scores if self.shortest else scores, -jnp.inf)
        right, down = self.diagonals(lengths)
        best, downwards = _values_to_go(right, down, self.coins(key))
        return whole_or_nothing(self.walk(downwards), best > -jnp.inf, scores, mask)

    def diagonals(self, lengths: Array) -> tuple[Array, Array]:
        """Two (2m, m + 1) tables: the edges right and down from node (i, d - i), -inf where there is none."""
        split = self.num_edges // 2
        right = lengths[:split].reshape(self.m + 1, self.m)
        down = lengths[split:].reshape(self.m, self.m + 1)
        below = jnp.pad(down, ((0, 1), (0, 0)), constant_values=-jnp.inf)
        return _skewed(right), _skewed(below)[: self.size]

    def coins(self, key: Array) -> Array:
        """(2m, m + 1) a coin per node, for ties; 32 of them from one random word."""
        words = jax.random.bits(key, (self.size, self.m // 32 + 1, 1), jnp.uint32)
        bits = (words >> jnp.arange(32, dtype=jnp.uint32)[None, None]) & jnp.uint32(1)
        coins: Array = bits.reshape(self.size, -1)[:, : self.m + 1].astype(bool)
        return coins

    def walk(self, downwards: Array) -> Array:
        """(2m,) the edges met from the upper left on, where downwards (2m, m + 1) tells each node's way."""

        def step(row: Array, choices: Array) -> tuple[Array, tuple[Array, Array]]:
            goes_down = choices[row]
            return row + goes_down.astype(jnp.int32), (row, goes_down)

        _, (rows, went_down) = jax.lax.scan(step, jnp.int32(0), downwards)
        columns = jnp.arange(self.size, dtype=jnp.int32) - rows
        down_edges = self.num_edges // 2 + rows * (self.m + 1) + columns
        return jnp.where(went_down, down_edges, rows * self.m + columns)


@checks.named
def grid_path(m: int, *, shortest: bool = False) -> GridPath:
    """Find the longest path from the upper left to the lower right corner of a grid, by steps right and down.

        max sum_{e in A} w(e)   over paths A on (m + 1) x (m + 1) nodes; |A| = 2m of L = 2m(m + 1) edges

    Exact, by dynamic programming over the 2m diagonals; the cost grows with m^2.

    Args:
        m: edges along each side, >= 1.
        shortest: minimise instead.

    Node (i, j) is in row i and column j, both from 0 to m. Edges are numbered row by row, those to the right
    first:

        (i, j) -> (i, j + 1)   i m + j                        i = 0 ... m,      j = 0 ... m - 1
        (i, j) -> (i + 1, j)   m (m + 1) + i (m + 1) + j      i = 0 ... m - 1,  j = 0 ... m

    >>> import jax, jax.numpy as jnp
    >>> oracle = grid_path(1)  # edges 0: top, 1: bottom, 2: left, 3: right side
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([1.0, 5.0, 2.0, 4.0]), jnp.ones(4, bool))
    >>> choice.items.tolist()  # down the left side (2), then along the bottom (5)
    [2, 1]

    The stochastic longest path of Wen, Kveton & Ashkan (2015), section 6.1, is learned on this grid.
    """
    return GridPath(m=checks.count("grid_path", "m", m), shortest=bool(shortest))


def _skewed(table: Array) -> Array:
    """(r + c - 1, r) from (r, c): row d holds the entries (i, d - i) of the table, -inf outside of it.

    Rows padded to width r + c and read again with width r + c - 1 move one column to the right per row: the
    diagonals line up without an index table.
    """
    rows, columns = table.shape
    width = rows + columns
    padded = jnp.pad(table, ((0, 0), (0, rows)), constant_values=-jnp.inf)
    return padded.reshape(-1)[: rows * (width - 1)].reshape(rows, width - 1).T


def _values_to_go(right: Array, down: Array, coins: Array) -> tuple[Array, Array]:
    """() the length of the best path, and (2m, m + 1) True where it goes down from that node."""

    def step(value: Array, edges: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        edge_right, edge_down, coin = edges
        if_right = value + edge_right
        if_down = jnp.roll(value, -1) + edge_down
        goes_down = (if_down > if_right) | ((if_down == if_right) & coin)
        return jnp.where(goes_down, if_down, if_right), goes_down

    corner = jnp.full(right.shape[1], -jnp.inf, right.dtype).at[-1].set(0.0)
    value, downwards = jax.lax.scan(step, corner, (right, down, coins), reverse=True)
    return value[0], downwards
