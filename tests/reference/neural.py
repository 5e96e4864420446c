"""CN-UCB, CN-TS (Hwang et al. 2023), NeuralUCB and NeuralTS, written from the papers in plain NumPy, float64.

Slow and literal: one example at a time, the p x p matrix solved every time. Rounds count from 1, as in the
papers; theta_t is the list of weights [W_1, ..., W_L] in force after round t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np


def flatten(weights):
    """theta = [vec(W_1), ..., vec(W_L)]; rows first (nothing computed here depends on the order)."""
    return np.concatenate([W.ravel() for W in weights])


def unflatten(theta, like):
    pieces = np.split(theta, np.cumsum([W.size for W in like])[:-1])
    return [piece.reshape(W.shape) for piece, W in zip(pieces, like, strict=True)]


def units(weights):
    """m, the width of the hidden layers."""
    return weights[0].shape[0]


def symmetric_start(rng, *, dim, width, depth):
    """Section 3.1: hidden layers (W, 0; 0, W), W ~ N(0, 4/m); last layer (w, -w), w ~ N(0, 2/m); m even."""
    half, weights = width // 2, []
    for layer in range(depth - 1):
        W = rng.normal(0, math.sqrt(4 / width), (half, dim if layer == 0 else half))
        weights.append(np.block([[W, np.zeros_like(W)], [np.zeros_like(W), W]]))
    w = rng.normal(0, math.sqrt(2 / width), half)
    return [*weights, np.concatenate([w, -w])[None, :]]


@dataclass(frozen=True)
class Net:
    """Eq. 2 ("ntk": inputs [x; x] / sqrt 2, output times sqrt m) or the plain perceptron ("standard")."""

    parametrization: str = "ntk"
    biases: bool = False  # every layer has one more input, the last, equal to 1

    def layers(self, weights, x):
        """The inputs of every layer, its products f_1, ..., f_L, and the factor of the output."""
        ntk, inputs, products = self.parametrization == "ntk", [], []
        h = np.concatenate([x, x]) / math.sqrt(2) if ntk else x
        for W in weights:
            inputs.append(np.append(h, 1.0) if self.biases else h)
            products.append(W @ inputs[-1])
            h = np.maximum(products[-1], 0.0)
        return inputs, products, math.sqrt(units(weights)) if ntk else 1.0

    def forward(self, weights, x):
        _, products, factor = self.layers(weights, x)
        return factor * products[-1].item()

    def gradient(self, weights, x):
        """g(x; theta), (p,), by back-propagation; phi'(0) = 0."""
        inputs, products, factor = self.layers(weights, x)
        delta, grads = np.array([factor]), []  # delta = df / df_l, from l = L down
        for layer in reversed(range(len(weights))):
            grads.append(np.outer(delta, inputs[layer]))
            if layer > 0:
                below = products[layer - 1]
                delta = (weights[layer].T @ delta)[: below.size] * (below > 0)
        return flatten(grads[::-1])


def descend(net, start, anchor, xs, vs, eta, steps, penalty, mean=False):
    """J steps on eq. 4: sum 1/2 (f - v)^2 + penalty/2 ||theta - anchor||^2, all divided by n if `mean`."""
    theta, anchor = flatten(start), flatten(anchor)
    for _ in range(steps):
        weights, slope = unflatten(theta, start), penalty * (theta - anchor)
        for x, v in zip(xs, vs, strict=True):
            slope = slope + (net.forward(weights, x) - v) * net.gradient(weights, x)
        theta = theta - eta * (slope / len(vs) if mean else slope)
    return unflatten(theta, start)


@dataclass(frozen=True)
class Hyper:
    """Everything but the data; `gamma` and `offset` may be functions.

    gamma(t, logdet) is gamma_t, logdet = log(det Z_t / det lambda I); round t uses gamma_{t-1}.
    offset(t, radius) is e_t (UCB, radius gamma_{t-1}) or epsilon (TS, radius nu).
    A fit happens when t is a multiple of `learn_every`, on the rounds t - window + 1, ..., t.
    """

    ridge: float = 1.0  # lambda
    gamma: float = 1.0
    nu: float = 1.0
    offset: float = 0.0
    eta: float = 0.01
    steps: int = 10  # J
    penalty: float | None = None  # None: m lambda, as eq. 4
    anchor: str = "start"  # of the penalty: theta_0; "zero": plain weight decay
    mean: bool = False
    window: int | None = None  # in rounds; None: all
    learn_every: int = 1
    warm: bool = False  # False: every fit starts at theta_0; True: at the last theta
    parametrization: str = "ntk"
    biases: bool = False
    scaled: bool = True  # phi = g / sqrt(m); False: phi = g
    diagonal: bool = False  # keep only the diagonal of sum phi phi'
    scale: float | None = None  # width = scale ||phi||_{Z^-1}; None: 1 (UCB), sqrt(lambda) (TS)
    variance_as_deviation: bool = False  # TS: deviation nu^2 sigma^2 in place of nu sigma


class Run(NamedTuple):
    chosen: np.ndarray  # (T, K) indices, ascending
    scores: np.ndarray  # (T, N) what the oracle was given: u_t + e_t, or best draw + epsilon
    widths: np.ndarray  # (T, N) scale ||phi||_{Z_{t-1}^-1}; in algorithm 2 sigma_{t,i}
    estimates: np.ndarray  # (T, N) f(x_{t,i}; theta_{t-1})
    weights: list[np.ndarray]  # theta_T
    gram: np.ndarray  # (p, p) Z_T


class Learner:
    """Z_t, theta_t, and the history: per round the contexts of S_t (K, d) and their scores (K,)."""

    def __init__(self, weights, hyper):
        self.history = []
        self.begin(weights, hyper)

    def begin(self, weights, hyper):
        """theta_0 and Z_0 = lambda I; the history stays."""
        self.hyper, self.net = hyper, Net(hyper.parametrization, hyper.biases)
        self.start = self.weights = weights
        self.gram = hyper.ridge * np.eye(flatten(weights).size)

    def phi(self, x):
        g = self.net.gradient(self.weights, x)
        return g / math.sqrt(units(self.weights)) if self.hyper.scaled else g

    def norm(self, x):
        """||phi(x)||_{Z^-1}."""
        return math.sqrt(self.phi(x) @ np.linalg.solve(self.gram, self.phi(x)))

    def learn(self, t):
        """Z_t = Z_{t-1} + sum over S_t of phi phi' at theta_{t-1}; then theta_t."""
        h = self.hyper
        for x in self.history[t - 1][0]:
            outer = np.outer(self.phi(x), self.phi(x))
            self.gram = self.gram + (outer * np.eye(len(outer)) if h.diagonal else outer)
        if t % h.learn_every == 0:
            rounds = self.history[0 if h.window is None else max(t - h.window, 0) : t]
            xs, vs = [x for r in rounds for x in r[0]], [v for r in rounds for v in r[1]]
            start = self.weights if h.warm else self.start
            anchor = self.start if h.anchor == "start" else [0.0 * W for W in self.start]
            penalty = units(self.weights) * h.ridge if h.penalty is None else h.penalty
            self.weights = descend(self.net, start, anchor, xs, vs, h.eta, h.steps, penalty, h.mean)


def best_of(mean, deviation, normals):
    """The highest of M draws of each arm: mean, deviation (N,), standard normals (M, N)."""
    return np.array([max(mean[i] + deviation[i] * z[i] for z in normals) for i in range(len(mean))])


def lemma1_gamma(t, logdet, *, K, L, m, ridge, eta, steps, rho, delta, B, C1, G1, G2, G3):
    """gamma_t of lemma 1, the root over logdet + Gamma_2 - 2 log delta, and sqrt(lambda) times B."""
    tail, tk = m ** (-1 / 6) * math.sqrt(math.log(m)), t * K
    gamma1 = math.sqrt(1 + G1 * tk ** (7 / 6) * L**4 * ridge ** (-7 / 6) * tail)
    gamma2 = G2 * tk ** (5 / 3) * L**4 * ridge ** (-1 / 6) * tail
    gamma3 = G3 * tk ** (7 / 6) * L ** (7 / 2) * ridge ** (-7 / 6) * tail * (1 + math.sqrt(tk / ridge))
    ellipsoid = rho * math.sqrt(logdet + gamma2 - 2 * math.log(delta)) + math.sqrt(ridge) * B
    descent = (1 - eta * m * ridge) ** (steps / 2) * math.sqrt(tk / ridge)
    return gamma1 * ellipsoid + (ridge + C1 * tk * L) * (descent + gamma3)


def lemma1_offset(t, gamma, *, K, L, m, ridge, C3, C4):
    """e_t of lemma 1, given gamma_{t-1}."""
    tail, tk = ridge ** (-2 / 3) * m ** (-1 / 6) * math.sqrt(math.log(m)), t * K
    return C3 * gamma * tk ** (1 / 6) * L ** (7 / 2) * tail + C4 * tk ** (2 / 3) * tail


def play(learner, contexts, noise, expected, K, normals=None, update=None):
    """The loop of algorithms 1 and 3 (UCB) or, given normals, 2 and 4 (TS); the oracle takes the top K."""
    log = []
    for t, xs in enumerate(np.asarray(contexts, float), start=1):
        h = learner.hyper
        estimates = np.array([learner.net.forward(learner.weights, x) for x in xs])
        norms = np.array([learner.norm(x) for x in xs])
        default = 1.0 if normals is None else math.sqrt(h.ridge)
        widths = (default if h.scale is None else h.scale) * norms
        if normals is None:
            logdet = np.linalg.slogdet(learner.gram / h.ridge)[1]
            radius = h.gamma(t - 1, logdet) if callable(h.gamma) else h.gamma
            scores = estimates + radius * widths
        else:
            radius = h.nu
            deviation = (radius * widths) ** 2 if h.variance_as_deviation else radius * widths
            scores = best_of(estimates, deviation, normals[t - 1])
        scores = scores + (h.offset(t, radius) if callable(h.offset) else h.offset)
        chosen = np.sort(np.argsort(-scores)[:K])
        observed = np.array([expected(xs[i]) + noise[t - 1][i] for i in chosen])  # eq. 1
        learner.history.append((xs[chosen], observed))
        (update or learner.learn)(t)
        log.append((chosen, scores, widths, estimates))
    return Run(*(np.array(column) for column in zip(*log, strict=True)), learner.weights, learner.gram)


def cn_ucb(weights, contexts, noise, expected, K, **hyper):
    """Algorithm 1 from theta_0 = weights; contexts (T, N, d), noise (T, N), expected(x) = h(x)."""
    return play(Learner(weights, Hyper(**hyper)), contexts, noise, expected, K)


def cn_ts(weights, contexts, noise, expected, K, normals, **hyper):
    """Algorithm 2; its standard normal draws are given, (T, M, N)."""
    return play(Learner(weights, Hyper(**hyper)), contexts, noise, expected, K, normals)


def neural_single(weights, contexts, noise, expected, normals=None, *, ridge, nu, **hyper):
    """NeuralUCB, f + sqrt(lambda nu sum_j g_j^2 / U_j), or NeuralTS, given normals (T, 1, N); K = 1."""
    network = {"parametrization": "standard", "biases": True, "scaled": False, "diagonal": True}
    loss = {"mean": True, "penalty": ridge, "anchor": "zero"}  # weight decay lambda / t
    hyper = {"scale": math.sqrt(ridge * nu), **network, **loss, **hyper}
    return play(Learner(weights, Hyper(ridge=ridge, **hyper)), contexts, noise, expected, 1, normals)


def play_doubling(draw, tau, contexts, noise, expected, K, normals, schedule, hyper):
    learner, epoch = Learner(draw(0), replace(hyper, **schedule(0))), 0

    def update(t):
        """Algorithm 5."""
        nonlocal tau, epoch
        if t < tau:
            learner.learn(t)
        else:
            tau, epoch = 2 * tau, epoch + 1
            learner.begin(draw(epoch), replace(hyper, **schedule(epoch)))
            for replayed in range(1, t + 1):
                learner.learn(replayed)

    return play(learner, contexts, noise, expected, K, normals, update)


def cn_ucb_doubling(draw, tau, contexts, noise, expected, K, *, schedule=lambda epoch: {}, **hyper):
    """Algorithm 3: draw(epoch) is theta_0; schedule(epoch) the rest that follows tau, as {"ridge": 2.0}."""
    return play_doubling(draw, tau, contexts, noise, expected, K, None, schedule, Hyper(**hyper))


def cn_ts_doubling(draw, tau, contexts, noise, expected, K, normals, *, schedule=lambda epoch: {}, **hyper):
    """Algorithm 4; M is the same in all epochs."""
    return play_doubling(draw, tau, contexts, noise, expected, K, normals, schedule, Hyper(**hyper))
