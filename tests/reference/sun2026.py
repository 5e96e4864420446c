"""Sun, Wang and Xu (2026), Provable Anytime Ensemble Sampling Algorithms in Nonlinear Contextual Bandits.

Lin-ES, GLM-ES and Neural-ES (Algorithms 1-3), their anytime versions (section 6, appendix E) and the
randomized baselines, written from the papers in NumPy, float64. Slow and literal: the whole history is kept
and summed anew every time, by loops over members, rounds and arms. All randomness is an argument:
perturbations, the member drawn, standard normals, the first weights of the networks. Members and arms count
from 0; `penalty` is lambda.

    ensembles        observe(x, y, z) with z (m,), one kept perturbation per member; theta(j); choose(arms, j)
    perturbed history    observe(x, y); theta(z) (Neural-PHE: fit(z)) and choose(arms, z), z (t,) all fresh
    GLM-TSL, EVILL   observe(x, y); the draw is built from standard normals of the caller

Arms are the rows of a (K, d) array; of equal scores the first arm is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

Weights = list[np.ndarray]  # [W_1, ..., W_L], each (out, in)


def best(scores: Sequence[float]) -> int:
    """The first arm of largest score."""
    return int(np.argmax(np.asarray(scores, float)))


# ----------------------------------------------------------------------------------- ridge regression, Lin-ES


def ridge(xs: Sequence[np.ndarray], targets: Sequence[float], *, dim: int, penalty: float) -> np.ndarray:
    """argmin 1/2 sum_l (x_l' theta - y_l)^2 + penalty/2 |theta|^2."""
    V, b = penalty * np.eye(dim), np.zeros(dim)
    for x, y in zip(xs, targets, strict=True):
        V = V + np.outer(x, x)
        b = b + y * x
    return np.linalg.solve(V, b)


class LinES:
    """Algorithm 1 with the squared loss: member j is the ridge estimate of (X_l, Y_l + Z_l^j), l <= t."""

    def __init__(self, *, dim: int, members: int, penalty: float = 1.0):
        self.dim, self.members, self.penalty = dim, members, penalty
        self.xs: list[np.ndarray] = []
        self.ys: list[float] = []
        self.zs: list[np.ndarray] = []

    def observe(self, x: np.ndarray, y: float, z: np.ndarray) -> None:
        """Lines 7 and 8: (X_t, Y_t + Z_t^j) joins the history of every member; earlier z are kept."""
        z = np.array(z, float)
        if z.shape != (self.members,):
            raise ValueError("one perturbation per member is needed")
        self.xs.append(np.array(x, float))
        self.ys.append(float(y))
        self.zs.append(z)

    def targets(self, j: int) -> list[float]:
        """Y_l + Z_l^j."""
        return [y + float(z[j]) for y, z in zip(self.ys, self.zs, strict=True)]

    def theta(self, j: int) -> np.ndarray:
        """Line 9: the estimate of member j, zero before any data."""
        return ridge(self.xs, self.targets(j), dim=self.dim, penalty=self.penalty)

    def scores(self, arms: np.ndarray, j: int) -> list[float]:
        """x' theta_j of each arm (the mean reward is an increasing function of it)."""
        theta = self.theta(j)
        return [float(x @ theta) for x in arms]

    def choose(self, arms: np.ndarray, j: int) -> int:
        """Line 5, j having been drawn in line 4."""
        return best(self.scores(arms, j))


# --------------------------------------------------------------------------- generalized linear model, GLM-ES


class Link(NamedTuple):
    """b, mu = b' and mu' = b'' of equation 4.1."""

    b: Callable[[float], float]
    mean: Callable[[float], float]
    slope: Callable[[float], float]


LINKS = {
    "identity": Link(lambda u: u * u / 2, lambda u: u, lambda u: 1.0),
    "logistic": Link(lambda u: np.logaddexp(0.0, u), expit, lambda u: expit(u) * expit(-u)),
    "poisson": Link(np.exp, np.exp, np.exp),
}


class GLMLoss:
    """Equation 4.2 less <shift, theta>: penalty/2 |theta|^2 - sum_l (y_l u_l - b(u_l)), u_l = x_l' theta."""

    def __init__(self, xs, targets, *, dim: int, penalty: float, link: str, shift: np.ndarray | None = None):
        self.data = list(zip(xs, targets, strict=True))
        self.dim, self.penalty, self.link = dim, penalty, LINKS[link]
        self.shift = np.zeros(dim) if shift is None else np.asarray(shift, float)

    def value(self, theta: np.ndarray) -> float:
        total = self.penalty / 2 * float(theta @ theta) - float(self.shift @ theta)
        for x, y in self.data:
            u = float(x @ theta)
            total -= y * u - self.link.b(u)
        return total

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        total = self.penalty * theta - self.shift
        for x, y in self.data:
            total = total + (self.link.mean(float(x @ theta)) - y) * x
        return total

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """H(theta; D_t), equation A.5."""
        total = self.penalty * np.eye(self.dim)
        for x, _ in self.data:
            total = total + self.link.slope(float(x @ theta)) * np.outer(x, x)
        return total

    def minimizer(self) -> np.ndarray:
        """Newton from zero to a gradient of norm 1e-12, steps halved until they lower that norm.

        The loss is strictly convex, so the Newton direction lowers the norm for a short enough step; with
        long histories rounding may stop it earlier, allowed up to 1e-12 per observation.
        """
        theta = np.zeros(self.dim)
        with np.errstate(over="ignore", invalid="ignore"):
            while True:
                gradient = self.gradient(theta)
                norm = float(np.linalg.norm(gradient))
                if norm <= 1e-12:
                    return theta
                direction, size = np.linalg.solve(self.hessian(theta), gradient), 1.0
                while not np.linalg.norm(self.gradient(theta - size * direction)) < norm:
                    size /= 2
                    if size < 1e-10:
                        if norm <= 1e-12 * len(self.data):
                            return theta
                        raise ArithmeticError(f"Newton stopped at a gradient of norm {norm}")
                theta = theta - size * direction


class GLMES(LinES):
    """GLM-ES, section 4.2: theta_t^j = argmin L_GLM(theta; (X_l, Y_l + Z_l^j), l <= t), equation 4.3."""

    def __init__(self, *, dim: int, members: int, penalty: float = 1.0, link: str = "logistic"):
        super().__init__(dim=dim, members=members, penalty=penalty)
        self.link = link

    def loss(self, j: int) -> GLMLoss:
        return GLMLoss(self.xs, self.targets(j), dim=self.dim, penalty=self.penalty, link=self.link)

    def theta(self, j: int) -> np.ndarray:
        return self.loss(j).minimizer()


# ---------------------------------------------------------------------------------------- networks, Neural-ES


def symmetric_start(hidden: Sequence[np.ndarray], last: np.ndarray) -> Weights:
    """Section 4.3: W_l = (W, 0; 0, W) and W_L = (w, -w), from the given W ~ N(0, 4/N) and w ~ N(0, 2/N)."""
    weights = [np.block([[W, np.zeros_like(W)], [np.zeros_like(W), W]]) for W in hidden]
    last = np.asarray(last, float).reshape(-1)
    return [*weights, np.concatenate([last, -last])[None, :]]


def copied(weights: Weights) -> Weights:
    return [np.array(W, float) for W in weights]


def layer_inputs(weights: Weights, x: np.ndarray, form: str) -> list[np.ndarray]:
    """[x, relu(W_1 x), ...]: the input of each layer; "ntk" begins with [x; x] / sqrt(2)."""
    x = np.asarray(x, float)
    inputs = [np.concatenate([x, x]) / math.sqrt(2) if form == "ntk" else x]
    for W in weights[:-1]:
        inputs.append(np.maximum(W @ inputs[-1], 0.0))
    return inputs


def factor(weights: Weights, form: str) -> float:
    """sqrt(N) in "ntk", 1 in "standard"."""
    if form not in ("ntk", "standard"):
        raise ValueError(f"unknown form {form}")
    return math.sqrt(weights[0].shape[0]) if form == "ntk" else 1.0


def network(weights: Weights, x: np.ndarray, form: str) -> float:
    """f(x; theta) = factor W_L relu(W_{L-1} ... relu(W_1 x)), no biases."""
    return factor(weights, form) * float((weights[-1] @ layer_inputs(weights, x, form)[-1])[0])


def network_gradient(weights: Weights, x: np.ndarray, form: str) -> Weights:
    """g(x; theta), one matrix per layer, by back-propagation; relu'(0) = 0."""
    inputs = layer_inputs(weights, x, form)
    delta, gradient = np.array([factor(weights, form)]), []
    for layer in range(len(weights) - 1, -1, -1):
        gradient.append(np.outer(delta, inputs[layer]))
        delta = (weights[layer].T @ delta) * (inputs[layer] > 0)
    return gradient[::-1]


class NeuralLoss:
    """The loss of section 4.3 on (x_l, y_l), l <= n, around theta_0.

    ntk         1/2 sum (f - y)^2 + 1/2 penalty N |theta - theta_0|^2  (equation C.2)
    standard    (1/n) [1/2 sum (f - y)^2 + 1/2 penalty |theta - theta_0|^2]
    """

    def __init__(self, start: Weights, xs, targets, *, penalty: float, form: str):
        self.start, self.form = start, form
        self.data = list(zip(xs, targets, strict=True))
        self.penalty = penalty * start[0].shape[0] if form == "ntk" else penalty
        self.share = 1.0 if form == "ntk" else 1.0 / max(len(self.data), 1)

    def value(self, weights: Weights) -> float:
        total = 0.0
        for W, W0 in zip(weights, self.start, strict=True):
            total += self.penalty / 2 * float(np.sum((W - W0) ** 2))
        for x, y in self.data:
            total += (network(weights, x, self.form) - y) ** 2 / 2
        return self.share * total

    def gradient(self, weights: Weights) -> Weights:
        total = [self.penalty * (W - W0) for W, W0 in zip(weights, self.start, strict=True)]
        for x, y in self.data:
            residual = network(weights, x, self.form) - y
            for layer, g in enumerate(network_gradient(weights, x, self.form)):
                total[layer] = total[layer] + residual * g
        return [self.share * part for part in total]

    def descend(self, weights: Weights, *, eta: float, steps: int) -> Weights:
        """`steps` times theta <- theta - eta grad L(theta), eta the raw step; no data, no step."""
        weights = copied(weights)
        if not self.data:
            return weights
        for _ in range(steps):
            gradient = self.gradient(weights)
            weights = [W - eta * g for W, g in zip(weights, gradient, strict=True)]
        return weights


class NeuralES:
    """Neural-ES, section 4.3: m networks from one theta_0, J steps of gradient descent on (X_l, Y_l + Z_l^j).

    `warm_start`: each fit starts from the member's last weights, else from theta_0 (as the theory assumes).
    """

    def __init__(
        self,
        start: Weights,
        *,
        members: int,
        penalty: float = 1.0,
        eta: float,
        steps: int,
        form: str = "standard",
        warm_start: bool = True,
    ):
        self.start, self.members, self.penalty = copied(start), members, penalty
        self.eta, self.steps, self.form, self.warm_start = eta, steps, form, warm_start
        self.weights = [copied(start) for _ in range(members)]
        self.xs: list[np.ndarray] = []
        self.ys: list[float] = []
        self.zs: list[np.ndarray] = []

    def observe(self, x: np.ndarray, y: float, z: np.ndarray, *, fit: bool = True) -> None:
        """Lines 6-10 of Algorithm 1; fit=False only records, as a warm-up may."""
        z = np.array(z, float)
        if z.shape != (self.members,):
            raise ValueError("one perturbation per member is needed")
        self.xs.append(np.array(x, float))
        self.ys.append(float(y))
        self.zs.append(z)
        if fit:
            self.fit()

    def targets(self, j: int) -> list[float]:
        """Y_l + Z_l^j."""
        return [y + float(z[j]) for y, z in zip(self.ys, self.zs, strict=True)]

    def loss(self, j: int) -> NeuralLoss:
        return NeuralLoss(self.start, self.xs, self.targets(j), penalty=self.penalty, form=self.form)

    def fit(self) -> None:
        """Line 9, equation 4.4, for every member."""
        for j in range(self.members):
            first = self.weights[j] if self.warm_start else self.start
            self.weights[j] = self.loss(j).descend(first, eta=self.eta, steps=self.steps)

    def theta(self, j: int) -> Weights:
        return copied(self.weights[j])

    def scores(self, arms: np.ndarray, j: int) -> list[float]:
        """f(x; theta_j) of each arm."""
        return [network(self.weights[j], x, self.form) for x in arms]

    def choose(self, arms: np.ndarray, j: int) -> int:
        """Line 5."""
        return best(self.scores(arms, j))


# ------------------------------------------------------------------------------------------------ Algorithm 1


def run_ensemble(
    agent: LinES | NeuralES,
    arms: np.ndarray,
    rewards: np.ndarray,
    perturbations: np.ndarray,
    drawn: np.ndarray,
    warm_up: Sequence[int] = (),
) -> list[int]:
    """Algorithm 1 on fixed arms: the arms pulled, warm-up first (its rewards are perturbed like the others).

    rewards (T, K), perturbations (T, m) and drawn (T,), the member j_t: one row per round, warm-up included.
    """
    pulled = []
    for t in range(len(rewards)):
        k = int(warm_up[t]) if t < len(warm_up) else agent.choose(arms, int(drawn[t]))
        agent.observe(arms[k], rewards[t][k], perturbations[t])
        pulled.append(k)
    return pulled


def choice_shares(agent: LinES | NeuralES, arms: np.ndarray) -> np.ndarray:
    """The probability of each arm in line 5, j_t uniform: the share of members that would choose it."""
    shares = np.zeros(len(arms))
    for j in range(agent.members):
        shares[agent.choose(arms, j)] += 1 / agent.members
    return shares


# ----------------------------------------------------------------------------- perturbed history (remark 4.1)


class LinPHE:
    """One model; every round all of z_1, ..., z_t are drawn afresh and the ridge estimate is redone."""

    def __init__(self, *, dim: int, penalty: float = 1.0):
        self.dim, self.penalty = dim, penalty
        self.xs: list[np.ndarray] = []
        self.ys: list[float] = []

    def observe(self, x: np.ndarray, y: float) -> None:
        self.xs.append(np.array(x, float))
        self.ys.append(float(y))

    def targets(self, z: np.ndarray) -> list[float]:
        """Y_l + Z_l, z of length t."""
        return [y + float(extra) for y, extra in zip(self.ys, z, strict=True)]

    def theta(self, z: np.ndarray) -> np.ndarray:
        return ridge(self.xs, self.targets(z), dim=self.dim, penalty=self.penalty)

    def scores(self, arms: np.ndarray, z: np.ndarray) -> list[float]:
        theta = self.theta(z)
        return [float(x @ theta) for x in arms]

    def choose(self, arms: np.ndarray, z: np.ndarray) -> int:
        return best(self.scores(arms, z))


class GLMFPL(LinPHE):
    """GLM-FPL (Kveton et al. 2020b): the same with the estimate of equation 4.2 on (X_l, Y_l + Z_l)."""

    def __init__(self, *, dim: int, penalty: float = 1.0, link: str = "logistic"):
        super().__init__(dim=dim, penalty=penalty)
        self.link = link

    def loss(self, z: np.ndarray) -> GLMLoss:
        return GLMLoss(self.xs, self.targets(z), dim=self.dim, penalty=self.penalty, link=self.link)

    def theta(self, z: np.ndarray) -> np.ndarray:
        return self.loss(z).minimizer()


class NeuralPHE:
    """Neural-PHE (Jia et al. 2022): one network, fitted to (X_l, Y_l + Z_l) with all Z fresh at every fit."""

    def __init__(
        self,
        start: Weights,
        *,
        penalty: float = 1.0,
        eta: float,
        steps: int,
        form: str = "standard",
        warm_start: bool = True,
    ):
        self.start, self.weights, self.penalty = copied(start), copied(start), penalty
        self.eta, self.steps, self.form, self.warm_start = eta, steps, form, warm_start
        self.xs: list[np.ndarray] = []
        self.ys: list[float] = []

    def observe(self, x: np.ndarray, y: float) -> None:
        self.xs.append(np.array(x, float))
        self.ys.append(float(y))

    def loss(self, z: np.ndarray) -> NeuralLoss:
        targets = [y + float(extra) for y, extra in zip(self.ys, z, strict=True)]
        return NeuralLoss(self.start, self.xs, targets, penalty=self.penalty, form=self.form)

    def fit(self, z: np.ndarray) -> None:
        """J steps on the history perturbed by z (t,)."""
        first = self.weights if self.warm_start else self.start
        self.weights = self.loss(z).descend(first, eta=self.eta, steps=self.steps)

    def theta(self) -> Weights:
        return copied(self.weights)

    def scores(self, arms: np.ndarray) -> list[float]:
        """f(x; theta) of each arm under the last fit."""
        return [network(self.weights, x, self.form) for x in arms]

    def choose(self, arms: np.ndarray, z: np.ndarray) -> int:
        """Fit with z, then choose: one call per round."""
        self.fit(z)
        return best(self.scores(arms))


# ------------------------------------------------------------------------------------------ GLM-TSL and EVILL


class GLMTSL:
    """GLM-TSL (Kveton et al. 2020b): theta ~ N(theta_hat, a^2 H^-1), the draw left to the caller."""

    def __init__(self, *, dim: int, penalty: float = 1.0, link: str = "logistic"):
        self.dim, self.penalty, self.link = dim, penalty, link
        self.xs: list[np.ndarray] = []
        self.ys: list[float] = []

    def observe(self, x: np.ndarray, y: float) -> None:
        self.xs.append(np.array(x, float))
        self.ys.append(float(y))

    def loss(self, shift: np.ndarray | None = None) -> GLMLoss:
        return GLMLoss(self.xs, self.ys, dim=self.dim, penalty=self.penalty, link=self.link, shift=shift)

    def theta_hat(self) -> np.ndarray:
        """The unperturbed penalized estimate."""
        return self.loss().minimizer()

    def H(self) -> np.ndarray:  # noqa: N802
        """Penalty I + sum_l mu'(x_l' theta_hat) x_l x_l'."""
        return self.loss().hessian(self.theta_hat())

    def choose(self, arms: np.ndarray, theta: np.ndarray) -> int:
        """The best arm for a drawn theta."""
        return best([float(x @ theta) for x in arms])


class EVILL(GLMTSL):
    """EVILL (Janz, Liu, Ayoub and Szepesvari 2024): the argmin of the loss less <Z, theta>."""

    def perturbation(self, xi_0: np.ndarray, xi: np.ndarray, a: float) -> np.ndarray:
        """Z = a sqrt(penalty) xi_0 + a sum_l sqrt(mu'(x_l' theta_hat)) xi_l x_l; xi_0 (d,), xi (t,)."""
        theta_hat, slope = self.theta_hat(), LINKS[self.link].slope
        Z = a * math.sqrt(self.penalty) * np.asarray(xi_0, float)
        for x, normal in zip(self.xs, xi, strict=True):
            Z = Z + a * math.sqrt(slope(float(x @ theta_hat))) * float(normal) * x
        return Z

    def theta(self, xi_0: np.ndarray, xi: np.ndarray, a: float) -> np.ndarray:
        return self.loss(self.perturbation(xi_0, xi, a)).minimizer()


# ------------------------------------------------------------------------------------- warm-up (appendix B.4)


def leverages(arms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """|x|^2 in V(zeta)^-1 of each arm, V(zeta) = sum_i zeta_i x_i x_i'."""
    arms, weights = np.asarray(arms, float), np.asarray(weights, float)
    V = (arms * weights[:, None]).T @ arms
    return np.einsum("ij,ij->i", arms, np.linalg.solve(V, arms.T).T)


def g_optimal(arms: np.ndarray, *, tolerance: float = 1e-4, limit: int = 1_000_000) -> np.ndarray:
    """Algorithm 2, line 1: zeta with max_i g_i <= d (1 + tolerance), d being the optimum (Kiefer-Wolfowitz).

    The multiplicative algorithm from uniform weights, zeta_i <- zeta_i g_i / d. The arms must span R^d.
    """
    num, dim = np.shape(arms)
    weights = np.full(num, 1 / num)
    for _ in range(limit):
        g = leverages(arms, weights)
        if g.max() <= dim * (1 + tolerance):
            return weights
        weights = weights * g / dim
    raise ArithmeticError("the design did not converge")


def rounded(
    tau: int,
    weights: np.ndarray,
    arms: np.ndarray,
    *,
    line13: bool = False,
    a: float = 0.5,
    threshold: float = 1e-9,
) -> np.ndarray:
    """Algorithm 3 over the support, the arms of weight above `threshold`: how often to pull each arm (K,).

    K of the listing is the size of the support; the weights are used as given. Line 13 (rounded up to whole
    pulls) may exceed the budget tau, so it is off by default.
    """
    num, dim = np.shape(arms)
    support = [i for i in range(num) if weights[i] > threshold]
    size = len(support)
    zeta = {i: float(weights[i]) for i in support}
    pulls = {i: math.ceil((tau - size / 2) * zeta[i]) for i in support}  # line 2
    while sum(pulls.values()) != tau:  # line 3
        if sum(pulls.values()) < tau:
            j = min(support, key=lambda i: (pulls[i] - 1) / zeta[i])  # line 5; the first of equals
            pulls[j] += 1
        else:
            j = max(support, key=lambda i: (pulls[i] - 1) / zeta[i])  # line 9
            pulls[j] -= 1
    if min(pulls.values()) < 0:
        raise ValueError("tau is too small for this support")
    if line13:
        r = (dim * (dim + 1) / 2 + 1) / a  # line 1
        pulls = {i: max(pulls[i], math.ceil(r / size)) for i in support}
    counts = np.zeros(num, int)
    for i in support:
        counts[i] = pulls[i]
    return counts


# ---------------------------------------------------------------------------- anytime (section 6, appendix E)

GOLDEN = (3 + math.sqrt(5)) / 2  # the best b of appendix E


def epochs(T0: int, b: float, T: int) -> list[tuple[int, int, int]]:
    """(start, stop, tau_i) of the epochs up to T: rounds start + 1, ..., stop, restarted at each start.

    Boundaries 0, T_0, T_1, ... with T_i = floor(T_0 b^i); tau_i: the planned length, even if T cuts it.
    """
    result, start, i = [], 0, 0
    while start < T:
        planned = math.floor(T0 * b**i)
        if planned > start:
            result.append((start, min(planned, T), planned - start))
            start = planned
        i += 1
    return result


def epoch_settings(tau: int) -> tuple[int, float]:
    """(m, sigma_R) in an epoch of tau rounds, section 7.2: 2 log tau (rounded up) and 0.02 log tau."""
    return math.ceil(2 * math.log(tau)), 0.02 * math.log(tau)


def epoch_warm_up(rounds: int, tau: int) -> int:
    """Warm-up rounds in an epoch of tau rounds; a warm-up longer than the epoch is cut to half of it."""
    return rounds if rounds <= tau else tau // 2


def loss_constant(T0: float, b: float, gamma: float = 0.5, delta: float = 1.5) -> float:
    """l(gamma, delta, T_0, b) of Lemma E.1, for regret T^gamma (log T)^delta; needs T_0 (b - 1) > 1."""
    logs = math.log(T0 * (b - 1) + 1) / math.log(T0 * (b - 1))
    return logs**delta * b**gamma * (b - 1) ** gamma / (b**gamma - 1)
