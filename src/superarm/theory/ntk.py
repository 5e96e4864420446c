"""The neural tangent kernel and what the theorems take from it: effective dimensions and the kernel norm.

These measure a problem, on the host and in double precision; no policy calls them. Four papers define an
effective dimension and mean four different numbers by it, so each has a function of its own.

What the kernel has to do with a network: let G be the n gradients g(x_i) of f = sqrt(m) W_L relu(... W_1 x).
With independent weights, N(0, 2/m) in hidden layers and N(0, 1/m) in the last (Cao & Gu, 2019), G G' / m
tends to H as the width m grows. With hwang2023's symmetric start (section 3.1) and all p = d m + m^2 (L - 2)
+ m weights free, it tends to the sum H~^(L) = 2 H - Sigma^(L): the off-diagonal blocks start at 0 but their
gradients do not, and double the share of every hidden layer. With those blocks held at 0 it tends to H.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm import checks

NDArray = np.ndarray[Any, Any]

# Of the largest entry: kernels of float32 networks are symmetric and positive to about this.
ROUNDING = 1e-6


@checks.named
def ntk_matrix(contexts: npt.ArrayLike, depth: int) -> NDArray:
    """The neural tangent kernel matrix H of Definition 1 of hwang2023, (n, n), without sampling.

        Sigma^(1) = H~^(1) = X X',   cos a_ij = Sigma_ij / |x_i| |x_j|   (a_ij from the layer before)
        Sigma^(l+1) = |x_i| |x_j| (sin a + (pi - a) cos a) / pi
        H~^(l+1) = H~^(l) (1 - a / pi) + Sigma^(l+1),   H = (H~^(L) + Sigma^(L)) / 2

    The two expectations are arc-cosine kernels (Cho & Saul, 2009). Layers hand on angles, not cosines, which
    would lose half the digits between contexts that are nearly equal. H_ii = |x_i|^2 (L + 1) / 2; a context
    of 0 has a row of 0; doubled contexts [x; x] / sqrt(2) have the same H. O(n^2 (d + L)).

    Args:
        contexts: (n, d).
        depth: layers of the network (L), at least 2.

    >>> ntk_matrix([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]], depth=2).round(3)
    array([[1.5  , 0.637, 0.   ],
           [0.637, 6.   , 0.637],
           [0.   , 0.637, 1.5  ]])

    Jacot, Gabriel & Hongler (2018), Neural Tangent Kernel, NeurIPS.
    """
    from scipy.spatial.distance import cdist

    where = "ntk_matrix"
    features = checks.matrix(where, "contexts", contexts, (None, None))
    depth = checks.count(where, "depth", depth, low=2)
    norms = np.linalg.norm(features, axis=1)
    units = features / np.where(norms > 0.0, norms, 1.0)[:, None]
    angles = 2.0 * np.arctan2(cdist(units, units), cdist(units, -units))  # exact at equal and opposite
    covariance = np.cos(angles)  # Sigma^(l), of unit vectors from here on
    tangent = covariance  # H~^(l)
    for _ in range(depth - 1):
        # 1 - cos of the next angles; never below 0: where a^2 is lost beside a, sin a rounds to a.
        gap = 2.0 * np.sin(angles / 2.0) ** 2 + (angles * np.cos(angles) - np.sin(angles)) / np.pi
        covariance = 1.0 - gap
        tangent = tangent * (1.0 - angles / np.pi) + covariance
        angles = 2.0 * np.arcsin(np.sqrt(gap / 2.0))
    return np.outer(norms, norms) * (tangent + covariance) / 2.0


@checks.named
def effective_dimension_hwang2023(
    matrix: npt.ArrayLike, *, ridge: float, horizon: int, num_arms: int
) -> float:
    """Definition 2 of hwang2023 (equation 5), which is that of Zhou, Li & Gu (2020).

        d~ = log det(I + H / lambda) / log(1 + T N / lambda)

    Args:
        matrix: H (n, n) of all T N contexts that are ever offered; of fewer it gives a lower bound.
        ridge: lambda.
        horizon: rounds (T).
        num_arms: arms on offer in a round (N).

    >>> matrix = ntk_matrix([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]], depth=2)
    >>> round(effective_dimension_hwang2023(matrix, ridge=1.0, horizon=2, num_arms=2), 3)
    1.896

    Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML.
    """
    where = "effective_dimension_hwang2023"
    total = checks.count(where, "horizon", horizon) * checks.count(where, "num_arms", num_arms)
    scale = 1.0 / float(checks.positive(where, "ridge", ridge))
    kernel = _kernel(where, matrix)
    if len(kernel) > total:
        raise ValueError(
            f"{where}: matrix must have at most horizon * num_arms = {total} rows, got {len(kernel)}"
        )
    return _log_det(where, kernel, scale) / math.log1p(total * scale)


@checks.named
def effective_dimension_sun2026(matrix: npt.ArrayLike, *, ridge: float, horizon: int) -> float:
    """Equation 5.2 of sun2026, for K arms whose contexts do not change.

        d~ = log det(I + T H / lambda) / log(1 + T K / lambda)

    It is hwang2023's for the T K contexts that are the K arms in every round.

    Args:
        matrix: H (K, K) of the arms.
        ridge: lambda.
        horizon: rounds (T).

    >>> matrix = ntk_matrix([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], depth=2)
    >>> round(effective_dimension_sun2026(matrix, ridge=1.0, horizon=100), 3)
    2.374

    Sun, Wang & Xu (2026), Provable Anytime Ensemble Sampling Algorithms in Nonlinear Contextual Bandits.
    """
    where = "effective_dimension_sun2026"
    scale = checks.count(where, "horizon", horizon) / float(checks.positive(where, "ridge", ridge))
    kernel = _kernel(where, matrix)
    return _log_det(where, kernel, scale) / math.log1p(len(kernel) * scale)


@checks.named
def effective_dimension_bae2026(matrix: npt.ArrayLike, *, ridge: float, slope: float = 0.25) -> float:
    """Definition 4.3 of bae2026; a log-determinant that no logarithm divides.

        d~ = log det(I + R H~ / lambda_0),   H~ = sum over all contexts of g(x) g(x)' / m

    Args:
        matrix: the kernel G G' / m (n, n) of all contexts' gradients G, which gives the determinant of the
            paper's H~ (p, p); or H~ itself; or the kernel's limit (see the top of this module).
        ridge: lambda_0.
        slope: R, the largest slope of the link; 1/4 for the logistic.

    >>> matrix = ntk_matrix([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], depth=2)
    >>> round(effective_dimension_bae2026(matrix, ridge=1.0), 3)
    0.884

    Bae & Lee (2026), Neural Logistic Bandits.
    """
    where = "effective_dimension_bae2026"
    scale = float(checks.positive(where, "slope", slope)) / float(checks.positive(where, "ridge", ridge))
    return _log_det(where, _kernel(where, matrix), scale)


@checks.named
def effective_dimension_verma2025(matrix: npt.ArrayLike, *, ridge: float, kappa: float) -> float:
    """Verma et al.'s (2025), as bae2026 quotes it after Definition 4.3.

        d~ = log det(I + H~ / (kappa lambda)),   H~ as in `effective_dimension_bae2026`

    Args:
        matrix: as in `effective_dimension_bae2026`.
        ridge: lambda.
        kappa: 1 / kappa is the smallest slope of the link.

    >>> matrix = ntk_matrix([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], depth=2)
    >>> round(effective_dimension_verma2025(matrix, ridge=1.0, kappa=10.0), 3)
    0.403

    Verma, Dai, Lin, Jaillet & Low (2025), Neural Dueling Bandits, ICLR.
    """
    where = "effective_dimension_verma2025"
    scale = 1.0 / (
        float(checks.positive(where, "kappa", kappa)) * float(checks.positive(where, "ridge", ridge))
    )
    return _log_det(where, _kernel(where, matrix), scale)


@checks.named
def kernel_norm(matrix: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """sqrt(2 h' H^-1 h): what the norm parameter B of the theorems must not be less than.

    Equal or parallel contexts make H singular. Then H^-1 is the pseudo-inverse, provided that h lies in the
    range of H (equal contexts have equal values), which is when some network fits h and gives its norm;
    otherwise no B would do, and this is an error. An eigenvalue below n eps times the largest counts as 0.

    Args:
        matrix: H (n, n).
        values: h (n,), the expected score of each context.

    >>> round(kernel_norm(ntk_matrix([[1.0, 0.0], [0.0, 1.0]], depth=2), [0.5, 0.5]), 3)
    0.742

    Hwang, Chai & Oh (2023), Theorem 1; Zhou, Li & Gu (2020), Lemma 5.1.
    """
    where = "kernel_norm"
    kernel = _kernel(where, matrix)
    scores = checks.matrix(where, "values", values, (len(kernel),))
    eigenvalues, basis = np.linalg.eigh(kernel)
    eigenvalues = _cleared(where, eigenvalues)
    held = eigenvalues > 0.0
    parts = basis.T @ scores
    lost, size = float(np.linalg.norm(parts[~held])), float(np.linalg.norm(scores))
    if lost > ROUNDING * size:
        raise ValueError(
            f"{where}: values must lie in the range of matrix, got a part of norm {lost:.3g} outside it;"
            " give equal contexts equal values"
        )
    return math.sqrt(2.0 * float(np.sum(parts[held] ** 2 / eigenvalues[held])))


def _kernel(where: str, matrix: Any) -> NDArray:
    """`matrix` checked to be square and symmetric, and made so exactly."""
    matrix = checks.matrix(where, "matrix", matrix, (None, None))
    matrix = checks.matrix(where, "matrix", matrix, (len(matrix), len(matrix)))
    gap = np.max(np.abs(matrix - matrix.T), initial=0.0)
    if gap > ROUNDING * np.max(np.abs(matrix), initial=0.0):
        raise ValueError(f"{where}: matrix must be symmetric, got entries that differ by {gap:.3g}")
    return (matrix + matrix.T) / 2.0


def _cleared(where: str, eigenvalues: NDArray) -> NDArray:
    """The eigenvalues, checked to be positive; those that rounding alone could have made become 0."""
    largest, least = np.max(np.abs(eigenvalues), initial=0.0), np.min(eigenvalues, initial=0.0)
    if least < -ROUNDING * largest:
        raise ValueError(f"{where}: matrix must be positive semi-definite, got an eigenvalue of {least:.3g}")
    return np.where(eigenvalues > len(eigenvalues) * np.finfo(np.float64).eps * largest, eigenvalues, 0.0)


def _log_det(where: str, matrix: NDArray, scale: float) -> float:
    """log det(I + scale * matrix); by eigenvalues, since 1 + a rounds away what a large ridge leaves."""
    return float(np.sum(np.log1p(scale * _cleared(where, np.linalg.eigvalsh(matrix)))))


checks.public(__name__)
