"""Oracles: one file per structure. Each states whether it is exact, or its approximation factor."""

from superarm.choosers.oracles.top_k import TopK, top_k

__all__ = ["TopK", "top_k"]
