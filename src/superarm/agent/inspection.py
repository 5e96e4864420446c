"""What an agent asks of a policy beside its decisions: what it needs, its first state, what it believes."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.types import Array, Offer, Spec, State


def keeps_all(policy: Policy, spec: Spec) -> bool:
    """Whether the state grows with what was observed."""
    small, large = (
        [leaf.shape for leaf in jax.tree.leaves(state_shapes(policy, replace(spec, capacity=capacity)))]
        for capacity in (64, 4096)  # room is made in blocks
    )
    return small != large


def settled(policy: Policy, spec: Spec, most: int) -> Policy:
    """The policy with the width that "auto" takes for `most` observations; it must not change on the way."""
    if policy.width is None:
        return policy
    shapes = state_shapes(policy, replace(spec, capacity=most))
    return replace(policy, width=policy.width.resolved(shapes))


def require_memory(policy: Policy, spec: Spec) -> None:
    """Refuse a state that the machine cannot hold: the attempt would end the process."""
    size = sum(
        math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(state_shapes(policy, spec))
    )
    if size > (most := largest_state()):
        must = f"features must be fewer, so that a state takes at most {most:.2g} bytes"
        raise ValueError(f"{policy.name}: {must}, got {spec.dim} features, which take {size:.2g}")


def largest_state() -> int:
    """Half of the machine's memory: a state is copied when it grows or is saved."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (OSError, ValueError):
        return 2**33


@double
def begin(policy: Policy, key: Array, spec: Spec) -> State:
    """Return the first state, whose buffers are its own: `CompiledPolicy.observe` takes them over."""
    return jax.tree.map(jnp.array, _init(policy, key, spec))


@double
def grown(policy: Policy, key: Array, state: State, spec: Spec) -> State:
    """Return a state that keeps all history with room for `spec.capacity` observations."""

    def larger(new: Array, old: Array) -> Array:
        if new.shape == old.shape:
            return old
        return new.at[tuple(slice(length) for length in old.shape)].set(old)

    return jax.tree.map(larger, begin(policy, key, spec), state)


@double
def beliefs(policy: Policy, state: State, contexts: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """(n,) means and (n,) widths of contexts."""
    mean, width = _beliefs(policy, state, contexts)
    return np.asarray(mean), np.asarray(width)


@double
def blank_memo(policy: Policy, spec: Spec) -> Any:
    """The shapes of the memo of a decision."""
    contexts = jax.ShapeDtypeStruct((spec.num_arms, spec.dim), FLOAT)
    mask = jax.ShapeDtypeStruct((spec.num_arms,), bool)

    def memo(state: State, contexts: Array, mask: Array) -> Any:
        items = jnp.zeros(policy.chooser.size, jnp.int32)
        return policy.believe(state, Offer(contexts, mask)).memo(items, mask)

    return jax.eval_shape(memo, state_shapes(policy, spec), contexts, mask)


@double
def state_shapes(policy: Policy, spec: Spec) -> State:
    """The shapes of a state."""
    return jax.eval_shape(lambda key: policy.init(key, spec), jax.random.key(0))


@partial(jax.jit, static_argnames=("spec",))
def _init(policy: Policy, key: Array, spec: Spec) -> State:
    return policy.init(key, spec)


@jax.jit
def _beliefs(policy: Policy, state: State, contexts: Array) -> tuple[Array, Array]:
    beliefs = policy.believe(state, Offer.of(contexts))
    return policy.explorer.means(beliefs), beliefs.norms()
