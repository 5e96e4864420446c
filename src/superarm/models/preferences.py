"""Learning from duels: which of two arms was preferred.

    P(first is preferred) = g(u(x_1) - u(x_2)),   u the utility that a model scores by

so that a preference is one observation of the difference. A duel's feedback is (2,): 1 for the arm that was
preferred and 0 for the other. Saha (2021), Optimal algorithms for stochastic contextual preference bandits,
NeurIPS; Bengs, Saha & Huellermeier (2022), Stochastic contextual dueling bandits under linear stochastic
transitivity models, ICML; Verma et al. (2024), Neural dueling bandits; oh2026.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.contract import Beliefs, Model, Width
from superarm.models.coefficients import Coefficients
from superarm.models.ensemble import Ensemble
from superarm.models.links import LINKS, PREFERENCE_LINKS
from superarm.models.paired import Paired
from superarm.pytree import pytree
from superarm.types import Array, Event, Spec, State


def preference_of(event: Event) -> tuple[Array, Array]:
    """() how much the first arm is preferred, in [0, 1], and () whether that is known.

    It is not when a side was not observed, or when the two sides do not lie in [0, 1] and add up to 1. The
    latter raises ValueError outside of compiled code, before anything is recorded. 1/2 each is a draw.
    """
    first, second = event.feedback
    valid = (first >= 0.0) & (first <= 1.0) & (jnp.abs(first + second - 1.0) <= 1e-6)
    known = jnp.all(event.observed)
    if not isinstance(known & valid, jax.core.Tracer) and bool(known & ~valid):
        must = "the feedback of a duel must be two numbers in [0, 1] that add up to 1"
        raise ValueError(f"preferences: {must}, got {float(first):g} and {float(second):g}")
    return first, known & valid


def preferences(where: str, model: Any) -> Preferences:
    """Return a model of utilities as one of preferences; a network is paired, unless it is already.

    >>> import superarm
    >>> network = superarm.perceptron(width=8)
    >>> type(preferences("mine", superarm.neural(network, loss="logistic")).model.network).__name__
    'Paired'
    """
    inner: Any = model.model if isinstance(model, Ensemble) else model
    checks.part(where, "model", inner, Model)
    _require_utilities(where, inner)
    if not isinstance(inner.scorer, Coefficients | Paired | None):
        inner = replace(inner, network=Paired(inner.network))
    return Preferences(replace(model, model=inner) if isinstance(model, Ensemble) else inner)


def _require_utilities(where: str, model: Model) -> None:
    """Refuse a model that cannot be fitted to preferences."""
    if model.sums_by_arm:  # a difference is of two arms
        raise ValueError(f"{where}: memory must be 'all', 'window' or 'reservoir' for a duel, got 'arms'")
    if model.loss is not None:
        checks.one_of(where, "loss of a duel", model.loss, [LINKS[name].loss for name in PREFERENCE_LINKS])


@pytree
@dataclass(frozen=True)
class Preferences(Model):
    """A model of utilities, fitted to preferences. `preferences` makes it of any that can be.

    Args:
        model: a generalized linear or other linear model, which learns from x_1 - x_2; or a `Neural` model
            whose network is `Paired`, which learns from [x_1; x_2]; or an `Ensemble` of one of them, whose
            members see preferences with perturbations of their own.

    >>> import superarm
    >>> Preferences(superarm.glm(link="probit")).learn_every
    1
    """

    model: Model

    @property
    def learn_every(self) -> int | None:
        """As the model."""
        return self.model.learn_every

    @property
    def inner(self) -> Model:
        """The model of utilities."""
        return self.model

    def failures(self, state: State) -> Array:
        """() fits that diverged; (m,) of an ensemble's members."""
        return self.model.failures(state)

    def check(self, spec: Spec, width: Width | None) -> None:
        """Refuse what cannot learn from preferences, and let the model check the rest."""
        _require_utilities("preferences", self._member)
        network = self._member.scorer
        if not isinstance(
            network, Coefficients | Paired | None
        ):  # it would learn f(x_1 - x_2), and score f(x)
            got = type(network).__name__
            raise TypeError(f"preferences: network must be Paired(network), which compares, got {got}")
        self.model.check(self._sized(spec), width)

    def init(self, key: Array, spec: Spec, width: Width | None) -> State:
        """Return the model's start."""
        return self.model.init(key, self._sized(spec), width)

    def beliefs(self, state: State, contexts: Array, width: Width | None) -> Beliefs:
        """Return the utilities of contexts (n, d), up to a number common to all, and their widths."""
        return self._single.beliefs(state, contexts, width)

    def observe(self, state: State, key: Array, event: Event, width: Width | None) -> Any:
        """Return the record with the preference, if it is known.

        Of two equal contexts it says nothing of utilities, and fits need not carry it along: most duels of a
        policy that has learned are of an arm with itself.
        """
        first, second = event.features
        features = first - second if self._network is None else jnp.concatenate([first, second])
        outcome, known = preference_of(event)
        preference = replace(
            event,
            items=event.items[:1],
            features=features[None],
            feedback=outcome[None],
            observed=(known & jnp.any(first != second))[None],
            variance=event.variance if isinstance(event.variance, tuple) else event.variance[:1],
            cache=(),  # work on two arms, of which the difference alone is observed
        )
        return self.model.observe(state, key, preference, width)

    def learn(self, state: State, key: Array, width: Width | None) -> Any:
        """Return the model's fit."""
        return self.model.learn(state, key, width)

    @property
    def deep(self) -> bool:
        """Whether utilities are a network's."""
        return self._network is not None

    @property
    def _member(self) -> Any:
        """The model, or that of an ensemble's members."""
        return self.model.model if isinstance(self.model, Ensemble) else self.model

    @property
    def _network(self) -> Paired | None:
        network = self._member.scorer
        return network if isinstance(network, Paired) else None

    @property
    def _single(self) -> Model:
        """The model that scores one arm, with the same state."""
        if self._network is None:
            return self.model
        member = replace(self._member, network=self._network.network)
        return replace(self.model, model=member) if isinstance(self.model, Ensemble) else member

    def _sized(self, spec: Spec) -> Spec:
        """One observation a duel, of one context or of two."""
        times = 1 if self._network is None else 2
        return replace(spec, dim=times * spec.dim, capacity=spec.capacity // 2, size=1)
