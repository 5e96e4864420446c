"""Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML: section 6 and its appendices."""

from superarm.reproduce.papers.hwang2023.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
