"""What an agent asks of a policy beside its decisions: what it needs, its first state, what it believes.

The number of arms is padded to a power of two, so that a handful of compilations serve any number of arms.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.agent.compiled import lean
from superarm.choosers.best import Best
from superarm.choosers.duel import is_duel
from superarm.explorers.floor import Floor
from superarm.explorers.greedy import Greedy
from superarm.explorers.responses import Responses
from superarm.explorers.ucb import UCB
from superarm.explorers.warm_up import WarmUp
from superarm.models.history import Memory
from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.types import Array, Spec, State
from superarm.widths import Auto, Dual, Full
from superarm.widths.dual import DualFactor

FEWEST = 8  # arms to compile for


def padded(num_arms: int) -> int:
    """The number of arms to compile for: the next power of two.

    >>> [padded(number) for number in (1, 9, 16)]
    [8, 16, 16]
    """
    return max(FEWEST, 1 << (num_arms - 1).bit_length())


def by_arm(part: Any) -> bool:
    """Whether a policy, or a part of one, knows arms by their index, so that they must keep it."""
    if getattr(part, "by_arm", False):
        return True
    if is_dataclass(part):
        return any(by_arm(getattr(part, one.name)) for one in fields(part))
    return isinstance(part, tuple | list) and any(by_arm(one) for one in part)


def sums_by_arm(part: Any) -> bool:
    """Whether a policy, or a part of one, adds up what it observes of an arm, whose features must stay."""
    if isinstance(part, Memory):
        return part.kind == "arms"
    return is_dataclass(part) and any(sums_by_arm(getattr(part, one.name)) for one in fields(part))


def feedback_range(part: Any) -> tuple[float, float] | None:
    """What feedback a policy's model can take; None for any number."""
    if (found := getattr(part, "feedback_range", None)) is not None:
        return found
    inner = getattr(part, "model", None)
    return None if inner is None else feedback_range(inner)


def keeps_all(policy: Policy, spec: Spec) -> bool:
    """Whether the state grows with what was observed."""
    small, large = (
        [leaf.shape for leaf in jax.tree.leaves(state_shapes(policy, replace(spec, capacity=capacity)))]
        for capacity in (64, 4096)  # room is made in blocks
    )
    return small != large


def settled(policy: Policy, spec: Spec, most: int) -> Policy:
    """The policy with the width that "auto" takes for `most` observations; it must not change on the way."""
    if not isinstance(policy.width, Auto):
        return policy
    shapes = state_shapes(policy, replace(spec, capacity=most))
    parts = jax.tree.leaves(shapes, is_leaf=partial(_is, DualFactor))
    return replace(policy, width=Dual() if any(_is(DualFactor, part) for part in parts) else Full())


@double
def begin(policy: Policy, key: Array, spec: Spec) -> State:
    """Return the first state, whose buffers are its own: `Program.observe` takes them over."""
    return jax.tree.map(jnp.array, _init(policy, key, spec))


@double
def grown(policy: Policy, key: Array, state: State, spec: Spec) -> State:
    """Return a state that keeps all history with room for `spec.capacity` observations."""

    def larger(new: Array, old: Array) -> Array:
        if new.shape == old.shape:
            return old
        return new.at[tuple(slice(length) for length in old.shape)].set(old)

    return jax.tree.map(larger, begin(policy, key, spec), state)


def greedy(policy: Policy) -> Policy:
    """The policy that chooses by the mean, of the rewards where its explorer does; one arm for a duel."""
    if is_duel(policy.chooser):
        return replace(policy, explorer=Greedy(), chooser=Best())
    return replace(policy, explorer=_greedy(policy.explorer))


def _greedy(explorer: Any) -> Any:
    """Scores by the mean, on the scale of another explorer's scores."""
    if isinstance(explorer, WarmUp | Floor):
        return _greedy(explorer.explorer)
    if isinstance(explorer, Responses):
        return replace(explorer, explorer=_greedy(explorer.explorer))
    if isinstance(explorer, UCB) and explorer.link is not None:
        return Responses(Greedy(), explorer.link)
    return Greedy()


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
        beliefs = policy.model.beliefs(state, contexts, policy.width)
        items = jnp.zeros(policy.chooser.size, jnp.int32)
        return lean(beliefs.memo(items, mask)) if hasattr(beliefs, "memo") else ()

    return jax.eval_shape(memo, state_shapes(policy, spec), contexts, mask)


@double
def state_shapes(policy: Policy, spec: Spec) -> State:
    """The shapes of a state."""
    return jax.eval_shape(lambda key: policy.init(key, spec), jax.random.key(0))


def _is(cls: type, value: Any) -> bool:
    return isinstance(value, cls)


@partial(jax.jit, static_argnames=("spec",))
def _init(policy: Policy, key: Array, spec: Spec) -> State:
    return policy.init(key, spec)


@jax.jit
def _beliefs(policy: Policy, state: State, contexts: Array) -> tuple[Array, Array]:
    found = policy.model.beliefs(state, jnp.asarray(contexts, FLOAT), policy.width)
    norms = found.norms() if hasattr(found, "norms") else jnp.full_like(found.mean, jnp.nan)
    mean = greedy(policy).explorer.scores(jax.random.key(0), found, jnp.zeros((), jnp.int64))
    return mean, norms
