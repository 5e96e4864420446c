"""Worlds that answer which of two arms is preferred: oh2026, section 6 and appendix E.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.contract import Environment
from superarm.models.links import LINKS, PREFERENCE_LINKS, PreferenceLink
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["Duels", "duels"]

UtilityName = Literal["cosine", "square", "quadratic", "quadratic-vector", "linear"]
Preference = PreferenceLink | Literal["certain"]
PREFERENCES: tuple[Preference, ...] = (*PREFERENCE_LINKS, "certain")
# (contexts (n, d), Theta (d,) or (d, d)) -> (n,)
Utility = Callable[[Array, Array], Array]


def cosine(contexts: Array, theta: Array) -> Array:
    """(n,) cos(3 Theta'x)."""
    return jnp.cos(3.0 * (contexts @ theta[0]))


def square(contexts: Array, theta: Array) -> Array:
    """(n,) 10 (Theta'x)^2."""
    return 10.0 * (contexts @ theta[0]) ** 2


def quadratic(contexts: Array, theta: Array) -> Array:
    """(n,) x'Theta Theta'x with Theta a (d, d) matrix."""
    return jnp.sum((contexts @ theta) ** 2, axis=1)


def vector(contexts: Array, theta: Array) -> Array:
    """(n,) (Theta'x)^2: "quadratic" with a vector Theta, as appendix E.1 prints it; "square" over 10."""
    return (contexts @ theta[0]) ** 2


def linear(contexts: Array, theta: Array) -> Array:
    """(n,) Theta'x."""
    return contexts @ theta[0]


UTILITIES: dict[str, Utility] = {
    "cosine": cosine,
    "square": square,
    "quadratic": quadratic,
    "quadratic-vector": vector,
    "linear": linear,
}


def preference_chance(link: PreferenceLink, gaps: Array) -> Array:
    """The chance that the first of two is preferred when its utility is higher by `gaps`.

    "logistic" is Bradley & Terry's (1952) model, "probit" Thurstone's (1927), with noise of deviation 1 in
    the difference; "exponential" has exponential noise of mean 1 on each utility: 1 - e^-gap / 2 for a gap
    >= 0.
    """
    return LINKS[link].mean(gaps)


class DuelWorld(Environment):
    """What all worlds of duels have in common."""

    @property
    def compares(self) -> bool:
        """True: a decision is two arms."""
        return True

    @property
    def oracle(self) -> None:
        """None: two arms are chosen by the policy's duel."""

    @property
    def native(self) -> bool:
        """True."""
        return True

    def check(self) -> None:
        """Accept: the factory checked."""


@pytree
@dataclass(frozen=True)
class Duels(DuelWorld):
    """New contexts in every round, with utilities. Build it with `duels`."""

    utility: Utility = static()
    preference: Preference = static()
    dim: int = static()
    num_arms: int = static()
    tells_variance: bool = static()

    @property
    def spec(self) -> Spec:
        """d features, n arms."""
        return Spec(dim=self.dim, num_arms=self.num_arms)

    @double
    def init(self, key: Array) -> Array:
        """Draw Theta, uniform in [-1, 1]: a matrix, the first row of which is Theta where it is a vector."""
        return jax.random.uniform(key, (self.dim, self.dim), FLOAT, -1.0, 1.0)

    @double
    def offer(self, world: Array, key: Array) -> Offer:
        """Draw contexts uniform in [-1, 1]^d, and scale each to norm 1."""
        contexts = jax.random.uniform(key, (self.num_arms, self.dim), FLOAT, -1.0, 1.0)
        contexts = contexts / jnp.linalg.norm(contexts, axis=1, keepdims=True)
        return Offer(contexts=contexts, mask=jnp.ones(self.num_arms, bool))

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Let the two arms meet."""
        utilities = self.utility(offer.contexts, world)
        best = jnp.max(jnp.where(offer.mask, utilities, -jnp.inf))
        return duel_outcome(key, self.preference, utilities, best, decision, self.tells_variance)


def duel_outcome(
    key: Array,
    preference: Preference,
    utilities: Array,
    best: Array,
    decision: Decision,
    tells_variance: bool,
) -> Outcome:
    """Return the outcome of a duel when the arms' utilities are (n,) and the best of them is `best`.

    Feedback is 1 for the arm that is preferred and 0 for the other. Regret is the average of the two arms'
    gaps; realized regret is the weak one, of the better arm. Their sum is twice the average.
    """
    met = utilities[jnp.maximum(decision.items, 0)]
    gap = met[0] - met[1]
    if preference == "certain":
        chance = jnp.where(gap == 0.0, 0.5, (gap > 0.0).astype(FLOAT))
    else:
        chance = preference_chance(preference, gap)
    won = (jax.random.uniform(key, (), FLOAT) < chance).astype(FLOAT)
    spread = jnp.broadcast_to(chance * (1.0 - chance), (2,))
    return Outcome(
        feedback=jnp.stack([won, 1.0 - won]),
        observed=decision.mask,
        reward=jnp.max(met),
        value=jnp.mean(met),
        best=best,
        best_reward=best,
        variance=spread if tells_variance else (),
    )


@checks.named
def duels(
    utility: UtilityName | Utility = "square",
    *,
    preference: Preference = "logistic",
    dim: int = 5,
    num_arms: int = 5,
    tells_variance: bool = False,
) -> Duels:
    """Return an environment that says which of two arms is preferred, with new contexts in every round.

    Contexts are uniform in [-1, 1]^d, scaled to norm 1; Theta is uniform in [-1, 1], drawn per seed.

    Args:
        utility: "cosine" cos(3 Theta'x), "square" 10 (Theta'x)^2, "quadratic" x'Theta Theta'x with a matrix
            Theta, "linear" Theta'x; or a pure function of contexts (n, d) and Theta (d, d) that returns (n,).
        preference: "logistic", "probit" or "exponential" noise in the comparison; "certain", the higher
            utility always wins.
        dim: d.
        num_arms: n.
        tells_variance: tell the variance of the preference beside it, for policies with an oracle of it.

    The table's regret is the average regret of the two arms, its realized regret the weak one.

    Oh et al. (2026), appendix E.1.

    >>> import superarm
    >>> world = duels("cosine", dim=3)
    >>> superarm.simulate(superarm.max_inp(), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "duels"
    size, arms = checks.count(where, "dim", dim), checks.count(where, "num_arms", num_arms, low=2)
    built = Duels(
        utility=utility
        if callable(utility)
        else UTILITIES[checks.one_of(where, "utility", utility, tuple(UTILITIES))],
        preference=checks.one_of(where, "preference", preference, PREFERENCES),
        dim=size,
        num_arms=arms,
        tells_variance=bool(tells_variance),
    )
    shapes: Any = jax.ShapeDtypeStruct((arms, size), FLOAT), jax.ShapeDtypeStruct((size, size), FLOAT)
    with jax.enable_x64(True):
        shape = jax.eval_shape(built.utility, *shapes).shape
    if shape != (arms,):
        raise ValueError(f"{where}: utility must return shape ({arms},), one per arm, got {shape}")
    return built
