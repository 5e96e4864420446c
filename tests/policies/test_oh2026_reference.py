"""The NumPy transcription of Oh et al. (2026), checked by finite differences, optimality and symmetry."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reference.oh2026 as ref


def flat(weights):
    return np.concatenate([W.ravel() for W in weights])


def unflat(theta, like):
    pieces = np.split(theta, np.cumsum([W.size for W in like])[:-1])
    return [piece.reshape(W.shape) for piece, W in zip(pieces, like, strict=True)]


def slopes(function, at, step=1e-6):
    """Central differences of a function, scalar or vector."""
    return np.array(
        [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(at.size)]
    )


def sphere(rng, num, dim):
    x = rng.uniform(-1, 1, size=(num, dim))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def start(rng, *, dim=3, width=4, out=3):
    return [rng.normal(0, 0.7, shape) for shape in [(width, dim), (width, width), (out, width), (1, out)]]


def problem(seed, num=5, dim=3):
    """Utilities, features, a positive definite V and (K, K) normals."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(dim, dim))
    return (
        rng.normal(size=num),
        rng.normal(size=(num, dim)),
        np.eye(dim) + B @ B.T,
        rng.normal(size=(num, num)),
    )


def duels(rng, num, dim=3):
    return [(*sphere(rng, 2, dim), float(rng.integers(2))) for _ in range(num)]


# ---- strategies


def test_widths_are_a_metric_of_the_inverse():
    _, phi, V, _ = problem(0)
    w = ref.widths(phi, V)
    z = phi[:, None] - phi[None]
    np.testing.assert_allclose(w, np.sqrt(np.einsum("ijk,kl,ijl->ij", z, np.linalg.inv(V), z)), atol=1e-12)
    np.testing.assert_array_equal(w, w.T)
    assert (np.diag(w) == 0).all()


def test_candidates_contain_the_best_arm_and_grow_with_the_width():
    for seed in range(20):
        u, phi, V, _ = problem(seed)
        small, large = (set(ref.candidates(u, phi, V, a)) for a in (0.3, 1.0))
        assert int(np.argmax(u)) in small <= large
        assert small == set(ref.candidates(u, phi, V, 0.3, strict=False))
        assert ref.candidates(u, phi, V, 0.0) == [int(np.argmax(u))]
        assert ref.candidates(u, phi, V, 1e6) == list(range(5))
    assert ref.candidates(np.ones(2), np.ones((2, 3)), np.eye(3), 1.0) == [0]
    assert ref.candidates(np.ones(2), np.ones((2, 3)), np.eye(3), 1.0, strict=False) == [0, 1]


def test_ucb_choices_are_the_argmax_of_their_definitions():
    for seed in range(20):
        u, phi, V, _ = problem(seed)
        w = ref.widths(phi, V)
        first, second = ref.ucb_asym(u, phi, V, 0.8)
        assert first == np.argmax(u)
        assert second == np.argmax(u + 0.8 * w[:, first])
        both = u[:, None] + u + 0.8 * w
        np.testing.assert_allclose(ref.ucb_osym_scores(u, phi, V, 0.8), both)
        assert ref.ucb_osym(u, phi, V, 0.8) == np.unravel_index(np.argmax(both), both.shape)
        inside = [min(u[k] - np.delete(u, k) + 0.8 * np.delete(w[k], k)) > 0 for k in range(5)]
        masked = np.where(np.outer(inside, inside), w, -1)
        assert ref.ucb_csym(u, phi, V, 0.8) == np.unravel_index(np.argmax(masked), w.shape)


def test_choices_do_not_depend_on_the_order_of_the_arms():
    order = np.array([3, 0, 4, 1, 2])
    for seed in range(10):
        u, phi, V, normals = problem(seed)
        moved = u[order], phi[order], V, 0.8
        for choose in (ref.ucb_asym, ref.ucb_osym, ref.ucb_csym):
            assert {order[k] for k in choose(*moved)} == set(choose(u, phi, V, 0.8))
        turned = normals[np.ix_(order, order)]
        for choose in (ref.ts_asym, ref.ts_osym, ref.ts_csym_listing):
            assert tuple(order[list(choose(*moved, turned))]) == choose(u, phi, V, 0.8, normals)
        assert tuple(order[list(ref.ts_csym(*moved, turned, 7))]) == ref.ts_csym(u, phi, V, 0.8, normals, 7)


def test_draws_have_the_stated_moments():
    u, phi, V, normals = problem(1)
    a, zero, one = 3.0, np.zeros((5, 5)), np.ones((5, 5))
    w = ref.widths(phi, V)
    np.testing.assert_allclose(ref.ts_asym_scores(u, phi, V, a, zero), u[:, None] - u)
    np.testing.assert_allclose(ref.ts_asym_scores(u, phi, V, a, one) - (u[:, None] - u), a * w, atol=1e-12)
    np.testing.assert_allclose(
        ref.ts_osym_scores(u, phi, V, a, normals), u[:, None] + u + a * w * normals, atol=1e-12
    )
    a = 1e3  # every arm is a candidate
    np.testing.assert_allclose(ref.ts_csym_scores(u, phi, V, a, zero, 4), w**2)
    sd = ref.ts_csym_scores(u, phi, V, a, one, 4) - w**2
    np.testing.assert_allclose(sd**2, w**4 / (4 * math.log(5 * 16)), atol=1e-12)
    sd = ref.ts_csym_listing_scores(u, phi, V, a, one) - a * w
    np.testing.assert_allclose(sd, (a * w) ** 2 / 4, atol=1e-9)
    first = int(np.argmax(u))
    assert ref.ts_asym(u, phi, V, 1.0, one) == ref.ucb_asym(u, phi, V, 1.0)
    assert ref.ts_asym(u, phi, V, 1.0, zero) == (first, first)
    assert ref.ts_csym_listing(u, phi, V, 1.0, zero) == ref.ucb_csym(u, phi, V, 1.0)


def test_self_duels_can_be_excluded():
    for seed in range(10):
        u, phi, V, normals = problem(seed)
        for a in (0.0, 0.05, 1.0):
            pairs = [f(u, phi, V, a, self_duels=False) for f in (ref.ucb_asym, ref.ucb_osym, ref.ucb_csym)]
            pairs += [f(u, phi, V, a, normals, self_duels=False) for f in (ref.ts_asym, ref.ts_osym)]
            pairs += [ref.ts_csym_listing(u, phi, V, a, normals, self_duels=False)]
            pairs += [ref.ts_csym(u, phi, V, a, normals, 3, self_duels=False)]
            assert all(i != j for i, j in pairs)
        first = int(np.argmax(u))
        for choose in (ref.ucb_asym, ref.ucb_osym, ref.ucb_csym):
            assert choose(u, phi, V, 0.0) == (first, first)


# ---- links, network, loss


@pytest.mark.parametrize("name", ["logistic", "probit"])
def test_links_and_zeta(name):
    link = ref.LINKS[name]
    for z in (-3.0, -0.4, 0.0, 1.7):
        at = np.array([z])
        assert link.g(z) + link.g(-z) == pytest.approx(1)
        assert link.log(z) == pytest.approx(math.log(link.g(z)))
        assert link.slope(z) == pytest.approx(slopes(lambda x: link.log(x[0]), at)[0], rel=1e-7)
        assert link.curvature(z) == pytest.approx(-slopes(lambda x: link.slope(x[0]), at)[0], rel=1e-7)
        assert ref.zeta2(z, 0.1, name) == ref.zeta2(-z, 0.1, name)
    assert ref.zeta2(0.0, 0.1, name) == pytest.approx(0.25)
    assert ref.zeta2(40.0, 0.1, name) == pytest.approx(0.01)
    assert ref.zeta2(1.0, 0.7, name) == pytest.approx(0.49)


@pytest.mark.parametrize("form", ["figure", "linear", "theory"])
@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_gradients_agree_with_differences(form, link):
    rng = np.random.default_rng(3)
    weights = start(rng)
    x = sphere(rng, 1, 3)[0]
    assert ref.network(weights, x, form) == pytest.approx(weights[-1][0] @ ref.features(weights, x, form))
    W1, W2, W3, _ = weights
    hidden = np.maximum(W2 @ np.maximum(W1 @ x, 0), 0)
    phi = {
        "figure": np.maximum(W3 @ hidden, 0),
        "linear": W3 @ hidden,
        "theory": 2 * np.maximum(W3 @ hidden, 0),
    }[form]
    np.testing.assert_allclose(ref.features(weights, x, form), phi)
    expected = slopes(lambda w: ref.network(unflat(w, weights), x, form), flat(weights))
    np.testing.assert_allclose(flat(ref.network_gradient(weights, x, form)), expected, atol=1e-8)
    zetas = rng.uniform(0.05, 1, 6)
    loss = ref.DuelLoss(duels(rng, 6), zetas, rng.normal(size=3), penalty=0.7, link=link, form=form)
    expected = slopes(lambda w: loss.value(unflat(w, weights)), flat(weights))
    np.testing.assert_allclose(flat(loss.gradient(weights)), expected, atol=1e-5, rtol=1e-6)


def test_adam_steps():
    rng = np.random.default_rng(4)
    weights = start(rng)
    loss = ref.DuelLoss(duels(rng, 8), np.full(8, 0.3), weights[-1], penalty=1.0)
    once = loss.adam(weights, eta=0.01, steps=1)
    for W, new, g in zip(weights, once, loss.gradient(weights), strict=True):
        np.testing.assert_allclose(new, W - 0.01 * g / (np.abs(g) + 1e-8), atol=1e-14)
    assert loss.value(loss.adam(weights, eta=0.01, steps=20)) < loss.value(weights)
    assert all((a == b).all() for a, b in zip(loss.adam(weights, eta=0.01, steps=0), weights, strict=True))


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_theta_of_line_10_is_the_optimum(link):
    rng = np.random.default_rng(5)
    weights = start(rng)
    loss = ref.DuelLoss(duels(rng, 8), rng.uniform(0.05, 1, 8), rng.normal(size=3), penalty=0.5, link=link)
    weights[-1] = loss.best_theta(weights)[None, :]
    assert np.linalg.norm(loss.gradient(weights)[-1]) < 1e-10
    around = [[*weights[:-1], weights[-1] + 1e-3 * rng.normal(size=(1, 3))] for _ in range(10)]
    assert all(loss.value(other) > loss.value(weights) for other in around)


# ---- agents


def play(agent, rng, rounds=4):
    seen = duels(rng, rounds)
    for duel in seen:
        agent.observe(*duel)
    return seen


def test_figure_preset_rebuilds_with_the_new_network():
    rng = np.random.default_rng(6)
    weights = start(rng)
    agent = ref.RebuiltNVLDB(weights, penalty=0.8, steps=3)
    seen = play(agent, rng)
    arms = sphere(rng, 4, 3)
    u, phi, V = agent.scores(arms)
    np.testing.assert_allclose(u, phi @ agent.weights[-1][0])
    expected = 0.8 * np.eye(3)
    for duel in seen:
        z = ref.features(agent.weights, duel[0]) - ref.features(agent.weights, duel[1])
        g = 1 / (1 + np.exp(-z @ agent.weights[-1][0]))
        expected += np.outer(z, z) / max(math.sqrt(g * (1 - g)), 0.1) ** 2
    np.testing.assert_allclose(V, expected)
    np.testing.assert_array_equal(agent.theta_0, weights[-1])
    before = ref.RebuiltNVLDB(weights, penalty=0.8, steps=3)
    for duel in seen[:-1]:
        before.observe(*duel)
    zetas = [ref.zeta2(ref.difference(before.weights, duel), 0.1) for duel in seen]
    loss = ref.DuelLoss(seen, zetas, weights[-1], penalty=0.8)
    np.testing.assert_allclose(
        flat(loss.adam(before.weights, eta=0.01, steps=3)), flat(agent.weights), atol=1e-14
    )


def test_without_variance_the_weights_are_one():
    rng = np.random.default_rng(7)
    for kind in (ref.RebuiltNVLDB, ref.TheoryNVLDB):
        weights = start(rng)
        state = rng.bit_generator.state
        agnostic = kind(weights, steps=2, variance_aware=False)
        play(agnostic, rng)
        rng.bit_generator.state = state
        aware = kind(weights, steps=2, eps=1.0)  # sigma_hat <= 1/2 < eps
        play(aware, rng)
        np.testing.assert_array_equal(agnostic.V, aware.V)
        np.testing.assert_array_equal(flat(agnostic.weights), flat(aware.weights))


@pytest.mark.parametrize("form", ["figure", "theory"])
def test_theory_keeps_what_was_recorded(form):
    rng = np.random.default_rng(8)
    agent = ref.TheoryNVLDB(start(rng), penalty=0.8, steps=3, eta=0.001, form=form)
    V = 0.8 * np.eye(3)
    for duel in duels(rng, 4):
        z = ref.feature_difference(agent.weights, duel, form)
        V += np.outer(z, z) / ref.zeta2(float(z @ agent.weights[-1][0]), 0.1)
        agent.observe(*duel)
        np.testing.assert_allclose(agent.V, V)
        assert np.linalg.norm(agent.loss(agent.kept).gradient(agent.weights)[-1]) < 1e-10


# ---- linear baselines


def test_linear_baselines():
    rng = np.random.default_rng(9)
    for link in ("logistic", "probit"):
        agent = ref.GLMDuel(dim=3, link=link, penalty=0.5)
        for duel in duels(rng, 10):
            agent.observe(*duel)
        theta, V = agent.theta(), agent.V()
        np.testing.assert_allclose(V, 0.5 * np.eye(3) + np.array(agent.zs).T @ np.array(agent.zs))
        np.testing.assert_allclose(slopes(agent.loss().value, theta), 0, atol=1e-7)
        arms = sphere(rng, 5, 3)
        first, second = agent.colstim(arms, np.zeros(5), c=0.7, threshold=1.0)
        assert (first, second) == ref.ucb_asym(arms @ theta, arms, V, 0.7)
        e = np.array([9.0, -9.0, 0.1, 0.2, 0.3])
        scores, _ = agent.colstim_scores(arms, e, c=0.7, threshold=1.5)
        size = np.sqrt(np.einsum("ij,jk,ik->i", arms, np.linalg.inv(V), arms))
        np.testing.assert_allclose(scores, arms @ theta + np.clip(e, -1.5, 1.5) * size)
        assert agent.max_pair_ucb(arms, 0.0) == (np.argmax(arms @ theta),) * 2
        w = ref.widths(arms, V)
        assert agent.max_inp(arms, 1e6) == np.unravel_index(np.argmax(w), w.shape)


def test_vacdb_layers():
    rng = np.random.default_rng(10)
    agent = ref.VACDB(dim=2, alpha=0.25, kappa=0.2, radius=1.0)
    assert agent.layers == 2
    arms, explored = sphere(rng, 4, 2), []
    for _ in range(60):
        i, j, layer = agent.choose(arms, rng.uniform())
        explored.append(layer)
        if layer is not None:
            assert ref.pair_width(arms[i], arms[j], agent.Sigma[layer]) > 2.0**-layer
        agent.observe(arms[i], arms[j], float(rng.uniform() < 0.9), layer)
    assert {1, 2, None} >= set(explored)
    assert {1, 2} <= set(explored)
    for layer in (1, 2):
        gradient, Sigma = 4.0**-layer * 0.2 * agent.theta[layer], 4.0**-layer * np.eye(2)
        for z, o, w in agent.data[layer]:
            assert w * math.sqrt(z @ np.linalg.inv(Sigma) @ z) == pytest.approx(2.0**-layer)
            Sigma = Sigma + w**2 * np.outer(z, z)
            gradient = gradient + w**2 * (1 / (1 + np.exp(-z @ agent.theta[layer])) - o) * z
        np.testing.assert_allclose(gradient, 0, atol=1e-10)
        np.testing.assert_allclose(agent.Sigma[layer], Sigma)
    same = np.repeat(arms[:1], 3, axis=0)
    assert agent.choose(same) == (0, 0, None)
    close = arms[0] + 0.01 * rng.normal(size=(4, 2))  # no pair is wider than alpha
    w = ref.widths(close, agent.Sigma[1])
    assert w.max() <= 0.25
    u = close @ agent.theta[1]
    both = u[:, None] + u + w
    assert agent.choose(close) == (*np.unravel_index(np.argmax(both), both.shape), None)
    i, j, layer = agent.choose(10 * arms)  # the widest pair of the first layer
    w = ref.widths(arms, agent.Sigma[1])
    assert (i, j, layer) == (*np.unravel_index(np.argmax(w), w.shape), 1)


def test_vacdb_eliminates_before_it_goes_deeper():
    agent = ref.VACDB(dim=2, alpha=0.25, kappa=0.2, radius=1.0)
    agent.Sigma[1] = 64.0 * np.eye(2)
    agent.Sigma[2] = np.eye(2)
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0]])
    arms = 1.5 * arms  # widths in layer 1: 0.27 and 0.375, above alpha and below 1/2
    agent.theta[1] = np.array([0.4, 0.2])  # utilities 0.6, 0.3, -0.3, -0.6; kept: at least 0.6 - 1/2
    assert agent.choose(arms) == (0, 1, 2)
    assert agent.choose(arms, 0.99) == (1, 0, 2)
    agent.observe(arms[0], arms[1], 1.0, 2)
    assert agent.data[2][0][2] == pytest.approx(0.25 / math.sqrt(4.5))
    assert not agent.data[1]


def test_vacdb_radius():
    agent = ref.VACDB(dim=2, alpha=2.0**-12, kappa=0.25, delta=0.1)
    z = np.array([0.6, 0.0])
    agent.observe(z, np.zeros(2), 1.0, 12)
    residual = 1 / (1 + np.exp(z @ agent.theta[12]))
    w = 2.0**-12 / (0.6 * 2.0**12)
    assert agent.variance(12, 2) == pytest.approx((w * residual) ** 2)
    agent.observe(z, np.zeros(2), 1.0, 3)
    assert agent.variance(3, 3) == 1
    logs = [math.log(4 * t**2 * 12 / 0.1) for t in (3, 4)]
    expected = 64 / 8 * math.sqrt((8 + 18 * logs[1]) * logs[0]) + 24 / 8 * logs[0] + 2 / 8
    assert agent.beta[3] == pytest.approx(expected)
    assert agent.beta[5] == pytest.approx(5 / 32)


# ---- environment


def test_utilities_and_regret():
    rng = np.random.default_rng(11)
    x, theta, matrix = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    assert ref.cosine(x, theta) == pytest.approx(np.cos(3 * theta @ x))
    assert ref.square(x, theta) == pytest.approx(10 * ref.quadratic(x, theta))
    assert ref.quadratic(x, matrix) == pytest.approx(np.sum((matrix.T @ x) ** 2))
    u = np.array([0.5, 2.0, -1.0])
    assert ref.average_regret(u, 0, 2) == 2.25
    assert ref.total_regret(u, 0, 2) == 4.5
    assert ref.weak_regret(u, 0, 2) == 1.5
    assert ref.weak_regret(u, 1, 2) == 0 == ref.average_regret(u, 1, 1)
