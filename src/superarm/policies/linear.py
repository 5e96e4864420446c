"""Linear bandits for one arm: LinUCB and linear Thompson sampling."""

from __future__ import annotations

from superarm import checks
from superarm.choosers import Best
from superarm.explorers import UCB, Thompson
from superarm.policies.parts import LinearWidthName, linear_model, radius_of, width_of
from superarm.policy import Policy
from superarm.schedules import Radius

__all__ = ["lin_ts", "lin_ucb"]


@checks.named
def lin_ucb(
    *,
    radius: float | Radius = 1.0,
    prior_scale: float = 1.0,
    noise: float = 1.0,
    width: LinearWidthName = "full",
) -> Policy:
    """LinUCB: the arm with the highest mean + radius * width, one parameter shared by all arms.

    Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article
    recommendation, WWW; Abbasi-Yadkori, Pal & Szepesvari (2011), Improved algorithms for linear stochastic
    bandits, NeurIPS. With prior_scale 1 and noise 1 the width is sqrt(x' (I + sum x x')^-1 x).

    >>> import superarm
    >>> superarm.lin_ucb(radius=0.5).name
    'lin_ucb'
    """
    where = "lin_ucb"
    return Policy(
        model=linear_model(where, prior_scale, noise),
        width=width_of(where, width),
        explorer=UCB(radius=radius_of(where, radius)),
        chooser=Best(),
        name=where,
    )


@checks.named
def lin_ts(
    *,
    scale: float = 1.0,
    prior_scale: float = 1.0,
    noise: float = 1.0,
    draws: int = 1,
    joint: bool = True,
    width: LinearWidthName = "full",
) -> Policy:
    """Linear Thompson sampling: the best arm for a draw of the parameters.

    Agrawal & Goyal (2013), Thompson sampling for contextual bandits with linear payoffs, ICML.

    Args:
        scale: multiplies the posterior's standard deviation.
        prior_scale: standard deviation of the prior.
        noise: standard deviation of the feedback.
        draws: each arm is scored by its best of this many draws.
        joint: draw the parameters; otherwise each arm's score is drawn apart.
        width: "full" or "diagonal".

    >>> import superarm
    >>> superarm.lin_ts(draws=10, joint=False).explorer.draws
    10
    """
    where = "lin_ts"
    return Policy(
        model=linear_model(where, prior_scale, noise),
        width=width_of(where, width),
        explorer=Thompson(
            scale=checks.nonnegative(where, "scale", scale),
            draws=checks.count(where, "draws", draws),
            joint=bool(joint),
        ),
        chooser=Best(),
        name=where,
    )
