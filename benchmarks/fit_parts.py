"""The arithmetic of fits, bare, and with what comes around it piece by piece: the yardsticks of `fits.py`.

Every form is a loop of the fit's own shapes, blocks and number of steps. What it computes is of no use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from superarm.models.links import LINKS, link_of
from superarm.models.losses import LOSSES

TINY = 1e-20  # so that a step needs the one before, and changes nothing


@dataclass(frozen=True)
class Layers:
    """A network's fit: layers (out, in), rows, sides (2 in a duel), members, rows in a block, steps."""

    layers: tuple[tuple[int, int], ...]
    rows: int
    block: int
    steps: int
    sides: int = 1
    members: int = 1
    loss: str = "squared"
    optimizer: str = "gd"

    dtype = "float32"
    formula = "2 rows (2 W + W') a step, and 4 rows W"

    @property
    def operations(self) -> float:
        """Scores, gradients and what is passed back in every step; scores before the first and after."""
        weights = [one * other for one, other in self.layers]
        step = 2 * sum(weights) + sum(weights[1:])
        return 2.0 * self.sides * self.members * self.rows * (self.steps * step + 2 * sum(weights))

    @property
    def pieces(self) -> dict[str, Callable[[], Any]]:
        """The products alone, and with more and more around them."""
        return {
            "products": self._loop(),
            "relu and masks": self._loop(relu=True),
            "loss": self._loop(relu=True, loss=True),
            "optimizer": self._loop(relu=True, loss=True, optimizer=True),
        }

    def _loop(self, *, relu: bool = False, loss: bool = False, optimizer: bool = False) -> Callable[[], Any]:
        keys = jax.random.split(jax.random.key(0), len(self.layers) + 2)
        shapes = [(self.members, *shape) for shape in self.layers]
        params = tuple(
            0.1 * jax.random.normal(key, shape, self.dtype) for key, shape in zip(keys, shapes, strict=False)
        )
        inputs = jax.random.normal(keys[-1], (self.sides, self.rows, self.layers[0][1]), self.dtype)
        paid = jax.random.bernoulli(keys[-2], 0.5, (self.members, self.rows)).astype(self.dtype)
        transform = optax.adam(1e-3) if self.optimizer == "adam" else optax.sgd(1e-3)

        def fit(params: Any, paid: Any, inputs: Any, counts: Any) -> Any:
            def step(_: Any, carry: Any) -> Any:
                params, moments = carry
                total = self._gradient(params, inputs, paid, counts, relu, loss)
                if not optimizer:
                    return jax.tree.map(lambda one, slope: one + TINY * slope, params, total), moments
                slopes = jax.tree.map(lambda one, slope: (slope + 0.1 * one) / self.rows, params, total)
                updates, moments = transform.update(slopes, moments, params)
                return optax.apply_updates(params, updates), moments

            return jax.lax.fori_loop(0, self.steps, step, (params, transform.init(params)))[0]

        whole = jax.vmap(fit, (0, 0, None, None)) if self.members > 1 else fit
        if self.members == 1:
            params, paid = jax.tree.map(lambda leaf: leaf[0], (params, paid))
        compiled, counts = jax.jit(whole), jnp.ones(self.rows, self.dtype)
        return lambda: compiled(params, paid, inputs, counts)

    def _gradient(self, params: Any, inputs: Any, paid: Any, counts: Any, relu: bool, loss: bool) -> Any:
        blocks = -(-self.rows // self.block)
        size = -(-self.rows // blocks)

        def part(first: Any) -> Any:
            rows, told, number = (
                jax.lax.dynamic_slice_in_dim(leaf, first, size, axis)
                for leaf, axis in ((inputs, 1), (paid, 0), (counts, 0))
            )
            signals = [self._forward(params, one, relu) for one in rows]
            scores = signals[0][-1][0] - (signals[1][-1][0] if self.sides == 2 else 0.0)
            slopes = scores
            if loss:
                slopes = jnp.where(number != 0.0, number * link_of(self.loss).slope(scores, told), 0.0)
            found = [self._backward(params, signal, slopes, relu) for signal in signals]
            return found[0] if len(found) == 1 else jax.tree.map(jnp.subtract, *found)

        if blocks == 1:
            return part(0)
        zero = jax.tree.map(jnp.zeros_like, params)
        return jax.lax.fori_loop(
            0,
            blocks,
            lambda block, total: jax.tree.map(
                jnp.add, total, part(jnp.minimum(block * size, self.rows - size))
            ),
            zero,
        )

    def _forward(self, params: Any, rows: Any, relu: bool) -> list[Any]:
        """The rows (n, in), and then per layer (out, n)."""
        signals = [rows]
        for layer, matrix in enumerate(params):
            signal = matrix @ signals[-1] if layer else matrix @ rows.T
            signals.append(jnp.maximum(signal, 0.0) if relu and layer < len(params) - 1 else signal)
        return signals

    def _backward(self, params: Any, signals: list[Any], slopes: Any, relu: bool) -> Any:
        delta, found = slopes[None], []
        for layer in reversed(range(1, len(params))):
            found.append(delta @ signals[layer].T)
            delta = params[layer].T @ delta
            if relu:
                delta = jnp.where(signals[layer] > 0.0, delta, 0.0)
        found.append(delta @ signals[0])
        return tuple(reversed(found))


@dataclass(frozen=True)
class NewtonSteps:
    """A fit of a logistic regression: rows, features, rows in a block, steps, and curvatures computed."""

    rows: int
    dim: int
    block: int
    steps: int
    curvatures: int

    dtype = "float64"
    formula = "4 rows d a step and before, 2 rows (d^2 + d) + d^3 / 3 a curvature"

    @property
    def operations(self) -> float:
        """Scores and slope in every step and before the first; scores, curvature and its root."""
        curvature = 2.0 * self.rows * (self.dim**2 + self.dim) + self.dim**3 / 3
        return self.curvatures * curvature + (self.steps + 1) * 4.0 * self.rows * self.dim

    @property
    def pieces(self) -> dict[str, Callable[[], Any]]:
        """The products alone, and with more and more around them."""
        return {
            "products": self._loop(),
            "loss": self._loop(loss=True),
            "Cholesky": self._loop(loss=True, root=True),
        }

    def _loop(self, *, loss: bool = False, root: bool = False) -> Callable[[], Any]:
        rows = jax.random.normal(jax.random.key(0), (self.rows, self.dim), self.dtype)
        paid, counts = (jnp.full(self.rows, value, self.dtype) for value in (0.5, 1.0))
        link = LINKS["logistic"]
        size = min(self.rows, self.block)
        blocks = -(-self.rows // size)

        def sums(theta: Any, part: Any, zero: Any) -> Any:
            # The place depends on theta, or the curvature of all steps would be computed once.
            moved = (theta[0] > 1e30).astype(jnp.int32)

            def add(block: Any, total: Any) -> Any:
                first = jnp.minimum(block * size, self.rows - size) + moved
                held = (jax.lax.dynamic_slice_in_dim(one, first, size) for one in (rows, paid, counts))
                return jax.tree.map(jnp.add, total, part(theta, *held))

            return jax.lax.fori_loop(0, blocks, add, zero)

        def objective(theta: Any, part: Any, told: Any, number: Any) -> Any:
            scores = part @ theta
            if not loss:
                return jnp.sum(scores), scores @ part
            slopes = jnp.where(number != 0.0, number * link.slope(scores, told), 0.0)
            losses = LOSSES[link.loss](scores, told)
            return jnp.sum(number * losses, where=number != 0.0), slopes @ part

        def curvature(theta: Any, part: Any, _: Any, number: Any) -> Any:
            scores = part @ theta
            if not loss:
                return (part + scores[:1]).T @ part
            weights = jnp.where(number != 0.0, number * link.information(scores), 0.0)
            return (part * weights[:, None]).T @ part

        zero = (jnp.zeros(()), jnp.zeros(self.dim))
        square = jnp.zeros((self.dim, self.dim))

        def step(_: Any, carry: Any) -> Any:
            theta, value, move = carry
            theta = theta - TINY * move
            lower, slope = sums(theta, objective, zero)
            return theta, value + lower, slope

        def renew(_: Any, carry: Any) -> Any:
            theta, value, slope = carry
            found = sums(theta, curvature, square)
            move = slope + found[0]
            if root:
                factor = jnp.linalg.cholesky(found + jnp.eye(self.dim))
                move = jax.scipy.linalg.cho_solve((factor, True), slope)
            return theta - TINY * move, value, slope

        @jax.jit
        def fit(theta: Any) -> Any:
            carry = jax.lax.fori_loop(0, self.steps + 1, step, (theta, *zero))
            return jax.lax.fori_loop(0, self.curvatures, renew, carry)

        begin = jnp.full(self.dim, 0.1)
        return lambda: fit(begin)
