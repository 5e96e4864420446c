"""What every policy must beat: chance, and the greedy choice with some chance."""

from __future__ import annotations

from superarm import checks
from superarm.contract import Oracle
from superarm.explorers import EpsilonGreedy, Uniform
from superarm.models import ItemMeans
from superarm.policies.parts import LinearWidthName, chosen_by, linear_model, width_of
from superarm.policy import Policy

__all__ = ["epsilon_greedy", "uniform"]


@checks.named
def uniform(oracle: Oracle | None = None) -> Policy:
    """Choose at random: one arm, or a set through the oracle. It learns nothing, and needs no reference.

    >>> import superarm
    >>> superarm.uniform().name
    'uniform'
    """
    where = "uniform"
    return Policy(
        model=ItemMeans(),
        width=None,
        explorer=Uniform(),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def epsilon_greedy(
    oracle: Oracle | None = None,
    *,
    epsilon: float = 0.1,
    prior_scale: float = 1.0,
    noise: float = 1.0,
    width: LinearWidthName = "full",
) -> Policy:
    """With probability epsilon choose at random, otherwise by the linear model's mean.

    Sutton & Barto (2018), Reinforcement learning: an introduction, section 2.2; here over linear scores.

    >>> import superarm
    >>> superarm.epsilon_greedy(epsilon=0.05).name
    'epsilon_greedy'
    """
    where = "epsilon_greedy"
    return Policy(
        model=linear_model(where, prior_scale, noise),
        width=width_of(where, width),
        explorer=EpsilonGreedy(epsilon=checks.between(where, "epsilon", epsilon, 0.0, 1.0)),
        chooser=chosen_by(where, oracle),
        name=where,
    )
