"""Sun, Wang & Xu (2026), Provable anytime ensemble sampling algorithms in nonlinear contextual bandits.

Section 7 and appendix F.
"""

from superarm.reproduce.papers.sun2026 import data, figures

EXPERIMENTS = (*figures.EXPERIMENTS, *data.EXPERIMENTS)

__all__ = ["EXPERIMENTS"]
