"""What an agent calls a thousand times a second, compiled over flat lists of arrays.

JAX flattens a policy and a state in Python, dataclass by dataclass, which takes longer than a small policy
computes. Here both stay flat between calls, a decision comes back as one array, and policies that are built
alike share what is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.compiler import cpu_options
from superarm.explorers.floor import Floor
from superarm.policy import Policy, select_on_host
from superarm.precision import FLOAT, double
from superarm.propensity import (
    Propensity,
    counted,
    draw_on_host,
    drawn_propensity,
    exact_propensity,
    is_exact,
)
from superarm.simulation.round import Keys, round_keys
from superarm.types import Array, Event, Offer, State

DRAW_KEY_SALT = 0x64726177  # apart from the keys that `select` splits
NDArray = np.ndarray[Any, Any]
Leaves = list[Any]


@dataclass(frozen=True, slots=True)
class PropensityRule:
    """How the probabilities of choices are found, and their floor.

    Args:
        floor: the least probability of an arm on offer; None for none.
        draws: decisions to draw where probabilities are not exact; 0 to leave them unknown.
        ranking: whether a slot of a set is a position.
    """

    floor: np.float64 | None = None
    draws: int = 0
    ranking: bool = False


MIN_ARMS = 8  # to compile for


def padded(num_arms: int) -> int:
    """The number of arms to compile for: the next power of two, so that a few compilations serve any number.

    >>> [padded(number) for number in (1, 9, 16)]
    [8, 16, 16]
    """
    return max(MIN_ARMS, 1 << (num_arms - 1).bit_length())


class OfferBuffer:
    """Arms in their places, and when: one array, since a compiled function takes microseconds for each.

    Attributes:
        packed: (1 + n, 1 + d): first the numbers of the decision, as `CompiledPolicy.select` gives them; then
            per arm 1 where it is on offer, and its features.
    """

    __slots__ = ("packed",)

    def __init__(self, num_arms: int, dim: int) -> None:
        """Begin with nothing on offer."""
        self.packed = np.zeros((1 + num_arms, 1 + dim))

    def put(self, places: Any, contexts: NDArray, mask: NDArray) -> None:
        """Offer arms in some of the places."""
        arms = self.packed[1:]
        arms[places, 1:] = contexts
        arms[places, 0] = mask

    @property
    def contexts(self) -> NDArray:
        """(n, d) the features."""
        return self.packed[1:, 1:]

    @property
    def mask(self) -> NDArray:
        """(n,) which are on offer."""
        return self.packed[1:, 0] > 0


# Not frozen: that takes longer to make, and every decision and its feedback make some.
@dataclass(slots=True)
class RawDecision:
    """A decision: items (k,), of which the first `used` are there, features (k, d) and scores (k,) of them.

    Attributes:
        healthy: whether it is sound.
        memo: what returns with the event.
        chance, error: (k,) of the items; None where they are not known.
    """

    items: NDArray
    used: int
    features: NDArray
    scores: NDArray
    healthy: bool
    memo: Any
    chance: NDArray | None = None
    error: NDArray | None = None


@dataclass(slots=True)
class Observation:
    """What was observed: items (k,), features (k, d), feedback (k,), observed (k,) and the memo."""

    items: NDArray
    features: NDArray
    feedback: NDArray
    observed: NDArray
    memo: Any = ()

    def packed(self, number: int) -> NDArray:
        """(k, 4 + d) all but the memo, and the number of the decision, in one array."""
        count, dim = self.features.shape
        found = np.empty((count, 4 + dim))
        found[:, 0], found[:, 1], found[:, 2] = self.items, self.feedback, self.observed
        found[:, 3] = number  # exact up to 2^53
        found[:, 4:] = self.features
        return found


class CompiledPolicy:
    """The functions of a policy over the leaves of its states. Numbers of decisions choose the randomness."""

    @double
    def __init__(self, policy: Policy, like: State, keys: Keys) -> None:
        """Take a policy, a state of its like, and the keys of all chance."""
        leaves, structure = jax.tree.flatten(policy)
        self.policy, self.native = policy, policy.native
        self._selects: dict[PropensityRule, Any] = {}
        self._leaves = [jnp.asarray(leaf) for leaf in leaves]
        self._keys = jnp.stack([jax.random.key_data(key) for key in jax.tree.leaves(keys)])
        self._compiled = _compiled(structure, jax.tree.structure(like), jax.random.key_impl(keys.init))

    def select(
        self, state: Leaves, number: int, count: int, buffer: OfferBuffer, rule: PropensityRule
    ) -> RawDecision:
        """Choose in decision `number` of all, `count` of the policy's."""
        packed = buffer.packed
        packed[0, 0], packed[0, 1] = number, count  # exact up to 2^53
        if not self.native:
            return self._on_host(state, buffer, rule)
        function = self._selects.get(rule)
        if function is None:
            function = self._selects[rule] = self._compiled.select(rule.draws, rule.ranking)
        with jax.enable_x64(True):
            rows, memo = function(self._leaves, state, self._keys, packed, rule.floor)
        return self._decided(np.asarray(rows).copy(), memo, packed)

    def select_all(
        self, state: Leaves, number: int, count: int, buffers: Sequence[OfferBuffer], rule: PropensityRule
    ) -> list[RawDecision]:
        """Choose in the decisions from `number` on, one per buffer of one shape, in one compiled call."""
        size = 1 << (len(buffers) - 1).bit_length()  # a handful of compilations serve all
        packed = np.zeros((size, *buffers[0].packed.shape))
        for turn, buffer in enumerate(buffers):
            packed[turn] = buffer.packed
        packed[:, 0, 0], packed[:, 0, 1] = number + np.arange(size), count + np.arange(size)
        function = self._compiled.select_all(rule.draws, rule.ranking)
        with jax.enable_x64(True):
            found = function(self._leaves, state, self._keys, packed, np.int64(len(buffers)), rule.floor)
        rows, memo = jax.tree.map(np.asarray, found)
        return [
            self._decided(rows[turn].copy(), [leaf[turn].copy() for leaf in memo], buffer.packed)
            for turn, buffer in enumerate(buffers)
        ]

    def _decided(self, rows: NDArray, memo: Leaves, packed: NDArray) -> RawDecision:
        """The decision that a compiled function gave; it takes the rows over."""
        chance, error = (rows[3], rows[4]) if len(rows) > 3 else (None, None)
        kept = jax.tree.unflatten(self._compiled.memo, map(np.asarray, memo)) if memo else ()
        items, used, features = _placed(rows[0].astype(np.int32), packed[1:, 1:])
        return RawDecision(items, used, features, rows[1], rows.item(2, 0) > 0, kept, chance, error)

    @double
    def _on_host(self, state: Leaves, buffer: OfferBuffer, rule: PropensityRule) -> RawDecision:
        """Choose with an oracle that runs on the host, between compiled parts."""
        number, count = (jnp.int64(one) for one in buffer.packed[0, :2])
        contexts = buffer.contexts.copy()
        offer = Offer(jnp.asarray(contexts), jnp.asarray(buffer.mask))
        whole: State = self._compiled.state(state)
        key = self._compiled.key_of(self._keys, number)
        decision = select_on_host(self.policy, whole, key, offer, count)
        parts = jax.tree.map(np.asarray, replace(decision, cache=()))
        found = RawDecision(*_placed(parts.items, contexts), parts.scores, bool(parts.healthy), parts.memo)
        if not rule.draws or not found.healthy:
            return found
        keys = jax.random.split(jax.random.fold_in(key, DRAW_KEY_SALT), rule.draws)
        choices = draw_on_host(self.policy, whole, keys, offer, count)
        others = np.stack([np.asarray(choice.items) for choice in choices])
        share = _counted(others, parts.items, ranking=rule.ranking)
        return replace(found, chance=np.asarray(share.chance), error=np.asarray(share.error))

    def observe(self, state: Leaves, number: int, observation: Observation) -> Leaves:
        """Return the leaves after what came of decision `number`; those given are used up."""
        packed, memo = observation.packed(number), observation.memo
        with jax.enable_x64(True):
            found: Leaves = self._compiled.observe(self._leaves, state, self._keys, packed, memo)
        return found

    @double
    def learn(self, state: Leaves, number: int) -> Leaves:
        """Return the leaves of a new fit, with the randomness of `number`."""
        found = self._compiled.learn(self._leaves, state, self._keys, np.int64(number))
        return jax.block_until_ready(found)


@lru_cache(maxsize=256)
def _compiled(policy: Any, state: Any, generator: Any) -> CompiledFunctions:
    return CompiledFunctions(policy, state, generator)


class CompiledFunctions:
    """The functions for one structure of policies and of states."""

    def __init__(self, policy: Any, state: Any, generator: Any) -> None:
        """Compile nothing yet; `generator` is that of the keys."""
        self._generator = generator
        self._policy, self.state = (partial(jax.tree.unflatten, one) for one in (policy, state))
        self._selects: dict[tuple[Any, int, bool], Any] = {}
        self.memo: Any = None  # the structure of a decision's, once one was made
        self.key_of = jax.jit(self._key_of)
        self.observe = jax.jit(self._observe, donate_argnums=1, compiler_options=cpu_options())
        self.learn = jax.jit(self._learn)

    def select(self, draws: int, ranking: bool) -> Any:
        """The choice, with its chances found in one of the ways."""
        return self._jitted(self._select, draws, ranking)

    def select_all(self, draws: int, ranking: bool) -> Any:
        """The same for several choices, one after another."""
        return self._jitted(self._select_all, draws, ranking)

    def _jitted(self, function: Any, draws: int, ranking: bool) -> Any:
        name = (function.__name__, draws, ranking)
        if name not in self._selects:
            self._selects[name] = jax.jit(partial(function, draws, ranking), compiler_options=cpu_options())
        return self._selects[name]

    def _select_all(
        self,
        draws: int,
        ranking: bool,
        policy_leaves: Leaves,
        state_leaves: Leaves,
        keys: Array,
        packed: Array,
        length: Array,
        floor: Array | None,
    ) -> tuple[Array, Leaves]:
        """The first `length` of several choices."""

        def one(turn: Array) -> tuple[Array, Leaves]:
            return self._select(draws, ranking, policy_leaves, state_leaves, keys, packed[turn], floor)

        def body(turn: Array, found: Any) -> Any:
            return jax.tree.map(lambda rows, row: rows.at[turn].set(row), found, one(turn))

        like = jax.eval_shape(one, length)
        found = jax.tree.map(lambda leaf: jnp.zeros((len(packed), *leaf.shape), leaf.dtype), like)
        return jax.lax.fori_loop(0, length, body, found)

    def _select(
        self,
        draws: int,
        ranking: bool,
        policy_leaves: Leaves,
        state_leaves: Leaves,
        keys: Array,
        packed: Array,
        floor: Array | None,
    ) -> tuple[Array, Leaves]:
        policy, state = self._policy(policy_leaves), self.state(state_leaves)
        numbers = packed[0, :2].astype(jnp.int64)
        offer = Offer(contexts=packed[1:, 1:], mask=packed[1:, 0] > 0)
        mask, key = offer.mask, self._key_of(keys, numbers[0])
        share = None if floor is None else _share(floor, mask, policy.chooser.size)
        explorer = policy.explorer if share is None else Floor(policy.explorer, share)
        decision = replace(policy, explorer=explorer).select(state, key, offer, numbers[1])
        size = decision.items.shape
        rows = [decision.items, decision.scores, jnp.broadcast_to(decision.healthy, size)]
        found = self._chances(policy, state, key, offer, numbers[1], decision.items, draws, ranking)
        if found is not None and floor is not None and share is not None:
            # What chance alone gives is known: draws of the rest cannot leave an item below its floor.
            least = jnp.minimum(floor, policy.chooser.size / jnp.sum(mask, dtype=FLOAT))
            found = found.floored(share, least / policy.chooser.size if ranking else least, decision.items)
        if found is not None:
            rows += [found.chance, found.error]
        memo, self.memo = jax.tree.flatten(decision.memo)
        return jnp.stack([row.astype(FLOAT) for row in rows]), memo

    def _chances(
        self,
        policy: Policy,
        state: State,
        key: Array,
        offer: Offer,
        count: Array,
        items: Array,
        draws: int,
        ranking: bool,
    ) -> Propensity | None:
        if is_exact(policy):
            return exact_propensity(policy, state, offer, count, items, ranking=ranking)
        if not draws:
            return None
        key = jax.random.fold_in(key, DRAW_KEY_SALT)
        return drawn_propensity(policy, state, key, offer, count, items, draws=draws, ranking=ranking)

    def _observe(
        self,
        policy_leaves: Leaves,
        state_leaves: Leaves,
        keys: Array,
        packed: Array,
        memo: Any,
    ) -> Leaves:
        policy, state = self._policy(policy_leaves), self.state(state_leaves)
        event = Event(
            items=packed[:, 0].astype(jnp.int32),
            features=packed[:, 4:],
            feedback=packed[:, 1],
            observed=packed[:, 2] > 0,
            memo=memo,
        )
        key = round_keys(self._keys(keys), packed[0, 3].astype(jnp.int64))[3]
        return jax.tree.leaves(policy.observe(state, key, event))

    def _learn(self, policy_leaves: Leaves, state_leaves: Leaves, keys: Array, number: Array) -> Leaves:
        policy, state = self._policy(policy_leaves), self.state(state_leaves)
        fit = policy.learn(state, jax.random.fold_in(self._keys(keys).learn, number))
        before, after = (jax.tree.leaves(one) for one in (state.fit, fit))
        if [leaf.shape for leaf in before] != [leaf.shape for leaf in after]:
            raise TypeError(f"{policy.name}: a fit must have the arrays of the fit before, got others")
        return after

    def _key_of(self, keys: Array, number: Array) -> Array:
        """The key to choose by in decision `number`."""
        return round_keys(self._keys(keys), number)[2]

    def _keys(self, data: Array) -> Keys:
        return Keys(*jax.random.wrap_key_data(data, impl=self._generator))


def _share(floor: Array, mask: Array, size: int) -> Array:
    """How often to choose by chance, so that every arm on offer has a chance of `floor`."""
    return jnp.minimum(floor * jnp.sum(mask, dtype=FLOAT) / size, 1.0)


def _placed(items: NDArray, contexts: NDArray) -> tuple[NDArray, int, NDArray]:
    """The items, how many of their slots are used, and their features (k, d), which are 0 in the others."""
    if len(items) == 1 and (item := items.item(0)) >= 0:  # what it mostly is
        return items, 1, contexts[item : item + 1].copy()
    used = sum(place >= 0 for place in items.tolist())
    if used and items[:used].min() < 0:
        raise ValueError(f"select: the slots of a choice that are used must come first, got {items.tolist()}")
    features = contexts[np.maximum(items, 0)]
    features[used:] = 0.0
    return items, used, features


_counted = jax.jit(counted, static_argnames=("ranking",))
