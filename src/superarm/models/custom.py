"""Any network of the user's, as two pure functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from superarm import checks
from superarm.models.networks import Pull
from superarm.pytree import pytree, static
from superarm.types import Array


@pytree
@dataclass(frozen=True)
class Custom:
    """A network of the user's. Build it with `network`."""

    user_init: Callable[[Array, int], Any] = static()
    user_apply: Callable[[Any, Array], Array] = static()
    user_features: Callable[[Any, Array], Array] | None = static(default=None)

    speed = 1.0

    @property
    def dtype(self) -> Any:
        """float32: users' functions are traced with 64-bit numbers off."""
        return jnp.dtype("float32")

    def check(self, dim: int) -> None:
        """Refuse a network whose parameters are not finite, or whose output is not one number."""
        where = "network"
        example = jax.ShapeDtypeStruct((dim,), jnp.float32)
        with jax.enable_x64(False), jax.ensure_compile_time_eval():
            params = self.user_init(jax.random.key(0), dim)
            leaves = jax.tree.leaves(params)
            if not leaves:
                raise ValueError(f"{where}: init must return parameters, got {params!r}")
            for leaf in leaves:
                dtype = jnp.asarray(leaf).dtype
                if not jnp.issubdtype(dtype, jnp.floating):
                    raise TypeError(f"{where}: parameters must be real numbers, got {dtype}")
                if not bool(jnp.all(jnp.isfinite(leaf))):
                    raise ValueError(f"{where}: init must return finite parameters, got NaN or infinity")
            try:
                answer = jax.eval_shape(self.user_apply, params, example)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{where}: apply must score one example of shape ({dim},), but it raised: {error}"
                ) from error
            shape = _shape(answer)
            if shape != ():
                raise ValueError(
                    f"{where}: apply must return one number, of shape (), for one example, got "
                    f"{type(answer).__name__ if shape is None else f'shape {shape}'}"
                )
            if not bool(jnp.isfinite(self.user_apply(params, jnp.ones(dim, jnp.float32)))):
                raise ValueError(f"{where}: apply must return a finite score, got NaN or infinity")
            if self.user_features is not None:
                features = _shape(jax.eval_shape(self.user_features, params, example))
                if features is None or len(features) != 1:
                    raise ValueError(
                        f"{where}: features must return a vector for one example, got "
                        f"{'several arrays' if features is None else f'shape {features}'}"
                    )

    def init(self, key: Array, dim: int) -> Any:
        """Return the user's parameters."""
        with jax.enable_x64(False):
            return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), self.user_init(key, dim))

    def apply(self, params: Any, contexts: Array) -> Array:
        """(n,) the user's scores."""
        with jax.enable_x64(False):
            return jax.vmap(self.user_apply, in_axes=(None, 0))(params, contexts)

    def pullback(self, params: Any, contexts: Array) -> tuple[Array, Pull]:
        """(n,) scores, and how slopes (n,) become a gradient, by automatic differentiation."""
        with jax.enable_x64(False):
            scores, pull = jax.vjp(lambda theta: self.apply(theta, contexts), params)

        def pulled(slopes: Array) -> Any:
            with jax.enable_x64(False):
                return pull(slopes)[0]

        return scores, pulled

    def gradients(self, params: Any, contexts: Array) -> tuple[Array, Array]:
        """(n,) scores and (n, p) gradients, all examples in one batch."""

        def one(context: Array) -> tuple[Array, Array]:
            score, gradient = jax.value_and_grad(self.user_apply)(params, context)
            return score, ravel_pytree(gradient)[0]

        with jax.enable_x64(False):
            return jax.vmap(one)(contexts)

    def last_layer(self, params: Any, contexts: Array) -> tuple[Array, Array]:
        """(n,) scores and the user's features."""
        if self.user_features is None:
            raise ValueError("network: the last-layer width needs features=, the inputs of the last layer")
        with jax.enable_x64(False):
            features = jax.vmap(self.user_features, in_axes=(None, 0))(params, contexts)
        return self.apply(params, contexts), features


def _shape(answer: Any) -> tuple[int, ...] | None:
    """The shape of one array; None of several."""
    return answer.shape if isinstance(answer, jax.ShapeDtypeStruct) else None


@checks.named
def network(
    init: Callable[[Array, int], Any],
    apply: Callable[[Any, Array], Array],
    *,
    features: Callable[[Any, Array], Array] | None = None,
) -> Custom:
    """Return a network from two pure functions, so that Flax, Equinox or hand-written ones plug in.

    Args:
        init: `init(key, dim)` returns the parameters, any pytree of float32 arrays.
        apply: `apply(params, context)` returns the score () of one context (dim,).
        features: `features(params, context)` returns what the last layer is given; for the last-layer width.

    >>> import jax, jax.numpy as jnp
    >>> def init(key, dim):
    ...     return {"w": jax.random.normal(key, (8, dim)), "v": jnp.ones(8) / 8}
    >>> def apply(params, x):
    ...     return params["v"] @ jnp.tanh(params["w"] @ x)
    >>> built = network(init, apply)
    >>> built.check(3)
    """
    for name, value in (("init", init), ("apply", apply)):
        if not callable(value):
            raise TypeError(f"network: {name} must be a function, got {type(value).__name__}")
    return Custom(user_init=init, user_apply=apply, user_features=features)
