"""The spanning tree with the highest sum of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import below, edge_list, one_per_arm
from superarm.choosers.oracles.host import NDArray, searched
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["SpanningTree", "spanning_tree"]


@pytree
@dataclass(frozen=True)
class SpanningTree(Oracle):
    """Exact, on the host, O(L log L). Build it with `spanning_tree`.

    Attributes:
        edges: (L, 2) the nodes that each edge joins, the smaller first.
    """

    edges: Array
    num_nodes: int = static()

    native: ClassVar[bool] = False
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum", "cascade"})
    factor: ClassVar[float] = 1.0

    @property
    def size(self) -> int:
        """N - 1, the edges of every tree."""
        return self.num_nodes - 1

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than there are edges."""
        one_per_arm("spanning_tree", "edges", len(self.edges), num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the edges of the best tree."""
        return searched(self.search, key=key, scores=scores, mask=mask, size=self.size)

    def search(self, items: NDArray, scores: NDArray, rng: np.random.Generator) -> NDArray | None:
        """The tree of smallest ranks: which tree is best depends on the order of the scores only.

        Ranks start at 1 and all differ, so SciPy, to which a weight of 0 is no edge, sees every edge, and the
        random order of equal scores decides between them.
        """
        ranked = items[np.argsort(-scores, kind="stable")]
        pairs = np.asarray(self.edges)[ranked]
        # SciPy adds up the weights of parallel edges: keep the first, which is the best.
        _, first = np.unique(pairs @ np.array([self.num_nodes, 1]), return_index=True)
        graph = _graph(pairs[first], first + 1.0, self.num_nodes)
        from scipy.sparse.csgraph import minimum_spanning_tree

        ranks = minimum_spanning_tree(graph).data.astype(np.int64) - 1
        return ranked[np.sort(ranks)] if len(ranks) == self.size else None


@checks.named
def spanning_tree(edges: npt.ArrayLike, num_nodes: int) -> SpanningTree:
    """Find the maximum spanning tree of an undirected graph.

        max sum_{e in A} w(e)   over sets A of N - 1 available edges that join all N nodes

    Exact; the cost grows with L log L. Runs on the host.

    Args:
        edges: (L, 2) the two nodes, from 0 to N - 1, that each edge joins; several may join the same two.
        num_nodes: N, >= 2.

    >>> import jax, jax.numpy as jnp
    >>> oracle = spanning_tree([(0, 1), (1, 2), (2, 0)], 3)
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([3.0, -1.0, 2.0]), jnp.ones(3, bool))
    >>> sorted(choice.items.tolist())
    [0, 2]

    Kruskal (1956), On the shortest spanning subtree of a graph and the traveling salesman problem.
    """
    where = "spanning_tree"
    pairs = np.sort(edge_list(where, edges), axis=1)
    num_nodes = checks.count(where, "num_nodes", num_nodes, low=2)
    below(where, "the nodes of edges", pairs, num_nodes)
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        raise ValueError(f"{where}: edges must join two different nodes, got {pairs[loops[0], 0]} twice")
    from scipy.sparse.csgraph import connected_components

    parts = connected_components(_graph(pairs, np.ones(len(pairs)), num_nodes), directed=False)[0]
    if parts > 1:
        raise ValueError(f"{where}: edges must join all {num_nodes} nodes, got {parts} separate parts")
    leaf: Any = pairs
    return SpanningTree(edges=leaf, num_nodes=num_nodes)


def _graph(pairs: NDArray, weights: NDArray, num_nodes: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(num_nodes, num_nodes))
