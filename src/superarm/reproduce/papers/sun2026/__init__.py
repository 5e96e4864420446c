"""Sun, Wang & Xu (2026), Provable anytime ensemble sampling algorithms in nonlinear contextual bandits.

Section 7 and appendix F; arXiv:2510.10730.
"""

from superarm.reproduce.papers.sun2026.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
