"""Ensembles: m copies of a model, each fitted to rewards with perturbations of its own, which are kept.

Sun, Wang & Xu (2026), Provable anytime ensemble sampling algorithms in nonlinear contextual bandits, section
4.1; Lu & Van Roy (2017), Ensemble sampling, NeurIPS. When feedback y comes, member j records y + z_j with
z_j ~ N(0, scale^2), drawn once. What the members share, the features seen, the counts and a linear model's
covariance, is there once; what differs is batched: one computation serves all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from superarm.contract import Beliefs, Model, Special, Width
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.types import Array, Event, Spec, State


@pytree
@dataclass(frozen=True)
class EnsembleBeliefs(Beliefs):
    """What m members believe of contexts (n, d). Their scores are computed when they are asked for."""

    ensemble: Ensemble
    state: State
    contexts: Array
    width: Width | None
    mask: Array | None = None  # (n,) which are on offer, once it is known

    def offered(self, mask: Array) -> EnsembleBeliefs:
        """The same, of members who know what is on offer."""
        return replace(self, mask=mask)

    def memo(self, items: Array, mask: Array) -> Any:
        """(m, ...) the memos of all members, where the model has one."""

        def of_one(state: State) -> Any:
            return self._believed(state).memo(items, mask)

        of_all = jax.vmap(of_one, (self.ensemble.axes(self.state, self.width),))
        shapes = jax.eval_shape(of_all, self.state)
        # Most models have none: nothing is computed for it.
        return of_all(self.state) if jax.tree.leaves(shapes) else shapes

    def member(self, index: Array) -> Array:
        """(n,) the scores of one member, at the cost of one."""
        axes = self.ensemble.axes(self.state, self.width)
        one = _per_leaf(axes, self.state, lambda leaf: leaf[index])
        return self._scores(one)

    @property
    def num_members(self) -> int:
        """m."""
        return self.ensemble.size

    @property
    def members(self) -> Array:
        """(m, n) the scores of all."""
        return jax.vmap(self._scores, (self.ensemble.axes(self.state, self.width),))(self.state)

    def _scores(self, state: State) -> Array:
        return self._believed(state).mean

    def _believed(self, state: State) -> Any:
        beliefs = self.ensemble.model.beliefs(state, self.contexts, self.width)
        return beliefs if self.mask is None else beliefs.offered(self.mask)

    @property
    def mean(self) -> Array:
        """(n,) the average member's scores."""
        return jnp.mean(self.members, axis=0)

    def norms(self) -> Array:
        """(n,) standard deviations over members."""
        return jnp.std(self.members, axis=0)

    @property
    def logdet(self) -> Array:
        """() 0: members keep no information matrix."""
        return jnp.zeros((), FLOAT)

    def draws(self, key: Array, scale: Array, num: int, joint: bool) -> Array:
        """(num, n) scores of members drawn at random, one for all arms when joint, else one per arm."""
        members = self.members
        size, arms = members.shape
        shape = (num, 1) if joint else (num, arms)
        drawn = jax.random.randint(key, shape, 0, size)
        mean = jnp.mean(members, axis=0)[None]
        return mean + scale * (members[drawn, jnp.arange(arms)[None]] - mean)


@pytree
@dataclass(frozen=True)
class Ensemble(Model):
    """A model m times over.

    Args:
        model: any that takes all real rewards; `Linear` and `Neural` (which is the GLM, too) share
            between members what they can.
        scale: sigma_R, standard deviation of the perturbations.
        size: m.
        spread: place members on all devices, when there are several and m is a multiple of their number.

    Observing and fitting cost m times the model's, less what is shared; a choice costs the same as the
    model's, since one member makes it.
    """

    model: Model
    scale: Array
    size: int = static(default=10)
    spread: bool = static(default=True)

    @property
    def learn_every(self) -> int | None:
        """As the model."""
        return self.model.learn_every

    @property
    def inner(self) -> Model:
        """The model."""
        return self.model

    @property
    def gives(self) -> frozenset[Special]:
        """Members."""
        return frozenset({"members"})

    def failures(self, state: State) -> Array:
        """(m,) fits that diverged, of each member."""
        return self.model.failures(state)

    def as_ensemble(self, state: State) -> tuple[Ensemble, State]:
        """Itself."""
        return self, state

    def check(self, spec: Spec, width: Width | None) -> None:
        """Let the model check; refuse a likelihood that has no place for perturbed rewards."""
        refuse_probit("ensemble", self.model)
        self.model.check(spec, width)

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return m copies of one start."""
        state = self.model.init(key, spec, width)

        def copies(leaf: Array) -> Array:
            return self._placed(jnp.broadcast_to(leaf, (self.size, *leaf.shape)))

        return _per_leaf(self.axes(state, width), state, copies)

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> EnsembleBeliefs:
        """Return what the members believe."""
        return EnsembleBeliefs(self, state, contexts, width)

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> Any:
        """Return the record with the event, perturbed for each member."""
        key_model, key_noise = jax.random.split(key)
        noise = jax.random.normal(key_noise, (self.size, *event.feedback.shape), FLOAT)
        feedback = event.feedback[None] + self.scale * noise
        axes = self.axes(state, width)

        def observed(state: State, feedback: Array, memo: Any) -> Any:
            # The model's own key is the same for all: a reservoir keeps the same observations for each.
            return self.model.observe(state, key_model, replace(event, feedback=feedback, memo=memo), width)

        return jax.vmap(observed, (axes, 0, 0), axes.record)(state, feedback, event.memo)

    def learn(self, state: State, key: Array, width: Width | None) -> Any:
        """Return every member fitted to its own history."""
        return self.learn_with(state, jax.random.split(key, self.size), width)

    def learn_with(self, state: State, keys: Array, width: Width | None) -> Any:
        """Return every member fitted with a key (m,) of its own."""
        axes = self.axes(state, width)
        return jax.vmap(lambda one, own: self.model.learn(one, own, width), (axes, 0), axes.fit)(state, keys)

    def some(self, state: State, width: Width | None, members: slice) -> State:
        """The state of some members, with what all share."""
        return _per_leaf(self.axes(state, width), state, lambda leaf: leaf[members])

    def joined(self, fits: list[Any], state: State, width: Width | None) -> Any:
        """One fit from those of all members in order; what they share is in each."""

        def part(axis: int | None, first: Any, *others: Any) -> Any:
            if axis is None:
                return first
            return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), first, *others)

        return jax.tree.map(part, self.axes(state, width).fit, *fits, is_leaf=lambda axis: axis is None)

    def axes(self, state: State, width: Width | None) -> State:
        """Per part of the state, 0 where members differ, None where they share."""
        shared = self.model.member_axes(width)
        return jax.tree.map(lambda _: 0, state) if shared is None else shared

    def _placed(self, leaf: Array) -> Array:
        devices = jax.devices()
        if not self.spread or len(devices) == 1 or self.size % len(devices):
            return leaf
        mesh = jax.sharding.Mesh(np.array(devices), ("member",))
        spec = jax.sharding.PartitionSpec("member")
        return jax.lax.with_sharding_constraint(leaf, jax.sharding.NamedSharding(mesh, spec))


def refuse_probit(where: str, model: Model) -> None:
    """Raise if the model's loss is one that rewards outside [0, 1] make non-convex: those of tails."""
    loss = model.loss
    if loss in ("probit", "exponential"):
        raise ValueError(f"{where}: the model's loss must take any real reward, got {loss!r}")


def _per_leaf(axes: State, state: State, change: Callable[[Array], Array]) -> State:
    """The state with the leaves changed that members do not share."""

    def part(axis: int | None, leaves: Any) -> Any:
        return leaves if axis is None else jax.tree.map(change, leaves)

    return jax.tree.map(part, axes, state, is_leaf=lambda axis: axis is None)
