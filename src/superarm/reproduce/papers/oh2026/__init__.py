"""Oh, Park & Paik (2026), Neural variance-aware dueling bandits.

Section 6 and appendix E (figures 2, E.1, E.3 to E.11, tables E.2 and E.3); arXiv:2506.01250.
"""

from superarm.reproduce.papers.oh2026 import figures, tables

EXPERIMENTS = (*figures.EXPERIMENTS, *tables.EXPERIMENTS)

__all__ = ["EXPERIMENTS"]
