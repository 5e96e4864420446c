"""Sections 6.2 and 6.3: a large catalogue of real items, with and without linear generalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from superarm.experiments import rules
from superarm.experiments.experiment import Experiment, Figure, Plan, Setting
from superarm.experiments.runs import Quantity, share, total

EPISODES = 1000
SEEDS = 30  # the paper states none
LABELS = ("CombLinTS", "CombUCB1", "CombTS")
AUDIENCES = ("listeners", "taggers")  # two readings of "two users" in section 6.3


@dataclass(frozen=True)
class Choice:
    """Choosing `chosen` items of a catalogue: `Choice(...)(scale)` is the plan.

    Args:
        chosen: items per episode.
        world: (items, chosen) -> environment.
        catalogues: name -> function that returns the items, with features, weights and groups.
        quick_episodes: episodes at the quick scale.
        quick_seeds: its repetitions.
    """

    chosen: int
    world: Callable[[Any, int], Any]
    catalogues: Mapping[str, Callable[[], Any]]
    quick_episodes: int
    quick_seeds: int

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "smoke":
            words = "40 invented items, 4 chosen, 20 episodes, 3 repetitions"
            return Plan((self._setting("invented", invented_items, 4),), 20, 3, 5, reduced=words)
        settings = tuple(self._setting(name, load, self.chosen) for name, load in self.catalogues.items())
        if scale == "quick":
            words = (
                f"{self.quick_episodes} of {EPISODES} episodes, " if self.quick_episodes < EPISODES else ""
            )
            words += f"{self.quick_seeds} repetitions instead of {SEEDS} (the paper states none)"
            return Plan(settings, self.quick_episodes, self.quick_seeds, 10, reduced=words)
        return Plan(settings, EPISODES, SEEDS, 10)

    def _setting(self, name: str, load: Callable[[], Any], chosen: int) -> Setting:
        return Setting(
            name=name,
            environment=lambda: self.world(load(), chosen),
            policies={label: partial(_policy, label) for label in LABELS},
            parameters={"items": name, "chosen": chosen, "prior_scale": 1.0, "noise": 1.0},
        )


def invented_items() -> Any:
    """Return 40 items with 3 features and weights that follow them, in two groups: no file is needed."""
    rng = np.random.default_rng(0)
    features = rng.uniform(size=(40, 3))
    weights = 0.05 + 0.1 * features[:, 0] + 0.05 * rng.uniform(size=40)
    return SimpleNamespace(features=features, weights=weights, groups=np.arange(40) % 2)


def _policy(label: str, world: Any) -> Any:
    """Build a policy; CombLinTS with lambda = sigma = 1, since the paper does not say which."""
    import superarm

    if label == "CombLinTS":
        return superarm.comb_lin_ts(world.oracle, prior_scale=1.0, noise=1.0)
    return superarm.comb_ucb1(world.oracle) if label == "CombUCB1" else superarm.comb_ts(world.oracle)


def _people(items: Any, chosen: int) -> Any:
    """Half of the chosen are women, half men."""
    from superarm.choosers.oracles.quotas import quota
    from superarm.environments.catalogues import catalogue

    return catalogue(items.features, items.weights, quota(items.groups, [chosen // 2, chosen // 2]))


def _artists(items: Any, chosen: int) -> Any:
    from superarm import top_k
    from superarm.environments.catalogues import catalogue

    return catalogue(items.features, items.weights, top_k(chosen))


def _load_adult() -> Any:
    from superarm.datasets import load_adult

    return load_adult()


def _load_lastfm(audience: str) -> Any:
    from superarm.datasets import load_lastfm

    return load_lastfm(audience)


def _return(name: str, label: str) -> Quantity:
    """Expected return over all episodes."""
    return total(name, label, column="value")


ADULT = Experiment(
    id="wen2015/adult",
    title="Online advertising: choosing 100 of 33k people, half of them women",
    reference="Wen, Kveton & Ashkan (2015), section 6.2, figure 2",
    plan=Choice(100, _people, {"adult": _load_adult}, quick_episodes=400, quick_seeds=2),
    claims=(
        rules.within(
            "over the first 100 episodes CombLinTS earns 70 % of the optimum",
            share("adult", "CombLinTS", last=100),
            0.70,
            absolute=0.05,
        ),
        rules.within(
            "over 1,000 episodes CombLinTS earns 80 % of the optimum",
            share("adult", "CombLinTS", last=1000),
            0.80,
            absolute=0.05,
        ),
        *(
            rules.below(
                f"{label} performs poorly: it earns less than three quarters of CombLinTS's return",
                _return("adult", label),
                _return("adult", "CombLinTS"),
                factor=0.75,
            )
            for label in LABELS[1:]
        ),
    ),
    figure=Figure("return", "episode n", "expected per-step return in n episodes"),
)

LASTFM = Experiment(
    id="wen2015/lastfm",
    title="Artist recommendation: choosing 10 of 4,768 or 6,054 artists",
    reference="Wen, Kveton & Ashkan (2015), section 6.3, figure 3",
    plan=Choice(
        10,
        _artists,
        {audience: partial(_load_lastfm, audience) for audience in AUDIENCES},
        quick_episodes=EPISODES,
        quick_seeds=2,
    ),
    claims=tuple(
        rules.below(
            f"CombLinTS approaches the optimum faster: {label} earns less over all episodes ({audience})",
            _return(audience, label),
            _return(audience, "CombLinTS"),
        )
        for audience in AUDIENCES
        for label in LABELS[1:]
    ),
    note=(
        "The paper's rule, artists that at least two users listened to, gives 4,768 artists; its 'about 6k' "
        "and 'less than 2 times on average' fit the 6,054 that at least two users tagged. Both are run."
    ),
    figure=Figure("return", "episode n", "expected per-step return in n episodes"),
)
