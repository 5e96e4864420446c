"""The recipe that all methods of bae2026's experiments share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from superarm import checks
from superarm.choosers import Duel
from superarm.contract import Chooser, Explorer, Oracle
from superarm.explorers import UCB, PairThompson, PairUCB, Responses, Thompson
from superarm.models import Coefficients, EffectiveDimension, Paired, Preferences, perceptron
from superarm.models.factory import Training, neural
from superarm.models.links import LinkName
from superarm.policies.parts import chosen_by
from superarm.policy import Policy
from superarm.precision import leaf
from superarm.schedules import EffectiveRadius
from superarm.schedules.bernstein_tails import VARIANCE
from superarm.widths import Diagonal, Full

NETWORK, LINEAR = "network", "linear"
V, W = "V", "W"
WidthName = Literal["diagonal", "full"]
WIDTHS: tuple[WidthName, ...] = get_args(WidthName)


class RecipeTraining(Training, total=False):
    """Settings of the presets: of `neural`, and the width."""

    width: WidthName


class Recipe:
    """What a preset is made of: see the table in `policies.bae2026`."""

    def __init__(
        self,
        where: str,
        network: str,
        matrix: str,
        nu: float,
        ridge: float,
        kappa: float,
        norm_bound: float,
        *,
        own: bool = False,
        share: Any = VARIANCE,
    ) -> None:
        """Check the arguments of a preset; `own` is for the growth of NeuralLog, `share` is c."""
        self.where, self.network, self.matrix, self.own = where, network, matrix, own
        self.nu = checks.nonnegative(where, "nu", nu)
        self.ridge = checks.positive(where, "ridge", ridge)
        self.kappa = checks.positive(where, "kappa", kappa)
        self.norm_bound = checks.positive(where, "norm_bound", norm_bound)
        self.share = leaf(share)

    def ucb(
        self, oracle: Oracle | None, power: Any, link: LinkName | None, units: int, training: RecipeTraining
    ) -> Policy:
        """Return the optimistic policy; `power` is what multiplies beta, `link` where the bonus is added."""
        explorer: Explorer = UCB(radius=self._radius(power), link=link)
        if link is None and oracle is not None:
            explorer = Responses(explorer, "logistic")
        return self._policy(chosen_by(self.where, oracle), explorer, self._network(units), training)

    def thompson(self, oracle: Oracle | None, power: Any, units: int, training: RecipeTraining) -> Policy:
        """Return the policy that draws; `power` is what multiplies beta."""
        explorer: Explorer = Thompson(scale=self._radius(power), joint=False)
        if oracle is not None:
            explorer = Responses(explorer, "logistic")
        return self._policy(chosen_by(self.where, oracle), explorer, self._network(units), training)

    def duel(self, chooser: Duel, rule: str, power: Any, units: int, training: RecipeTraining) -> Policy:
        """Return the policy that compares two arms; `power` is what multiplies beta."""
        radius = self._radius(power)
        explorer: Explorer = PairUCB(radius) if rule == "ucb" else PairThompson(radius)
        policy = self._policy(chooser, explorer, Paired(self._network(units)), training)
        return replace(policy, model=Preferences(policy.model))

    def _network(self, units: int) -> Any:
        return Coefficients() if self.network == LINEAR else perceptron(width=units)

    def _radius(self, power: Any) -> EffectiveRadius:
        growth = 1.0 + self.norm_bound + self.norm_bound**2 if self.own else np.ones_like(self.norm_bound)
        return EffectiveRadius(
            nu=self.nu,
            growth=leaf(growth),
            ridge=self.ridge,
            norm_bound=self.norm_bound,
            scale=leaf(power),
        )

    def _policy(self, chooser: Chooser, explorer: Explorer, network: Any, training: RecipeTraining) -> Policy:
        settings: dict[str, Any] = {"learning_rate": 0.01, "steps": 100, "learn_every": 50, **training}
        checks.keywords(self.where, training, RecipeTraining)
        kind = checks.one_of(self.where, "width", settings.pop("width", "diagonal"), WIDTHS)
        width = Diagonal() if kind == "diagonal" else Full()
        model = neural(
            network,
            ridge=self.ridge if self.matrix == W else self.kappa * self.ridge,
            row_scale=1.0,
            loss="logistic",
            penalty=2.0 * self.ridge,  # ours has a half in front
            anchored=False,
            reduction="mean",
            weights="feedback" if self.matrix == W else "none",
            dimension=EffectiveDimension(self.share, width),
            **settings,
        )
        return Policy(model=model, width=width, explorer=explorer, chooser=chooser, name=self.where)
