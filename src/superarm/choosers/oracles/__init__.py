"""Oracles: one file per structure. Each states whether it is exact, or its approximation factor."""

from superarm.choosers.oracles.assortment import Assortment, assortment
from superarm.choosers.oracles.dag_path import DagPath, dag_path
from superarm.choosers.oracles.function import HostFunction, NativeFunction, function
from superarm.choosers.oracles.grid_path import GridPath, grid_path
from superarm.choosers.oracles.knapsack import GreedyKnapsack, Knapsack, knapsack
from superarm.choosers.oracles.matching import Matching, matching
from superarm.choosers.oracles.milp import Milp, milp
from superarm.choosers.oracles.quota import Quota, quota
from superarm.choosers.oracles.spanning_tree import SpanningTree, spanning_tree
from superarm.choosers.oracles.top_k import TopK, top_k

__all__ = [
    "Assortment",
    "DagPath",
    "GreedyKnapsack",
    "GridPath",
    "HostFunction",
    "Knapsack",
    "Matching",
    "Milp",
    "NativeFunction",
    "Quota",
    "SpanningTree",
    "TopK",
    "assortment",
    "dag_path",
    "function",
    "grid_path",
    "knapsack",
    "matching",
    "milp",
    "quota",
    "spanning_tree",
    "top_k",
]
