"""Oh, Park & Paik (2026), Neural variance-aware dueling bandits: section 6 and appendix E."""

from superarm.reproduce.papers.oh2026.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
