"""One row per explorer: a policy that it decides for, small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import superarm
from superarm import explorers
from superarm.contract import Explorer
from superarm.explorers.floor import Floor
from superarm.policy import Policy

GUIDE = Path(__file__).parents[2] / "docs" / "add-an-explorer.md"
SET = superarm.top_k(3)


@dataclass(frozen=True)
class Row:
    """build: a policy with the explorer; name: of the explorer's class."""

    name: str
    build: Callable[[], Policy]


def linear(explorer: Callable[[], Explorer]) -> Callable[[], Policy]:
    """LinUCB with another explorer, which is built late: a name that is missing fails a test, not all."""
    return lambda: superarm.combine("linear", explorer=explorer(), noise=0.5)


def guide() -> dict[str, Any]:
    """The names that the guide's code defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in GUIDE.read_text(encoding="utf-8").split("```python\n")[1:]:
        if "class " in block:  # the others take a while, and are run by the tests of the pages
            names["superarm"] = superarm
            exec(block.split("```")[0], names)  # noqa: S102
    return names


ROWS = [
    Row("UCB", superarm.lin_ucb),
    Row("Thompson", superarm.lin_ts),
    Row("Greedy", linear(explorers.Greedy)),
    Row("Uniform", linear(explorers.Uniform)),
    Row("EpsilonGreedy", linear(lambda: explorers.EpsilonGreedy(np.float64(0.3)))),
    Row("Exploit", linear(lambda: explorers.Exploit(explorers.UCB(superarm.lin_ucb().explorer.radius)))),
    Row("Floor", linear(lambda: Floor(explorers.Greedy(), np.float64(0.4)))),
    Row("EnsembleSampling", lambda: superarm.lin_es(size=4)),
    Row("Responses", lambda: superarm.combine("logistic", chooser=SET, learn_every=5)),
    Row("WarmUp", lambda: superarm.warm_up(superarm.lin_ucb(), rounds=5, plan="uniform")),
    Row("PairUCB", superarm.glm_duel),
    Row("PairThompson", lambda: superarm.glm_duel(rule="ts")),
    Row("PairEnsemble", lambda: superarm.ensemble_duel(size=3)),
    Row("PairUniform", superarm.uniform_duel),
    Row("PairColstim", superarm.colstim),
    Row("PairLayers", lambda: superarm.vacdb(100, learn_every=5)),
]

# The explorers of the guide, which are not in superarm.
GUIDED = guide()
IN_GUIDE = [
    Row("Boltzmann", linear(lambda: GUIDED["boltzmann"](0.3))),
    Row("SometimesUCB", linear(GUIDED["SometimesUCB"])),
]
