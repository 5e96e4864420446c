"""The methods of hwang2023's figures by their labels.

The published runs draw Thompson samples, each arm apart, with the variance as the standard deviation. The
setting "authors" does the same; the setting "written" draws as the papers' algorithms say; the setting
"tuned" is CN-UCB with other training, chosen on other seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

NEURAL = ("CN-UCB", "CN-TS", "CN-TS-M1")
LINEAR = ("CombLinUCB", "CombLinTS")

LABELS = {
    "written": ("CN-TS", "CN-TS-M1", "CombLinTS"),
    "tuned": ("CN-UCB",),
    "authors": (*NEURAL, *LINEAR),
}


def policy_of(label: str, setting: str, units: int, more: Mapping[str, Any], world: Any) -> Any:
    """Build a policy with lambda = gamma = nu = 1, as the paper says for all of them, unless `more` does."""
    import superarm
    from superarm import checks
    from superarm.explorers import Thompson
    from superarm.policies.hwang2023 import cn_figure_model
    from superarm.widths import Dual

    if label == "CombLinUCB":
        return superarm.comb_lin_ucb(world.oracle)
    if label == "CombLinTS":
        plain = superarm.comb_lin_ts(world.oracle)
        apart = Thompson(scale=checks.real(label, "scale", 1.0), joint=False, squared=True)
        return plain if setting == "written" else replace(plain, explorer=apart)
    if setting == "tuned":
        model = _tuned_model(units, biases=more.get("biases", False))
        return superarm.cn_ucb(world.oracle, model, radius=more.get("radius", 1.0), width="diagonal")
    width = Dual(precision="float32")
    model = cn_figure_model(units)
    if label == "CN-UCB":
        return superarm.cn_ucb(world.oracle, model, width=width)
    samples = 1 if label == "CN-TS-M1" else 10
    return superarm.cn_ts(world.oracle, model, draws=samples, squared=setting == "authors", width=width)


def _tuned_model(units: int, *, biases: bool) -> Any:
    """The best of four trainings on seeds 1000 and 1002 of the quadratic score: Adam, from all history."""
    import superarm

    return superarm.neural(
        superarm.perceptron(width=units, biases=biases),
        optimizer="adam",
        learning_rate=0.003,
        steps=50,
        batch=512,
        reduction="mean",
        learn_every=10,
    )
