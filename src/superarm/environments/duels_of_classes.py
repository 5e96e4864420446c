"""Classes that duel: a row is shown, and two of its classes are compared. oh2026, appendix E.1.2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy.typing as npt

from superarm import checks
from superarm.environments.duels_of_utilities import DuelWorld, Preference, duel_outcome
from superarm.environments.labels import Classification, ClassRows, LabelledOffer, Rows, classification
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Outcome, Spec

__all__ = ["ClassDuels", "class_duels"]


@pytree
@dataclass(frozen=True)
class ClassDuels(DuelWorld):
    """Rows with a class each, compared in pairs of classes. Build it with `class_duels`."""

    rows: Classification
    lead: Array
    ordered: bool = static()

    @property
    def spec(self) -> Spec:
        """d K features, K arms."""
        return self.rows.spec

    def init(self, key: Array) -> ClassRows:
        """Draw the rows of the pool."""
        return self.rows.init(key)

    def offer(self, world: ClassRows, key: Array) -> LabelledOffer:
        """Draw a row; every class is an arm, with the row's features in a block of its own."""
        return self.rows.offer(world, key)

    @double
    def respond(self, world: ClassRows, key: Array, offer: Any, decision: Decision) -> Outcome:
        """Compare two classes."""
        classes = jnp.arange(self.spec.num_arms, dtype=offer.label.dtype)
        if self.ordered:
            utilities = classes.astype(FLOAT)
        else:
            utilities = self.lead * (classes == offer.label).astype(FLOAT)
        preference: Preference = "certain" if self.ordered else "logistic"
        return duel_outcome(key, preference, utilities, jnp.max(utilities), decision, False)


@checks.named
def class_duels(
    data: Rows | npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    pool: int | None = None,
    chance: float = 0.7,
    ordered: bool = False,
    rescale: bool = True,
) -> ClassDuels:
    """Return an environment in which two classes of a row are compared.

    The true class has the utility logit(chance) and the others 0, so that it wins against another one with
    that chance, by the logistic model. (The paper says "a baseline of 0.7".)

    Args:
        data: rows of `superarm.datasets`, or features (n, d): as for `classification`.
        labels: (n,) when `data` is an array.
        pool: draw only from so many rows, chosen at random per seed; None for all.
        chance: of the true class against another one, above 1/2 and below 1.
        ordered: the class with the higher index always wins, whatever the row: utilities 0, 1, ..., K - 1
            and no noise, which is the paper's world for Statlog.
        rescale: each feature to [-1, 1]; False for features as they are. The paper tells nothing of it.

    Oh, Park & Paik (2026), appendix E.1.2.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(100, 3))
    >>> world = class_duels(features, (features[:, 0] > 0).astype(int))
    >>> superarm.simulate(superarm.max_pair_ucb(), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "class_duels"
    checks.between(where, "chance", chance, 0.5, 1.0)
    if chance in (0.5, 1.0):
        raise ValueError(f"{where}: chance must be above 0.5 and below 1, got {chance}")
    return ClassDuels(
        rows=classification(data, labels, pool=pool, rescale=rescale),
        lead=checks.positive(where, "chance", math.log(chance / (1.0 - chance))),
        ordered=bool(ordered),
    )
