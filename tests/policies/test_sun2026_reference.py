"""The NumPy transcription of Sun et al. (2026), checked by finite differences, closed forms, optimality."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reference.sun2026 as ref


def flat(weights):
    return np.concatenate([W.ravel() for W in weights])


def unflat(theta, like):
    pieces = np.split(theta, np.cumsum([W.size for W in like])[:-1])
    return [piece.reshape(W.shape) for piece, W in zip(pieces, like, strict=True)]


def difference(function, at, step=1e-6):
    """Central differences of a scalar function."""
    return np.array(
        [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(at.size)]
    )


def sphere(rng, num, dim):
    x = rng.normal(size=(num, dim))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def start(rng, *, dim=3, width=4, depth=3, form="standard"):
    shapes = [(width, 2 * dim if form == "ntk" else dim), *[(width, width)] * (depth - 2), (1, width)]
    return [rng.normal(0, 0.7, shape) for shape in shapes]


def filled(agent, rng, rounds=12, dim=3, members=None):
    for _ in range(rounds):
        x, y = sphere(rng, 1, dim)[0], rng.normal()
        agent.observe(x, y, *(() if members is None else (rng.normal(size=members),)))
    return agent


# ---- linear


def test_lin_es_is_least_squares_on_the_kept_perturbed_rewards():
    rng = np.random.default_rng(0)
    agent = filled(ref.LinES(dim=3, members=2, penalty=0.7), rng, members=2)
    X, Z = np.array(agent.xs), np.array(agent.zs)
    for j in range(2):
        rows = np.vstack([X, math.sqrt(0.7) * np.eye(3)])
        expected = np.linalg.lstsq(rows, np.append(np.array(agent.ys) + Z[:, j], np.zeros(3)), rcond=None)[0]
        np.testing.assert_allclose(agent.theta(j), expected, atol=1e-12)
    phe = ref.LinPHE(dim=3, penalty=0.7)
    for x, y in zip(agent.xs, agent.ys, strict=True):
        phe.observe(x, y)
    np.testing.assert_allclose(phe.theta(Z[:, 1]), agent.theta(1))
    arms = sphere(rng, 6, 3)
    assert phe.choose(arms, Z[:, 1]) == agent.choose(arms, 1) == np.argmax(arms @ agent.theta(1))
    with pytest.raises(ValueError, match="zip"):
        phe.theta(Z[:-1, 1])
    with pytest.raises(ValueError, match="per member"):
        agent.observe(arms[0], 1.0, np.zeros(3))


def test_before_any_data_everything_is_zero():
    arms = np.eye(2)
    assert not ref.LinES(dim=2, members=1).theta(0).any()
    assert not ref.GLMES(dim=2, members=1, link="poisson").theta(0).any()
    assert ref.GLMFPL(dim=2).choose(arms, np.zeros(0)) == 0


# ---- generalized linear


@pytest.mark.parametrize("link", ["identity", "logistic", "poisson"])
def test_glm_loss_derivatives_and_minimizer(link):
    rng = np.random.default_rng(1)
    agent = filled(ref.GLMES(dim=3, members=2, penalty=0.5, link=link), rng, members=2)
    loss, theta = agent.loss(1), rng.normal(size=3)
    np.testing.assert_allclose(loss.gradient(theta), difference(loss.value, theta), atol=1e-7)
    for i in range(3):
        column = difference(lambda at, i=i: loss.gradient(at)[i], theta)
        np.testing.assert_allclose(loss.hessian(theta)[i], column, atol=1e-7)
    fitted = agent.theta(1)
    assert np.linalg.norm(loss.gradient(fitted)) <= 1e-12
    assert all(loss.value(fitted) < loss.value(fitted + 1e-3 * e) for e in [*np.eye(3), *-np.eye(3)])
    if link == "identity":
        np.testing.assert_allclose(fitted, ref.LinES.theta(agent, 1), atol=1e-12)
    fpl = ref.GLMFPL(dim=3, penalty=0.5, link=link)
    for x, y in zip(agent.xs, agent.ys, strict=True):
        fpl.observe(x, y)
    np.testing.assert_array_equal(fpl.theta(np.array(agent.zs)[:, 1]), fitted)


def test_newton_survives_rewards_far_from_the_model():
    agent = ref.GLMES(dim=2, members=1, penalty=0.01, link="poisson")
    for y in (400.0, -30.0, 250.0):
        agent.observe(np.array([1.0, 0.1 * y / 400]), y, np.zeros(1))
    assert np.linalg.norm(agent.loss(0).gradient(agent.theta(0))) <= 1e-11
    agent = ref.GLMES(dim=1, members=1, penalty=1e-3)
    agent.observe(np.ones(1), 5.0, np.zeros(1))  # logistic with a reward above 1: only the penalty holds it
    assert agent.theta(0)[0] == pytest.approx(4000, rel=1e-9)


@pytest.mark.parametrize("link", ["identity", "logistic", "poisson"])
def test_tsl_and_evill_agree_to_first_order(link):
    rng = np.random.default_rng(2)
    tsl = filled(ref.GLMTSL(dim=3, penalty=2.0, link=link), rng)
    evill = ref.EVILL(dim=3, penalty=2.0, link=link)
    for x, y in zip(tsl.xs, tsl.ys, strict=True):
        evill.observe(x, y)
    theta_hat, H = tsl.theta_hat(), tsl.H()
    np.testing.assert_allclose(H, evill.loss().hessian(theta_hat))
    xi_0, xi, a = rng.normal(size=3), rng.normal(size=12), 1e-5
    Z = evill.perturbation(xi_0, xi, a)
    theta = evill.theta(xi_0, xi, a)
    np.testing.assert_allclose(evill.loss().gradient(theta), Z, atol=1e-12)
    np.testing.assert_allclose((theta - theta_hat) / a, np.linalg.solve(H, Z) / a, atol=1e-3)
    # The rows of B are the vectors which the normals multiply: cov(Z) = a^2 B'B = a^2 H.
    units = np.eye(15)
    B = np.array([evill.perturbation(unit[:3], unit[3:], 1.0) for unit in units])
    np.testing.assert_allclose(B.T @ B, H, atol=1e-12)


def test_evill_is_a_history_of_perturbed_rewards():
    """With the penalty's part left out, Z adds a sqrt(mu') xi_l to reward l."""
    rng = np.random.default_rng(3)
    evill, fpl = filled(ref.EVILL(dim=3), rng), ref.GLMFPL(dim=3)
    for x, y in zip(evill.xs, evill.ys, strict=True):
        fpl.observe(x, y)
    xi, u = rng.normal(size=12), np.array(evill.xs) @ evill.theta_hat()
    z = 0.6 * np.sqrt(np.exp(-u) / (1 + np.exp(-u)) ** 2) * xi
    np.testing.assert_allclose(evill.theta(np.zeros(3), xi, 0.6), fpl.theta(z), atol=1e-11)


# ---- networks


@pytest.mark.parametrize("form", ["ntk", "standard"])
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_network_and_loss_gradients(form, depth):
    rng = np.random.default_rng(depth)
    first = start(rng, depth=depth, form=form)
    weights = [W + rng.normal(0, 0.1, W.shape) for W in first]
    xs, ys = rng.normal(size=(4, 3)), rng.normal(size=4)
    f = difference(lambda theta: ref.network(unflat(theta, first), xs[0], form), flat(weights))
    np.testing.assert_allclose(flat(ref.network_gradient(weights, xs[0], form)), f, atol=1e-7)
    loss = ref.NeuralLoss(first, xs, ys, penalty=0.3, form=form)
    expected = difference(lambda theta: loss.value(unflat(theta, first)), flat(weights))
    np.testing.assert_allclose(flat(loss.gradient(weights)), expected, atol=1e-6)


def test_network_by_hand_and_symmetric_start():
    x, W1, W2 = np.array([3.0, -1.0]), np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([[0.5, -1.0]])
    assert ref.network([W1, W2], x, "standard") == pytest.approx(0.5)
    wide = np.hstack([W1, W1])  # [x; x] / sqrt 2 times sqrt N = sqrt 2: twice the value
    assert ref.network([wide, W2], x, "ntk") == pytest.approx(1.0)
    rng = np.random.default_rng(4)
    first = ref.symmetric_start([rng.normal(size=(3, 2)), rng.normal(size=(3, 3))], rng.normal(size=3))
    assert [W.shape for W in first] == [(6, 4), (6, 6), (1, 6)]
    assert ref.network(first, x, "ntk") == pytest.approx(0, abs=1e-14)
    with pytest.raises(ValueError, match="unknown form"):
        ref.network(first, x, "plain")


@pytest.mark.parametrize("form", ["ntk", "standard"])
def test_neural_es_descends_and_members_differ_only_by_their_perturbations(form):
    rng = np.random.default_rng(5)
    first = start(rng, form=form)
    settings = {"penalty": 0.2, "eta": 0.002, "steps": 10, "form": form}
    agent, cold = (ref.NeuralES(first, members=3, warm_start=warm, **settings) for warm in (True, False))
    phe = ref.NeuralPHE(first, **settings)
    for _ in range(4):
        x, y, z = rng.normal(size=3), rng.normal(), rng.normal(size=3)
        z[2] = z[1]
        agent.observe(x, y, z)
        cold.observe(x, y, z)
        phe.observe(x, y)
        phe.fit(np.array(agent.zs)[:, 0])  # the same perturbations again: the same as a kept member
    theta = [flat(agent.theta(j)) for j in range(3)]
    np.testing.assert_array_equal(theta[1], theta[2])
    assert np.linalg.norm(theta[0] - theta[1]) > 1e-6
    np.testing.assert_array_equal(flat(phe.theta()), theta[0])
    before = agent.loss(0).value(first)
    assert agent.loss(0).value(agent.theta(0)) < cold.loss(0).value(cold.theta(0)) < before
    expected = cold.loss(1).descend(first, eta=0.002, steps=10)
    np.testing.assert_array_equal(flat(cold.theta(1)), flat(expected))
    arms = rng.normal(size=(5, 3))
    assert agent.choose(arms, 0) == np.argmax([ref.network(agent.theta(0), x, form) for x in arms])
    assert ref.choice_shares(agent, arms).sum() == pytest.approx(1)


def test_one_step_in_closed_form():
    """L = 2, N = 1, f = w max(v x, 0) at v = w = 1, x = 1, y = 3: residual -2, gradients of f (1, 1)."""
    first = [np.ones((1, 1)), np.ones((1, 1))]
    agent = ref.NeuralES(first, members=1, penalty=5.0, eta=0.1, steps=1)
    agent.observe(np.ones(1), 3.0, np.zeros(1), fit=False)
    agent.observe(np.ones(1), 3.0, np.zeros(1))  # the mean of two equal examples; the penalty is 0 at theta_0
    np.testing.assert_allclose(flat(agent.theta(0)), [1.2, 1.2])
    agent.fit()  # f = 1.44, residual -1.56, gradients (1.2, 1.2); penalty 5 / 2 * 0.2 = 0.5
    np.testing.assert_allclose(flat(agent.theta(0)), 1.2 + 0.1 * (1.56 * 1.2 - 0.5))


def test_run_ensemble_replays_the_warm_up():
    rng = np.random.default_rng(6)
    arms, T, m = sphere(rng, 4, 3), 10, 3
    rewards, z, drawn = rng.normal(size=(T, 4)), rng.normal(size=(T, m)), rng.integers(0, m, T)
    agent = ref.GLMES(dim=3, members=m)
    pulled = ref.run_ensemble(agent, arms, rewards, z, drawn, warm_up=[3, 1])
    assert pulled[:2] == [3, 1]
    again = ref.GLMES(dim=3, members=m)
    for t in range(T - 1):
        again.observe(arms[pulled[t]], rewards[t, pulled[t]], z[t])
    assert pulled[-1] == again.choose(arms, drawn[-1])


# ---- warm-up


def test_g_optimal_design_and_rounding():
    rng = np.random.default_rng(7)
    arms = sphere(rng, 12, 3)
    weights = ref.g_optimal(arms, tolerance=1e-4)
    assert weights.sum() == pytest.approx(1)
    g = ref.leverages(arms, weights)
    assert 3 - 1e-9 <= g.max() <= 3 * (1 + 1e-4)  # Kiefer-Wolfowitz
    assert weights @ g == pytest.approx(3)
    np.testing.assert_allclose(g[weights > 0.01], 3, rtol=1e-2)
    for tau in (6, 20, 501):
        counts = ref.rounded(tau, weights, arms, threshold=1e-3)
        assert counts.sum() == tau
        assert (counts >= 0).all()
        assert not counts[weights <= 1e-3].any()
    assert np.abs(counts / 501 - weights).max() < 2 / 501 * (weights > 1e-3).sum()
    # Efficient design apportionment: no worse than the design by more than 1 + p / (tau - p / 2).
    p = (weights > 1e-3).sum()
    assert ref.leverages(arms, counts / 501).max() <= 3 * 1.001 * (1 + p / (501 - p / 2))


def test_g_optimal_of_a_basis_is_uniform_and_line_13_may_exceed_the_budget():
    np.testing.assert_allclose(ref.g_optimal(np.eye(4)), 0.25)
    np.testing.assert_array_equal(ref.rounded(10, np.full(4, 0.25), np.eye(4)), [3, 3, 2, 2])
    np.testing.assert_array_equal(ref.rounded(10, np.full(4, 0.25), np.eye(4), line13=True), [6, 6, 6, 6])
    np.testing.assert_array_equal(ref.rounded(2, np.full(4, 0.25), np.eye(4)).sum(), 2)
    with pytest.raises(ValueError, match="too small"):
        ref.rounded(0, np.array([0.9, 0.025, 0.025, 0.025, 0.025]), np.ones((5, 2)))


# ---- anytime


def test_epochs_and_the_loss_constant():
    assert ref.epochs(100, ref.GOLDEN, 1000) == [
        (0, 100, 100),
        (100, 261, 161),
        (261, 685, 424),
        (685, 1000, 1109),
    ]
    assert ref.epochs(100, ref.GOLDEN, 100) == [(0, 100, 100)]
    assert ref.epochs(300, ref.GOLDEN, 50) == [(0, 50, 300)]
    assert ref.epochs(1, 1.2, 3) == [(0, 1, 1), (1, 2, 1), (2, 3, 1)]
    assert ref.loss_constant(100, ref.GOLDEN) == pytest.approx(3.3, abs=0.05)
    near = [ref.loss_constant(1e9, b) for b in (ref.GOLDEN - 0.05, ref.GOLDEN, ref.GOLDEN + 0.05)]
    assert near[1] == min(near)
    assert ref.epoch_settings(424) == (13, pytest.approx(0.02 * math.log(424)))
    assert [ref.epoch_warm_up(500, tau) for tau in (100, 161, 500, 1109)] == [50, 80, 500, 500]
