"""One row per oracle: a small problem and all its feasible sets, enumerated without the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from superarm.choosers import oracles

GUIDE = Path(__file__).parents[2] / "docs" / "add-an-oracle.md"


@dataclass(frozen=True)
class Row:
    """oracle: on a problem with `num_arms` arms and these feasible `sets`; sign -1 when it minimises.

    `ties`: whether every optimum must turn up over many keys. `worth`: what items are worth by their scores,
    where that is not the sum.
    """

    name: str
    oracle: Any
    num_arms: int
    sets: list[tuple[int, ...]]
    sign: int = 1
    ties: bool = True
    worth: Callable[[list[int], np.ndarray], float] | None = None

    @property
    def member(self) -> np.ndarray:
        """(sets, num_arms) True where the arm is in the set."""
        member = np.zeros((len(self.sets), self.num_arms), bool)
        for index, items in enumerate(self.sets):
            member[index, list(items)] = True
        return member

    def value(self, items: tuple[int, ...], scores: Any) -> float:
        """What the oracle maximises."""
        scores = np.asarray(scores, float)[list(items)]
        return self.sign * scores.sum() if self.worth is None else self.worth(list(items), scores)


def subsets(num_arms: int, accept: Callable[[tuple[int, ...]], bool]) -> list[tuple[int, ...]]:
    sizes = (itertools.combinations(range(num_arms), size) for size in range(num_arms + 1))
    return [items for items in itertools.chain.from_iterable(sizes) if accept(items)]


def paths(edges: list[tuple[int, int]], source: int, target: int) -> list[tuple[int, ...]]:
    if source == target:
        return [()]
    first = [(edge, head) for edge, (tail, head) in enumerate(edges) if tail == source]
    return [tuple(sorted((edge, *rest))) for edge, head in first for rest in paths(edges, head, target)]


def grid_edges(m: int) -> list[tuple[int, int]]:
    """The edges of the grid in the order that `grid_path` documents; node (i, j) is i (m + 1) + j."""
    node = np.arange((m + 1) ** 2).reshape(m + 1, m + 1)
    right = zip(node[:, :-1].ravel().tolist(), node[:, 1:].ravel().tolist(), strict=True)
    down = zip(node[:-1].ravel().tolist(), node[1:].ravel().tolist(), strict=True)
    return [*right, *down]


def is_tree(edges: list[tuple[int, int]], num_nodes: int, items: tuple[int, ...]) -> bool:
    label = list(range(num_nodes))
    for item in items:
        one, other = (label[node] for node in edges[item])
        label = [one if now == other else now for now in label]
    return len(items) == num_nodes - 1 and len(set(label)) == 1


def is_matching(edges: list[tuple[int, int]], items: tuple[int, ...]) -> bool:
    left, right = [edges[item][0] for item in items], [edges[item][1] for item in items]
    return len(set(left)) == len(left) and len(set(right)) == len(right)


def within(groups: list[int], low: list[int], high: list[int], items: tuple[int, ...]) -> bool:
    counts = [sum(groups[item] == group for item in items) for group in range(len(low))]
    return all(a <= count <= b for a, count, b in zip(low, counts, high, strict=True))


def meets(items: tuple[int, ...]) -> bool:
    """The constraints of the row "milp"."""
    sums = ROWS_OF_MILP[:, list(items)].sum(1)
    return bool(np.all(sums >= [1, 0, 1]) and np.all(sums <= [1, 1, np.inf]))


def block_in_numpy(scores: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    sums = [np.where(mask, scores, -np.inf)[first : first + 2].sum() for first in range(scores.size - 1)]
    return None if max(sums) == -np.inf else np.argmax(sums) + np.arange(2)


def positive_pairs_in_jax(scores: Any, mask: Any) -> Any:
    """Boolean: arms 0 and 1 together, or 2 and 3 together."""
    masked = jnp.where(mask, scores, -jnp.inf)
    return (masked[:2].sum() >= masked[2:].sum()) == jnp.array([True, True, False, False])


def guide() -> dict[str, Any]:
    """The names that the guide's code defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in GUIDE.read_text().split("```python\n")[1:]:
        exec(block.split("```")[0], names)  # noqa: S102
    return names


def mnl_in_numpy(items: list[int], utilities: np.ndarray) -> float:
    weights = np.exp(utilities)
    return float(np.sum(REVENUES[items] * weights) / (1.0 + np.sum(weights)))


DAG = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 1), (3, 4), (1, 4), (5, 1), (2, 6)]
TREE = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (1, 0)]
PAIRS = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 2), (0, 0)]
WIDE = [(0, 0), (0, 1), (1, 1), (1, 2), (0, 3), (1, 3)]
WEIGHTS = np.array([2.0, 3.0, 1.0, 4.0, 2.0, 0.0, 9.0])
ROWS_OF_MILP = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0], [1, 0, 0, 0, 1, 1]])
GROUPS = [0, 1, 0, 2, 1, 1, 0]
REVENUES = np.array([3.0, 3.0, 3.0, 2.0, 2.0, 1.0])

ROWS = [
    Row("top_k", oracles.top_k(3), 6, list(itertools.combinations(range(6), 3))),
    Row("top_k all", oracles.top_k(4), 4, [(0, 1, 2, 3)]),
    Row(
        "quota",
        oracles.quota(GROUPS, size=4, at_least={1: 1, 2: 0}, at_most={0: 2}),
        7,
        subsets(7, lambda items: len(items) == 4 and within(GROUPS, [0, 1, 0], [2, 3, 1], items)),
    ),
    Row(
        "quota exactly",
        oracles.quota(GROUPS, size=3, exactly={1: 2}),
        7,
        subsets(7, lambda items: len(items) == 3 and within(GROUPS, [0, 2, 0], [3, 2, 1], items)),
    ),
    Row(
        "quota sizes",
        oracles.quota(GROUPS, [2, 1, 0]),
        7,
        subsets(7, lambda items: within(GROUPS, [2, 1, 0], [2, 1, 0], items)),
    ),
    Row("grid_path", oracles.grid_path(3), 24, paths(grid_edges(3), 0, 15)),
    Row("grid_path shortest", oracles.grid_path(2, shortest=True), 12, paths(grid_edges(2), 0, 8), -1),
    Row("dag_path", oracles.dag_path(DAG, source=0, target=4), 10, paths(DAG, 0, 4)),
    Row(
        "dag_path shortest",
        oracles.dag_path(DAG, source=0, target=3, shortest=True),
        10,
        paths(DAG, 0, 3),
        -1,
    ),
    Row(
        "spanning_tree",
        oracles.spanning_tree(TREE, 4),
        6,
        subsets(6, lambda items: is_tree(TREE, 4, items)),
    ),
    Row("matching", oracles.matching(PAIRS, 3, 3), 7, subsets(7, lambda items: is_matching(PAIRS, items))),
    Row(
        "matching perfect",
        oracles.matching(PAIRS, 3, 3, perfect=True),
        7,
        subsets(7, lambda items: len(items) == 3 and is_matching(PAIRS, items)),
    ),
    Row(
        "matching wide perfect",
        oracles.matching(WIDE, 2, 4, perfect=True),
        6,
        subsets(6, lambda items: len(items) == 2 and is_matching(WIDE, items)),
    ),
    Row(
        "knapsack",
        oracles.knapsack(WEIGHTS, 5.0),
        7,
        subsets(7, lambda items: WEIGHTS[list(items)].sum() <= 5.0),
    ),
    Row(
        "knapsack greedy",
        oracles.knapsack(WEIGHTS, 5.0, method="greedy"),
        7,
        subsets(7, lambda items: WEIGHTS[list(items)].sum() <= 5.0),
        ties=False,
    ),
    Row(
        "milp",
        oracles.milp(ROWS_OF_MILP, at_least=[1, 0, 1], at_most=[1, 1, np.inf]),
        6,
        subsets(6, meets),
    ),
    Row(
        "milp size",
        oracles.milp(ROWS_OF_MILP, at_most=2, size=2),
        6,
        subsets(6, lambda items: len(items) <= 2),
    ),
    Row(
        "function",
        oracles.function(block_in_numpy, size=2),
        5,
        [(0, 1), (1, 2), (2, 3), (3, 4)],
        ties=False,
    ),
    Row(
        "function native",
        oracles.function(positive_pairs_in_jax, size=2, native=True),
        4,
        [(0, 1), (2, 3)],
        ties=False,
    ),
    Row(
        "assortment",
        oracles.assortment(REVENUES, 2),
        6,
        subsets(6, lambda items: len(items) <= 2),
        worth=mnl_in_numpy,
    ),
    Row("guide", guide()["block"](3), 6, [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5)]),
]
