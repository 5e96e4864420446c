"""Neural logistic bandits that compare two arms: bae2026's widths with oh2026's choices."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from superarm import checks
from superarm.choosers import Duel
from superarm.choosers.duel import STRATEGIES, Strategy
from superarm.policies.bae2026_recipe import NETWORK, Recipe, RecipeTraining, V, W
from superarm.policies.oh2026 import RULES, Rule
from superarm.policy import Policy

__all__ = ["neural_log_duel"]


@checks.named
def neural_log_duel(
    *,
    rule: Rule = "ucb",
    strategy: Strategy = "asymmetric",
    variances: bool = True,
    nu: float = 1.0,
    ridge: float = 1.0,
    kappa: float = 10.0,
    norm_bound: float = 1.0,
    units: int = 20,
    self_duels: bool = True,
    **training: Unpack[RecipeTraining],
) -> Policy:
    """NeuralLog for duels: a preference is a Bernoulli observation of f(x_1) - f(x_2).

    Bae & Lee (2026), remark 4.7, say that their bounds hold for duels, with g(x_1) - g(x_2) for g(x). The
    radius is that of their experiments, on the latent difference; how two arms are chosen is `choosers.Duel`.

    Args:
        rule: "ucb" or "ts".
        strategy: "asymmetric", "optimistic" or "candidate".
        variances: weigh each preference by mu'(f(x_1) - f(x_2)), as NeuralLog-UCB-2 and -TS-2 do; otherwise
            kappa bounds all variances, as in -UCB-1 and -TS-1.
        nu: exploration.
        ridge: lambda.
        kappa: 1 / the least variance of a preference; not used with `variances`.
        norm_bound: S.
        units: m, hidden units.
        self_duels: allow an arm to meet itself.
        training: as in `neural_log_ucb_2`.

    >>> import superarm
    >>> superarm.neural_log_duel(strategy="optimistic").learn_every
    50
    """
    where = "neural_log_duel"
    checks.one_of(where, "rule", rule, RULES)
    chooser = Duel(checks.one_of(where, "strategy", strategy, STRATEGIES), bool(self_duels))
    recipe = Recipe(where, NETWORK, W if variances else V, nu, ridge, kappa, norm_bound, own=True)
    power = np.float64(1.0) if variances else np.sqrt(recipe.kappa)
    return recipe.duel(chooser, rule, power, units, training)
