"""Environments: worlds to learn in, with known optima."""

from superarm.environments.catalogue import Catalogue, catalogue
from superarm.environments.linear import LinearScores, linear_scores
from superarm.environments.longest_path import LongestPath, longest_path

__all__ = ["Catalogue", "LinearScores", "LongestPath", "catalogue", "linear_scores", "longest_path"]
