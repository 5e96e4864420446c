"""Combinatorial neural bandits.

Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML.
"""

from __future__ import annotations

from superarm import checks
from superarm.contract import Oracle, Width
from superarm.explorers import UCB, Thompson
from superarm.models import Neural, perceptron
from superarm.models.factory import neural
from superarm.policies.parts import NeuralWidthName, chosen_by, radius_of, with_width
from superarm.policy import Policy
from superarm.schedules import Radius

__all__ = ["cn_ts", "cn_ucb"]


def cn_figure_model(units: int = 100) -> Neural:
    """The model behind the paper's figures, as its authors ran it.

    A plain perceptron with 100 hidden units (m), features g / sqrt(m); every 10 rounds 100 full-batch steps
    of 0.01 on half the summed squares of the last 101 rounds, from the last fit, without a penalty. (Section
    5 says stochastic gradient descent with batches of 100 super arms, and a penalty; in the authors' runs the
    batch was all of a window of 101, and the penalty idle.)
    """
    return neural(perceptron(width=units), learn_every=10, memory="window", memory_size=101)


@checks.named
def cn_ucb(
    oracle: Oracle,
    model: Neural | None = None,
    *,
    radius: float | Radius = 1.0,
    offset: float = 0.0,
    width: NeuralWidthName | Width = "auto",
) -> Policy:
    """CN-UCB (Algorithm 1): the network's score plus a multiple of its gradient's width.

        u_t(i) = f(x_i; theta) + gamma ||g(x_i; theta) / sqrt(m)||_{Z^-1},   S_t = ORACLE(u_t + e_t)

    Args:
        oracle: solves the offline problem; see `superarm.oracles`.
        model: `neural(...)`; by default that of the paper's figures.
        radius: gamma; a constant, `lemma1_radius(...)`, which brings its e_t along, or a schedule.
        offset: e_t, the same for every arm.
        width: "full", "dual" or "auto", which are exact; "diagonal", "sketched", "last-layer".

    >>> import superarm
    >>> superarm.cn_ucb(superarm.top_k(4)).learn_every
    10
    """
    where = "cn_ucb"
    model, chosen = with_width(where, model or cn_figure_model(), width)
    return Policy(
        model=model,
        width=chosen,
        explorer=UCB(radius=radius_of(where, radius), offset=checks.real(where, "offset", offset)),
        chooser=chosen_by(where, oracle),
        name=where,
    )


@checks.named
def cn_ts(
    oracle: Oracle,
    model: Neural | None = None,
    *,
    scale: float = 1.0,
    draws: int = 10,
    offset: float = 0.0,
    squared: bool = False,
    width: NeuralWidthName | Width = "auto",
) -> Policy:
    """CN-TS (Algorithm 2): each arm's best of M draws around the network's score.

        v_t(i) = max_j N(f(x_i; theta), nu^2 lambda ||g(x_i; theta) / sqrt(m)||^2_{Z^-1})
        S_t = ORACLE(v_t + epsilon)

    Args:
        oracle: solves the offline problem; see `superarm.oracles`.
        model: `neural(...)`; by default that of the paper's figures.
        scale: nu.
        draws: M; 10 in the paper's figures, `optimistic_draws(K)` in its theorem.
        offset: epsilon, the same for every arm.
        squared: take the variance for the standard deviation, as the authors' figures did.
        width: "full", "dual" or "auto", which are exact; "diagonal", "sketched", "last-layer".

    >>> import superarm
    >>> superarm.cn_ts(superarm.top_k(4), draws=1).explorer.draws
    1
    """
    where = "cn_ts"
    model, chosen = with_width(where, model or cn_figure_model(), width)
    return Policy(
        model=model,
        width=chosen,
        explorer=Thompson(
            scale=checks.nonnegative(where, "scale", scale) * model.ridge**0.5,
            draws=checks.count(where, "draws", draws),
            joint=False,
            squared=bool(squared),
            offset=checks.real(where, "offset", offset),
        ),
        chooser=chosen_by(where, oracle),
        name=where,
    )
