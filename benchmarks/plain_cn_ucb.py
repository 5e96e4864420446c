"""CN-UCB as one would write it first: a p x p inverse, one backward pass per arm, one update per item.

Plain NumPy in double precision, without the network's training, which costs both sides about the same.
"""

from __future__ import annotations

import time

import numpy as np


def gradient(first: np.ndarray, last: np.ndarray, context: np.ndarray) -> np.ndarray:
    """(p,) gradient of last . relu(first x), over sqrt(m)."""
    hidden = first @ context
    delta = np.where(hidden > 0.0, last, 0.0)
    flat = np.concatenate([np.outer(delta, context).ravel(), np.maximum(hidden, 0.0)])
    return flat / np.sqrt(len(last))


def seconds_per_round(*, dim: int, units: int, arms: int, chosen: int, rounds: int) -> float:
    """Return the median seconds of a round: widths of all arms, then an update per chosen item."""
    rng = np.random.default_rng(0)
    first = rng.uniform(-1.0, 1.0, (units, dim)) / np.sqrt(dim)
    last = rng.uniform(-1.0, 1.0, units) / np.sqrt(units)
    inverse = np.eye(units * dim + units)
    taken = []
    for _ in range(rounds):
        contexts = rng.normal(size=(arms, dim))
        contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
        begun = time.perf_counter()
        gradients = [gradient(first, last, context) for context in contexts]
        means = [last @ np.maximum(first @ context, 0.0) for context in contexts]
        widths = [np.sqrt(one @ inverse @ one) for one in gradients]
        for item in np.argsort(-(np.array(means) + np.array(widths)))[:chosen]:
            spread = inverse @ gradients[item]
            inverse -= np.outer(spread, spread) / (1.0 + gradients[item] @ spread)
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken))
