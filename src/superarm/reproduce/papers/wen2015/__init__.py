"""Wen, Kveton & Ashkan (2015), Efficient Learning in Large-Scale Combinatorial Semi-Bandits, ICML: section 6.

Figure 1 sweeps the longest path problem around a default case; figures 2 and 3 are on real data.
"""

from superarm.reproduce.papers.wen2015.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
