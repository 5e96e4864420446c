"""Oh, Park and Paik, Neural Variance-aware Dueling Bandits with Deep Representation and Shallow Exploration.

Of this paper (2026): the pair strategies (section 4.2, listings 2-4), NVLDB and NLDB as in the experiments
(appendix E.2) and as in Algorithm 1. Beside them the linear baselines MaxInP (Saha 2021), MaxPairUCB and
VACDB (Di, Jin, Wu, Zhao, Farnoud and Gu 2023) and CoLSTIM (Bengs, Saha and Hullermeier 2022). NumPy, float64,
slow and literal: the whole history is kept and summed anew, by loops over pairs, rounds and arms. All
randomness is an argument: standard normals, perturbations, uniforms, the first weights of the networks.

Arms count from 0 and are the rows of a (K, d) array; `o` is 1 if the first arm won; `penalty` is lambda. Of
equal scores the first in row-major order is chosen, so the symmetric UCB scores give first <= second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr, ndtr

Weights = list[np.ndarray]  # [W_1, ..., W_L, theta], each (out, in); theta is (1, D)
Duel = tuple[np.ndarray, np.ndarray, float]  # x_1, x_2, o

NEVER = -math.inf


# ----------------------------------------------------------------------------------------------------- widths


def norm(z: np.ndarray, V: np.ndarray) -> float:
    """The norm of z in V^-1."""
    return math.sqrt(max(float(z @ np.linalg.solve(V, z)), 0.0))


def pair_width(phi_i: np.ndarray, phi_j: np.ndarray, V: np.ndarray) -> float:
    """|phi_i - phi_j| in V^-1."""
    return norm(np.asarray(phi_i, float) - np.asarray(phi_j, float), V)


def widths(phi: np.ndarray, V: np.ndarray) -> np.ndarray:
    """(K, K), the width of every pair."""
    num = len(phi)
    result = np.zeros((num, num))
    for i in range(num):
        for j in range(num):
            result[i, j] = pair_width(phi[i], phi[j], V)
    return result


# --------------------------------------------------------------------------- the six strategies (section 4.2)


def best(scores: Sequence[float]) -> int:
    """The first arm of largest score."""
    return int(np.argmax(np.asarray(scores, float)))


def best_pair(scores: np.ndarray) -> tuple[int, int]:
    """The ordered pair of largest score, the first in row-major order."""
    first, second, largest = 0, 0, NEVER
    for i in range(len(scores)):
        for j in range(len(scores)):
            if scores[i, j] > largest:
                first, second, largest = i, j, scores[i, j]
    if largest == NEVER:
        raise ValueError("no pair is allowed")
    return first, second


def candidates(u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, *, strict: bool = True) -> list[int]:
    """C_t: the k with a |phi_k - phi_k'| > u_k' - u_k for all k' other than k (Lemma C.3: >=, strict=False).

    Only arms of equal features and utilities can leave C_t empty; then it is the arm of largest utility.
    """
    num, result = len(u), []
    for k in range(num):
        inside = True
        for other in range(num):
            if other == k:
                continue
            width, gap = a * pair_width(phi[k], phi[other], V), u[other] - u[k]
            inside = inside and (width > gap or (not strict and width == gap))
        if inside:
            result.append(k)
    return result or [best(u)]


def allowed_pairs(members: Sequence[int], num: int, self_duels: bool) -> list[tuple[int, int]]:
    """Ordered pairs of candidates; without self-duels a lone candidate k meets any other arm, as (k, j)."""
    if self_duels or num == 1:
        return [(i, j) for i in members for j in members]
    if len(members) == 1:
        return [(members[0], j) for j in range(num) if j != members[0]]
    return [(i, j) for i in members for j in members if i != j]


def over_pairs(
    members: Sequence[int], num: int, self_duels: bool, score: Callable[[int, int], float]
) -> np.ndarray:
    """(K, K), the score of every allowed ordered pair and minus infinity elsewhere."""
    scores = np.full((num, num), NEVER)
    for i, j in allowed_pairs(members, num, self_duels):
        scores[i, j] = score(i, j)
    return scores


def asym_choice(u: np.ndarray, scores: np.ndarray, self_duels: bool) -> tuple[int, int]:
    """Equation 7, then the best challenger j by scores[j, first]."""
    first = best(u)
    second, largest = first, NEVER
    for j in range(len(u)):
        if j == first and not self_duels and len(u) > 1:
            continue
        if scores[j, first] > largest:
            second, largest = j, scores[j, first]
    return first, second


def ucb_asym_scores(u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float) -> np.ndarray:
    """scores[j, i] = u_j + a |phi_j - phi_i|: challenger j against first arm i (equation C.2)."""
    num = len(u)
    scores = np.zeros((num, num))
    for j in range(num):
        for i in range(num):
            scores[j, i] = u[j] + a * pair_width(phi[j], phi[i], V)
    return scores


def ucb_asym(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, *, self_duels: bool = True
) -> tuple[int, int]:
    """UCB-ASYM."""
    return asym_choice(u, ucb_asym_scores(u, phi, V, a), self_duels)


def ucb_osym_scores(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, *, self_duels: bool = True
) -> np.ndarray:
    """scores[i, j] = u_i + u_j + a |phi_i - phi_j| (equation C.6); symmetric."""
    num = len(u)
    return over_pairs(
        range(num), num, self_duels, lambda i, j: u[i] + u[j] + a * pair_width(phi[i], phi[j], V)
    )


def ucb_osym(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, *, self_duels: bool = True
) -> tuple[int, int]:
    """UCB-OSYM."""
    return best_pair(ucb_osym_scores(u, phi, V, a, self_duels=self_duels))


def ucb_csym_scores(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, *, self_duels: bool = True
) -> np.ndarray:
    """scores[i, j] = |phi_i - phi_j| for candidates i and j (equation C.10); symmetric."""
    members = candidates(u, phi, V, a)
    return over_pairs(members, len(u), self_duels, lambda i, j: pair_width(phi[i], phi[j], V))


def ucb_csym(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, *, self_duels: bool = True
) -> tuple[int, int]:
    """UCB-CSYM."""
    return best_pair(ucb_csym_scores(u, phi, V, a, self_duels=self_duels))


def ts_asym_scores(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, normals: np.ndarray
) -> np.ndarray:
    """scores[j, i] ~ N(u_j - u_i, a^2 |phi_j - phi_i|^2) by normals[j, i]: challenger j, first arm i."""
    num = len(u)
    scores = np.zeros((num, num))
    for j in range(num):
        for i in range(num):
            scores[j, i] = u[j] - u[i] + a * pair_width(phi[j], phi[i], V) * normals[j, i]
    return scores


def ts_asym(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, normals: np.ndarray, *, self_duels: bool = True
) -> tuple[int, int]:
    """TS-ASYM; of normals (K, K) only the column of the first arm counts."""
    return asym_choice(u, ts_asym_scores(u, phi, V, a, normals), self_duels)


def ts_osym_scores(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, normals: np.ndarray, *, self_duels: bool = True
) -> np.ndarray:
    """scores[i, j] ~ N(u_i + u_j, a^2 |phi_i - phi_j|^2) by normals[i, j], one draw per ordered pair."""
    num = len(u)

    def score(i: int, j: int) -> float:
        return u[i] + u[j] + a * pair_width(phi[i], phi[j], V) * normals[i, j]

    return over_pairs(range(num), num, self_duels, score)


def ts_osym(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, normals: np.ndarray, *, self_duels: bool = True
) -> tuple[int, int]:
    """TS-OSYM."""
    return best_pair(ts_osym_scores(u, phi, V, a, normals, self_duels=self_duels))


def ts_csym_scores(
    u: np.ndarray,
    phi: np.ndarray,
    V: np.ndarray,
    a: float,
    normals: np.ndarray,
    t: int,
    *,
    self_duels: bool = True,
) -> np.ndarray:
    """scores[i, j] ~ N(w^2, w^4 / (4 log(K t^2))) for candidates i and j; rounds t count from 1."""
    num = len(u)

    def score(i: int, j: int) -> float:
        w2 = pair_width(phi[i], phi[j], V) ** 2
        if w2 == 0.0:
            return 0.0
        return w2 + w2 / math.sqrt(4 * math.log(num * t**2)) * normals[i, j]

    return over_pairs(candidates(u, phi, V, a), num, self_duels, score)


def ts_csym(
    u: np.ndarray,
    phi: np.ndarray,
    V: np.ndarray,
    a: float,
    normals: np.ndarray,
    t: int,
    *,
    self_duels: bool = True,
) -> tuple[int, int]:
    """TS-CSYM as in the text."""
    return best_pair(ts_csym_scores(u, phi, V, a, normals, t, self_duels=self_duels))


def ts_csym_listing_scores(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, normals: np.ndarray, *, self_duels: bool = True
) -> np.ndarray:
    """scores[i, j] of mean s and standard deviation s^2 / 4, s = a w, for candidates i and j (listing 4)."""

    def score(i: int, j: int) -> float:
        s = a * pair_width(phi[i], phi[j], V)
        return s + s**2 / 4 * normals[i, j]

    return over_pairs(candidates(u, phi, V, a), len(u), self_duels, score)


def ts_csym_listing(
    u: np.ndarray, phi: np.ndarray, V: np.ndarray, a: float, normals: np.ndarray, *, self_duels: bool = True
) -> tuple[int, int]:
    """TS-CSYM as in listing 4."""
    return best_pair(ts_csym_listing_scores(u, phi, V, a, normals, self_duels=self_duels))


# ------------------------------------------------------------------------------------------------------ links


def normal_hazard(z: float) -> float:
    """phi(z) / Phi(z) of the normal distribution."""
    return math.exp(-z * z / 2 - math.log(2 * math.pi) / 2 - float(log_ndtr(z)))


class Link(NamedTuple):
    """g, log g, (log g)' and -(log g)''."""

    g: Callable[[float], float]
    log: Callable[[float], float]
    slope: Callable[[float], float]
    curvature: Callable[[float], float]


LINKS = {
    "logistic": Link(
        lambda z: float(expit(z)),
        lambda z: -float(np.logaddexp(0.0, -z)),
        lambda z: float(expit(-z)),
        lambda z: float(expit(z) * expit(-z)),
    ),
    "exponential": Link(  # the Laplace law
        lambda z: 1 - math.exp(-z) / 2 if z >= 0 else math.exp(z) / 2,
        lambda z: math.log(1 - math.exp(-z) / 2) if z >= 0 else z - math.log(2),
        lambda z: math.exp(-z) / (2 - math.exp(-z)) if z >= 0 else 1.0,
        lambda z: 2 * math.exp(-z) / (2 - math.exp(-z)) ** 2 if z >= 0 else 0.0,
    ),
    "probit": Link(
        lambda z: float(ndtr(z)),
        lambda z: float(log_ndtr(z)),
        normal_hazard,
        lambda z: normal_hazard(z) * (z + normal_hazard(z)),
    ),
}


def sign(o: float) -> float:
    """(-1)^(1 - o)."""
    return 1.0 if o == 1 else -1.0


def zeta2(delta_f: float, eps: float, link: str = "logistic") -> float:
    """Equation 5, squared: max(sigma_hat, eps)^2 with sigma_hat^2 = g (1 - g) at the utility difference."""
    g = LINKS[link].g
    sigma = math.sqrt(g(delta_f) * g(-delta_f))
    return max(sigma, eps) ** 2


# ------------------------------------------------------------------------------------------- utility networks


def copied(weights: Weights) -> Weights:
    return [np.array(W, float) for W in weights]


def factor(weights: Weights, form: str) -> float:
    """sqrt(m) in "theory", 1 in the others."""
    if form not in ("figure", "linear", "theory"):
        raise ValueError(f"unknown form {form}")
    return math.sqrt(weights[0].shape[0]) if form == "theory" else 1.0


def layer_inputs(weights: Weights, x: np.ndarray, form: str = "figure") -> list[np.ndarray]:
    """[x, relu(W_1 x), ..., phi(x)]: the input of each matrix, theta's being phi.

    figure    phi = relu(W_L ... relu(W_1 x)): what a perceptron's last layer is given (appendix E.2)
    linear    phi = W_L relu(W_{L-1} ... relu(W_1 x)): a feature layer without relu
    theory    phi = sqrt(m) relu(W_L ... relu(W_1 x)) (equation 2)
    """
    inputs = [np.asarray(x, float)]
    for W in weights[:-2]:
        inputs.append(np.maximum(W @ inputs[-1], 0.0))
    last = weights[-2] @ inputs[-1]
    if form != "linear":
        last = np.maximum(last, 0.0)
    inputs.append(factor(weights, form) * last)
    return inputs


def features(weights: Weights, x: np.ndarray, form: str = "figure") -> np.ndarray:
    """phi(x; W), (D,)."""
    return layer_inputs(weights, x, form)[-1]


def network(weights: Weights, x: np.ndarray, form: str = "figure") -> float:
    """f(x; theta, W) = theta' phi(x; W)."""
    return float(weights[-1][0] @ features(weights, x, form))


def network_gradient(weights: Weights, x: np.ndarray, form: str = "figure") -> Weights:
    """The gradient of f in each matrix, by back-propagation; relu'(0) = 0."""
    inputs = layer_inputs(weights, x, form)
    gradient = [inputs[-1][None, :]]  # of theta
    delta = factor(weights, form) * weights[-1][0]
    if form != "linear":
        delta = delta * (inputs[-1] > 0)
    for layer in range(len(weights) - 2, -1, -1):
        gradient.append(np.outer(delta, inputs[layer]))
        delta = (weights[layer].T @ delta) * (inputs[layer] > 0)
    return gradient[::-1]


def difference(weights: Weights, duel: Duel, form: str = "figure") -> float:
    """Delta f = f(x_1) - f(x_2)."""
    return network(weights, duel[0], form) - network(weights, duel[1], form)


def feature_difference(weights: Weights, duel: Duel, form: str = "figure") -> np.ndarray:
    """Delta phi = phi(x_1) - phi(x_2)."""
    return features(weights, duel[0], form) - features(weights, duel[1], form)


# ----------------------------------------------------------------------------------------- loss of equation 4


class DuelLoss:
    """Equation 4: - sum_i log g(+-Delta f_i) / zeta_i^2 + penalty/2 |theta - theta_0|^2.

    `zetas` are the zeta_i^2, constants of the fit; the penalty is on theta alone.
    """

    def __init__(
        self,
        duels: Sequence[Duel],
        zetas: Sequence[float],
        theta_0: np.ndarray,
        *,
        penalty: float,
        link: str = "logistic",
        form: str = "figure",
    ):
        self.data = list(zip(duels, zetas, strict=True))
        self.theta_0 = np.asarray(theta_0, float).reshape(1, -1)
        self.penalty, self.link, self.form = penalty, LINKS[link], form

    def value(self, weights: Weights) -> float:
        total = self.penalty / 2 * float(np.sum((weights[-1] - self.theta_0) ** 2))
        for duel, zeta in self.data:
            total -= self.link.log(sign(duel[2]) * difference(weights, duel, self.form)) / zeta
        return total

    def gradient(self, weights: Weights) -> Weights:
        total = [np.zeros_like(W) for W in weights]
        total[-1] = self.penalty * (weights[-1] - self.theta_0)
        for duel, zeta in self.data:
            s = sign(duel[2])
            residual = -s * self.link.slope(s * difference(weights, duel, self.form)) / zeta
            one = network_gradient(weights, duel[0], self.form)
            two = network_gradient(weights, duel[1], self.form)
            for layer in range(len(weights)):
                total[layer] = total[layer] + residual * (one[layer] - two[layer])
        return total

    def adam(self, weights: Weights, *, eta: float, steps: int) -> Weights:
        """`steps` steps of Adam from `weights`, all moments zero at the start."""
        return adam(self.gradient, weights, eta=eta, steps=steps)

    def best_theta(self, weights: Weights) -> np.ndarray:
        """Line 10 of Algorithm 1: theta (D,) minimizing equation 4 with W as in `weights`."""
        zs = [feature_difference(weights, duel, self.form) for duel, _ in self.data]
        return LinearDuelLoss(
            zs,
            [duel[2] for duel, _ in self.data],
            [1 / zeta for _, zeta in self.data],
            center=self.theta_0[0],
            penalty=self.penalty,
            link=self.link,
        ).minimizer()


def adam(
    gradient: Callable[[Weights], Weights],
    weights: Weights,
    *,
    eta: float,
    steps: int,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Weights:
    """Adam with bias correction, eps outside the square root."""
    weights = copied(weights)
    first = [np.zeros_like(W) for W in weights]
    second = [np.zeros_like(W) for W in weights]
    for step in range(1, steps + 1):
        slopes = gradient(weights)
        for layer, g in enumerate(slopes):
            first[layer] = b1 * first[layer] + (1 - b1) * g
            second[layer] = b2 * second[layer] + (1 - b2) * g**2
            m, v = first[layer] / (1 - b1**step), second[layer] / (1 - b2**step)
            weights[layer] = weights[layer] - eta * m / (np.sqrt(v) + eps)
    return weights


class LinearDuelLoss:
    """- sum_i w_i log g(+-z_i' theta) + penalty/2 |theta - center|^2, strictly convex in theta."""

    def __init__(
        self,
        zs: Sequence[np.ndarray],
        outcomes: Sequence[float],
        weights: Sequence[float],
        *,
        center: np.ndarray,
        penalty: float,
        link: Link,
    ):
        self.data = list(zip(zs, outcomes, weights, strict=True))
        self.center, self.penalty, self.link = np.asarray(center, float), penalty, link

    def value(self, theta: np.ndarray) -> float:
        total = self.penalty / 2 * float(np.sum((theta - self.center) ** 2))
        for z, o, w in self.data:
            total -= w * self.link.log(sign(o) * float(z @ theta))
        return total

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        total = self.penalty * (theta - self.center)
        for z, o, w in self.data:
            total = total - w * sign(o) * self.link.slope(sign(o) * float(z @ theta)) * z
        return total

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        total = self.penalty * np.eye(len(self.center))
        for z, o, w in self.data:
            total = total + w * self.link.curvature(sign(o) * float(z @ theta)) * np.outer(z, z)
        return total

    def minimizer(self) -> np.ndarray:
        """Newton from the center to a gradient of norm 1e-12 (times the penalty if that is below 1).

        So theta is within 1e-12 of the optimum. Steps are halved until they lower the norm; rounding may stop
        that earlier, allowed up to 1e-12 times 1 + sum of w |z|.
        """
        theta = self.center.copy()
        scale = 1.0 + sum(w * float(np.linalg.norm(z)) for z, _, w in self.data)
        while True:
            gradient = self.gradient(theta)
            size = float(np.linalg.norm(gradient))
            if size <= 1e-12 * min(1.0, self.penalty):
                return theta
            direction, step = np.linalg.solve(self.hessian(theta), gradient), 1.0
            while not np.linalg.norm(self.gradient(theta - step * direction)) < size:
                step /= 2
                if step < 1e-10:
                    if size <= 1e-12 * scale:
                        return theta
                    raise ArithmeticError(f"Newton stopped at a gradient of norm {size}")
            theta = theta - step * direction


# --------------------------------------------------------------------------------------------- NVLDB and NLDB


class RebuiltNVLDB:
    """NVLDB with V rebuilt; NLDB with variance_aware=False.

    Every round: the zeta of the loss, of all duels, by the network before the fit; n steps of Adam on all
    duels, from the first weights with reset, else from the current ones; V rebuilt with features and zeta of
    the network after the fit.
    """

    def __init__(
        self,
        start: Weights,
        *,
        penalty: float = 1.0,
        eta: float = 0.01,
        steps: int = 20,
        eps: float = 0.1,
        link: str = "logistic",
        variance_aware: bool = True,
        form: str = "figure",
        reset: bool = False,
    ):
        self.weights, self.theta_0 = copied(start), np.array(start[-1], float)
        self.first = copied(start) if reset else None
        self.penalty, self.eta, self.steps, self.eps = penalty, eta, steps, eps
        self.link, self.variance_aware, self.form = link, variance_aware, form
        self.duels: list[Duel] = []
        self.V = penalty * np.eye(self.theta_0.shape[1])

    def zeta2(self, duel: Duel) -> float:
        """zeta^2 of a duel by the current network."""
        if not self.variance_aware:
            return 1.0
        return zeta2(difference(self.weights, duel, self.form), self.eps, self.link)

    def loss(self, zetas: Sequence[float]) -> DuelLoss:
        return DuelLoss(self.duels, zetas, self.theta_0, penalty=self.penalty, link=self.link, form=self.form)

    def observe(self, x1: np.ndarray, x2: np.ndarray, o: float) -> None:
        self.duels.append((np.array(x1, float), np.array(x2, float), float(o)))
        self.fit()
        self.rebuild()

    def fit(self) -> None:
        self.descend([self.zeta2(duel) for duel in self.duels])

    def descend(self, zetas: Sequence[float]) -> None:
        begin = self.weights if self.first is None else copied(self.first)
        self.weights = self.loss(zetas).adam(begin, eta=self.eta, steps=self.steps)

    def rebuild(self) -> None:
        """Equation 6 with the current network."""
        self.V = self.penalty * np.eye(self.theta_0.shape[1])
        for duel in self.duels:
            z = feature_difference(self.weights, duel, self.form)
            self.V = self.V + np.outer(z, z) / self.zeta2(duel)

    def scores(self, arms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Utilities (K,), features (K, D) and V (D, D)."""
        u = np.array([network(self.weights, x, self.form) for x in arms])
        phi = np.array([features(self.weights, x, self.form) for x in arms])
        return u, phi, self.V.copy()


class FigureNVLDB(RebuiltNVLDB):
    """NVLDB as in the experiments: zeta_i and Delta phi_i are those of the network that chose, and are kept.

    Round t: zeta_t by the network before the fit; V += Delta phi Delta phi' / zeta_t^2 (equation 6); every
    `every` rounds n steps of Adam on all duels with the kept zeta.
    """

    def __init__(self, start: Weights, *, every: int = 1, **settings):
        super().__init__(start, **settings)
        self.every = every
        self.kept: list[float] = []

    def observe(self, x1: np.ndarray, x2: np.ndarray, o: float) -> None:
        duel = (np.array(x1, float), np.array(x2, float), float(o))
        zeta = self.zeta2(duel)
        z = feature_difference(self.weights, duel, self.form)
        self.V = self.V + np.outer(z, z) / zeta
        self.duels.append(duel)
        self.kept.append(zeta)
        if len(self.duels) % self.every == 0:
            self.fit()

    def fit(self) -> None:
        self.descend(self.kept)


class TheoryNVLDB(FigureNVLDB):
    """Algorithm 1: the same, and theta alone to the optimum after every fit (line 10)."""

    def fit(self) -> None:
        super().fit()
        self.weights[-1] = self.loss(self.kept).best_theta(self.weights)[None, :]


class NDB:
    """NDB-UCB and NDB-TS (Verma, Dai, Lin, Jaillet and Low 2024), as their code has them.

    Every round: n steps of Adam from the first weights on - sum_i log g(+-Delta f_i) + penalty/2 |weights|^2;
    the diagonal penalty + sum_i (grad f(x_1) - grad f(x_2))^2 of the network after the fit. The second arm
    differs from the first.
    """

    def __init__(self, start: Weights, *, penalty: float = 1.0, eta: float = 0.01, steps: int = 20):
        self.start, self.weights = copied(start), copied(start)
        self.penalty, self.eta, self.steps = penalty, eta, steps
        self.duels: list[Duel] = []

    def gradient(self, weights: Weights) -> Weights:
        """Of the loss."""
        total = [self.penalty * W for W in weights]
        for duel in self.duels:
            s = sign(duel[2])
            residual = -s * LINKS["logistic"].slope(s * difference(weights, duel))
            one, two = network_gradient(weights, duel[0]), network_gradient(weights, duel[1])
            for layer in range(len(weights)):
                total[layer] = total[layer] + residual * (one[layer] - two[layer])
        return total

    def observe(self, x1: np.ndarray, x2: np.ndarray, o: float) -> None:
        self.duels.append((np.array(x1, float), np.array(x2, float), float(o)))
        self.weights = adam(self.gradient, self.start, eta=self.eta, steps=self.steps)

    def flat_gradient(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([layer.ravel() for layer in network_gradient(self.weights, x)])

    def scores(self, arms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Utilities (K,), gradients (K, p) and the diagonal matrix (p, p)."""
        u = np.array([network(self.weights, x) for x in arms])
        g = np.array([self.flat_gradient(x) for x in arms])
        diagonal = np.full(g.shape[1], self.penalty)
        for x1, x2, _ in self.duels:
            diagonal = diagonal + (self.flat_gradient(x1) - self.flat_gradient(x2)) ** 2
        return u, g, np.diag(diagonal)


# ------------------------------------------------------------------ linear duels: MaxInP, MaxPairUCB, CoLSTIM


class GLMDuel:
    """z = x_1 - x_2; theta: min - sum log g(+-z' theta) + penalty/2 |theta|^2; V = penalty I + sum z z'."""

    def __init__(self, *, dim: int, link: str = "logistic", penalty: float = 1.0):
        self.dim, self.link, self.penalty = dim, link, penalty
        self.zs: list[np.ndarray] = []
        self.outcomes: list[float] = []

    def observe(self, x1: np.ndarray, x2: np.ndarray, o: float) -> None:
        self.zs.append(np.array(x1, float) - np.array(x2, float))
        self.outcomes.append(float(o))

    def loss(self) -> LinearDuelLoss:
        return LinearDuelLoss(
            self.zs,
            self.outcomes,
            [1.0] * len(self.zs),
            center=np.zeros(self.dim),
            penalty=self.penalty,
            link=LINKS[self.link],
        )

    def theta(self) -> np.ndarray:
        return self.loss().minimizer()

    def V(self) -> np.ndarray:  # noqa: N802
        total = self.penalty * np.eye(self.dim)
        for z in self.zs:
            total = total + np.outer(z, z)
        return total

    def utilities(self, arms: np.ndarray) -> np.ndarray:
        theta = self.theta()
        return np.array([float(x @ theta) for x in arms])

    def max_inp(self, arms: np.ndarray, a: float, *, self_duels: bool = True) -> tuple[int, int]:
        """MaxInP (Saha 2021): the widest pair of those that may be best; UCB-CSYM on the arms themselves."""
        return ucb_csym(self.utilities(arms), arms, self.V(), a, self_duels=self_duels)

    def max_pair_ucb(self, arms: np.ndarray, a: float, *, self_duels: bool = True) -> tuple[int, int]:
        """MaxPairUCB (Di et al. 2023): max (x + y)' theta + a |x - y|; UCB-OSYM on the arms themselves."""
        return ucb_osym(self.utilities(arms), arms, self.V(), a, self_duels=self_duels)

    def colstim_scores(
        self, arms: np.ndarray, e: np.ndarray, *, c: float, threshold: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """First arm: x_i' theta + e_i |x_i|, e trimmed, (K,); [j, i]: x_j' theta + c |x_j - x_i|, (K, K)."""
        u, V, num = self.utilities(arms), self.V(), len(arms)
        first = np.zeros(num)
        for i in range(num):
            trimmed = min(threshold, max(-threshold, float(e[i])))
            first[i] = u[i] + trimmed * norm(arms[i], V)
        return first, ucb_asym_scores(u, arms, V, c)

    def colstim(
        self, arms: np.ndarray, e: np.ndarray, *, c: float, threshold: float, self_duels: bool = True
    ) -> tuple[int, int]:
        """CoLSTIM (Bengs et al. 2022); e (K,), all equal in rounds in which the perturbations are coupled."""
        first, second = self.colstim_scores(arms, e, c=c, threshold=threshold)
        return asym_choice(first, second, self_duels)


# ------------------------------------------------------------------------------------------------------ VACDB


class VACDB:
    """VACDB (Di, Jin, Wu, Zhao, Farnoud and Gu 2023, Algorithm 1): layers 1, ..., L with weighted estimates.

    Layer l has Sigma_l = 4^-l I + sum_s w_s^2 z_s z_s', w_s = 2^-l / |z_s|_{Sigma_l^-1} at the time, and the
    theta_l solving 4^-l kappa theta + sum_s w_s^2 (g(z_s' theta) - o_s) z_s = 0. Only duels of exploration
    are learned from. radius: None for beta of equation 4.3, or a constant. For links other than the logistic
    the equation is not that of a likelihood; only the logistic is offered.
    """

    def __init__(
        self,
        *,
        dim: int,
        alpha: float,
        kappa: float,
        slope: float = 0.25,
        delta: float = 0.05,
        radius: float | None = None,
    ):
        self.dim, self.alpha, self.kappa, self.slope, self.delta = dim, alpha, kappa, slope, delta
        self.radius = radius
        self.layers = math.ceil(math.log2(1 / alpha))
        self.t = 1  # the round to come
        self.Sigma = {layer: 4.0**-layer * np.eye(dim) for layer in self.all_layers()}
        self.theta = {layer: np.zeros(dim) for layer in self.all_layers()}
        first = {layer: 2.0**-layer * (1 + 1 / kappa) for layer in self.all_layers()}
        self.beta = first if radius is None else dict.fromkeys(self.all_layers(), radius)
        self.data: dict[int, list[tuple[np.ndarray, float, float]]] = {k: [] for k in self.all_layers()}

    def all_layers(self) -> range:
        return range(1, self.layers + 1)

    def choose(self, arms: np.ndarray, pick: float | None = None) -> tuple[int, int, int | None]:
        """(first, second, layer): layer is that of the exploration, None after exploitation.

        The paper explores with any pair wider than 2^-layer: here the ordered pair number
        floor(pick * count) of them, pick uniform on [0, 1), or the widest if pick is None.
        """
        alive, layer = list(range(len(arms))), 1
        while True:
            w = widths(arms, self.Sigma[layer])
            pairs = [(i, j) for i in alive for j in alive]
            u = [float(x @ self.theta[layer]) for x in arms]
            if all(w[i, j] <= self.alpha for i, j in pairs):
                scores = np.full((len(arms), len(arms)), NEVER)
                for i, j in pairs:
                    scores[i, j] = u[i] + u[j] + self.beta[layer] * w[i, j]
                return *best_pair(scores), None
            wide = [(i, j) for i, j in pairs if w[i, j] > 2.0**-layer]
            if not wide:
                top = max(u[i] for i in alive)
                alive = [i for i in alive if u[i] >= top - 2.0**-layer * self.beta[layer]]
                layer += 1
                continue
            if pick is not None:
                return *wide[int(pick * len(wide))], layer
            scores = np.full((len(arms), len(arms)), NEVER)
            for i, j in wide:
                scores[i, j] = w[i, j]
            return *best_pair(scores), layer

    def observe(self, x1: np.ndarray, x2: np.ndarray, o: float, layer: int | None) -> None:
        """The outcome of a duel chosen in `layer`."""
        if layer is not None:
            z = np.array(x1, float) - np.array(x2, float)
            w = 2.0**-layer / norm(z, self.Sigma[layer])
            self.Sigma[layer] = self.Sigma[layer] + w**2 * np.outer(z, z)
            self.data[layer].append((z, float(o), w))
            self.theta[layer] = self.loss(layer).minimizer()
            if self.radius is None:
                self.beta[layer] = self.theory_radius(layer, self.t + 1)
        self.t += 1

    def loss(self, layer: int) -> LinearDuelLoss:
        """The loss of which theta_l is the minimizer, times 4^l."""
        data = self.data[layer]
        return LinearDuelLoss(
            [z for z, _, _ in data],
            [o for _, o, _ in data],
            [4.0**layer * w**2 for _, _, w in data],
            center=np.zeros(self.dim),
            penalty=self.kappa,
            link=LINKS["logistic"],
        )

    def variance(self, layer: int, t: int) -> float:
        """Var_{t,l}: sum_s w_s^2 (o_s - g(z_s' theta_l))^2 in high layers, their number in low ones."""
        data, bound = self.data[layer], 64 * self.slope / self.kappa
        if 2.0**layer < bound * math.sqrt(math.log(4 * (t + 1) ** 2 * self.layers / self.delta)):
            return float(len(data))
        total = 0.0
        for z, o, w in data:
            total += w**2 * (o - LINKS["logistic"].g(float(z @ self.theta[layer]))) ** 2
        return total

    def theory_radius(self, layer: int, t: int) -> float:
        """beta_{t,l} of equation 4.3."""
        log_next = math.log(4 * (t + 1) ** 2 * self.layers / self.delta)
        log_now = math.log(4 * t**2 * self.layers / self.delta)
        root = math.sqrt((8 * self.variance(layer, t) + 18 * log_next) * log_now)
        return 2.0**-layer * (16 / self.kappa * root + 6 / self.kappa * log_now + 2)


# --------------------------------------------------------------------------------------- utilities and regret


def cosine(x: np.ndarray, theta: np.ndarray) -> float:
    """cos(3 Theta' x), Theta (d,)."""
    return math.cos(3 * float(theta @ x))


def square(x: np.ndarray, theta: np.ndarray) -> float:
    """10 (Theta' x)^2, Theta (d,)."""
    return 10 * float(theta @ x) ** 2


def quadratic(x: np.ndarray, theta: np.ndarray) -> float:
    """x' (Theta Theta') x, Theta (d, d), or (d,) as printed in appendix E.1."""
    theta = np.asarray(theta, float)
    if theta.ndim == 1:
        theta = theta[:, None]
    return float(x @ (theta @ theta.T) @ x)


def average_regret(u: np.ndarray, first: int, second: int) -> float:
    """(2 u* - u_1 - u_2) / 2 (section 3.1)."""
    return float(2 * max(u) - u[first] - u[second]) / 2


def total_regret(u: np.ndarray, first: int, second: int) -> float:
    """2 u* - u_1 - u_2."""
    return float(2 * max(u) - u[first] - u[second])


def weak_regret(u: np.ndarray, first: int, second: int) -> float:
    """u* - max(u_1, u_2) (section 3.1)."""
    return float(max(u) - max(u[first], u[second]))
