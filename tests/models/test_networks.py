"""Networks against the NumPy transcription and the tangent kernel; networks of users, good and bad."""

from __future__ import annotations

import importlib
import math
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import superarm
from reference.neural import Net
from superarm.environments import linear_scores
from superarm.rows import LayerRows, flat, products
from superarm.theory.ntk import ntk_matrix
from superarm.types import Spec

DIM, NUMBER = 3, 5


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def contexts_of(seed=0, number=NUMBER, dim=DIM):
    return np.random.default_rng(seed).normal(size=(number, dim))


# --- the perceptron -----------------------------------------------------------------------------------------


def shapes_of(network, dim=DIM):
    return [leaf.shape for leaf in jax.eval_shape(partial(network.init, dim=dim), jax.random.key(0))]


def weights_of(network, seed=0, dim=DIM):
    """Matrices of the network's shapes, by NumPy; away from its start, where much is 0."""
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(0, 0.6, shape).astype(network.dtype) for shape in shapes_of(network, dim))


@jax.jit
def answers(network, params, contexts):
    scores, rows = network.gradients(params, contexts)
    return network.apply(params, contexts), scores, flat(rows), network.last_layer(params, contexts)


@pytest.mark.parametrize(
    ("parametrization", "variances", "largest"),
    [
        ("standard", [1 / (3 * 80), 1 / (3 * 400), 1 / (3 * 400), 1 / (3 * 300)], math.sqrt(3)),
        ("gaussian", [1.0, 1.0, 1.0, 1.0], math.inf),
        ("shallow", [2 / 400, 2 / 400, 2 / 400, 1 / 300], math.inf),
    ],
)
def test_the_laws_of_the_start(parametrization, variances, largest):
    """Deviations of many entries by formula; a uniform law has none above sqrt(3) of its deviation."""
    network = superarm.perceptron(width=400, depth=4, features=300, parametrization=parametrization)
    for params, variance in zip(network.init(jax.random.key(0), 80), variances, strict=True):
        entries = np.asarray(params).ravel() / math.sqrt(variance)
        # 5 standard errors of the mean and of the mean square of so many normal entries
        assert abs(entries.mean()) < 5 / math.sqrt(entries.size)
        assert abs(np.mean(entries**2) - 1.0) < 5 * math.sqrt(2 / entries.size)
        assert np.abs(entries).max() <= largest * (1 + 1e-6)


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_shallow_features_keep_the_scale_of_the_symmetric_start(depth):
    """oh2026, equation 3: blocks w of N(0, 4 / m), and W_L of N(0, 2 / m) on what they give."""
    width, dim, runs = 400, 6, 30
    network = superarm.perceptron(width=width, depth=depth, features=200, parametrization="shallow")
    rng, ours, blocks = np.random.default_rng(0), [], []
    for run in range(runs):
        context = rng.normal(size=dim // 2)
        signal = np.tile(context / np.linalg.norm(context) / math.sqrt(2), 2)
        params = network.init(jax.random.key(run), dim)
        ours.append(np.mean(flat(network.last_layer(params, signal[None].astype(np.float32))[1]) ** 2))
        for _ in range(depth - 2):
            half = signal.size // 2
            block = rng.normal(0, 2 / math.sqrt(width), (width // 2, half))
            signal = np.maximum(np.concatenate([block @ signal[:half], block @ signal[half:]]), 0)
        last = rng.normal(0, math.sqrt(2 / width), (200, width))
        blocks.append(np.mean(width * np.maximum(last @ signal, 0) ** 2))
    error = math.hypot(np.std(ours), np.std(blocks)) / math.sqrt(runs)
    assert abs(np.mean(ours) - np.mean(blocks)) < 4 * error < 0.5 * np.mean(blocks)


@pytest.mark.parametrize("biases", [False, True], ids=["plain", "biases"])
@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("parametrization", ["standard", "ntk"])
def test_scores_and_gradients_are_the_transcription_s(parametrization, depth, biases):
    network = superarm.perceptron(
        width=6, depth=depth, parametrization=parametrization, biases=biases, precision="float64"
    )
    weights = weights_of(network, depth)
    contexts = contexts_of()
    contexts[1] = 0.0
    scores, again, rows, (last, features) = answers(network, weights, contexts)
    net = Net(parametrization, biases)
    expected = [net.forward(weights, x) for x in contexts]
    gradients = np.stack([net.gradient(weights, x) for x in contexts])
    for found in (scores, again, last):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(rows, gradients, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(features, gradients[:, -weights[-1].size :], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(features @ weights[-1][0], expected, rtol=1e-10, atol=1e-12)


def test_single_precision_is_the_default_and_near_the_double_one():
    contexts = contexts_of()
    single, double = (superarm.perceptron(width=6, precision=kind) for kind in ("float32", "float64"))
    params, less = weights_of(double), weights_of(single)
    _, scores, rows, _ = answers(single, less, contexts.astype(np.float32))
    assert (superarm.perceptron(width=6), scores.dtype, rows.dtype) == (single, np.float32, np.float32)
    _, exact_scores, exact_rows, _ = answers(double, params, contexts)
    np.testing.assert_allclose(scores, exact_scores, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(rows, exact_rows, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_gradients_cost_layers_not_parameters(depth):
    network = superarm.perceptron(width=6, depth=depth)
    _, rows = jax.eval_shape(network.gradients, weights_of(network), jnp.zeros((NUMBER, DIM), jnp.float32))
    assert isinstance(rows, LayerRows)
    assert [leaf.shape for leaf in rows.inputs] == [(NUMBER, DIM)] + [(NUMBER, 6)] * (depth - 1)
    assert [leaf.shape for leaf in rows.deltas] == [(NUMBER, 6)] * (depth - 1) + [(NUMBER, 1)]


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize(("parametrization", "dims"), [("standard", 1), ("ntk", 2)])
def test_the_number_of_parameters(parametrization, dims, depth):
    """p = d m + m^2 (L - 2) + m, with 2 d in place of d for the doubled contexts; biases: m (L - 1) + 1."""
    m = 8
    build = partial(superarm.perceptron, width=m, depth=depth, parametrization=parametrization)
    expected = dims * DIM * m + m**2 * (depth - 2) + m
    for biases, more in ((False, 0), (True, m * (depth - 1) + 1)):
        assert sum(math.prod(shape) for shape in shapes_of(build(biases=biases))) == expected + more


# --- the start ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def symmetric():
    """A network with its start: m = 400 units, of 50 features."""
    with jax.enable_x64(True):
        network = superarm.perceptron(
            width=400, depth=3, parametrization="ntk", biases=True, precision="float64"
        )
        return network, network.init(jax.random.key(1), 50)


def test_the_symmetric_start_scores_0(symmetric):
    network, params = symmetric
    scores, _, rows, _ = answers(network, params, contexts_of(dim=50))
    np.testing.assert_allclose(scores, 0.0, atol=1e-12)
    assert np.linalg.norm(rows, axis=1).min() > 1.0  # it is the halves that cancel, not the network
    for matrix, inputs in zip(params[:-1], (100, 400), strict=True):
        half = np.asarray(matrix)[:200, : inputs // 2]
        zero = np.zeros_like(half)
        np.testing.assert_array_equal(matrix[:, :inputs], np.block([[half, zero], [zero, half]]))
        assert (half != 0.0).all()
    np.testing.assert_array_equal(params[-1][0, :200], -params[-1][0, 200:400])
    assert all((np.asarray(matrix)[:, -1] == 0.0).all() for matrix in params)


def test_the_symmetric_start_has_the_paper_s_variances(symmetric):
    """Section 3.1 of hwang2023: N(0, 4 / m) in the blocks, N(0, 2 / m) in the last layer."""
    first, second, last = symmetric[1]
    for draws, variance in ((first[:200, :50], 0.01), (second[:200, :200], 0.01), (last[0, :200], 0.005)):
        values = np.asarray(draws).ravel() / math.sqrt(variance)
        root = math.sqrt(values.size)
        assert abs(values.mean()) < 4 / root
        assert abs((values**2).mean() - 1.0) < 4 * math.sqrt(2) / root
        assert abs((values**4).mean() - 3.0) < 4 * math.sqrt(96) / root  # as of a normal
    assert not np.isin(np.asarray(second[:200, :200]), np.asarray(first)).any()


def test_the_standard_start_is_uniform_within_the_root_of_the_fan_in():
    dim, m = 9, 100
    network = superarm.perceptron(width=m, depth=3, biases=True, precision="float64")
    for matrix, fan_in in zip(network.init(jax.random.key(3), dim), (dim, m, m), strict=True):
        values = np.asarray(matrix).ravel() * math.sqrt(fan_in)
        root = math.sqrt(values.size)
        assert matrix.shape[1] == fan_in + 1
        assert np.abs(values).max() <= 1.0
        assert np.abs(values).max() > 0.9
        assert abs(values.mean()) < 4 * math.sqrt(1 / 3) / root
        assert abs((values**2).mean() - 1 / 3) < 4 * math.sqrt(4 / 45) / root


def test_the_gradient_kernel_of_a_wide_network_is_the_tangent_kernel():
    """G G' / m tends to 2 H - Sigma^(L) from the symmetric start, whose last layer gives Sigma^(L)."""
    m = 2000
    network = superarm.perceptron(width=m, depth=2, parametrization="ntk", precision="float64")
    contexts = contexts_of(7, 5, 4)
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)

    @jax.jit
    def kernels(key):
        params = network.init(key, 4)
        rows, last = network.gradients(params, contexts)[1], network.last_layer(params, contexts)[1]
        return products(rows, rows) / m, last @ last.T / m

    draws = [kernels(key) for key in jax.random.split(jax.random.key(4), 40)]
    kernel, sigma = (np.stack(one) for one in zip(*draws, strict=True))
    estimate = (kernel + sigma) / 2
    mean, error = estimate.mean(axis=0), estimate.std(axis=0, ddof=1) / math.sqrt(len(draws))
    assert error.max() < 0.02
    assert (np.abs(mean - ntk_matrix(contexts, 2)) < 5 * error + 1e-3).all()
    assert (np.diag(kernel.mean(axis=0)) > 1.1 * np.diag(ntk_matrix(contexts, 2))).all()  # 2 against 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be >= 1, got 0"),
        ({"depth": 1}, "depth must be >= 2, got 1"),
        (
            {"parametrization": "mup"},
            "parametrization must be one of 'standard', 'ntk', 'gaussian', 'shallow', got 'mup'",
        ),
        ({"precision": "half"}, "precision must be one of 'float32', 'float64', got 'half'"),
        (
            {"width": 7, "parametrization": "ntk"},
            "width must be even with the symmetric start of 'ntk', got 7",
        ),
    ],
)
def test_bad_perceptrons(arguments, message):
    with pytest.raises(ValueError, match=f"^perceptron: {re.escape(message)}$"):
        superarm.perceptron(**arguments)


# --- networks of users --------------------------------------------------------------------------------------


def two_layers(key, dim):
    key_first, key_last = jax.random.split(key)
    return {
        "first": {"w": jax.random.normal(key_first, (4, dim)), "b": jnp.zeros(4)},
        "last": jax.random.normal(key_last, (4,)),
    }


def hidden(params, x):
    return jnp.tanh(params["first"]["w"] @ x + params["first"]["b"])


def score(params, x):
    return params["last"] @ hidden(params, x)


def test_a_user_s_network_scores_and_differentiates_as_jax_does():
    """In the user's own precision: float32, although superarm runs in double."""
    network = superarm.network(two_layers, score, features=hidden)
    params = network.init(jax.random.key(0), DIM)
    contexts = jnp.asarray(contexts_of(), jnp.float32)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    plain, scores, rows, (last, features) = answers(network, params, contexts)
    slope = jax.jit(lambda x: ravel_pytree(jax.grad(score)(params, x))[0])
    for index, x in enumerate(contexts):
        np.testing.assert_allclose(scores[index], score(params, x), rtol=1e-5)
        np.testing.assert_allclose(rows[index], slope(x), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(features[index], hidden(params, x), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(plain, scores)
    np.testing.assert_array_equal(last, scores)
    assert (scores.dtype, rows.dtype) == (np.float32, np.float32)
    assert rows.shape == (NUMBER, 4 * DIM + 4 + 4)


def test_a_user_s_network_can_be_the_perceptron():
    """The papers' network written by hand: the same rows, in the same order."""
    ours = superarm.perceptron(width=6, depth=3)
    hand = superarm.network(
        ours.init,
        lambda params, x: (params[2] @ jax.nn.relu(params[1] @ jax.nn.relu(params[0] @ x)))[0],
        features=lambda params, x: jax.nn.relu(params[1] @ jax.nn.relu(params[0] @ x)),
    )
    params = weights_of(ours)
    contexts = jnp.asarray(contexts_of(), jnp.float32)
    leaves = (jax.tree.leaves(answers(one, params, contexts)) for one in (hand, ours))
    for left, right in zip(*leaves, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def nan_weights(key, dim):
    params = two_layers(key, dim)
    return params | {"last": params["last"].at[2].set(jnp.nan)}


BAD = {
    "three numbers": (
        (two_layers, lambda params, x: x),
        ValueError,
        "network: apply must return one number, of shape (), for one example, got shape (3,)",
    ),
    "a vector of one": (
        (two_layers, lambda params, x: score(params, x)[None]),
        ValueError,
        "network: apply must return one number, of shape (), for one example, got shape (1,)",
    ),
    "two answers": (
        (two_layers, lambda params, x: (score(params, x), x)),
        ValueError,
        "network: apply must return one number, of shape (), for one example, got tuple",
    ),
    "NaN weights": (
        (nan_weights, score),
        ValueError,
        "network: init must return finite parameters, got NaN or infinity",
    ),
    "whole numbers": (
        (lambda key, dim: {"w": jnp.arange(dim)}, lambda params, x: params["w"] @ x),
        TypeError,
        "network: parameters must be real numbers, got int32",
    ),
    "nothing": (
        (lambda key, dim: {}, lambda params, x: x[0]),
        ValueError,
        "network: init must return parameters, got {}",
    ),
    "another dimension": (
        (lambda key, dim: two_layers(key, dim + 1), score),
        ValueError,
        "network: apply must score one example of shape (3,), but it raised: ",
    ),
    "NaN scores": (
        (two_layers, lambda params, x: jnp.log(-jnp.abs(score(params, x)) - 1.0)),
        ValueError,
        "network: apply must return a finite score, got NaN or infinity",
    ),
}


SPEC = Spec(dim=DIM, num_arms=4, capacity=10)


def world():
    return linear_scores(dim=DIM, num_arms=4)


def ways_to_begin(policy, monkeypatch):
    """Checking, starting and simulating, with no run allowed to begin."""

    def run_jobs(*args, **kwargs):
        pytest.fail("a run began")

    monkeypatch.setattr(importlib.import_module("superarm.simulation.simulate"), "run_jobs", run_jobs)
    return (
        lambda: policy.check(SPEC),
        lambda: policy.init(jax.random.key(0), SPEC),
        lambda: superarm.simulate(policy, world(), rounds=10, seeds=1, workers=0),
    )


@pytest.mark.parametrize(("functions", "error", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_network_is_refused_before_any_round(functions, error, message, monkeypatch):
    policy = superarm.neural_ucb(superarm.neural(superarm.network(*functions)))
    for use in ways_to_begin(policy, monkeypatch):
        with pytest.raises(error) as caught:
            use()
        assert str(caught.value).startswith(message)
        assert message.endswith(": ") or str(caught.value) == message


def test_the_last_layer_of_a_user_s_network_needs_features(monkeypatch):
    message = "network: the last-layer width needs features=, the inputs of the last layer"
    without, with_features = (
        superarm.neural_ucb(superarm.neural(superarm.network(two_layers, score, **more)), width="last-layer")
        for more in ({}, {"features": hidden})
    )
    for use in ways_to_begin(without, monkeypatch):
        with pytest.raises(ValueError) as caught:
            use()
        assert str(caught.value) == message
    with_features.check(SPEC)
    state = with_features.init(jax.random.key(0), SPEC)
    assert state.record.factor.root.shape == (4, 4)


@pytest.mark.parametrize(
    ("features", "got"),
    [
        (score, "shape ()"),
        (lambda params, x: params["first"]["w"], "shape (4, 3)"),
        (lambda params, x: params, "several arrays"),
    ],
    ids=["number", "matrix", "tree"],
)
def test_features_must_be_a_vector(features, got):
    network = superarm.network(two_layers, score, features=features)
    with pytest.raises(ValueError) as caught:
        superarm.neural_ucb(superarm.neural(network), width="last-layer").check(SPEC)
    assert str(caught.value) == f"network: features must return a vector for one example, got {got}"


def test_a_network_must_be_functions():
    with pytest.raises(TypeError, match=r"^network: apply must be a function, got int$"):
        superarm.network(two_layers, 3)
    with pytest.raises(TypeError, match=r"^network: init must be a function, got dict$"):
        superarm.network({}, score)


@pytest.mark.full
def test_a_user_s_network_learns_in_a_run():
    """It goes through choosing, observing and fitting, in compiled rounds."""
    model = superarm.neural(
        superarm.network(two_layers, score), steps=50, learn_every=10, learning_rate=0.1, reduction="mean"
    )
    policy = superarm.neural_ucb(model, radius=0.1)
    table = superarm.simulate(policy, world(), rounds=150, seeds=3, workers=0).table
    early, late = table[table["round"] <= 20], table[table["round"] > 50]
    assert late["regret"].mean() < 0.4 * early["regret"].mean()


# --- slopes pulled back to the parameters, which fits are made of ---


def pulled(network, params, contexts, slopes):
    scores, pull = network.pullback(params, contexts)
    return scores, pull(slopes)


def plain_pull(network, params, contexts, slopes):
    scores, pull = jax.vjp(lambda theta: network.apply(theta, contexts), params)
    return scores, pull(slopes)[0]


@pytest.mark.parametrize("biases", [False, True], ids=["plain", "biases"])
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("parametrization", ["standard", "ntk"])
def test_slopes_are_pulled_back_as_by_automatic_differentiation(parametrization, depth, biases):
    network = superarm.perceptron(
        width=6, depth=depth, parametrization=parametrization, biases=biases, precision="float64"
    )
    params = weights_of(network)
    contexts, slopes = contexts_of(), jnp.asarray(np.random.default_rng(3).normal(size=NUMBER))
    scores, gradient = jax.jit(partial(pulled, network))(params, contexts, slopes)
    plain_scores, plain = jax.jit(partial(plain_pull, network))(params, contexts, slopes)
    np.testing.assert_allclose(scores, plain_scores, rtol=1e-12)
    for one, other in zip(gradient, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_networks_of_users_and_coefficients_pull_back_too():
    network = superarm.network(
        lambda key, dim: {"w": jax.random.normal(key, (dim,))}, lambda params, x: jnp.tanh(params["w"] @ x)
    )
    contexts = jnp.asarray(contexts_of(), jnp.float32)
    slopes = jnp.linspace(-1.0, 1.0, NUMBER, dtype=jnp.float32)
    params = network.init(jax.random.key(0), DIM)
    inner = np.asarray(contexts) @ np.asarray(params["w"])
    scores, gradient = pulled(network, params, contexts, slopes)
    np.testing.assert_allclose(scores, np.tanh(inner), rtol=1e-5)
    expected = (np.asarray(slopes) * (1 - np.tanh(inner) ** 2)) @ np.asarray(contexts)
    np.testing.assert_allclose(gradient["w"], expected, rtol=1e-4, atol=1e-5)
    linear, theta = superarm.models.Coefficients(), jnp.arange(1.0, DIM + 1.0)
    double = jnp.asarray(contexts, jnp.float64)
    scores, gradient = pulled(linear, theta, double, jnp.asarray(slopes, jnp.float64))
    np.testing.assert_allclose(scores, np.asarray(double) @ np.asarray(theta), rtol=1e-12)
    np.testing.assert_allclose(gradient, np.asarray(slopes, float) @ np.asarray(double), rtol=1e-10)
