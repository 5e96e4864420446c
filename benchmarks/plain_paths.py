"""CombLinTS on the longest path as one would write it first: plain NumPy, item by item.

Sequential Kalman updates (Algorithm 1 of wen2015, without forming d x d products it does not need) and a
Python loop over the grid's nodes as the oracle.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def longest_path(weights: Array, m: int) -> list[int]:
    """Edges of the longest path, numbered as in superarm.oracles.grid_path."""
    right = weights[: m * (m + 1)].reshape(m + 1, m).tolist()
    down = weights[m * (m + 1) :].reshape(m, m + 1).tolist()
    value = [[0.0] * (m + 1) for _ in range(m + 1)]
    came_down = [[False] * (m + 1) for _ in range(m + 1)]
    for i in range(m + 1):
        for j in range(m + 1):
            if i == 0 and j == 0:
                continue
            from_left = value[i][j - 1] + right[i][j - 1] if j else -np.inf
            from_above = value[i - 1][j] + down[i - 1][j] if i else -np.inf
            came_down[i][j] = from_above > from_left
            value[i][j] = max(from_left, from_above)
    path, i, j = [], m, m
    while i or j:
        if came_down[i][j]:
            i -= 1
            path.append(m * (m + 1) + i * (m + 1) + j)
        else:
            j -= 1
            path.append(i * m + j)
    return path


def run(*, m: int, dim: int, episodes: int, seed: int) -> tuple[float, float]:
    """Return (total expected regret, seconds of the episodes) of one run."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(2 * m * (m + 1), dim))
    means = features @ (10.0 * rng.normal(size=dim))
    best = means[longest_path(means, m)].sum()
    mean, covariance, noise, regret = np.zeros(dim), 100.0 * np.eye(dim), 1.0, 0.0
    begun = time.perf_counter()
    for _ in range(episodes):
        theta = rng.multivariate_normal(mean, covariance, method="cholesky", check_valid="ignore")
        path = longest_path(features @ theta, m)
        regret += best - means[path].sum()
        for item in path:
            phi = features[item]
            spread = covariance @ phi
            total = phi @ spread + noise**2
            mean = mean + spread * ((means[item] + noise * rng.normal() - phi @ mean) / total)
            covariance = covariance - np.outer(spread, spread) / total
    return float(regret), time.perf_counter() - begun
