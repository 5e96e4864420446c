"""VACDB: linear duels with layers of estimates, which adapt to how certain preferences are."""

from __future__ import annotations

import math

from superarm import checks
from superarm.choosers import LayeredDuel
from superarm.explorers import PairLayers
from superarm.models import Layered
from superarm.policy import Policy
from superarm.widths import Full

__all__ = ["vacdb"]


@checks.named
def vacdb(
    horizon: int,
    *,
    radius: float | None = None,
    kappa: float = 0.1,
    finest: float | None = None,
    delta: float = 0.05,
    learn_every: int = 1,
) -> Policy:
    """VACDB: variance-aware contextual dueling bandits with linear utilities.

    Di, Jin, Wu, Zhao, Farnoud & Gu (2023), Variance-aware regret bounds for stochastic contextual dueling
    bandits, Algorithm 1. Arms go down through layers of ever finer estimates; in each, those that are surely
    worse are dropped, and the first layer that has something to learn about the rest learns it. See
    `models.Layered` and `layers.LayerScores`.

    Args:
        horizon: T, the decisions to be made; it sets `finest`.
        radius: beta, by which arms are dropped; None for that of the paper's equation 4.3, which is wide.
            2 sqrt(d log T) is what our oh2026 experiments run.
        kappa: the least slope of the logistic link, and the penalty; 0.1 for utilities up to 2.2 apart.
        finest: alpha, from where on a difference is known; None for T^-3/2.
        delta: the chance that equation 4.3 may fail.
        learn_every: decisions between fits.

    >>> import superarm
    >>> superarm.vacdb(2000, radius=1.0).model.num_layers
    17
    """
    where = "vacdb"
    rounds = checks.count(where, "horizon", horizon)
    alpha = checks.between(where, "finest", min(rounds**-1.5, 0.5) if finest is None else finest, 1e-12, 0.5)
    return Policy(
        model=Layered(
            finest=alpha,
            kappa=checks.positive(where, "kappa", kappa),
            delta=checks.between(where, "delta", delta, 1e-12, 1.0),
            radius=None if radius is None else checks.nonnegative(where, "radius", radius),
            num_layers=math.ceil(math.log2(1.0 / float(alpha))),
            learn_every=checks.count(where, "learn_every", learn_every),
        ),
        width=Full(),
        explorer=PairLayers(),
        chooser=LayeredDuel(),
        name=where,
    )
