"""The network without a hidden layer: scores x'theta, as in linear and generalized linear models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class Coefficients:
    """f(x) = x'theta with theta = 0 at the start, in double precision; its gradient is x."""

    speed: ClassVar[float] = 1.0

    @property
    def dtype(self) -> Any:
        """float64, as all linear fits."""
        return jnp.dtype(FLOAT)

    def check(self, dim: int) -> None:
        """Accept any dimension."""

    def init(self, key: Array, dim: int) -> Array:
        """Return theta = 0."""
        return jnp.zeros(dim, FLOAT)

    def apply(self, params: Array, contexts: Array) -> Array:
        """(n,) scores of contexts (n, d)."""
        return contexts @ params

    def pullback(self, params: Array, contexts: Array) -> tuple[Array, Callable[[Array], Array]]:
        """(n,) scores, and how slopes (n,) become a gradient."""
        return contexts @ params, lambda slopes: slopes @ contexts

    def gradients(self, params: Array, contexts: Array) -> tuple[Array, Array]:
        """(n,) scores and (n, d) their gradients: the contexts."""
        return contexts @ params, contexts

    def last_layer(self, params: Array, contexts: Array) -> tuple[Array, Array]:
        """The same: the only layer is the last."""
        return self.gradients(params, contexts)
