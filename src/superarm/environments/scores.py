"""Scores that need not be linear, with new contexts in every round: hwang2023, section 5."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import jax
import jax.numpy as jnp

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.contract import Oracle
from superarm.environments.face import ChoiceWorld
from superarm.environments.semi_bandit import GaussianWeights, chosen_by, semi_bandit
from superarm.environments.sphere import Score, SphereArms, sphere_arms
from superarm.precision import double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["NonlinearScores", "nonlinear_scores"]


def linear(contexts: Array, a: Array) -> Array:
    """(n,) x'a: h_1."""
    return contexts @ a


def quadratic(contexts: Array, a: Array) -> Array:
    """(n,) (x'a)^2: h_2."""
    return jnp.square(contexts @ a)


def cosine(contexts: Array, a: Array) -> Array:
    """(n,) cos(pi x'a): h_3."""
    return jnp.cos(jnp.pi * (contexts @ a))


ScoreName = Literal["linear", "quadratic", "cosine"]
SCORES: dict[str, Score] = {"linear": linear, "quadratic": quadratic, "cosine": cosine}


@pytree
@dataclass(frozen=True)
class NonlinearScores(ChoiceWorld):
    """Contexts uniform on the sphere, scores h(x). Build it with `nonlinear_scores`."""

    arms: SphereArms
    weights: GaussianWeights
    chooser: Best | Subset
    hindsight: bool = static()

    @property
    def spec(self) -> Spec:
        """d features, n arms."""
        return self.arms.spec

    def init(self, key: Array) -> Array:
        """Draw a."""
        return self.arms.init(key)

    def offer(self, world: Array, key: Array) -> Offer:
        """Draw the contexts."""
        return self.arms.offer(world, key)

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Show the scores of the chosen arms with noise."""
        key_optimum, key_noise = jax.random.split(key)
        means = self.arms.means(world, offer.contexts)
        optimum = self.chooser.choose(key_optimum, means, offer.mask)
        outcome = semi_bandit(key_noise, self.weights, means, decision, optimum)
        if not self.hindsight:
            return outcome
        drawn = _drawn(key_noise, self.weights, means)
        found = self.chooser.choose(key_optimum, drawn, offer.mask)
        return replace(outcome, best_reward=jnp.sum(drawn[found.items], where=found.mask))


@jax.jit
def _drawn(key: Array, weights: GaussianWeights, means: Array) -> Array:
    """(n,) the scores of all arms with noise."""
    return weights.draw(key, jnp.arange(means.size, dtype=jnp.int32), means)


@checks.named
def nonlinear_scores(
    oracle: Oracle | None = None,
    *,
    score: ScoreName | Score = "quadratic",
    dim: int = 80,
    num_arms: int = 20,
    noise: float = 0.01,
    hindsight: bool = False,
) -> NonlinearScores:
    """Return an environment with scores h(x) + noise and new contexts in every round.

    Contexts and the vector a are uniform on the unit sphere; a is drawn per seed. The return is the sum of
    the scores. The defaults are hwang2023's Experiment 1, where the oracle is `top_k(4)`.

    Args:
        oracle: the feasible sets, solved exactly; None to choose one arm.
        score: "linear" x'a, "quadratic" (x'a)^2, "cosine" cos(pi x'a); or a pure function of contexts (n, d)
            and a (d,) that JAX can trace and that returns (n,).
        dim: d, features per arm.
        num_arms: n.
        noise: standard deviation of an arm's feedback.
        hindsight: count realized regret against the best set for the noisy scores of all arms, as the paper's
            authors do in their code, rather than against what the expected optimum earns under that noise. No
            policy knows the noise: this regret is never negative and, with noise, never stops growing.

    Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML.

    >>> import superarm
    >>> world = nonlinear_scores(superarm.top_k(4), score="cosine", dim=5, num_arms=7)
    >>> superarm.simulate(superarm.uniform(world.oracle), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "nonlinear_scores"
    built = NonlinearScores(
        arms=sphere_arms(where, "score", score, named=SCORES, dim=dim, num_arms=num_arms),
        weights=GaussianWeights(scale=checks.nonnegative(where, "noise", noise)),
        chooser=chosen_by(where, oracle),
        hindsight=bool(hindsight),
    )
    built.check()
    return built
