"""GLM-UCB, fitted anew in every round, against SciPy: one stream for both, one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

import superarm
from benchmarks.peer_sides import ALPHA
from benchmarks.peers import AGENT, SIMULATION, measured, table, unit

SIZES = ((10, 20), (100, 100))
SECONDS = 10.0  # that a side may spend on a stream in a turn
GLM = superarm.glm_ucb(radius=ALPHA)
SIDES = ({SIMULATION: GLM, AGENT: GLM}, ("SciPy, GLM-UCB",))

HEAD = """## Logistic rewards, fitted anew in every round

GLM-UCB on rewards 0 and 1: superarm's Newton fits against SciPy's L-BFGS, both of all history and from the
last fit on. With n observations a step of either costs O(n d); Newton's method needs a curvature at times,
O(n d^2). Times are medians over rounds, as for the linear ones above.
"""


def section() -> str:
    """Measure both on all sizes."""
    return HEAD + table({size: measured(stream(*size), SIDES, SECONDS) for size in SIZES})


def stream(arms: int, dim: int) -> dict[str, Any]:
    """Contexts (T, K, d), a parameter of norm 10, rewards 0 and 1."""
    rng = np.random.default_rng(0)
    contexts = unit(rng.standard_normal((1000, arms, dim), np.float32))
    means = 1.0 / (1.0 + np.exp(-10.0 * contexts @ unit(rng.standard_normal(dim, np.float32))))
    return {"contexts": contexts, "means": means, "rewards": (rng.random(means.shape) < means) * 1.0}
