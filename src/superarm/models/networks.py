"""Networks: what the neural model asks of one, and the papers' perceptron.

A network here scores one example; its gradient with respect to the parameters is a row of `widths.rows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.pytree import pytree, static
from superarm.rows import LayerRows, Rows
from superarm.types import Array

Pull = Callable[[Array], Any]
INPUTS = -1  # features: as many as there are inputs
Parametrization = Literal["standard", "ntk", "gaussian", "shallow"]
PARAMETRIZATIONS: tuple[Parametrization, ...] = get_args(Parametrization)
Precision = Literal["float32", "float64"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


class Scorer(Protocol):
    """What the neural model asks of a network."""

    @property
    def dtype(self) -> Any:
        """Precision of parameters and inputs."""

    @property
    def speed(self) -> float:
        """What multiplies a gradient step on the raw parameters; 1 / m for the NTK parametrization."""

    def check(self, dim: int) -> None:
        """Raise in one sentence if the network cannot score examples (dim,)."""

    def init(self, key: Array, dim: int) -> Any:
        """Return parameters for examples (dim,)."""

    def apply(self, params: Any, contexts: Array) -> Array:
        """(n,) scores of contexts (n, dim)."""

    def pullback(self, params: Any, contexts: Array) -> tuple[Array, Pull]:
        """(n,) scores, and the function from slopes (n,) to the gradient of sum_i slope_i f(x_i)."""

    def gradients(self, params: Any, contexts: Array) -> tuple[Array, Rows]:
        """(n,) scores, and the gradients of each as n rows."""

    def last_layer(self, params: Any, contexts: Array) -> tuple[Array, Rows]:
        """(n,) scores, and what the last layer was given, as n rows."""


@pytree
@dataclass(frozen=True)
class Perceptron:
    """f(x) = W_L relu(... relu(W_1 x)), by default without biases. Build it with `perceptron`.

    "ntk": f times sqrt(m), inputs doubled to [x; x] / sqrt(2), hidden W = blockdiag(V, V) with entries
    N(0, 4 / m) and last layer (w, -w) with entries N(0, 2 / m), so that f = 0 at the start (hwang2023,
    section 3.1). "standard": entries uniform in +-1 / sqrt(fan-in), the usual default of today's libraries.
    "gaussian": standard normal entries (NDB, Verma et al., 2024). "shallow": f = theta'phi with features
    phi = sqrt(m) relu(W_L ...), entries N(0, 2 / m), of theta N(0, 1 / D) (oh2026, equations 2 and 3,
    without its symmetry, by which phi = 0 for good: its blocks have N(0, 4 / m), and half of the entries).
    The parameters are a tuple of matrices (out, in); with biases every layer has one input more, equal to 1.
    With features D > 0 the last hidden layer has D units, as many as there are inputs for D = INPUTS, and no
    relu but in "shallow": f(x) = theta'phi(x), phi in R^D (oh2026).
    """

    width: int = static(default=100)  # m
    depth: int = static(default=2)  # L
    parametrization: str = static(default="standard")
    biases: bool = static(default=False)
    precision: str = static(default="float32")
    features: int = static(default=0)  # D

    @property
    def dtype(self) -> Any:
        """float32 unless asked otherwise."""
        return jnp.dtype(self.precision)

    @property
    def speed(self) -> float:
        """1 / m where f has sqrt(m) in front: the function moves m times as fast as the parameters."""
        return 1.0 / self.width if self.parametrization in ("ntk", "shallow") else 1.0

    def check(self, dim: int) -> None:
        """Accept any dimension."""

    def init(self, key: Array, dim: int) -> tuple[Array, ...]:
        """Return the matrices W_1, ..., W_L."""
        draw = self._symmetric if self.parametrization == "ntk" else self._uniform
        return draw(key, dim)

    def apply(self, params: tuple[Array, ...], contexts: Array) -> Array:
        """(n,) scores of contexts (n, d)."""
        return self._forward(params, contexts)[0]

    def pullback(self, params: tuple[Array, ...], contexts: Array) -> tuple[Array, Pull]:
        """(n,) scores, and how slopes (n,) become a gradient.

        By hand, with examples as columns: half the time of automatic differentiation at the papers' sizes.
        """
        inputs: list[Array] = []  # per layer (in, n)
        signal = self._first_inputs(contexts).T
        for layer, matrix in enumerate(params):
            if layer and self.biases:
                signal = jnp.concatenate([signal, jnp.ones((1, signal.shape[1]), self.dtype)])
            inputs.append(signal)
            signal = matrix @ signal
            if self._bends(layer):
                signal = jnp.maximum(signal, 0.0)
        scale = jnp.asarray(self._output_scale, self.dtype)

        def pull(slopes: Array) -> tuple[Array, ...]:
            delta = (slopes * scale)[None]
            found = [_outer(delta, inputs[-1])]
            for layer in reversed(range(1, self.depth)):
                width = params[layer - 1].shape[0]
                delta = params[layer][:, :width].T @ delta
                if self._bends(layer - 1):
                    delta = jnp.where(inputs[layer][:width] > 0.0, delta, 0.0)  # relu'(0) = 0
                found.append(_outer(delta, inputs[layer - 1]))
            return tuple(reversed(found))

        return signal[0] * scale, pull

    def gradients(self, params: tuple[Array, ...], contexts: Array) -> tuple[Array, LayerRows]:
        """(n,) scores and their gradients as layer factors, by one backward pass for all n together."""
        scores, inputs = self._forward(params, contexts)
        delta = jnp.full((contexts.shape[0], 1), self._output_scale, self.dtype)
        deltas = [delta]
        for layer in reversed(range(1, self.depth)):
            width = params[layer - 1].shape[0]
            delta = delta @ params[layer][:, :width]
            if self._bends(layer - 1):
                delta = jnp.where(inputs[layer][:, :width] > 0.0, delta, 0.0)  # relu'(0) = 0
            deltas.append(delta)
        return scores, LayerRows(deltas=tuple(reversed(deltas)), inputs=tuple(inputs))

    def last_layer(self, params: tuple[Array, ...], contexts: Array) -> tuple[Array, Array]:
        """(n,) scores and the gradients of the last layer (n, m)."""
        scores, inputs = self._forward(params, contexts)
        return scores, inputs[-1] * jnp.asarray(self._output_scale, self.dtype)

    def _bends(self, layer: int) -> bool:
        """Whether a relu follows the layer."""
        linear = self.features and self.parametrization != "shallow"
        return layer < self.depth - (2 if linear else 1)

    @property
    def _output_scale(self) -> float:
        return math.sqrt(self.width) if self.parametrization in ("ntk", "shallow") else 1.0

    def _forward(self, params: tuple[Array, ...], contexts: Array) -> tuple[Array, list[Array]]:
        """(n,) scores, and the inputs of every layer."""
        signal = self._first_inputs(contexts)
        inputs = []
        for layer, matrix in enumerate(params):
            if layer and self.biases:
                signal = jnp.concatenate([signal, jnp.ones((signal.shape[0], 1), self.dtype)], axis=1)
            inputs.append(signal)
            signal = signal @ matrix.T
            if self._bends(layer):
                signal = jnp.maximum(signal, 0.0)
        return signal[:, 0] * jnp.asarray(self._output_scale, self.dtype), inputs

    def _first_inputs(self, contexts: Array) -> Array:
        """(n, in) what the first layer is given: doubled for "ntk", with a 1 for biases."""
        if self.parametrization == "ntk":
            contexts = jnp.concatenate([contexts, contexts], axis=1) / jnp.sqrt(jnp.asarray(2.0, self.dtype))
        if self.biases:
            contexts = jnp.concatenate([contexts, jnp.ones((contexts.shape[0], 1), self.dtype)], axis=1)
        return contexts

    def _symmetric(self, key: Array, dim: int) -> tuple[Array, ...]:
        half = self.width // 2
        keys = jax.random.split(key, self.depth)
        matrices = []
        for layer in range(self.depth - 1):
            block = self._normals(keys[layer], (half, dim if layer == 0 else half), 4.0 / self.width)
            zero = jnp.zeros_like(block)
            matrices.append(jnp.block([[block, zero], [zero, block]]))
        last = self._normals(keys[-1], (1, half), 2.0 / self.width)
        matrices.append(jnp.concatenate([last, -last], axis=1))
        if self.biases:  # start at 0, which keeps f = 0
            matrices = [
                jnp.concatenate([matrix, jnp.zeros((matrix.shape[0], 1), self.dtype)], axis=1)
                for matrix in matrices
            ]
        return tuple(matrices)

    def _normals(self, key: Array, shape: tuple[int, ...], variance: float) -> Array:
        return jax.random.normal(key, shape, self.dtype) * jnp.asarray(math.sqrt(variance), self.dtype)

    def _uniform(self, key: Array, dim: int) -> tuple[Array, ...]:
        sizes = [dim, *[self.width] * (self.depth - 1), 1]
        if self.features:
            sizes[-2] = dim if self.features == INPUTS else self.features
        keys = jax.random.split(key, self.depth)
        extra = int(self.biases)
        if self.parametrization == "gaussian":
            return tuple(
                jax.random.normal(one, (outputs, inputs + extra), self.dtype)
                for one, inputs, outputs in zip(keys, sizes[:-1], sizes[1:], strict=True)
            )
        if self.parametrization == "shallow":
            variances = [2.0 / self.width] * (self.depth - 1) + [1.0 / sizes[-2]]
            return tuple(
                self._normals(one, (outputs, inputs + extra), variance)
                for one, inputs, outputs, variance in zip(keys, sizes[:-1], sizes[1:], variances, strict=True)
            )
        return tuple(
            jax.random.uniform(one, (outputs, inputs + extra), self.dtype, -1.0, 1.0)
            / jnp.sqrt(jnp.asarray(inputs, self.dtype))
            for one, inputs, outputs in zip(keys, sizes[:-1], sizes[1:], strict=True)
        )


def _outer(left: Array, right: Array) -> Array:
    """left (a, n) times the transpose of right (b, n), which is never formed."""
    return jax.lax.dot_general(left, right, (((1,), (1,)), ((), ())))


@checks.named
def perceptron(
    *,
    width: int = 100,
    depth: int = 2,
    parametrization: Parametrization = "standard",
    biases: bool = False,
    precision: Precision = "float32",
    features: int | None = None,
) -> Perceptron:
    """Return the papers' network: `depth` layers (L), `width` units in each hidden one (m).

    Args:
        width: m; even with "ntk", whose start is symmetric.
        depth: L >= 2, hidden layers and the output together.
        parametrization: "standard", as in the papers' experiments; "ntk", as in their theorems; "gaussian",
            like "standard" from standard normal entries; "shallow", as in oh2026's theorems.
        biases: give every layer a bias. The papers have none.
        precision: "float32" or "float64".
        features: units D of the last hidden layer, which then has no relu but in "shallow":
            f(x) = theta'phi(x) with phi in R^D, for widths over the last layer; INPUTS (-1) for as many as
            there are inputs. Not with "ntk".

    >>> perceptron(width=20, depth=3).depth
    3
    """
    where = "perceptron"
    built = Perceptron(
        width=checks.count(where, "width", width),
        depth=checks.count(where, "depth", depth, low=2),
        parametrization=checks.one_of(where, "parametrization", parametrization, PARAMETRIZATIONS),
        biases=bool(biases),
        precision=checks.one_of(where, "precision", precision, PRECISIONS),
        features=0 if features is None else checks.count(where, "features", features, low=INPUTS),
    )
    if features is not None and (parametrization == "ntk" or depth < 3 or features == 0):
        must = "features must be INPUTS or >= 1, with depth >= 3 and not 'ntk'"
        raise ValueError(f"{where}: {must}, got {features} with depth {depth} and {parametrization!r}")
    if parametrization == "ntk" and width % 2:
        raise ValueError(f"{where}: width must be even with the symmetric start of 'ntk', got {width}")
    return built
