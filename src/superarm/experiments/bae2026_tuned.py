"""Exploration nu and regularization lambda of bae2026's methods, per problem, training and method.

Chosen over the paper's grid {0.01, 0.1, 1, 10, 100}^2 by `superarm tune`, on seeds that are not reported.
"""

TUNED: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
