"""One row per environment, small: how it is built, and how its bad arguments are refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import superarm
from superarm import environments, oracles
from superarm.contract import Environment

GUIDE = Path(__file__).parents[2] / "docs" / "add-an-environment.md"
Bad = tuple[tuple[Callable[[], Any], str], ...]


@dataclass(frozen=True)
class Row:
    """An environment, whose factory is the first word of the name.

    Args:
        build: small: a few arms with a few features.
        bad: calls, and the sentences that they are answered with, after "factory: ". A factory has at least
            one, in one of its rows.
        alpha: the share of the optimum that regret is counted against.
        hindsight: the best return is that of the best decision for the noise, and not of the best expected.
        alike: runs of it are much like another row's: they are compiled in the full tests alone.
    """

    name: str
    build: Callable[[], Environment]
    bad: Bad = ()
    alpha: float = 1.0
    hindsight: bool = False
    alike: bool = False

    @property
    def factory(self) -> str:
        """The function that builds it."""
        return self.name.split()[0]


@functools.cache
def guide() -> dict[str, Any]:
    """The names that the guide's code defines. Runs take a while: the tests of the pages make them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in GUIDE.read_text(encoding="utf-8").split("```python\n")[1:]:
        if "superarm.compare" not in block:
            exec(block.split("```")[0].split("\nassert superarm.simulate")[0], names)  # noqa: S102
        names.update(np=np, superarm=superarm)
    return names


PAIR = oracles.top_k(2)
SMALL: dict[str, Any] = {"dim": 3, "num_arms": 5}
SIZES = [1.0, 2.0, 3.0, 4.0, 2.0]
FEATURES = np.random.default_rng(0).normal(size=(12, 2))
LABELS = np.arange(12) % 3
TABLE = np.array([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]])
MEANS = np.array([0.1, 0.9, 0.5, 0.2, 0.7])


def rounds_of(**given: Any) -> Environment:
    """A stream whose rounds are given."""
    contexts = np.random.default_rng(1).normal(size=(6, 5, 3))
    return environments.stream(contexts, contexts[:, :, 0], **given)


def half(alpha: float = 0.5) -> Environment:
    """A world judged by half of its optimum."""
    return environments.alpha_regret(environments.nonlinear_scores(PAIR, **SMALL), alpha)


ROWS = [
    Row(
        "linear_scores",
        lambda: environments.linear_scores(availability=0.5, **SMALL),
        bad=(
            (lambda: environments.linear_scores(noise=-1.0), "noise must be >= 0, got -1.0"),
            (
                lambda: environments.linear_scores(availability=2.0),
                "availability must be between 0 and 1, got 2.0",
            ),
            (
                lambda: environments.linear_scores(3),
                "oracle must extend superarm.contract.Oracle, got int",
            ),
        ),
    ),
    Row(
        "linear_scores on the host",
        lambda: environments.linear_scores(oracles.knapsack(SIZES, 5.0), **SMALL),
    ),
    Row(
        "nonlinear_scores",
        lambda: environments.nonlinear_scores(PAIR, score="cosine", noise=0.3, **SMALL),
        bad=(
            (
                lambda: environments.nonlinear_scores(score="cubic"),
                "score must be one of 'linear', 'quadratic', 'cosine', got 'cubic'",
            ),
        ),
        alike=True,
    ),
    Row(
        "nonlinear_scores in hindsight",
        lambda: environments.nonlinear_scores(PAIR, noise=0.3, hindsight=True, **SMALL),
        hindsight=True,
        alike=True,
    ),
    Row(
        "logistic_scores",
        lambda: environments.logistic_scores(latent="h6", pool=7, **SMALL),
        bad=((lambda: environments.logistic_scores(pool=4, num_arms=5), "pool must be >= 5, got 4"),),
        alike=True,
    ),
    Row(
        "fixed_scores",
        lambda: environments.fixed_scores(PAIR, score="distance", **SMALL),
        bad=((lambda: environments.fixed_scores(dim=0), "dim must be >= 1, got 0"),),
        alike=True,
    ),
    Row(
        "longest_path",
        lambda: environments.longest_path(size=2, dim=3),
        bad=((lambda: environments.longest_path(size=0), "size must be >= 1, got 0"),),
        alike=True,
    ),
    Row(
        "catalogue",
        lambda: environments.catalogue(np.eye(5), MEANS, PAIR),
        bad=(
            (
                lambda: environments.catalogue(np.eye(5), 2.0 * MEANS, PAIR),
                "means must be between 0 and 1, got values from 0.2 to 1.8",
            ),
            (
                lambda: environments.catalogue(np.eye(4), MEANS, PAIR),
                "means must have shape (4,), got (5,)",
            ),
        ),
        alike=True,
    ),
    Row(
        "classification",
        lambda: environments.classification(FEATURES, LABELS, pool=6),
        bad=(
            (
                lambda: environments.classification(FEATURES, LABELS, pool=13),
                "pool must be between 1 and 12, got 13",
            ),
        ),
        alike=True,
    ),
    Row(
        "clicks",
        lambda: environments.clicks(PAIR, **SMALL),
        bad=(
            (
                lambda: environments.clicks(PAIR, feedback="taps"),
                "feedback must be one of 'document', 'position', 'cascade', 'semi-bandit', got 'taps'",
            ),
        ),
        alike=True,
    ),
    Row("clicks by position", lambda: environments.clicks(PAIR, feedback="position", **SMALL), alike=True),
    Row("clicks in a cascade", lambda: environments.clicks(PAIR, feedback="cascade", **SMALL), alike=True),
    Row(
        "clicks of pairs",
        lambda: environments.clicks(PAIR, feedback="position", position_input=True, dim=1, num_arms=3),
    ),
    Row(
        "assortment_choices",
        lambda: environments.assortment_choices([3.0, 2.0, 2.0, 1.0, 1.0], 2, dim=3),
        bad=(
            (
                lambda: environments.assortment_choices([1.0, 2.0], 3),
                "size must be at most the number of revenues, 2, got 3",
            ),
        ),
        alike=True,
    ),
    Row(
        "stream",
        rounds_of,
        bad=(
            (
                lambda: rounds_of(mask=np.zeros((6, 5))),
                "mask must leave an arm on offer, got none in round 0",
            ),
        ),
    ),
    Row(
        "fixed_arms",
        lambda: environments.fixed_arms(environments.linear_scores(**SMALL)),
        bad=(
            (
                lambda: environments.fixed_arms(rounds_of()),
                "environment must not be one of given rounds, got Stream",
            ),
        ),
        alike=True,
    ),
    Row(
        "alpha_regret",
        half,
        alpha=0.5,
        bad=(
            (lambda: half(alpha=0.0), "alpha must be > 0, got 0.0"),
            (lambda: half(alpha=1.5), "alpha must be between 0 and 1, got 1.5"),
        ),
        alike=True,
    ),
    Row(
        "duels",
        lambda: environments.duels("cosine", tells_variance=True, **SMALL),
        bad=(
            (
                lambda: environments.duels("sine"),
                "utility must be one of 'cosine', 'square', 'quadratic', 'quadratic-vector', 'linear', "
                "got 'sine'; did you mean 'cosine'?",
            ),
            (lambda: environments.duels(num_arms=1), "num_arms must be >= 2, got 1"),
        ),
    ),
    Row(
        "class_duels",
        lambda: environments.class_duels(FEATURES, LABELS),
        bad=(
            (
                lambda: environments.class_duels(FEATURES, LABELS, chance=1.0),
                "chance must be above 0.5 and below 1, got 1.0",
            ),
        ),
        alike=True,
    ),
    Row(
        "matrix_duels",
        lambda: environments.matrix_duels(TABLE),
        bad=(
            (
                lambda: environments.matrix_duels(TABLE[::-1]),
                "chances of 0 against 0 and of 0 against 0 must add up to 1, got 0.1 and 0.1",
            ),
        ),
        alike=True,
    ),
    Row(
        "answer_duels",
        lambda: environments.answer_duels(dim=2, num_arms=5),
        bad=((lambda: environments.answer_duels(sharpness=-1.0), "sharpness must be >= 0, got -1.0"),),
        alike=True,
    ),
    Row("guide", lambda: guide()["pricing"](FEATURES, [0.5, 1.0, 2.0, 3.0, 4.0])),
    Row("guide on the host", guide()["Simulator"]),
    Row("guide with sets", guide()["Baskets"], alike=True),
]
