"""The bipartite matching with the highest sum of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import below, edge_list, one_per_arm
from superarm.choosers.oracles.host import NDArray, searched
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["Matching", "matching"]


@pytree
@dataclass(frozen=True)
class Matching(Oracle):
    """Exact, on the host. Build it with `matching`.

    Attributes:
        edges: (L, 2) the left and the right node of each edge.
        size: edges of the largest matching.
    """

    edges: Array
    num_left: int = static()
    num_right: int = static()
    size: int = static()
    perfect: bool = static(default=False)

    native: ClassVar[bool] = False
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum"})
    factor: ClassVar[float] = 1.0

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than there are edges."""
        one_per_arm("matching", "edges", len(self.edges), num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the edges of the best matching."""
        return searched(self.search, key=key, scores=scores, mask=mask, size=self.size)

    def search(self, items: NDArray, scores: NDArray, rng: np.random.Generator) -> NDArray | None:
        """The best assignment on the table of all pairs of nodes, with the nodes in random order."""
        left, right = np.asarray(self.edges)[items].T
        rows, columns = rng.permutation(self.num_left)[left], rng.permutation(self.num_right)[right]
        value = np.full((self.num_left, self.num_right), -np.inf)
        item = np.full(value.shape, -1)
        order = np.argsort(scores, kind="stable")  # of parallel edges the last, which is the best, stays
        value[rows[order], columns[order]], item[rows[order], columns[order]] = scores[order], items[order]
        pairs = _assigned(value, self.perfect)
        return None if pairs is None else item[pairs]


@checks.named
def matching(edges: npt.ArrayLike, num_left: int, num_right: int, *, perfect: bool = False) -> Matching:
    """Find the maximum-weight matching of a bipartite graph: no two edges share a node.

        max sum_{e in A} w(e)   over matchings A of available edges

    Exact; the cost grows with num_left * num_right * min(num_left, num_right) at worst. Runs on the host.

    Args:
        edges: (L, 2) the left node, from 0 to num_left - 1, and the right node, from 0 to num_right - 1, of
            each edge; two nodes may be joined by several edges.
        num_left: nodes on the left.
        num_right: nodes on the right.
        perfect: match every node of the smaller side, at any price. Otherwise nodes may stay alone, and an
            edge with a score < 0 is never taken.

    >>> import jax, jax.numpy as jnp
    >>> oracle = matching([(0, 0), (0, 1), (1, 0)], 2, 2)
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([3.0, 2.0, 2.0]), jnp.ones(3, bool))
    >>> sorted(choice.items.tolist())
    [1, 2]

    Crouse (2016), On implementing 2D rectangular assignment algorithms, is what SciPy runs.
    """
    where = "matching"
    pairs = edge_list(where, edges)
    num_left = checks.count(where, "num_left", num_left)
    num_right = checks.count(where, "num_right", num_right)
    below(where, "the left nodes of edges", pairs[:, 0], num_left)
    below(where, "the right nodes of edges", pairs[:, 1], num_right)
    size = _largest(pairs, num_left, num_right)
    if perfect and size < min(num_left, num_right):
        must = f"edges must allow {min(num_left, num_right)} pairs for a perfect matching"
        raise ValueError(f"{where}: {must}, got at most {size}")
    leaf: Any = pairs
    return Matching(edges=leaf, num_left=num_left, num_right=num_right, size=size, perfect=bool(perfect))


def _largest(pairs: NDArray, num_left: int, num_right: int) -> int:
    """The edges of the largest matching."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    graph = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(num_left, num_right))
    return int(np.sum(maximum_bipartite_matching(graph) >= 0))


def _assigned(value: NDArray, perfect: bool) -> tuple[NDArray, NDArray] | None:
    """The rows and columns of the best assignment; -inf in value (num_left, num_right) is no edge."""
    from scipy.optimize import linear_sum_assignment  # half a second, for those who match

    if perfect:
        try:
            return linear_sum_assignment(value, maximize=True)
        except ValueError:  # no assignment avoids -inf
            return None
    # Staying alone is worth 0, as much as a pair without an edge or with a bad one: such pairs are dropped.
    rows, columns = linear_sum_assignment(np.maximum(value, 0.0), maximize=True)
    kept = value[rows, columns] >= 0.0
    return rows[kept], columns[kept]
