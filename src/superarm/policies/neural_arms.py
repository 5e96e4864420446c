"""Neural bandits for one arm: NeuralUCB and neural Thompson sampling."""

from __future__ import annotations

from superarm import checks
from superarm.choosers import Best
from superarm.contract import Width
from superarm.explorers import UCB, Thompson
from superarm.models import Neural, perceptron
from superarm.models.factory import neural
from superarm.policies.parts import NeuralWidthName, radius_of, with_width
from superarm.policy import Policy
from superarm.schedules import Radius

__all__ = ["neural_ts", "neural_ucb"]


def single_arm_model() -> Neural:
    """The model of NeuralTS's experiments, as its authors ran them.

    A perceptron with biases, gradients as they are, 100 full-batch steps of 0.01 every round on the mean of
    (f - v)^2, with weight decay lambda / t, from the last fit. Our loss has a half in front, so the step is
    0.02 and the penalty lambda / 2.
    """
    network = perceptron(width=100, biases=True)
    return neural(network, row_scale=1.0, reduction="mean", learning_rate=0.02, penalty=0.5, anchored=False)


@checks.named
def neural_ucb(
    model: Neural | None = None, *, radius: float | Radius = 1.0, width: NeuralWidthName | Width = "diagonal"
) -> Policy:
    """NeuralUCB: the arm with the highest f(x; theta) + radius ||g(x; theta)||_{Z^-1}.

    Zhou, Li & Gu (2020), Neural contextual bandits with UCB-based exploration, ICML. Their experiments take
    the diagonal of Z and the radius sqrt(lambda nu); Z grows here when feedback comes, there at the choice.
    They fit by single examples with decay lambda; the default here is the steadier training of NeuralTS.

    Args:
        model: `neural(...)`; by default that of NeuralTS's experiments.
        radius: a constant, or a schedule.
        width: "diagonal", as in the experiments; "full", "dual", "auto", "sketched", "last-layer".

    >>> import superarm
    >>> superarm.neural_ucb(radius=0.1).learn_every
    1
    """
    where = "neural_ucb"
    model, chosen = with_width(where, model or single_arm_model(), width)
    explorer = UCB(radius=radius_of(where, radius))
    return Policy(model=model, width=chosen, explorer=explorer, chooser=Best(), name=where)


@checks.named
def neural_ts(
    model: Neural | None = None,
    *,
    scale: float = 1.0,
    draws: int = 1,
    width: NeuralWidthName | Width = "diagonal",
) -> Policy:
    """NeuralTS: the arm with the highest draw from N(f(x; theta), nu^2 lambda ||g(x; theta)||^2_{Z^-1}).

    Zhang, Zhou, Li & Gu (2021), Neural Thompson sampling, ICLR.

    Args:
        model: `neural(...)`; by default that of the authors' experiments.
        scale: nu.
        draws: each arm is scored by its best of this many draws.
        width: "diagonal", as in the experiments; "full", "dual", "auto", "sketched", "last-layer".

    >>> import superarm
    >>> superarm.neural_ts(scale=0.1).learn_every
    1
    """
    where = "neural_ts"
    model, chosen = with_width(where, model or single_arm_model(), width)
    explorer = Thompson(
        scale=checks.nonnegative(where, "scale", scale) * model.ridge**0.5,
        draws=checks.count(where, "draws", draws),
        joint=False,
    )
    return Policy(model=model, width=chosen, explorer=explorer, chooser=Best(), name=where)
