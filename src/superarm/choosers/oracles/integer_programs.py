"""Any set of arms that linear constraints describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles.arguments import one_per_arm
from superarm.choosers.oracles.host import NDArray, searched
from superarm.contract import Oracle
from superarm.pytree import pytree, static
from superarm.types import Array, Choice

__all__ = ["Milp", "milp"]

# HiGHS stops within 1e-6 of the optimum, an absolute gap that SciPy does not let one set. Scores are scaled
# to this magnitude, so that the gap is 1e-10 of the largest score.
SCALE = 1e4


@pytree
@dataclass(frozen=True)
class Milp(Oracle):
    """On the host, through HiGHS; exact unless a time limit is set. Build it with `milp`.

    Attributes:
        rows: (c, n) coefficients of the constraints.
        at_least: (c,) their lower bounds.
        at_most: (c,) their upper bounds.
        size: items of the largest set.
        time_limit: seconds, or None.
    """

    rows: Array
    at_least: Array
    at_most: Array
    size: int = static()
    time_limit: float | None = static(default=None)

    native: ClassVar[bool] = False
    by_arm: ClassVar[bool] = True
    exact_for: ClassVar[frozenset[str] | None] = frozenset({"sum"})

    @property
    def factor(self) -> float:
        """1.0; 0.0 under a time limit, when nothing is promised."""
        return 1.0 if self.time_limit is None else 0.0

    def check(self, num_arms: int) -> None:
        """Refuse another number of arms than the constraints have columns."""
        one_per_arm("milp", "the columns of rows", self.rows.shape[1], num_arms)

    def solve(self, key: Array, scores: Array, mask: Array) -> Choice:
        """Return the best set."""
        return searched(self.search, key=key, scores=scores, mask=mask, size=self.size)

    def search(self, items: NDArray, scores: NDArray, rng: np.random.Generator) -> NDArray | None:
        """The best set of the available items: leaving the others out sets them to 0."""
        bounds = np.asarray(self.at_least), np.asarray(self.at_most)
        chosen = _best(scores, np.asarray(self.rows)[:, items], *bounds, time_limit=self.time_limit)
        return None if chosen is None else items[chosen]


@checks.named
def milp(
    rows: npt.ArrayLike,
    *,
    at_least: npt.ArrayLike | None = None,
    at_most: npt.ArrayLike | None = None,
    size: int | None = None,
    time_limit: float | None = None,
) -> Milp:
    """Choose the best set that satisfies linear constraints.

        max sum_e w(e) x_e   over x in {0, 1}^n with   at_least <= rows x <= at_most

    Exact, by branch and bound (HiGHS): to 1e-10 of the largest score, with constraints kept to 1e-6. The cost
    depends on the problem and may grow exponentially with n. Runs on the host. Of tied sets the solver picks
    one, with the items in random order.

    Args:
        rows: (c, n) one constraint per row.
        at_least: (c,) or a number, lower bounds; none where -inf, or when not given.
        at_most: (c,) or a number, upper bounds; none where inf, or when not given. Equal to at_least for an
            equation.
        size: the most items in a set, if fewer than the constraints allow.
        time_limit: seconds after which the best set found so far is answered, or none; such answers depend on
            the speed of the machine.

    >>> import jax, jax.numpy as jnp
    >>> oracle = milp([[1, 1, 0, 0], [0, 0, 1, 1]], at_most=1)  # one of the first two, one of the last two
    >>> choice = oracle.solve(jax.random.key(0), jnp.array([3.0, 4.0, -1.0, 2.0]), jnp.ones(4, bool))
    >>> sorted(choice.items.tolist())
    [1, 3]

    Huangfu & Hall (2018), Parallelizing the dual revised simplex method: HiGHS.
    """
    where = "milp"
    table = checks.matrix(where, "rows", rows, (None, None))
    low = _bound(where, "at_least", at_least, len(table), -np.inf)
    high = _bound(where, "at_most", at_most, len(table), np.inf)
    if size is not None:
        table = np.vstack([table, np.ones(table.shape[1])])
        low, high = np.append(low, -np.inf), np.append(high, checks.count(where, "size", size))
    limit = None if time_limit is None else float(checks.positive(where, "time_limit", time_limit))
    largest = _best(np.ones(table.shape[1]), table, low, high)
    if largest is None:
        must = "rows, at_least and at_most must admit a set"
        raise ValueError(f"{where}: {must}, got constraints that none satisfies")
    if not largest.size:
        raise ValueError(f"{where}: rows, at_least and at_most must admit an item, got only the empty set")
    return Milp(rows=table, at_least=low, at_most=high, size=largest.size, time_limit=limit)


def _bound(where: str, name: str, value: Any, count: int, default: float) -> Any:
    """(count,) bounds; infinite ones are allowed, NaN is not."""
    bound = np.asarray(default if value is None else value, np.float64)
    if bound.shape not in ((), (count,)):
        raise ValueError(f"{where}: {name} must have one entry per row, {count}, got shape {bound.shape}")
    if np.any(np.isnan(bound)):
        raise ValueError(f"{where}: {name} must not be NaN, got {value}")
    return np.broadcast_to(bound, (count,)).copy()


def _best(
    scores: NDArray, rows: NDArray, low: NDArray, high: NDArray, *, time_limit: float | None = None
) -> NDArray | None:
    """The indices where the best x is 1; None when no x satisfies the constraints, or none was found."""
    if not scores.size:
        return np.zeros(0, np.int64) if np.all(low <= 0) and np.all(high >= 0) else None
    options: Any = {"mip_rel_gap": 0.0} | ({} if time_limit is None else {"time_limit": time_limit})
    from scipy import optimize  # half a second, for those who solve programs

    solution = optimize.milp(
        -scores * (SCALE / (np.abs(scores).max() or 1.0)),
        integrality=np.ones(scores.size, np.int64),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(rows, low, high),
        options=options,
    )
    return None if solution.x is None else np.flatnonzero(solution.x > 0.5)
