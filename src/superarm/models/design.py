"""G-optimal designs: how often to try each arm so that no arm's estimate stays vague.

    minimize over weights w   max_i |x_i|^2 in the norm of V(w)^-1,   V(w) = sum_i w_i x_i x_i'

By the equivalence theorem (Kiefer & Wolfowitz, 1960) the least worst case is d, the rank of the arms, so a
design is certified by its own worst case: <= d (1 + tolerance). Found by Frank-Wolfe with away steps (Todd &
Yildirim, 2007), O(n d^2) a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.precision import FLOAT, double
from superarm.types import Array

TOLERANCE = 1e-3
SUPPORT = 1e-9  # weights below are those of no arm
STEPS_PER_ARM = 100


@dataclass(frozen=True)
class Design:
    """A design of n arms.

    Attributes:
        weights: (n,) >= 0, of sum 1.
        worst: the largest |x_i|^2 in the norm of V(weights)^-1; `rank` at the least.
        rank: d, or the dimension that the arms span.
        steps: taken to find it.
    """

    weights: npt.NDArray[np.float64]
    worst: float
    rank: int
    steps: int

    @property
    def gap(self) -> float:
        """How far the worst case is above the least possible one, as a share."""
        return self.worst / self.rank - 1.0


@checks.named
@double
def g_optimal(arms: npt.ArrayLike, *, tolerance: float = TOLERANCE) -> Design:
    """Return a design whose worst case is within `tolerance` of the least possible one.

    Args:
        arms: (n, d) features; they may span less than d dimensions.
        tolerance: the certified share.

    >>> import numpy as np
    >>> design = g_optimal(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]))
    >>> np.round(design.weights, 3).tolist(), design.gap <= 1e-3
    ([0.5, 0.5, 0.0], True)
    """
    where = "g_optimal"
    features = checks.matrix(where, "arms", arms, (None, None))
    if not np.any(features):
        raise ValueError(f"{where}: arms must not all be 0, got shape {features.shape}")
    wanted = checks.positive(where, "tolerance", tolerance)
    weights, worst, rank, steps = jax.jit(g_optimal_weights)(jnp.asarray(features), wanted)
    design = Design(np.asarray(weights), float(worst), int(rank), int(steps))
    if not design.gap <= wanted:
        raise RuntimeError(f"{where}: stopped after {design.steps} steps at a gap of {design.gap:.2g}")
    return design


@checks.named
@double
def design_counts(
    rounds: int, weights: npt.ArrayLike, *, least: float | None = None
) -> npt.NDArray[np.int64]:
    """Return (n,) whole numbers close to rounds * weights: Algorithm 3 of sun2026, on the design's support.

    Pukelsheim (2006), Optimal design of experiments, chapter 12. They add up to `rounds`.

    Args:
        rounds: tau.
        weights: (n,) of a design.
        least: try every arm of the support at least so often, rounded up: the algorithm's line 13, where it
            is (d (d + 1) / 2 + 1) / (a n). The sum is then more than `rounds`.

    >>> design_counts(7, [0.5, 0.5, 0.0]).tolist()
    [4, 3, 0]
    """
    where = "design_counts"
    shares = checks.matrix(where, "weights", weights, (None,))
    if not np.all(shares >= 0.0) or not np.isclose(shares.sum(), 1.0):
        raise ValueError(f"{where}: weights must be >= 0 and add up to 1, got a sum of {shares.sum():g}")
    counts = np.asarray(
        jax.jit(rounded_counts, static_argnums=0)(
            checks.count(where, "rounds", rounds), jnp.asarray(shares, FLOAT)
        )
    )
    if least is None:
        return counts
    floor = int(np.ceil(checks.nonnegative(where, "least", least)))
    return np.where(shares > SUPPORT, np.maximum(counts, floor), counts)


def g_optimal_weights(arms: Array, tolerance: Array | float = TOLERANCE) -> tuple[Array, Array, Array, Array]:
    """(n,) weights, the worst case, the rank of arms (n, d), and the steps taken; JAX can trace it."""
    num_arms = arms.shape[0]
    # Designs do not depend on the basis: in that of the singular vectors arms of low rank are no exception.
    rows, sizes, _ = jnp.linalg.svd(arms, full_matrices=False)
    spanned = sizes > jnp.max(sizes) * max(arms.shape) * np.finfo(np.float64).eps
    rows = jnp.where(spanned[None], rows, 0.0)
    rank = jnp.sum(spanned)
    size = rank.astype(FLOAT)
    rest = jnp.diag(jnp.where(spanned, 0.0, 1.0))

    def squares(weights: Array) -> Array:
        information = (rows * weights[:, None]).T @ rows + rest
        root = jnp.linalg.cholesky(information)
        return jnp.sum(jax.scipy.linalg.solve_triangular(root, rows.T, lower=True) ** 2, axis=0)

    def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        weights, found, count = carry
        worst = jnp.argmax(found)
        held = weights > 0.0
        idle = jnp.argmin(jnp.where(held, found, jnp.inf))
        high, low = found[worst], found[idle]
        forward = high / size - 1.0 >= 1.0 - low / size
        # Exact line searches of log det; an away step goes no further than to weight 0.
        add = jnp.where(high > 1.0, (high - size) / (size * (high - 1.0)), 1.0)
        most = weights[idle] / (1.0 - weights[idle])
        away = jnp.where(low > 1.0, jnp.minimum((size - low) / (size * (low - 1.0)), most), most)
        added = ((1.0 - add) * weights).at[worst].add(add)
        taken = ((1.0 + away) * weights).at[idle].add(-away)
        taken = jnp.where((away == most) & (jnp.arange(num_arms) == idle), 0.0, taken)
        weights = jnp.where(forward, added, taken)
        weights = weights / jnp.sum(weights)
        return weights, squares(weights), count + 1

    def unsettled(carry: tuple[Array, Array, Array]) -> Array:
        _, found, count = carry
        return (jnp.max(found) > size * (1.0 + tolerance)) & (count < STEPS_PER_ARM * num_arms)

    start = jnp.full(num_arms, 1.0 / num_arms, FLOAT)
    begin = (start, squares(start), jnp.zeros((), jnp.int32))
    weights, found, steps = jax.lax.while_loop(unsettled, step, begin)
    return weights, jnp.max(found), rank, steps


def rounded_counts(rounds: int, weights: Array) -> Array:
    """(n,) counts of sum `rounds`: lines 2 to 12 of sun2026's Algorithm 3; JAX can trace it."""
    support = weights > SUPPORT
    shares = jnp.where(support, weights, 1.0)
    held = jnp.sum(support).astype(FLOAT)
    begin = jnp.where(support, jnp.ceil((rounds - 0.5 * held) * weights), 0.0).astype(jnp.int64)
    begin = jnp.maximum(begin, 0)

    def change(counts: Array) -> Array:
        # As printed, with N_i - 1 in both; ties go to the first. Of arms without a try, which there are only
        # for fewer rounds than half the support, the weightiest comes first.
        ratio = (counts - 1).astype(FLOAT) / shares
        ratio = jnp.where(counts == 0, -weights / SUPPORT**2, ratio)
        least = jnp.argmin(jnp.where(support, ratio, jnp.inf))
        most = jnp.argmax(jnp.where(support & (counts > 0), ratio, -jnp.inf))
        return jnp.where(jnp.sum(counts) < rounds, counts.at[least].add(1), counts.at[most].add(-1))

    return jax.lax.while_loop(lambda counts: jnp.sum(counts) != rounds, change, begin)


checks.public(__name__)
