"""Bae & Lee (2026), Neural logistic bandits, ICML: section 7 and appendices A and J."""

from superarm.reproduce.papers.bae2026.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
