"""The plans of sections 6.2 and 6.3: a large catalogue of real items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from superarm.experiments.experiment import Plan, Setting
from superarm.reproduce.papers.wen2015.methods import LABELS, item_policy

EPISODES = 1000
SEEDS = 30  # the paper states none
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
            policies={label: partial(item_policy, label) for label in LABELS},
            parameters={"items": name, "chosen": chosen, "prior_scale": 1.0, "noise": 1.0},
        )


def invented_items() -> Any:
    """Return 40 items with 3 features and weights that follow them, in two groups: no file is needed."""
    import numpy as np

    rng = np.random.default_rng(0)
    features = rng.uniform(size=(40, 3))
    weights = 0.05 + 0.1 * features[:, 0] + 0.05 * rng.uniform(size=40)
    return SimpleNamespace(features=features, weights=weights, groups=np.arange(40) % 2)


def people(items: Any, chosen: int) -> Any:
    """Half of the chosen are women, half men."""
    from superarm.choosers.oracles.quotas import quota
    from superarm.environments.catalogues import catalogue

    return catalogue(items.features, items.weights, quota(items.groups, [chosen // 2, chosen // 2]))


def artists(items: Any, chosen: int) -> Any:
    """Any of the artists."""
    from superarm import top_k
    from superarm.environments.catalogues import catalogue

    return catalogue(items.features, items.weights, top_k(chosen))


def adult_items() -> Any:
    """The people of the Adult data set."""
    from superarm.datasets import load_adult

    return load_adult()


def lastfm_items(audience: str) -> Any:
    """The artists of Last.fm, by who counts as a user."""
    from superarm.datasets import load_lastfm

    return load_lastfm(audience)
