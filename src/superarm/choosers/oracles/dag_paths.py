"""The longest path between two nodes of a directed graph without cycles."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import edge_list, one_per_arm
from superarm.choosers.oracles.native import whole_or_nothing
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["DagPath", "dag_path"]


@pytree
@dataclass(frozen=True)
class DagPath(Oracle):
    """Exact, native. Build it with `dag_path`.

    Nodes that lie on a path are laid out in rows of equal width, so that edges lead to earlier rows only:
    the target is slot 0, the source is alone in the last row.

    Attributes:
        heads: (r, w, g) the slot that each edge out of a slot leads to, for all rows but the target's.
        items: (r, w, g) the number of that edge, L where there is none.
        size: edges of the path with the most edges.
    """

    heads: Array
    items: Array
    size: int = static()
    num_edges: int = static()
    shortest: bool = static(default=False)

    native: ClassVar[bool] = True
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum"})
    factor: ClassVar[float] = 1.0

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than there are edges."""
        one_per_arm("dag_path", "edges", self.num_edges, num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the edges of the best path, from source to target."""
        lengths = jnp.where(mask, -scores if self.shortest else scores, -jnp.inf)
        value, ways = self.values_to_go(key, jnp.append(lengths, -jnp.inf))
        source = self.heads.shape[0] * self.heads.shape[1]
        return whole_or_nothing(self.walk(source, ways), value[source] > -jnp.inf, scores, mask)

    def values_to_go(self, key: Array, lengths: Array) -> tuple[Array, Array]:
        """The length of the best path from each slot to the target, and (r, w, 1) the edge it takes."""
        rows, width, _ = self.heads.shape
        chance = jax.random.uniform(key, self.heads.shape, jnp.float32)
        starts = width * jnp.arange(1, rows + 1, dtype=jnp.int32)

        def step(value: Array, row: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
            heads, edges, tickets, start = row
            through = value[heads] + edges
            best = jnp.max(through, axis=1, keepdims=True)
            way = jnp.argmax(jnp.where(through == best, tickets, -1.0), axis=1, keepdims=True)
            return jax.lax.dynamic_update_slice(value, best[:, 0], (start,)), way

        target = jnp.full((rows + 1) * width, -jnp.inf, lengths.dtype).at[0].set(0.0)
        return jax.lax.scan(step, target, (self.heads, lengths[self.items], chance, starts))

    def walk(self, source: int, ways: Array) -> Array:
        """(size,) the edges met from the source on, then -1."""
        width = self.heads.shape[1]
        heads = jnp.take_along_axis(self.heads, ways, axis=2).ravel()
        items = jnp.take_along_axis(self.items, ways, axis=2).ravel()

        def step(slot: Array, _: None) -> tuple[Array, Array]:
            arrived, row = slot == 0, jnp.maximum(slot - width, 0)
            return jnp.where(arrived, 0, heads[row]), jnp.where(arrived, -1, items[row])

        return jax.lax.scan(step, jnp.int32(source), None, length=self.size)[1]


@checks.named
def dag_path(edges: npt.ArrayLike, *, source: int, target: int, shortest: bool = False) -> DagPath:
    """Find the longest path from source to target in a directed graph without cycles.

        max sum_{e in A} w(e)   over paths A of available edges from source to target

    Exact, by dynamic programming from the target back. The cost grows with nodes times the most edges that
    leave one node, and with the length of the longest path; edges on no path cost nothing.

    Args:
        edges: (L, 2) edge e leads from node edges[e, 0] to node edges[e, 1]; nodes are whole numbers >= 0,
            and two nodes may be joined by several edges.
        source: the node where paths start.
        target: another node, where they end.
        shortest: minimise instead.

    >>> import jax, jax.numpy as jnp
    >>> oracle = dag_path([(0, 1), (1, 2), (0, 2)], source=0, target=2)
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([1.0, 1.0, 1.5]), jnp.ones(3, bool))
    >>> choice.items.tolist()
    [0, 1]
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([1.0, 1.0, 2.5]), jnp.ones(3, bool))
    >>> choice.items.tolist()
    [2, -1]
    """
    where = "dag_path"
    pairs = edge_list(where, edges)
    for name, node in (("source", source), ("target", target)):
        if checks.count(where, name, node, low=0) not in pairs:
            raise ValueError(f"{where}: {name} must be a node of edges, got {node}")
    if source == target:
        raise ValueError(f"{where}: target must differ from source, got {target}")
    depth = _depths(where, pairs, source, target)
    heads, items = _tables(pairs, _slots(depth))
    return DagPath(
        heads=heads, items=items, size=depth[source], num_edges=len(pairs), shortest=bool(shortest)
    )


def _depths(where: str, pairs: np.ndarray[Any, Any], source: int, target: int) -> dict[int, int]:
    """The most edges from each node to the target, for the nodes on a path from source to target."""
    successors: dict[int, set[int]] = defaultdict(set)
    for tail, head in pairs.tolist():
        successors[tail].add(head)
    try:
        order = list(TopologicalSorter(successors).static_order())  # heads before tails
    except CycleError as error:
        cycle = " -> ".join(str(node) for node in reversed(error.args[1]))
        raise ValueError(f"{where}: edges must have no cycle, got {cycle}") from None
    depth = {target: 0}
    for node in order:
        ahead = [depth[head] for head in successors.get(node, ()) if head in depth]
        if ahead:
            depth[node] = 1 + max(ahead)
    if source not in depth:
        raise ValueError(f"{where}: target must be reachable from source, {source}, got {target}")
    reached = {source}
    for node in reversed(order):
        if node in reached:
            reached |= successors.get(node, set())
    return {node: depth[node] for node in order if node in depth and node in reached}


def _slots(depth: dict[int, int]) -> tuple[dict[int, int], int]:
    """Where each node is laid out, and the width of a row.

    Rows are as wide as a level of the graph is on average, and a wider level takes several: that at most
    doubles the rows, and no row is mostly empty because one level is wide.
    """
    levels: dict[int, list[int]] = defaultdict(list)
    for node, level in depth.items():
        levels[level].append(node)
    width = -(-len(depth) // len(levels))
    slots, row = {}, 0
    for level in sorted(levels):
        slots.update({node: row * width + index for index, node in enumerate(levels[level])})
        row += -(-len(levels[level]) // width)
    return slots, width


def _tables(pairs: np.ndarray[Any, Any], layout: tuple[dict[int, int], int]) -> tuple[Any, Any]:
    """The tables `heads` and `items` of `DagPath`."""
    slots, width = layout
    out: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for edge, (tail, head) in enumerate(pairs.tolist()):
        if tail in slots and head in slots:
            out[slots[tail]].append((slots[head], edge))
    shape = (max(out) + 1, max(len(edges) for edges in out.values()))
    shape = (-(-shape[0] // width) * width, shape[1])
    heads, items = np.zeros(shape, np.int32), np.full(shape, len(pairs), np.int32)
    for slot, edges in out.items():
        heads[slot, : len(edges)], items[slot, : len(edges)] = np.transpose(edges)
    stacked = (-1, width, shape[1])
    return heads.reshape(stacked)[1:], items.reshape(stacked)[1:]
