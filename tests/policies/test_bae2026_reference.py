"""The NumPy transcription of Bae et al. (2026), checked by finite differences, kernels and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reference.bae2026 as ref

THEORY_METHODS = ("NeuralLog-UCB-1", "NeuralLog-UCB-2", "NeuralLog-TS-1", "NeuralLog-TS-2")
THEORY = {"S": 1.5, "delta": 0.1, "kappa": 6.0, "eta": 1e-4, "steps": 20, "C1": 0.3, "C6": 0.02, "C7": 0.03}


def difference(function, at, step=1e-6):
    """Central differences of a scalar function."""
    eye = np.eye(at.size)
    return np.array([(function(at + step * e) - function(at - step * e)) / (2 * step) for e in eye])


def world(seed, T=12, K=4, d=3):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(T, K, d))
    contexts /= np.linalg.norm(contexts, axis=-1, keepdims=True)
    return contexts, rng.integers(0, 2, (T, K)).astype(float), rng.normal(size=(T, K)), rng


def plain_start(rng, d=3, m=5, depth=2):
    shapes = [(m, d), *[(m, m)] * (depth - 2), (1, m)]
    return tuple(rng.normal(0, 0.7, shape) for shape in shapes)


# ---- networks


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("network", [ref.THEORY, ref.PLAIN])
def test_gradient_is_the_derivative_of_the_value(network, depth):
    rng = np.random.default_rng(depth)
    start = plain_start(rng, d=6 if network.theory else 3, depth=depth)
    X = rng.normal(size=(4, 3))
    gradient = network.gradient(start, X)
    for x, g in zip(X, gradient, strict=True):
        value = lambda theta, x=x: network.value(ref.unflatten(theta, start), x)[0]  # noqa: E731
        np.testing.assert_allclose(g, difference(value, ref.flatten(start)), atol=1e-7)


def test_theory_network_by_hand_and_zero_at_the_symmetric_start():
    x = np.array([3.0, -1.0])
    W1, W2 = np.array([[1.0, 0, 0, 1], [0, 2, 1, 0]]), np.array([[0.5, -1.0]])
    doubled = np.array([3.0, -1, 3, -1]) / math.sqrt(2)
    expected = math.sqrt(2) * (0.5 * max(W1[0] @ doubled, 0) - max(W1[1] @ doubled, 0))
    assert ref.THEORY.value((W1, W2), x)[0] == pytest.approx(expected)
    start = ref.symmetric_start(np.random.default_rng(0), dim=3, width=8, depth=3)
    assert [W.shape for W in start] == [(8, 6), (8, 8), (1, 8)]
    np.testing.assert_allclose(ref.THEORY.value(start, np.eye(3)), 0, atol=1e-14)


# ---- theory form


def test_train_nn_takes_the_steps_of_its_loss():
    contexts, feedback, _, rng = world(1)
    start = ref.symmetric_start(rng, dim=3, width=4, depth=2)
    X, r = contexts[:, 0], feedback[:, 0]
    loss = lambda theta: ref.train_loss(theta, X, r, start, lam=0.7)  # noqa: E731
    one = ref.train_nn(X, r, start, lam=0.7, eta=0.01, steps=1)
    two = ref.train_nn(X, r, start, lam=0.7, eta=0.01, steps=2)
    np.testing.assert_allclose(
        one, ref.flatten(start) - 0.01 * difference(loss, ref.flatten(start)), atol=1e-8
    )
    np.testing.assert_allclose(two, one - 0.01 * difference(loss, one), atol=1e-8)
    assert loss(two) < loss(one) < loss(ref.flatten(start))


def test_the_constants_of_equations_1_to_3():
    S, L, delta, C1 = 2.0, 3, 0.2, 0.5
    lam_0 = ref.lambda_zero(L=L, S=S, delta=delta, C1=C1)
    assert lam_0 == pytest.approx(8 * 2**0.5 * 0.5 * 3**0.5 / 2 * math.log(20))
    log, d_t = math.log(4 * 25 / 0.2), 1.7
    iota = ref.iota(5, d_t, lam_0, L=L, delta=delta, C1=C1)
    assert iota == pytest.approx(16 * (d_t * log) ** 0.5 + 4 * (3 / lam_0) ** 0.5 * log)
    assert ref.nu_t(iota, L=L, S=S, C=0.1) == pytest.approx(0.1 * (1 + 2 * 3**0.5 + 12) * iota + 1)
    lam = ref.lambda_now(5, d_t, lam_0, L=L, S=S, delta=delta, C1=C1)
    assert lam == pytest.approx(16 * d_t * log + 16 * 0.25 * 3 / (4 * lam_0) * log**2)
    # lambda_t is made so that S sqrt(lambda_t) <= iota_t / 2 (appendix E.1), with at most sqrt(2) lost
    assert S * math.sqrt(lam) <= iota / 2 <= S * math.sqrt(2 * lam)
    assert ref.lambda_now(0, 0.0, lam_0, L=L, S=S, delta=delta, C1=C1) == lam_0


@pytest.mark.parametrize("weight_at", ["after", "feedback"])
@pytest.mark.parametrize("method", THEORY_METHODS)
def test_theory_scores_rebuilt_with_kernels(method, weight_at):
    """Widths by the n x n kernel instead of the p x p matrix, fits rerun: the last round's scores."""
    contexts, feedback, normals, rng = world(2, T=9)
    start = ref.symmetric_start(rng, dim=3, width=4, depth=3)
    run = ref.run_theory(method, contexts, feedback, start, normals=normals, weight_at=weight_at, **THEORY)
    L, m, n = 3, 4, 8
    S, delta, kappa = (THEORY[name] for name in ("S", "delta", "kappa"))
    lam_0 = 8 * math.sqrt(2 * L) * 0.3 / S * math.log(4 / delta)

    chosen = contexts[np.arange(n), run["items"][:n]]
    r = feedback[np.arange(n), run["items"][:n]]
    g = ref.THEORY.gradient(start, chosen) / math.sqrt(m)
    thetas, weights = [ref.flatten(start)], []
    for i in range(1, n + 1):
        d_i = np.linalg.slogdet(np.eye(i) + g[:i] @ g[:i].T / (4 * lam_0))[1]
        log = math.log(4 * i**2 / delta)
        lam = 64 / S**2 * d_i * log + 16 * 0.3**2 * L / (S**2 * lam_0) * log**2
        thetas.append(ref.train_nn(chosen[:i], r[:i], start, lam=lam, eta=1e-4, steps=20))
        at = thetas[-1] if weight_at == "after" else thetas[-2]
        p = 1 / (1 + np.exp(-ref.THEORY.value(ref.unflatten(at, start), chosen[i - 1])[0]))
        weights.append(p * (1 - p))
    iota = 16 * math.sqrt(d_i * log) + 8 * 0.3 * math.sqrt(L / lam_0) * log
    second = method.endswith("2")
    nu = (0.03 if second else 0.02) * (1 + math.sqrt(L) * S + L * S**2) * iota + 1
    ridge, rows = (lam, g * np.sqrt(weights)[:, None]) if second else (kappa * lam, g)

    arms = ref.THEORY.gradient(start, contexts[n]) / math.sqrt(m)
    cross = arms @ rows.T
    inner = np.linalg.solve(ridge * np.eye(n) + rows @ rows.T, cross.T)
    width = np.sqrt((np.sum(arms**2, axis=1) - np.einsum("ij,ji->i", cross, inner)) / ridge)
    f = ref.THEORY.value(ref.unflatten(thetas[-1], start), contexts[n])
    linear = math.sqrt(m) * arms @ (thetas[-1] - thetas[0])
    expected = {
        "NeuralLog-UCB-1": 1 / (1 + np.exp(-f)) + math.sqrt(kappa) / 4 * nu * width,
        "NeuralLog-UCB-2": linear + nu * width,
        "NeuralLog-TS-1": f + math.sqrt(kappa) * nu * width * normals[n],
        "NeuralLog-TS-2": linear + nu * width * normals[n],
    }[method]
    np.testing.assert_allclose(run["scores"][n], expected, rtol=1e-9)
    np.testing.assert_allclose(run["weights"][:n], weights, rtol=1e-10)
    assert run["lambda_t"][n] == pytest.approx(lam)
    assert run["d_t"][n] == pytest.approx(d_i)
    assert run["radius"][n] == pytest.approx(nu)


def test_theory_before_any_observation():
    contexts, feedback, _, rng = world(3, T=1)
    start = ref.symmetric_start(rng, dim=3, width=4, depth=2)
    run = ref.run_theory("NeuralLog-UCB-1", contexts, feedback, start, **THEORY)
    lam_0 = ref.lambda_zero(L=2, S=1.5, delta=0.1, C1=0.3)
    assert run["lambda_t"] == [lam_0]
    assert run["d_t"] == [0.0]
    g = ref.THEORY.gradient(start, contexts[0]) / 2
    np.testing.assert_allclose(run["widths"][0], np.linalg.norm(g, axis=1) / math.sqrt(6 * lam_0))
    np.testing.assert_allclose(run["means"][0], 0.5)


# ---- experiment form


def test_experiment_radius_by_hand():
    """One-hot contexts, no fit: every number of round 3 is a count."""
    contexts = np.tile(np.eye(2), (3, 1, 1))
    kwargs = {"nu": 0.5, "lam": 2.0, "kappa": 3.0, "S": 1.0}
    run = ref.run_experiment("Logistic-UCB-1", contexts, np.zeros((3, 2)), **kwargs)
    assert run["items"].tolist() == [0, 1, 0]
    radius = 0.5 * (math.sqrt(2 * math.log(1.25)) + math.sqrt(2))
    assert run["radius"][2] == pytest.approx(radius)
    np.testing.assert_allclose(run["scores"][2], 0.5 + math.sqrt(3) / 4 * radius / math.sqrt(1 + 6))
    run = ref.run_experiment("ada-OFU-ECOLog", contexts, np.zeros((3, 2)), **kwargs)
    assert run["radius"][2] == pytest.approx(radius)  # d_t from unweighted sums
    np.testing.assert_allclose(run["scores"][2], radius / math.sqrt(0.25 + 2))


def test_experiment_neural_radii_by_hand():
    contexts, feedback, normals, rng = world(4, T=6)
    start = plain_start(rng)
    kwargs = {"nu": 0.3, "lam": 0.5, "kappa": 3.0, "S": 2.0, "normals": normals}
    for method in (*THEORY_METHODS, "NCBF-UCB"):
        run = ref.run_experiment(method, contexts, feedback, start, **kwargs)
        chosen = contexts[np.arange(5), run["items"][:5]]
        f, G = ref.PLAIN.value(start, chosen), ref.PLAIN.gradient(start, chosen)
        p = 1 / (1 + np.exp(-f))
        weighted = method.endswith("2")
        diagonal = np.diag((G * (p * (1 - p))[:, None]).T @ G if weighted else G.T @ G)
        share, s1 = (1 / 3, 1) if method == "NCBF-UCB" else (0.25, 7)
        d_t = sum(math.log(1 + share * v) for v in np.diag(G.T @ G))
        beta = 0.3 * (s1 * math.sqrt(d_t) + math.sqrt(0.5) * 2)
        g, now = ref.PLAIN.gradient(start, contexts[5]), ref.PLAIN.value(start, contexts[5])
        width = np.sqrt(np.sum(g**2 / (diagonal + (0.5 if weighted else 1.5)), axis=1))
        expected = {
            "NCBF-UCB": now + 3 * beta * width,
            "NeuralLog-UCB-1": 1 / (1 + np.exp(-now)) + math.sqrt(3) / 4 * beta * width,
            "NeuralLog-UCB-2": now + beta * width,
            "NeuralLog-TS-1": now + math.sqrt(3) * beta * width * normals[5],
            "NeuralLog-TS-2": now + beta * width * normals[5],
        }[method]
        np.testing.assert_allclose(run["scores"][5], expected, rtol=1e-12)
        assert run["radius"][5] == pytest.approx(beta)
        assert run["d_t"][5] == pytest.approx(d_t)


def test_experiment_fit_is_warm_and_on_the_mean_loss():
    contexts, feedback, _, rng = world(5, T=7)
    start = plain_start(rng)
    kwargs = {"nu": 0.3, "lam": 0.5, "every": 3, "steps": 2, "lr": 0.05}
    run = ref.run_experiment("NeuralLog-UCB-2", contexts, feedback, start, **kwargs)
    theta, items = ref.flatten(start), run["items"]
    for n in (3, 6):
        X, r = contexts[np.arange(n), items[:n]], feedback[np.arange(n), items[:n]]

        def loss(at, X=X, r=r):
            f = ref.PLAIN.value(ref.unflatten(at, start), X)
            return np.mean(np.logaddexp(0, f) - r * f) + 0.5 / len(r) * at @ at

        for _ in range(2):
            theta = theta - 0.05 * difference(loss, theta)
    np.testing.assert_allclose(run["theta"], theta, atol=1e-8)
    f = ref.PLAIN.value(start, contexts[2])[items[2]]  # chosen before the first fit, so weighed by the start
    assert run["weights"][2] == pytest.approx(float(ref.sigmoid_slope(f)))


@pytest.mark.parametrize("method", ["Logistic-UCB-1", "ada-OFU-ECOLog"])
def test_diagonal_is_full_for_orthogonal_contexts(method):
    rng = np.random.default_rng(6)
    contexts = np.stack([np.diag(rng.uniform(0.5, 1.5, 3)) for _ in range(40)])
    feedback = rng.integers(0, 2, (40, 3)).astype(float)
    kwargs = {"nu": 0.2, "lam": 1.0, "every": 5}
    diagonal = ref.run_experiment(method, contexts, feedback, **kwargs)
    full = ref.run_experiment(method, contexts, feedback, full=True, **kwargs)
    np.testing.assert_allclose(diagonal["scores"], full["scores"], rtol=1e-10)
    np.testing.assert_allclose(diagonal["d_t"], full["d_t"], rtol=1e-10, atol=1e-12)


def test_full_and_diagonal_part_elsewhere():
    contexts, feedback, _, _ = world(7, T=20)
    kwargs = {"nu": 0.2, "lam": 1.0, "every": 5}
    diagonal = ref.run_experiment("ada-OFU-ECOLog", contexts, feedback, **kwargs)
    full = ref.run_experiment("ada-OFU-ECOLog", contexts, feedback, full=True, **kwargs)
    x = contexts[:, 0]
    dimension = [ref.effective_dimension(x, 0.25, full=full) for full in (True, False)]
    assert dimension[0] < dimension[1]  # Hadamard's inequality
    assert not np.allclose(diagonal["scores"][-1], full["scores"][-1])


# ---- GLMs


@pytest.mark.parametrize("link", ["identity", "logistic", "poisson", "probit"])
def test_link_derivatives(link):
    part, u = ref.LINKS[link], np.linspace(-3, 3, 13)
    for r in (0.0, 1.0, 0.3):
        numeric = (part.loss(u + 1e-6, r) - part.loss(u - 1e-6, r)) / 2e-6
        np.testing.assert_allclose(part.residual(u, r), numeric, atol=1e-7)
        numeric = (part.residual(u + 1e-6, r) - part.residual(u - 1e-6, r)) / 2e-6
        np.testing.assert_allclose(part.curvature(u, r), numeric, atol=1e-7)
    slope = (part.mean(u + 1e-6) - part.mean(u - 1e-6)) / 2e-6
    p = part.mean(u)
    expected = slope**2 / (p * (1 - p)) if link == "probit" else slope
    np.testing.assert_allclose(part.weight(u), expected, rtol=1e-6, atol=1e-8)
    # the Fisher information is the expected curvature
    if link == "probit":
        mixed = p * part.curvature(u, 1.0) + (1 - p) * part.curvature(u, 0.0)
        np.testing.assert_allclose(part.weight(u), mixed, rtol=1e-9)


@pytest.mark.parametrize("link", ["identity", "logistic", "poisson", "probit"])
def test_glm_fit_is_a_minimum(link):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 4))
    p = ref.LINKS[link].mean(X @ np.array([1.0, -0.5, 0.2, 0.0]))
    r = {"identity": p + rng.normal(size=60), "poisson": rng.poisson(np.abs(p))}.get(link, rng.random(60) < p)
    theta = ref.glm_fit(X, r, link, 0.5)
    objective = lambda at: ref.glm_objective(at, X, np.asarray(r, float), link, 0.5)  # noqa: E731
    assert np.linalg.norm(ref.glm_gradient(theta, X, np.asarray(r, float), link, 0.5)) < 1e-10
    np.testing.assert_allclose(difference(objective, theta), 0, atol=1e-6)
    if link == "identity":
        np.testing.assert_allclose(theta, np.linalg.solve(X.T @ X + 0.5 * np.eye(4), X.T @ r))
    covariance = ref.laplace_covariance(X, theta, link, 0.5)
    by_hand = sum(ref.LINKS[link].weight(X @ theta)[i] * np.outer(X[i], X[i]) for i in range(60))
    np.testing.assert_allclose(covariance @ (by_hand + 0.5 * np.eye(4)), np.eye(4), atol=1e-10)


def test_glm_fit_without_observations_or_with_separated_ones():
    np.testing.assert_array_equal(ref.glm_fit(np.empty((0, 2)), np.empty(0)), 0)
    theta = ref.glm_fit(np.array([[50.0, 1], [-50, 1]]), np.array([1.0, 0]), ridge=1e-6)
    assert np.isfinite(theta).all()
    assert theta[0] > 0


# ---- baselines


def test_ecolog_step_is_the_minimum():
    rng = np.random.default_rng(9)
    for r in (0.0, 1.0):
        A, theta, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
        W = A @ A.T + np.eye(3)

        def loss(at, W=W, theta=theta, x=x, r=r):
            return (at - theta) @ W @ (at - theta) / (2 + 3.0) + np.logaddexp(0, x @ at) - r * (x @ at)

        new = ref.ecolog_step(theta, W, x, r, diameter=3.0)
        np.testing.assert_allclose(difference(loss, new), 0, atol=1e-8)


def test_run_ecolog_replayed():
    contexts, feedback, _, _ = world(10, T=15)
    run = ref.run_ecolog(contexts, feedback, radius=0.4, lam=1.3, S=2.0)
    W, theta = 1.3 * np.eye(3), np.zeros(3)
    for t, (arms, item) in enumerate(zip(contexts, run["items"], strict=True)):
        width = np.sqrt(np.einsum("ij,jk,ik->i", arms, np.linalg.inv(W), arms))
        np.testing.assert_allclose(run["scores"][t], arms @ theta + 0.4 * width, rtol=1e-9)
        assert run["d_t"][t] == pytest.approx(np.linalg.slogdet(W / 1.3)[1], abs=1e-12)
        theta = ref.ecolog_step(theta, W, arms[item], feedback[t, item], diameter=4.0)
        p = 1 / (1 + np.exp(-arms[item] @ theta))
        W = W + p * (1 - p) * np.outer(arms[item], arms[item])
    np.testing.assert_allclose(run["theta"], theta)


def test_logistic_ucb_1_fits_with_growing_ridge():
    contexts, feedback, _, _ = world(11, T=20)
    run = ref.run_logistic_ucb_1(contexts, feedback, radius=0.5)
    x, r = contexts[np.arange(19), run["items"][:19]], feedback[np.arange(19), run["items"][:19]]
    theta = ref.glm_fit(x, r, "logistic", 3 * math.log(21))
    V = x.T @ x + 3 * np.eye(3)
    expected = ref.sigmoid(contexts[19] @ theta) + 0.5 * np.sqrt(
        np.einsum("ij,jk,ik->i", contexts[19], np.linalg.inv(V), contexts[19])
    )
    np.testing.assert_allclose(run["scores"][19], expected, rtol=1e-9)
    assert run["lambda_t"][0] == 3
    assert run["lambda_t"][19] == pytest.approx(3 * math.log(21))
    radii = ref.run_logistic_ucb_1(contexts, feedback, S=1.0)["radius"]
    assert np.all(np.array(radii) > 0)
    # d = 2: the chi-square distribution function is 1 - exp(-x/2)
    radius = ref.logistic_ucb_1_radius(3 * np.eye(2), lam=2.0, delta=0.1, kappa=4.0, S=1.0)
    ell = math.log(10) + math.log(1.5) + math.log((1 - math.exp(-2)) / (1 - math.exp(-1)))
    gamma = min(math.sqrt(2) / 2 + math.sqrt(2) * ell, 1 + ell)
    expected = 0.5 * min(math.sqrt(3) * gamma, gamma + gamma**2 / math.sqrt(2)) + math.sqrt(2)
    assert radius == pytest.approx(expected)


def test_identity_glm_ucb_and_laplace_ts_are_lin_ucb_and_lin_ts():
    contexts, feedback, _, rng = world(12, T=15)
    normals = rng.normal(size=(15, 3))
    for run in (
        ref.run_glm_ucb(contexts, feedback, rho=0.4, ridge=0.8, link="identity"),
        ref.run_laplace_ts(contexts, feedback, normals, scale=0.3, ridge=0.8, link="identity"),
    ):
        x, r = contexts[np.arange(14), run["items"][:14]], feedback[np.arange(14), run["items"][:14]]
        A = x.T @ x + 0.8 * np.eye(3)
        np.testing.assert_allclose(run["means"][14], contexts[14] @ np.linalg.solve(A, x.T @ r), rtol=1e-8)
        width = np.sqrt(np.einsum("ij,jk,ik->i", contexts[14], np.linalg.inv(A), contexts[14]))
        np.testing.assert_allclose(run["widths"][14], width)


def test_laplace_draws_have_the_laplace_covariance():
    H = ref.glm_hessian(np.array([[1.0, 2], [0, 1]]), np.array([0.3, -0.2]))
    root = np.linalg.inv(np.linalg.cholesky(H).T)  # solve(L', z) = root z
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(H))
    contexts, feedback, _, rng = world(13, T=10)
    normals = rng.normal(size=(10, 3))
    run = ref.run_laplace_ts(contexts, feedback, normals, scale=0.7, ridge=0.5)
    x, r = contexts[np.arange(9), run["items"][:9]], feedback[np.arange(9), run["items"][:9]]
    theta = ref.glm_fit(x, r, "logistic", 0.5)
    H = ref.glm_hessian(x, theta, "logistic", 0.5)
    draw = theta + 0.7 * np.linalg.inv(np.linalg.cholesky(H)).T @ normals[9]
    np.testing.assert_allclose(run["scores"][9], contexts[9] @ draw, rtol=1e-9)


# ---- theorem 3.1


def test_tail_bound_by_hand_and_on_bernoulli_noise():
    assert ref.tail_bound(2.0, 3, 0.1, 1.0, 2.0, 4.0) == pytest.approx(
        8 * math.sqrt(2 * math.log(360)) + 4 * math.log(360)
    )
    rng = np.random.default_rng(14)
    X = rng.normal(size=(50, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    p = ref.sigmoid(X @ np.array([2.0, -1.0, 0.5]))
    squares = []
    for _ in range(400):
        eta = (rng.random(50) < p) - p
        norm, ratio = ref.self_normalized(X, eta, p * (1 - p), 1.0)
        assert norm <= ref.tail_bound(ratio, 50, 0.05, 1.0, 1.0, 1.0)
        squares.append(norm**2)
    H = (X * (p * (1 - p))[:, None]).T @ X + np.eye(3)
    assert ratio == pytest.approx(np.linalg.slogdet(H)[1])
    expected = np.trace(np.linalg.solve(H, H - np.eye(3)))  # E ||s||^2_{H^-1}
    assert np.mean(squares) == pytest.approx(expected, rel=0.15)


# ---- learning


@pytest.mark.parametrize("method", [*THEORY_METHODS, "NCBF-UCB", "Logistic-UCB-1", "ada-OFU-ECOLog"])
def test_experiment_methods_learn(method):
    rng = np.random.default_rng(15)
    contexts = rng.uniform(-1, 1, (300, 4, 3))
    p = ref.sigmoid(4 * contexts @ np.array([1.0, -1.0, 0.5]))
    feedback = (rng.random(p.shape) < p).astype(float)
    start = tuple(rng.normal(0, 0.5, shape) for shape in [(8, 3), (1, 8)])
    kwargs = {"nu": 0.01, "lam": 0.1, "every": 20, "lr": 0.1, "normals": rng.normal(size=(300, 4))}
    run = ref.run_experiment(method, contexts, feedback, start, **kwargs)
    late = np.arange(100, 300)
    regret = p.max(axis=1)[late] - p[late, run["items"][late]]
    assert regret.mean() < 0.25 * (p.max(axis=1) - p.mean(axis=1))[late].mean()
