"""Ridge and logistic regression of logged rewards: closed form, and Newton's method.

    ridge      min  sum_j (r_j - c - x_j'theta)^2 + penalty |theta|^2,        c the mean reward
    logistic   min  sum_j [log(1 + e^{s_j}) - r_j s_j] + (penalty / 2) |theta|^2,   s_j = c + x_j'theta

The penalty pulls to the mean reward, not to 0: where clicks are rare, a penalized intercept would be far off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit

Floats = npt.NDArray[np.float64]

STEPS = 100
HALVINGS = 40
TOLERANCE = 1e-12  # share of the objective that a step can still gain


@dataclass(frozen=True)
class LinearFit:
    """Coefficients with the curvature at them.

    Attributes:
        theta: (d,).
        offset: () c, the score of the mean reward.
        factor: Cholesky factor of the curvature (d, d), penalty included.
        logistic: whether scores pass the logistic function.
    """

    theta: Floats
    offset: float
    factor: tuple[Floats, bool]
    logistic: bool

    def predict(self, rows: Floats) -> Floats:
        """(m,) expected rewards of rows (m, d)."""
        scores = self.offset + rows @ self.theta
        return np.asarray(expit(scores)) if self.logistic else scores

    def slopes(self, rows: Floats) -> Floats:
        """(m,) how much a prediction moves with its score."""
        if not self.logistic:
            return np.ones(rows.shape[0])
        means = self.predict(rows)
        return means * (1.0 - means)

    def solve(self, vector: Floats) -> Floats:
        """(d,) the inverse curvature times a vector."""
        return np.asarray(cho_solve(self.factor, vector))


def ridge(rows: Floats, rewards: Floats, penalty: float) -> LinearFit:
    """Fit rewards (m,) to rows (m, d).

    >>> fit = ridge(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 3.0]), 1e-9)
    >>> fit.predict(np.array([[1.0]])).round(3).tolist()
    [2.4]
    """
    offset = float(rewards.mean())
    factor = cho_factor(rows.T @ rows + penalty * np.eye(rows.shape[1]))
    return LinearFit(np.asarray(cho_solve(factor, rows.T @ (rewards - offset))), offset, factor, False)


def logistic(rows: Floats, rewards: Floats, penalty: float) -> LinearFit:
    """Fit rewards (m,) in [0, 1] to rows (m, d); every step lowers the objective.

    >>> fit = logistic(np.ones((4, 1)), np.array([0.0, 0.0, 0.0, 1.0]), 1e-9)
    >>> fit.predict(np.ones((1, 1))).round(3).tolist()
    [0.25]
    """
    # Half a success more: the mean reward may be 0 or 1.
    offset = float(logit((rewards.sum() + 0.5) / (rewards.size + 1.0)))
    theta = np.zeros(rows.shape[1])
    ridge_part = penalty * np.eye(theta.size)

    def objective(theta: Floats) -> float:
        scores = offset + rows @ theta
        return float(np.sum(np.logaddexp(0.0, scores) - rewards * scores) + 0.5 * penalty * theta @ theta)

    def curvature(theta: Floats) -> tuple[Floats, Floats]:
        means = expit(offset + rows @ theta)
        return means, rows.T @ (rows * (means * (1.0 - means))[:, None]) + ridge_part

    value = objective(theta)
    for _ in range(STEPS):
        means, hessian = curvature(theta)
        slope = rows.T @ (means - rewards) + penalty * theta
        step = cho_solve(cho_factor(hessian), slope)
        for _ in range(HALVINGS):
            lower = objective(theta - step)
            if lower < value:
                break
            step = 0.5 * step
        if not lower < value - TOLERANCE * (1.0 + abs(value)):
            break
        theta, value = theta - step, lower
    return LinearFit(theta, offset, cho_factor(curvature(theta)[1]), True)


FITS = {"ridge": ridge, "logistic": logistic}
