"""Customers who buy at most one of the items on show, by the multinomial logit model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy.typing as npt

from superarm import checks
from superarm.choosers.oracles import Assortment, assortment
from superarm.contract import Environment
from superarm.environments.scores import SCORES, ScoreName
from superarm.environments.semi_bandit import GaussianWeights, semi_bandit
from superarm.environments.sphere import Score, SphereArms, sphere_arms
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.rewards import MnlRevenue, revenue_per_item
from superarm.types import Array, Choice, Decision, Offer, Outcome, Spec

__all__ = ["AssortmentChoices", "assortment_choices"]


ChoiceFeedback = Literal["utility", "choice"]
FEEDBACK: tuple[ChoiceFeedback, ...] = get_args(ChoiceFeedback)


@pytree
@dataclass(frozen=True)
class AssortmentChoices(Environment):
    """Assortments of items with utilities scale * h(x). Build it with `assortment_choices`."""

    arms: SphereArms
    weights: GaussianWeights
    oracle: Assortment
    scale: Array
    feedback: str = static()

    @property
    def native(self) -> bool:
        """True."""
        return True

    @property
    def spec(self) -> Spec:
        """d features, n items."""
        return self.arms.spec

    def check(self) -> None:
        """Accept: the factory checked."""

    def init(self, key: Array) -> Array:
        """Draw a."""
        return self.arms.init(key)

    def offer(self, world: Array, key: Array) -> Offer:
        """Draw the contexts."""
        return self.arms.offer(world, key)

    @double
    def respond(self, world: Array, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """Let one customer choose."""
        key_optimum, key_noise, key_choice = jax.random.split(key, 3)
        utilities = self.scale * self.arms.means(world, offer.contexts)
        optimum = self.oracle.solve(key_optimum, utilities, offer.mask)
        revenues = jnp.asarray(self.oracle.revenues)
        outcome = semi_bandit(key_noise, self.weights, utilities, decision, optimum, MnlRevenue(revenues))
        bought, best_bought = (_bought(key_choice, utilities, shown) for shown in (decision, optimum))
        return replace(
            outcome,
            feedback=outcome.feedback if self.feedback == "utility" else bought.astype(FLOAT),
            reward=jnp.sum(revenues[decision.items], where=bought),
            best_reward=jnp.sum(revenues[optimum.items], where=best_bought),
        )


@checks.named
def assortment_choices(
    revenues: npt.ArrayLike,
    size: int,
    *,
    utility: ScoreName | Score = "linear",
    scale: float = 3.0,
    dim: int = 5,
    feedback: ChoiceFeedback = "utility",
    noise: float = 0.1,
) -> AssortmentChoices:
    """Return an environment in which a customer buys one of the items on show, or nothing.

        P(buy i from S) = exp(v_i) / (1 + sum_{j in S} exp(v_j)),   v_i = scale * h(x_i)

    Contexts are uniform on the unit sphere and new in every round. The realized return is the revenue of what
    the customer buys; regret is in expected revenue, against the best assortment, found by
    `oracles.assortment`, which is the environment's `oracle`.

    Args:
        revenues: (n,) >= 0, what each item brings in when bought.
        size: the most items on show, from 1 to n.
        utility: h, a name or a function as for `nonlinear_scores`.
        scale: multiplies h.
        dim: d, features per item.
        feedback: "utility": each item on show tells its utility with noise, as scores are observed in
            hwang2023; a policy then learns utilities directly, and chooses through the oracle. Or "choice": 1
            for the item that is bought and 0 for the others on show. How often an item is bought depends on
            what stands beside it, so a model that fits these numbers item by item does not learn utilities;
            this is for models of choices.
        noise: standard deviation of the utilities that are told.

    Hwang, Chai & Oh (2023), section 5, name this reward and say that their bound does not cover it.

    >>> import superarm
    >>> world = assortment_choices([1.0, 2.0, 3.0, 4.0], 2)
    >>> superarm.simulate(superarm.comb_lin_ucb(world.oracle), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "assortment_choices"
    worth = revenue_per_item(where, revenues)
    slots = checks.count(where, "size", size)
    if slots > len(worth):
        must = f"size must be at most the number of revenues, {len(worth)}"
        raise ValueError(f"{where}: {must}, got {slots}")
    oracle = assortment(worth, slots)
    return AssortmentChoices(
        arms=sphere_arms(where, "utility", utility, named=SCORES, dim=dim, num_arms=len(oracle.revenues)),
        weights=GaussianWeights(scale=checks.nonnegative(where, "noise", noise)),
        oracle=oracle,
        scale=checks.nonnegative(where, "scale", scale),
        feedback=checks.one_of(where, "feedback", feedback, FEEDBACK),
    )


@jax.jit
def _bought(key: Array, utilities: Array, shown: Decision | Choice) -> Array:
    """(k,) True in the slot of the item that is bought, if one is.

    The highest of utility + Gumbel noise wins, which has the chances of the model; the noise of an item is a
    function of the key and its index, and buying nothing is item n.
    """
    nothing = jnp.full((1,), utilities.size, jnp.int32)
    keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, jnp.concatenate([shown.items, nothing]))
    noise = jax.vmap(lambda one: jax.random.gumbel(one, (), FLOAT))(keys)
    perceived = jnp.where(shown.mask, utilities[shown.items] + noise[:-1], -jnp.inf)
    best = jnp.max(perceived)
    return (perceived == best) & (best > noise[-1])
