"""A share of the optimum as the goal, for oracles that promise no more: hwang2023, appendix E."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from superarm import checks
from superarm.contract import Environment
from superarm.environments.face import WrappedEnvironment
from superarm.precision import double
from superarm.pytree import pytree
from superarm.types import Array, Decision, Offer, Outcome

__all__ = ["AlphaRegret", "alpha_regret"]


@pytree
@dataclass(frozen=True)
class AlphaRegret(WrappedEnvironment):
    """An environment whose optimum counts alpha of what it does. Build it with `alpha_regret`."""

    environment: Environment
    alpha: Array

    @double
    def respond(self, world: Any, key: Array, offer: Offer, decision: Decision) -> Outcome:
        """As the environment, with alpha times the optimum's returns."""
        outcome = self.environment.respond(world, key, offer, decision)
        return replace(outcome, best=self.alpha * outcome.best, best_reward=self.alpha * outcome.best_reward)


@checks.named
def alpha_regret(environment: Environment, alpha: float) -> AlphaRegret:
    """Return the environment with regret against alpha times the optimum.

        sum_t alpha R(S*_t, v*_t) - R(S_t, v*_t)

    The regret of a policy whose oracle finds no more than a share alpha of the optimum grows for ever; its
    alpha-regret need not, and falls where the oracle does better than it promises. An oracle's `factor` is
    its alpha, for scores >= 0. Divided by alpha, this is wen2015's scaled regret, `Result.scaled_regret`.

    Args:
        environment: any.
        alpha: in (0, 1].

    Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML, appendix E.

    >>> import superarm
    >>> from superarm.environments import nonlinear_scores
    >>> sizes = [1.0, 2.0, 3.0, 4.0]
    >>> exact = superarm.oracles.knapsack(sizes, 5.0)
    >>> greedy = superarm.oracles.knapsack(sizes, 5.0, method="greedy")
    >>> world = alpha_regret(nonlinear_scores(exact, dim=3, num_arms=4), greedy.factor)
    >>> superarm.simulate(superarm.comb_lin_ucb(greedy), world, rounds=20, seeds=1, workers=0).rounds
    20
    """
    where = "alpha_regret"
    checks.part(where, "environment", environment, Environment)
    leaf = checks.between(where, "alpha", checks.positive(where, "alpha", alpha), 0.0, 1.0)
    if environment.in_order:
        raise ValueError(
            f"{where}: environment must not be one of given rounds, got {type(environment).__name__}"
        )
    return AlphaRegret(environment=environment, alpha=leaf)
