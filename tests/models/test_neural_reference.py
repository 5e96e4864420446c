"""The NumPy transcription of the neural algorithms, checked against itself and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference.neural import (
    Hyper,
    Learner,
    Net,
    best_of,
    cn_ts,
    cn_ts_doubling,
    cn_ucb,
    cn_ucb_doubling,
    descend,
    flatten,
    lemma1_gamma,
    lemma1_offset,
    neural_single,
    symmetric_start,
    unflatten,
)

ROUNDS, ARMS, DIM, SIZE, DRAWS = 9, 5, 3, 2, 4
HYPER = {"ridge": 0.7, "eta": 0.02, "steps": 3}


def plain_start(rng, *, dim, width, depth, biases, doubled):
    extra = int(biases)
    sizes = [(2 if doubled else 1) * dim, *[width] * (depth - 1), 1]
    return [rng.normal(0, 0.6, (sizes[i + 1], sizes[i] + extra)) for i in range(depth)]


def start(epoch=0, width=4):
    return symmetric_start(np.random.default_rng(100 + epoch), dim=DIM, width=width, depth=3)


@pytest.fixture
def world():
    rng = np.random.default_rng(5)
    contexts = rng.normal(size=(ROUNDS, ARMS, DIM))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    noise = rng.normal(0, 0.1, (ROUNDS, ARMS))
    return contexts, noise, lambda x: (x @ np.array([0.6, 0.0, 0.8])) ** 2


@pytest.fixture
def normals():
    return np.random.default_rng(6).normal(size=(ROUNDS, DRAWS, ARMS))


@pytest.mark.parametrize("parametrization", ["ntk", "standard"])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_gradient_is_the_slope(parametrization, biases, depth):
    rng = np.random.default_rng(depth)
    net, doubled = Net(parametrization, biases), parametrization == "ntk"
    weights = plain_start(rng, dim=DIM, width=6, depth=depth, biases=biases, doubled=doubled)
    x, theta, step = rng.normal(size=DIM), flatten(weights), 1e-6
    slopes = [
        (net.forward(unflatten(theta + e, weights), x) - net.forward(unflatten(theta - e, weights), x))
        / (2 * step)
        for e in step * np.eye(theta.size)
    ]
    np.testing.assert_allclose(net.gradient(weights, x), slopes, rtol=1e-6, atol=1e-8)


def test_forward_by_hand():
    W1, W2 = np.array([[1.0, -2.0], [3.0, 1.0]]), np.array([[2.0, -1.0]])
    x = np.array([1.0, 1.0])  # W1 x = (-1, 4)
    assert Net("standard").forward([W1, W2], x) == -4.0
    np.testing.assert_array_equal(Net("standard").gradient([W1, W2], x), [0, 0, -1, -1, 0, 4])
    # One feature, doubled: [x; x] / sqrt 2, and the output times sqrt 2.
    assert Net("ntk").forward([W1, W2], np.array([1.0])) == pytest.approx(-4.0)
    # (-1 + 5, 4 - 9) is (4, -5), and the output has bias 0.5.
    biased = [np.column_stack([W1, [5.0, -9.0]]), np.array([[2.0, -1.0, 0.5]])]
    assert Net("standard", biases=True).forward(biased, x) == 8.5


def test_relu_has_no_slope_at_zero():
    weights = [np.array([[1.0, -1.0]]), np.array([[3.0]])]
    np.testing.assert_array_equal(Net("standard").gradient(weights, np.array([2.0, 2.0])), np.zeros(3))


def test_symmetric_start_is_zero():
    rng = np.random.default_rng(0)
    weights = symmetric_start(rng, dim=DIM, width=8, depth=4)
    for x in rng.normal(size=(20, DIM)):
        assert abs(Net("ntk").forward(weights, x)) < 1e-14
        assert np.linalg.norm(Net("ntk").gradient(weights, x)) > 0.1
    # With weights and inputs that are multiples of 1/8 no product is rounded, and the zero is exact.
    eighths = [np.round(8 * W) / 8 for W in weights]
    for x in rng.integers(-8, 9, (20, DIM)) / 8:
        assert Net("standard").forward(eighths, np.concatenate([x, x])) == 0.0


def test_symmetric_start_has_the_printed_variances():
    weights = symmetric_start(np.random.default_rng(1), dim=50, width=200, depth=3)
    for W in weights[:2]:
        rows, columns = W.shape[0] // 2, W.shape[1] // 2
        assert W[:rows, :columns].var() == pytest.approx(4 / 200, rel=0.05)
        np.testing.assert_array_equal(W[:rows, :columns], W[rows:, columns:])
        assert not W[:rows, columns:].any()
    assert weights[2].var() == pytest.approx(2 / 200, rel=0.4)


@pytest.mark.parametrize("mean", [False, True])
def test_one_step_of_descent_by_hand(mean):
    # f(x) = w relu(u x): u = 2, w = 3. At x = 1, f = 6, g = (3, 2); at x = -1, f = 0, g = 0.
    weights = [np.array([[2.0]]), np.array([[3.0]])]
    anchor = [np.array([[1.0]]), np.array([[3.0]])]
    xs, vs = [np.array([1.0]), np.array([-1.0])], [5.0, 7.0]
    stepped = descend(Net("standard"), weights, anchor, xs, vs, eta=0.1, steps=1, penalty=4.0, mean=mean)
    # Slope: (6 - 5) (3, 2) + 4 (2 - 1, 0) = (7, 2).
    share = 0.5 if mean else 1.0
    np.testing.assert_allclose(flatten(stepped), [2 - 0.7 * share, 3 - 0.2 * share])


def test_descent_lowers_the_loss():
    rng = np.random.default_rng(2)
    weights = start()
    xs, vs = rng.normal(size=(8, DIM)), rng.normal(size=8)

    def loss(theta):
        fits = [Net("ntk").forward(unflatten(theta, weights), x) for x in xs]
        return 0.5 * np.sum((fits - vs) ** 2) + 0.5 * np.sum((theta - flatten(weights)) ** 2)

    path = [
        loss(flatten(descend(Net("ntk"), weights, weights, xs, vs, 1e-3, steps, 1.0))) for steps in range(6)
    ]
    assert (np.diff(path) < 0).all()


@pytest.mark.parametrize("diagonal", [False, True])
def test_gram_is_symmetric_positive_definite(world, diagonal):
    run = cn_ucb(start(), *world, SIZE, diagonal=diagonal, **HYPER)
    np.testing.assert_array_equal(run.gram, run.gram.T)
    assert np.linalg.eigvalsh(run.gram).min() >= HYPER["ridge"] * (1 - 1e-12)
    assert (np.count_nonzero(run.gram - np.diag(np.diag(run.gram))) == 0) == diagonal


def test_first_round_by_hand(world, normals):
    contexts = world[0]
    weights = start()
    norms = np.array([np.linalg.norm(Net("ntk").gradient(weights, x)) for x in contexts[0]])
    norms /= math.sqrt(4 * HYPER["ridge"])  # m = 4, Z_0 = ridge I
    run = cn_ucb(weights, *world, SIZE, gamma=lambda t, logdet: 2 + t + logdet, offset=0.25, **HYPER)
    np.testing.assert_allclose(run.widths[0], norms)
    np.testing.assert_allclose(run.scores[0], 2 * norms + 0.25)
    assert set(run.chosen[0]) == set(np.argsort(norms)[-SIZE:])
    run = cn_ts(weights, *world, SIZE, normals, nu=0.5, offset=lambda t, nu: 10 * t * nu, **HYPER)
    sigma = math.sqrt(HYPER["ridge"]) * norms
    np.testing.assert_allclose(run.widths[0], sigma)
    np.testing.assert_allclose(run.scores[0], 0.5 * sigma * normals[0].max(axis=0) + 5.0)


def test_gamma_and_offset_see_the_last_round(world):
    seen = []

    def gamma(t, logdet):
        seen.append((t, logdet))
        return 1.0

    run = cn_ucb(start(), *world, SIZE, gamma=gamma, offset=lambda t, radius: t * radius, **HYPER)
    assert [t for t, _ in seen] == list(range(ROUNDS))
    assert seen[0][1] == 0
    assert (np.diff([logdet for _, logdet in seen]) > 0).all()
    np.testing.assert_allclose(
        run.scores - run.estimates - run.widths, np.arange(1, ROUNDS + 1)[:, None] + np.zeros((1, ARMS))
    )


@pytest.mark.parametrize(
    "options", [{}, {"warm": True}, {"window": 3}, {"anchor": "zero", "penalty": 0.3, "mean": True}]
)
def test_last_round_is_rebuilt_from_the_history(world, options):
    """The widths and estimates of the last round, from fits and gradients redone here."""
    contexts, noise, expected = world
    every = 2
    run = cn_ucb(start(), *world, SIZE, learn_every=every, **HYPER, **options)
    net, theta, thetas = Net("ntk"), start(), [start()]
    anchor = [np.zeros_like(W) for W in theta] if options.get("anchor") == "zero" else start()
    for t in range(1, ROUNDS):
        if t % every == 0:
            first = max(t - options.get("window", t), 0)
            picks = [(s, i) for s in range(first, t) for i in run.chosen[s]]
            xs, vs = [contexts[p] for p in picks], [expected(contexts[p]) + noise[p] for p in picks]
            penalty = options.get("penalty", 4 * HYPER["ridge"])
            begin = theta if options.get("warm") else start()
            theta = descend(net, begin, anchor, xs, vs, 0.02, 3, penalty, options.get("mean", False))
        thetas.append(theta)
    rows = [net.gradient(thetas[s], contexts[s, i]) / 2 for s in range(ROUNDS - 1) for i in run.chosen[s]]
    inverse = np.linalg.inv(HYPER["ridge"] * np.eye(len(rows[0])) + np.transpose(rows) @ np.array(rows))
    last = np.array([net.gradient(theta, x) / 2 for x in contexts[-1]])
    np.testing.assert_allclose(
        run.widths[-1], np.sqrt(np.einsum("ij,jk,ik->i", last, inverse, last)), rtol=1e-9
    )
    np.testing.assert_allclose(run.estimates[-1], [net.forward(theta, x) for x in contexts[-1]], rtol=1e-9)


def test_options_change_the_run(world):
    base = cn_ucb(start(), *world, SIZE, **HYPER)
    for options in [
        {"warm": True},
        {"window": 2},
        {"learn_every": 3},
        {"mean": True},
        {"penalty": 0.0},
        {"anchor": "zero"},
        {"scaled": False},
        {"diagonal": True},
        {"scale": 2.0},
        {"gamma": 0.1},
    ]:
        assert not np.allclose(cn_ucb(start(), *world, SIZE, **HYPER, **options).scores, base.scores), options


def test_best_of_is_the_maximum_and_has_its_mean():
    normals = np.random.default_rng(3).normal(size=(2, 20_000))
    draws = best_of(np.full(20_000, 1.0), np.full(20_000, 3.0), normals)
    np.testing.assert_array_equal(draws, (1.0 + 3.0 * normals).max(axis=0))
    assert draws.mean() == pytest.approx(
        1 + 3 / math.sqrt(math.pi), abs=0.06
    )  # E max of two normals: 1/sqrt(pi)


def test_draws_as_deviation(world, normals):
    usual = cn_ts(start(), *world, SIZE, normals, nu=0.5, **HYPER)
    other = cn_ts(start(), *world, SIZE, normals, nu=0.5, variance_as_deviation=True, **HYPER)
    np.testing.assert_allclose(
        other.scores[0], (0.5 * usual.widths[0]) ** 2 * normals[0].max(axis=0), atol=1e-12
    )


def test_single_arm_width(world, normals):
    weights = plain_start(np.random.default_rng(8), dim=DIM, width=5, depth=2, biases=True, doubled=False)
    ucb = neural_single(weights, *world, ridge=0.7, nu=0.3, eta=0.05, steps=4)
    ts = neural_single(weights, *world, normals[:, :1], ridge=0.7, nu=0.3, eta=0.05, steps=4)
    assert ucb.chosen.shape == ts.chosen.shape == (ROUNDS, 1)
    net, x = Net("standard", biases=True), world[0][0]
    first = net.gradient(weights, x[ucb.chosen[0, 0]])
    # One step of U, and one fit: mean loss with weight decay 0.7 / 1.
    theta = flatten(weights)
    for _ in range(4):
        now = unflatten(theta, weights)
        error = (
            net.forward(now, x[ucb.chosen[0, 0]])
            - world[2](x[ucb.chosen[0, 0]])
            - world[1][0, ucb.chosen[0, 0]]
        )
        theta = theta - 0.05 * (error * net.gradient(now, x[ucb.chosen[0, 0]]) + 0.7 * theta)
    squares = [net.gradient(unflatten(theta, weights), z) ** 2 for z in world[0][1]]
    widths = [math.sqrt(0.7 * 0.3 * np.sum(s / (0.7 + first**2))) for s in squares]
    np.testing.assert_allclose(ucb.widths[1], widths)
    np.testing.assert_allclose(ucb.scores, ucb.estimates + ucb.widths)
    np.testing.assert_allclose(ts.scores, ts.estimates + ts.widths * normals[:, 0])


@pytest.mark.parametrize("every", [1, 2])
def test_doubling_beyond_the_horizon_changes_nothing(world, normals, every):
    options = {"learn_every": every, "warm": True, **HYPER}
    plain, doubled = (
        cn_ucb(start(), *world, SIZE, **options),
        cn_ucb_doubling(start, ROUNDS + 1, *world, SIZE, **options),
    )
    for a, b in zip(plain[:4], doubled[:4], strict=True):
        np.testing.assert_array_equal(a, b)
    plain = cn_ts(start(), *world, SIZE, normals, **options)
    doubled = cn_ts_doubling(start, ROUNDS + 1, *world, SIZE, normals, **options)
    for a, b in zip(plain[:4], doubled[:4], strict=True):
        np.testing.assert_array_equal(a, b)


def test_doubling_replays_the_history(world):
    """tau = 2, 4, 8: after round 8 all is as if epoch 3's network had watched the choices from round 1."""
    contexts, noise, expected = world
    ridges = [0.5, 0.6, 0.7, 0.8]

    def draw(epoch):
        return start(epoch, width=2 * (epoch + 1))

    run = cn_ucb_doubling(
        draw,
        2,
        *world,
        SIZE,
        schedule=lambda epoch: {"ridge": ridges[epoch]},
        eta=0.02,
        steps=3,
        learn_every=3,
    )
    watcher = Learner(draw(3), Hyper(ridge=0.8, eta=0.02, steps=3, learn_every=3))
    watcher.history = [
        (contexts[t, s], np.array([expected(contexts[t, i]) + noise[t, i] for i in s]))
        for t, s in enumerate(run.chosen)
    ]
    for t in range(1, ROUNDS):
        watcher.learn(t)
    np.testing.assert_allclose(run.widths[8], [watcher.norm(x) for x in contexts[8]])
    np.testing.assert_allclose(run.estimates[8], [Net().forward(watcher.weights, x) for x in contexts[8]])
    watcher.learn(ROUNDS)
    np.testing.assert_allclose(run.gram, watcher.gram)
    np.testing.assert_allclose(flatten(run.weights), flatten(watcher.weights))
    first = cn_ucb(draw(0), contexts[:2], noise, expected, SIZE, ridge=0.5, eta=0.02, steps=3, learn_every=3)
    np.testing.assert_array_equal(first.scores, run.scores[:2])


def test_lemma_1():
    sizes = {"K": 2, "L": 2, "m": 64, "ridge": 4.0}
    # All constants 0 and no descent left over: rho sqrt(logdet - 2 log delta) + sqrt(lambda) B.
    none = {"C1": 0.0, "G1": 0.0, "G2": 0.0, "G3": 0.0}
    rest = {"eta": 1 / (64 * 4.0), "steps": 2, "rho": 0.5, "delta": math.exp(-1), "B": 3.0}
    assert lemma1_gamma(5, 7.0, **sizes, **rest, **none) == pytest.approx(0.5 * 3 + 2 * 3)
    # 64^(-1/6) = 1/2; t = 4, K = 2: (tK)^(1/6) = sqrt 2, (tK)^(2/3) = 4; L^(7/2) = 8 sqrt 2.
    tail = 4 ** (-2 / 3) / 2 * math.sqrt(math.log(64))
    assert lemma1_offset(4, 3.0, **sizes, C3=1.0, C4=10.0) == pytest.approx((3 * 16 + 40) * tail)
