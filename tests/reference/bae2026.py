"""Bae et al. (2026), Neural Logistic Bandits, and its baselines, written from the papers in NumPy, float64.

Slow and literal: every matrix is summed anew from the list of observations and solved every time. All
randomness is an argument: contexts (T, K, d), a table of feedback (T, K) in {0, 1}, the first parameters
(W_1, ..., W_L) and standard normals. Every `run_*` returns a dict:

    items (T,)       the arm chosen in each round
    scores (T, K)    what was maximized (UCB or draw)
    means (T, K)     the score without bonus or noise
    widths (T, K)    ||g||_{V^-1} or ||g||_{W^-1}
    radius, lambda_t, d_t    lists of T; entry n is the value in force when n observations had been made,
                     i.e. nu_{t-1}, lambda_{t-1}, d_{t-1} of round t = n + 1; radius is nu_t or beta_t alone,
                     without factors such as R sqrt(kappa)
    weights          list of T; mu' with which observation i entered W_t (or would have)
    theta            the parameters after the last round, flat
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, log_ndtr, ndtr

# ------------------------------------------------------------------------------------------ logistic function


def sigmoid(x):
    """mu(x) = 1 / (1 + exp(-x)), section 2."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(x, float)))


def sigmoid_slope(x):
    """mu'(x) = mu(x) mu(-x)."""
    x = np.asarray(x, float)
    return np.exp(-np.logaddexp(0.0, x) - np.logaddexp(0.0, -x))


def logistic_loss(f, r):
    """-r log mu(f) - (1 - r) log(1 - mu(f))."""
    return np.logaddexp(0.0, f) - r * f


# --------------------------------------------------------------------------------------------------- networks


def flatten(weights):
    """theta = [vec(W_1), ..., vec(W_L)], section 2; vec by rows."""
    return np.concatenate([np.asarray(W, float).ravel() for W in weights])


def unflatten(theta, like):
    """The inverse of `flatten`, with the shapes of `like`."""
    pieces = np.split(theta, np.cumsum([W.size for W in like])[:-1])
    return tuple(piece.reshape(W.shape) for piece, W in zip(pieces, like, strict=True))


def symmetric_start(rng, *, dim, width, depth):
    """Section 4: W_l = (W, 0; 0, W), W ~ N(0, 4/m), and W_L = (w, -w), w ~ N(0, 2/m); dim: undoubled."""
    half, weights = width // 2, []
    for layer in range(depth - 1):
        W = rng.normal(0.0, math.sqrt(4 / width), (half, dim if layer == 0 else half))
        weights.append(np.block([[W, np.zeros_like(W)], [np.zeros_like(W), W]]))
    w = rng.normal(0.0, math.sqrt(2 / width), half)
    return (*weights, np.concatenate([w, -w])[None, :])


class Network(NamedTuple):
    """W_L relu(... relu(W_1 x)), no biases; `theory` doubles the inputs, times sqrt(m)."""

    theory: bool

    def inputs(self, X):
        """[x; x] / sqrt(2) in theory (below assumption 4.2), x itself in the experiments."""
        X = np.atleast_2d(np.asarray(X, float))
        return np.concatenate([X, X], axis=1) / math.sqrt(2) if self.theory else X

    def scale(self, weights):
        """sqrt(m) in theory (section 2), 1 in the experiments."""
        return math.sqrt(weights[0].shape[0]) if self.theory else 1.0

    def layers(self, weights, X):
        """[x, relu(W_1 x), ...]: the input of each layer, rows are examples."""
        layers = [self.inputs(X)]
        for W in weights[:-1]:
            layers.append(np.maximum(layers[-1] @ W.T, 0.0))
        return layers

    def value(self, weights, X):
        """f(x; theta) of each row (n,)."""
        return self.scale(weights) * (self.layers(weights, X)[-1] @ weights[-1].T)[:, 0]

    def gradient(self, weights, X):
        """g(x; theta) of each row (n, p), by back-propagation; relu'(0) = 0."""
        layers = self.layers(weights, X)
        num = len(layers[0])
        delta, blocks = np.full((num, 1), self.scale(weights)), []
        for W, below in zip(weights[::-1], layers[::-1], strict=True):
            blocks.append((delta[:, :, None] * below[:, None, :]).reshape(num, -1))
            delta = (delta @ W) * (below > 0)
        return np.concatenate(blocks[::-1], axis=1)


THEORY = Network(theory=True)
PLAIN = Network(theory=False)

# ----------------------------------------------------------------------------------------- matrices and rules


def gram(features, weights=None):
    """Sum of w_i g_i g_i' over the rows of features (n, p)."""
    weights = np.ones(len(features)) if weights is None else np.asarray(weights, float)
    return (features * weights[:, None]).T @ features


def logdet(matrix):
    """Log-determinant of a positive definite matrix."""
    sign, value = np.linalg.slogdet(matrix)
    if sign <= 0:
        raise ValueError("the matrix must be positive definite")
    return value


def widths(features, matrix):
    """||g||_{A^-1} = sqrt(g' A^-1 g) of each row."""
    return np.sqrt(np.einsum("ij,ij->i", features, np.linalg.solve(matrix, features.T).T))


class Rule(NamedTuple):
    """How an algorithm scores: base + factor(kappa, R) * radius * width (* a normal if it samples)."""

    factor: Callable[[float, float], float]
    weighted: bool = False  # W_t (weights mu', ridge lambda), else V_t (no weights, ridge kappa * lambda)
    on_mean: bool = False  # the bonus is added to mu(score), else to the score
    samples: bool = False
    neural: bool = True


RULES = {
    "NeuralLog-UCB-1": Rule(lambda kappa, R: R * math.sqrt(kappa), on_mean=True),
    "NeuralLog-UCB-2": Rule(lambda kappa, R: 1.0, weighted=True),
    "NeuralLog-TS-1": Rule(lambda kappa, R: math.sqrt(kappa), samples=True),
    "NeuralLog-TS-2": Rule(lambda kappa, R: 1.0, weighted=True, samples=True),
    "NCBF-UCB": Rule(lambda kappa, R: kappa),
    "Logistic-UCB-1": Rule(lambda kappa, R: R * math.sqrt(kappa), on_mean=True, neural=False),
    "ada-OFU-ECOLog": Rule(lambda kappa, R: 1.0, weighted=True, neural=False),
}


class Log:
    """What a run writes down, round by round."""

    def __init__(self):
        """Start empty."""
        names = ("items", "scores", "means", "widths", "radius", "lambda_t", "d_t", "weights")
        self.rows = {name: [] for name in names}

    def add(self, **values):
        """Append one value per name."""
        for name, value in values.items():
            self.rows[name].append(value)

    def result(self, theta):
        """The dict described at the top."""
        arrays = {name: np.array(self.rows[name]) for name in ("items", "scores", "means", "widths")}
        return {**self.rows, **arrays, "theta": theta}


def choose(rule, log, latent, width, radius, *, kappa, R, noise=None):
    """Score the arms, write the round down and return the arm (Algorithms 1 and 2, line 2; appendix I)."""
    base = sigmoid(latent) if rule.on_mean else latent
    spread = rule.factor(kappa, R) * radius * width
    scores = base + spread * (noise if rule.samples else 1.0)
    item = int(np.argmax(scores))
    log.add(items=item, scores=scores, means=base, widths=width, radius=radius)
    return item


# ------------------------------------------------------------------------------------------------ theory form


def log_term(t, delta):
    """log(4 t^2 / delta), with t = 1 in place of t = 0."""
    return math.log(4 * max(t, 1) ** 2 / delta)


def lambda_zero(*, L, S, delta, C1=1.0):
    """lambda_0 = 8 sqrt(2) C_1 L^(1/2) S^-1 log(4 / delta), section 4."""
    return 8 * math.sqrt(2) * C1 * math.sqrt(L) / S * math.log(4 / delta)


def log_determinant(features, lam_0, R=0.25):
    """Log det(sum g g' R / (m lambda_0) + I) of equations 2 and 3 (4 = 1/R there); rows are g/sqrt(m)."""
    value = logdet(R / lam_0 * gram(features) + np.eye(features.shape[1]))
    return max(value, 0.0)  # rounding


def iota(t, d_t, lam_0, *, L, delta, C1=1.0):
    """Equation 2."""
    log = log_term(t, delta)
    return 16 * math.sqrt(d_t * log) + 8 * C1 * math.sqrt(L / lam_0) * log


def lambda_now(t, d_t, lam_0, *, L, S, delta, C1=1.0):
    """Equation 3; lambda_0 itself before any observation."""
    if t == 0:
        return lam_0
    log = log_term(t, delta)
    return 64 / S**2 * d_t * log + 16 * C1**2 * L / (S**2 * lam_0) * log**2


def nu_t(iota_t, *, L, S, C):
    """nu_t^(1) with C = C_6 (equation 1), nu_t^(2) with C = C_7 (below equation 4)."""
    return C * (1 + math.sqrt(L) * S + L * S**2) * iota_t + 1


def train_loss(theta, X, r, theta_0, *, lam, network=THEORY):
    """L_t(theta) of TrainNN: summed logistic loss + (m lambda_t / 2) ||theta - theta_0||^2."""
    m = theta_0[0].shape[0]
    f = network.value(unflatten(theta, theta_0), X)
    return np.sum(logistic_loss(f, r)) + m * lam / 2 * np.sum((theta - flatten(theta_0)) ** 2)


def train_nn(X, r, theta_0, *, lam, eta, steps, network=THEORY):
    """Subroutine TrainNN: J steps of size eta from theta_0; returns the flat parameters."""
    m, start = theta_0[0].shape[0], flatten(theta_0)
    theta = start.copy()
    for _ in range(steps):
        weights = unflatten(theta, theta_0)
        residual = sigmoid(network.value(weights, X)) - r
        slope = network.gradient(weights, X).T @ residual + m * lam * (theta - start)
        theta = theta - eta * slope
    return theta


def run_theory(
    method,
    contexts,
    feedback,
    theta_0,
    *,
    S,
    delta,
    kappa,
    eta,
    steps,
    C1=1.0,
    C6=1.0,
    C7=1.0,
    R=0.25,
    normals=None,
    weight_at="after",
):
    """Algorithms 1 and 2 and appendix I: NeuralLog-UCB-1, -UCB-2, -TS-1, -TS-2 with fixed features.

    weight_at: "after" takes mu'(f(x_i; theta_i)), theta_i the fit after round i; "feedback" theta_{i-1}, the
    fit that chose. `eta` is the raw step on the parameters. `normals` (T, K) for Thompson sampling.
    """
    rule, log, L, m = RULES[method], Log(), len(theta_0), theta_0[0].shape[0]
    start = theta = flatten(theta_0)
    lam_0 = lambda_zero(L=L, S=S, delta=delta, C1=C1)
    X, r, G = np.empty((0, contexts.shape[2])), np.empty(0), np.empty((0, start.size))
    for t, arms in enumerate(contexts):  # t observations so far
        d_t = log_determinant(G, lam_0, R)
        lam = lambda_now(t, d_t, lam_0, L=L, S=S, delta=delta, C1=C1)
        radius = nu_t(iota(t, d_t, lam_0, L=L, delta=delta, C1=C1), L=L, S=S, C=C7 if rule.weighted else C6)
        ridge = lam if rule.weighted else kappa * lam
        matrix = gram(G, log.rows["weights"] if rule.weighted else None) + ridge * np.eye(start.size)
        g = THEORY.gradient(theta_0, arms)
        latent = g @ (theta - start) if rule.weighted else THEORY.value(unflatten(theta, theta_0), arms)
        noise = normals[t] if rule.samples else None
        log.add(lambda_t=lam, d_t=d_t)
        width = widths(g / math.sqrt(m), matrix)
        item = choose(rule, log, latent, width, radius, kappa=kappa, R=R, noise=noise)

        before = theta
        X, r = np.vstack([X, arms[item]]), np.append(r, feedback[t, item])
        G = np.vstack([G, g[item] / math.sqrt(m)])
        lam = lambda_now(t + 1, log_determinant(G, lam_0, R), lam_0, L=L, S=S, delta=delta, C1=C1)
        theta = train_nn(X, r, theta_0, lam=lam, eta=eta, steps=steps)
        weighing = unflatten({"after": theta, "feedback": before}[weight_at], theta_0)
        log.add(weights=float(sigmoid_slope(THEORY.value(weighing, arms[item])[0])))
    return log.result(theta)


# -------------------------------------------------------------------------------------------- experiment form


class Linear(NamedTuple):
    """f(x) = theta'x as a network of one matrix (1, d)."""

    def value(self, weights, X):
        """theta'x of each row."""
        return np.atleast_2d(X) @ weights[0][0]

    def gradient(self, weights, X):
        """x itself."""
        return np.atleast_2d(np.asarray(X, float))


def descend(model, weights, X, r, *, lam, steps, lr):
    """Warm-started full-batch steps on (sum of logistic losses + lambda ||theta||^2) / n (section 7)."""
    theta, n = flatten(weights), len(r)
    for _ in range(steps):
        now = unflatten(theta, weights)
        residual = sigmoid(model.value(now, X)) - r
        theta = theta - lr * (model.gradient(now, X).T @ residual + 2 * lam * theta) / n
    return unflatten(theta, weights)


def effective_dimension(G, share, *, full):
    """d_t = log det(I + share * sum g g'), appendix A, from the diagonal of the sum unless full."""
    if full:
        return max(logdet(np.eye(G.shape[1]) + share * gram(G)), 0.0)
    return float(np.sum(np.log1p(share * np.sum(G**2, axis=0))))


def experiment_widths(g, G, weights, ridge, *, full):
    """||g||_{A^-1} with A = sum w_i g_i g_i' + ridge I, or its diagonal (section 7)."""
    if full:
        return widths(g, gram(G, weights) + ridge * np.eye(g.shape[1]))
    diagonal = np.sum(G**2 if weights is None else G**2 * np.array(weights)[:, None], axis=0) + ridge
    return np.sqrt(np.sum(g**2 / diagonal, axis=1))


def beta(d_t, *, nu, lam, S, neural_log):
    """beta_t = nu (s_1(S) sqrt(d_t) + sqrt(lambda) S), s_1 = 1 + S + S^2 for NeuralLog-*, else 1."""
    return nu * ((1 + S + S**2 if neural_log else 1.0) * math.sqrt(d_t) + math.sqrt(lam) * S)


def run_experiment(
    method,
    contexts,
    feedback,
    theta_0=None,
    *,
    nu,
    lam,
    kappa=10.0,
    S=1.0,
    R=0.25,
    every=50,
    steps=100,
    lr=0.01,
    full=False,
    normals=None,
):
    """Section 7 and appendix A: the seven algorithms with current gradients and diagonal matrices.

    Each observation enters with g and mu'(f) of the network that chose it. theta_0 (W_1 (m, d), ..., W_L
    (1, m)) for the neural methods; the linear ones start from 0. The fit follows rounds `every`, 2 `every`...
    full=True keeps whole matrices. The paper prints no radius, only its orders: see `beta`.
    """
    rule, log, (_, _, dim) = RULES[method], Log(), contexts.shape
    model, weights = (PLAIN, theta_0) if rule.neural else (Linear(), (np.zeros((1, dim)),))
    share = 1 / kappa if method == "NCBF-UCB" else R
    p = flatten(weights).size
    X, r, G = np.empty((0, dim)), np.empty(0), np.empty((0, p))
    for t, arms in enumerate(contexts):
        d_t = effective_dimension(G, share, full=full)
        radius = beta(d_t, nu=nu, lam=lam, S=S, neural_log=method.startswith("NeuralLog"))
        ridge = lam if rule.weighted else kappa * lam
        f, g = model.value(weights, arms), model.gradient(weights, arms)
        noise = normals[t] if rule.samples else None
        log.add(lambda_t=lam, d_t=d_t)
        width = experiment_widths(g, G, log.rows["weights"] if rule.weighted else None, ridge, full=full)
        item = choose(rule, log, f, width, radius, kappa=kappa, R=R, noise=noise)

        X, r, G = np.vstack([X, arms[item]]), np.append(r, feedback[t, item]), np.vstack([G, g[item]])
        log.add(weights=float(sigmoid_slope(f[item])))
        if (t + 1) % every == 0:
            weights = descend(model, weights, X, r, lam=lam, steps=steps, lr=lr)
    return log.result(flatten(weights))


# ---------------------------------------------------------------------------------- generalized linear models


class Link(NamedTuple):
    """A link with its loss in the linear predictor u; `residual` and `curvature` are its derivatives."""

    mean: Callable
    loss: Callable
    residual: Callable
    curvature: Callable
    weight: Callable  # mu' for canonical links, phi^2 / (Phi (1 - Phi)) for probit


def _hazard(u):
    """phi(u) / Phi(u)."""
    return np.exp(-(u**2) / 2 - 0.5 * math.log(2 * math.pi) - log_ndtr(u))


def _laplace_tail(u):
    """exp(-|u|) / 2."""
    return np.exp(-np.abs(u)) / 2


def _laplace_log(u):
    """log of the Laplace distribution function."""
    return np.where(u >= 0, np.log1p(-_laplace_tail(u)), u - math.log(2))


def _laplace_hazard(u):
    """Its derivative."""
    return np.where(u >= 0, _laplace_tail(u) / (1 - _laplace_tail(u)), 1.0)


def _laplace_bend(u):
    """Minus its second derivative."""
    return np.where(u >= 0, _laplace_tail(u) / (1 - _laplace_tail(u)) ** 2, 0.0)


LINKS = {
    "exponential": Link(
        mean=lambda u: np.exp(_laplace_log(u)),
        loss=lambda u, r: -r * _laplace_log(u) - (1 - r) * _laplace_log(-u),
        residual=lambda u, r: -r * _laplace_hazard(u) + (1 - r) * _laplace_hazard(-u),
        curvature=lambda u, r: r * _laplace_bend(u) + (1 - r) * _laplace_bend(-u),
        weight=lambda u: _laplace_tail(u) / (1 - _laplace_tail(u)),
    ),
    "identity": Link(
        mean=lambda u: u,
        loss=lambda u, r: (u - r) ** 2 / 2,
        residual=lambda u, r: u - r,
        curvature=lambda u, r: np.ones_like(u),
        weight=np.ones_like,
    ),
    "logistic": Link(
        mean=sigmoid,
        loss=logistic_loss,
        residual=lambda u, r: sigmoid(u) - r,
        curvature=lambda u, r: sigmoid_slope(u),
        weight=sigmoid_slope,
    ),
    "poisson": Link(
        mean=np.exp,
        loss=lambda u, r: np.exp(u) - r * u,
        residual=lambda u, r: np.exp(u) - r,
        curvature=lambda u, r: np.exp(u),
        weight=np.exp,
    ),
    "probit": Link(
        mean=ndtr,
        loss=lambda u, r: -r * log_ndtr(u) - (1 - r) * log_ndtr(-u),
        residual=lambda u, r: -r * _hazard(u) + (1 - r) * _hazard(-u),
        curvature=lambda u, r: r * _hazard(u) * (_hazard(u) + u) + (1 - r) * _hazard(-u) * (_hazard(-u) - u),
        weight=lambda u: _hazard(u) * _hazard(-u),
    ),
}


def glm_objective(theta, X, r, link, ridge):
    """Sum of loss(x_i'theta, r_i) + (ridge / 2) |theta|^2."""
    with np.errstate(over="ignore"):
        return np.sum(LINKS[link].loss(X @ theta, r)) + ridge / 2 * theta @ theta


def glm_gradient(theta, X, r, link, ridge):
    """Gradient of `glm_objective`."""
    return X.T @ LINKS[link].residual(X @ theta, r) + ridge * theta


def glm_fit(X, r, link="logistic", ridge=1.0, *, tolerance=1e-10, max_steps=200):
    """Penalized maximum likelihood by Newton from 0, steps halved until the objective does not rise."""
    X, r = np.asarray(X, float), np.asarray(r, float)
    theta = np.zeros(X.shape[1])
    for _ in range(max_steps):
        slope = glm_gradient(theta, X, r, link, ridge)
        if np.linalg.norm(slope) < tolerance:
            return theta
        hessian = gram(X, LINKS[link].curvature(X @ theta, r)) + ridge * np.eye(theta.size)
        step, size = np.linalg.solve(hessian, slope), 1.0
        here = glm_objective(theta, X, r, link, ridge)
        allowed = here + 1e-12 * (1 + abs(here))  # near the minimum the fall is below rounding
        while not glm_objective(theta - size * step, X, r, link, ridge) <= allowed:
            size /= 2
        theta = theta - size * step
    raise ValueError(f"gradient norm must fall below {tolerance}, got {np.linalg.norm(slope)}")


def glm_hessian(X, theta, link="logistic", ridge=1.0):
    """H = sum weight(x_i'theta) x_i x_i' + ridge I."""
    return gram(X, LINKS[link].weight(X @ theta)) + ridge * np.eye(len(theta))


def laplace_covariance(X, theta, link="logistic", ridge=1.0):
    """(sum weight x x' + ridge I)^-1, the weights at theta."""
    return np.linalg.inv(glm_hessian(X, theta, link, ridge))


# --------------------------------------------------------------------------- the baselines as first published


def at_round(value, t):
    """A constant, or entry t of a sequence."""
    return float(value) if np.ndim(value) == 0 else float(value[t])


def logistic_ucb_1_radius(hessian, *, lam, delta, kappa, S, R=0.25):
    """The multiplier of ||x||_{V^-1} that the authors of Logistic-UCB-1 run (their public code).

    gamma = min(sqrt(lambda)/2 + 2/sqrt(lambda) * ell, 1 + ell) with ell = log(1/delta)
    + log(det(H)^(1/2) lambda^(-d/2)) + log(F(2 lambda) / F(lambda)), F the chi-square distribution function
    (d degrees); R sqrt(kappa) min(sqrt(1 + 2S) gamma, gamma + gamma^2/sqrt(lambda)) + sqrt(lambda) S.
    """
    d = len(hessian)
    normalizer = math.log(gammainc(d / 2, lam) / gammainc(d / 2, lam / 2))
    ell = -math.log(delta) + 0.5 * (logdet(hessian) - d * math.log(lam)) + normalizer
    gamma = min(math.sqrt(lam) / 2 + 2 / math.sqrt(lam) * ell, 1 + ell)
    spread = min(math.sqrt(1 + 2 * S) * gamma, gamma + gamma**2 / math.sqrt(lam))
    return R * math.sqrt(kappa) * spread + math.sqrt(lam) * S


def run_logistic_ucb_1(
    contexts, feedback, *, radius=None, delta=0.05, kappa=10.0, S=1.0, R=0.25, design_ridge=None
):
    """Logistic-UCB-1 (Faury et al. 2020) as its authors run it: mu(x'theta_hat) + radius ||x||_{V^-1}.

    The fit after n observations has lambda_n = d log(2 + n) (d before the first), without projection;
    V = sum x x' + design_ridge I, default d. `radius` (a number or (T,)) replaces `logistic_ucb_1_radius`.
    """
    log, (_, _, dim) = Log(), contexts.shape
    ridge = float(dim) if design_ridge is None else design_ridge
    X, r, theta = np.empty((0, dim)), np.empty(0), np.zeros(dim)
    for t, arms in enumerate(contexts):
        lam = dim * math.log(2 + t) if t else float(dim)
        hessian = glm_hessian(X, theta, "logistic", lam)
        if radius is None:
            now = logistic_ucb_1_radius(hessian, lam=lam, delta=delta, kappa=kappa, S=S, R=R)
        else:
            now = at_round(radius, t)
        base, width = sigmoid(arms @ theta), widths(arms, gram(X) + ridge * np.eye(dim))
        scores = base + now * width
        item = int(np.argmax(scores))
        log.add(items=item, scores=scores, means=base, widths=width, radius=now, lambda_t=lam)
        log.add(d_t=logdet(hessian) - dim * math.log(lam))
        X, r = np.vstack([X, arms[item]]), np.append(r, feedback[t, item])
        theta = glm_fit(X, r, "logistic", dim * math.log(2 + len(r)))
        log.add(weights=float(sigmoid_slope(arms[item] @ theta)))
    return log.result(theta)


def ecolog_step(theta, W, x, r, *, diameter):
    """Argmin of ||theta - theta_t||^2_{W_t} / (2 + D) + loss(x'theta, r) (Faury et al. 2022, Algorithm 2).

    The minimum is theta_t - (2 + D)/2 (mu(u) - r) W_t^-1 x, u = x'theta the root of an increasing function:
    bisection down to neighbouring numbers.
    """
    direction = (2 + diameter) / 2 * np.linalg.solve(W, x)
    start, reach = float(x @ theta), float(x @ direction)
    low, high = start - abs(reach) - 1, start + abs(reach) + 1
    for _ in range(200):
        middle = (low + high) / 2
        if middle + reach * (sigmoid(middle) - r) > start:
            high = middle
        else:
            low = middle
    return theta - (sigmoid((low + high) / 2) - r) * direction


def run_ecolog(contexts, feedback, *, radius, lam=1.0, S=1.0, diameter=None):
    """ECOLog, one pass (Faury et al. 2022): x'theta_t + radius ||x||_{W_t^-1}; W_1 = lambda I, theta_1 = 0.

    W_{t+1} = W_t + mu'(x'theta_{t+1}) x x'. No projection on ||theta|| <= S: S enters by D = 2 S alone.
    """
    log, (_, _, dim) = Log(), contexts.shape
    diameter = 2 * S if diameter is None else diameter
    theta, W = np.zeros(dim), lam * np.eye(dim)
    for t, arms in enumerate(contexts):
        base, width, now = arms @ theta, widths(arms, W), at_round(radius, t)
        scores = base + now * width
        item = int(np.argmax(scores))
        log.add(items=item, scores=scores, means=base, widths=width, radius=now, lambda_t=lam)
        log.add(d_t=logdet(W) - dim * math.log(lam))
        x = arms[item]
        theta = ecolog_step(theta, W, x, feedback[t, item], diameter=diameter)
        weight = float(sigmoid_slope(x @ theta))
        W = W + weight * np.outer(x, x)
        log.add(weights=weight)
    return log.result(theta)


def run_glm_ucb(contexts, feedback, *, rho, ridge=1.0, link="logistic"):
    """GLM-UCB (Filippi et al. 2010): mu(x'theta_hat) + rho ||x||_{M^-1}, M = sum x x' + ridge I."""
    log, (_, _, dim) = Log(), contexts.shape
    X, r, theta = np.empty((0, dim)), np.empty(0), np.zeros(dim)
    for t, arms in enumerate(contexts):
        M, now = gram(X) + ridge * np.eye(dim), at_round(rho, t)
        base, width = LINKS[link].mean(arms @ theta), widths(arms, M)
        scores = base + now * width
        item = int(np.argmax(scores))
        log.add(items=item, scores=scores, means=base, widths=width, radius=now, lambda_t=ridge)
        log.add(d_t=logdet(M) - dim * math.log(ridge))
        X, r = np.vstack([X, arms[item]]), np.append(r, feedback[t, item])
        theta = glm_fit(X, r, link, ridge)
        log.add(weights=float(LINKS[link].weight(arms[item] @ theta)))
    return log.result(theta)


def run_laplace_ts(contexts, feedback, normals, *, scale=1.0, ridge=1.0, link="logistic"):
    """Thompson sampling by the Laplace approximation: theta ~ N(theta_hat, scale^2 H^-1), scores x'theta.

    H = sum weight x x' + ridge I, weights at theta_hat. With H = L L' (L lower, np.linalg.cholesky)
    the draw of round t is theta_hat + scale * solve(L', z_t), z_t = normals[t], normals (T, d).
    """
    log, (_, _, dim) = Log(), contexts.shape
    X, r, theta = np.empty((0, dim)), np.empty(0), np.zeros(dim)
    for t, arms in enumerate(contexts):
        H, now = glm_hessian(X, theta, link, ridge), at_round(scale, t)
        draw = theta + now * np.linalg.solve(np.linalg.cholesky(H).T, normals[t])
        scores, base, width = arms @ draw, arms @ theta, widths(arms, H)
        item = int(np.argmax(scores))
        log.add(items=item, scores=scores, means=base, widths=width, radius=now, lambda_t=ridge)
        log.add(d_t=logdet(H) - dim * math.log(ridge))
        X, r = np.vstack([X, arms[item]]), np.append(r, feedback[t, item])
        theta = glm_fit(X, r, link, ridge)
        log.add(weights=float(LINKS[link].weight(arms[item] @ theta)))
    return log.result(theta)


# ------------------------------------------------------------------------------------------------ theorem 3.1


def tail_bound(logdet_ratio, t, delta, M, N, ridge):
    """Theorem 3.1: 8 sqrt(logdet log(4t^2/delta)) + 4MN/sqrt(lambda) log(4t^2/delta)."""
    log = math.log(4 * t**2 / delta)
    return 8 * math.sqrt(logdet_ratio * log) + 4 * M * N / math.sqrt(ridge) * log


def self_normalized(X, eta, weights, ridge):
    """||s_t||_{H_t^-1} and log(det H_t / det lambda I) of theorem 3.1, t = len(X).

    H_t = sum w_i x_i x_i' + lambda I, s_t = sum x_i eta_i.
    """
    X = np.asarray(X, float)
    H, s = gram(X, weights) + ridge * np.eye(X.shape[1]), X.T @ np.asarray(eta, float)
    return math.sqrt(s @ np.linalg.solve(H, s)), logdet(H) - X.shape[1] * math.log(ridge)
