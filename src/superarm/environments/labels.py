"""Classification as a bandit: arm k says that a row is of class k. bae2026, section 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.contract import Oracle
from superarm.environments.face import ChoiceWorld
from superarm.environments.semi_bandit import BernoulliWeights, chosen_by, semi_bandit
from superarm.precision import FLOAT, double
from superarm.pytree import pytree, static
from superarm.types import Array, Decision, Offer, Outcome, Spec

__all__ = ["Classification", "classification"]


@pytree
@dataclass(frozen=True)
class ClassRows:
    """The rows of one seed: features (m, d) and labels (m,)."""

    features: Array
    labels: Array


@pytree
@dataclass(frozen=True)
class LabelledOffer(Offer):
    """An offer that remembers the class of its row, which contexts alone need not tell."""

    label: Array


@pytree
@dataclass(frozen=True)
class Classification(ChoiceWorld):
    """Rows with a class each. Build it with `classification`.

    Attributes:
        features: (n, d) numbers; where there are codes, the code of each entry, from 0.
        labels: (n,) from 0.
        pool: rows of one seed.
        num_codes: distinct codes; 0 where features are numbers.
    """

    features: Array
    labels: Array
    chooser: Best | Subset
    num_classes: int = static()
    pool: int = static()
    num_codes: int = static()

    @property
    def spec(self) -> Spec:
        """d K features, K arms."""
        return Spec(dim=self.features.shape[1] * self.num_classes, num_arms=self.num_classes)

    @double
    def init(self, key: Array) -> ClassRows:
        """Draw the rows of the pool, and a value in [-1, 1] for every code."""
        key_rows, key_values = jax.random.split(key)
        features, labels = jnp.asarray(self.features), jnp.asarray(self.labels)
        if self.pool < labels.size:
            rows = jax.random.permutation(key_rows, labels.size)[: self.pool]
            features, labels = features[rows], labels[rows]
        if self.num_codes:
            values = jax.random.uniform(key_values, (self.num_codes,), FLOAT, minval=-1.0, maxval=1.0)
            features = values[features]
        return ClassRows(features=features, labels=labels)

    @double
    def offer(self, world: ClassRows, key: Array) -> LabelledOffer:
        """Draw a row x; arm k has the features [0 ... x ... 0], with x in block k."""
        row = jax.random.randint(key, (), 0, world.labels.size)
        blocks = jnp.eye(self.num_classes, dtype=bool)[:, :, None]
        contexts = jnp.where(blocks, world.features[row][None, None, :], 0.0)
        return LabelledOffer(
            contexts=contexts.reshape(self.num_classes, -1),
            mask=jnp.ones(self.num_classes, bool),
            label=world.labels[row],
        )

    @double
    def respond(self, world: ClassRows, key: Array, offer: Any, decision: Decision) -> Outcome:
        """Say 1 of the right class, 0 of the others."""
        key_optimum, key_weights = jax.random.split(key)
        right = (jnp.arange(self.num_classes, dtype=offer.label.dtype) == offer.label).astype(FLOAT)
        optimum = self.chooser.choose(key_optimum, right, offer.mask)
        return semi_bandit(key_weights, BernoulliWeights(), right, decision, optimum)


class Rows(Protocol):
    """Rows with a class, as loaders of `superarm.datasets` return them."""

    @property
    def features(self) -> npt.NDArray[Any]:
        """(n, d)."""

    @property
    def labels(self) -> npt.NDArray[Any]:
        """(n,) from 0 to K - 1."""

    @property
    def class_names(self) -> Sequence[str]:
        """K names."""

    @property
    def categorical(self) -> bool:
        """Whether features are codes without order."""


@checks.named
def classification(
    data: Rows | npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    oracle: Oracle | None = None,
    pool: int | None = None,
    categorical: bool = False,
    rescale: bool = True,
) -> Classification:
    """Return an environment in which a policy names the class of a row, and learns whether it was right.

        x^(1) = [x, 0, ..., 0],  ...,  x^(K) = [0, ..., 0, x]   in R^(d K)

    Every round draws a row x uniformly. Feedback is 1 for its class and 0 for another; there is no noise, so
    the regret of a round is 1 - [right].

    Args:
        data: rows of `superarm.datasets`, such as `load_shuttle()`: anything with `features`, `labels`,
            `class_names` and `categorical`. Or an array of features (n, d).
        labels: (n,) the class of each row, from 0 to K - 1, when `data` is an array.
        oracle: lets a policy name several classes at once, one of which may be right; None to name one.
        pool: draw only from so many rows, which are chosen at random per seed; None for all. Fewer distinct
            rows mean a lower effective dimension.
        categorical: when `data` is an array, its entries are codes without order, whole numbers >= 0.
        rescale: False to take numbers as they are, which codes are not.

    Numbers are rescaled to [-1, 1], each feature by its least and largest value in all rows, to 0 where it
    never changes. (The paper's formula could be read as the least and largest entry of a row.) A code gets a
    value uniform in [-1, 1], drawn per seed, the same in all features, as the paper gives "each character".

    Bae & Lee (2026), Neural Logistic Bandits, ICML, section 7 and appendix A.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(100, 3))
    >>> world = classification(features, (features[:, 0] > 0).astype(int))
    >>> world.spec
    Spec(dim=6, num_arms=2, capacity=0)
    >>> superarm.simulate(superarm.lin_ucb(), world, rounds=50, seeds=1, workers=0).rounds
    50
    """
    where = "classification"
    features, classes, num_classes, coded = _rows(where, data, labels, categorical)
    num_rows = classes.size
    chosen = num_rows if pool is None else checks.count(where, "pool", pool)
    checks.between(where, "pool", chosen, 1, num_rows)
    if coded and not rescale:
        raise ValueError(f"{where}: rescale must be True for codes, which are no numbers, got False")
    numbers, num_codes = _coded(features) if coded else (_scaled(features) if rescale else features, 0)
    built = Classification(
        features=numbers,
        labels=classes,
        chooser=chosen_by(where, oracle),
        num_classes=num_classes,
        pool=chosen,
        num_codes=num_codes,
    )
    built.check()
    return built


def _rows(where: str, data: Any, labels: Any, categorical: bool) -> tuple[Any, Any, int, bool]:
    """Features (n, d), labels (n,), the number of classes, and whether features are codes."""
    if labels is None:
        checks.has(where, "data without labels", data, ("features", "labels", "class_names", "categorical"))
        num_classes, categorical = len(data.class_names), bool(data.categorical)
        data, labels = data.features, data.labels
    else:
        num_classes = int(checks.indices(where, "labels", labels).max(initial=0)) + 1
    features = checks.matrix(where, "features", data, (None, None))
    if 0 in features.shape:
        raise ValueError(f"{where}: features must not be empty, got shape {features.shape}")
    if categorical and not np.all((features >= 0) & (features == np.floor(features))):
        raise ValueError(f"{where}: categorical features must be whole numbers >= 0, got other numbers")
    if num_classes < 2:
        raise ValueError(f"{where}: labels must name at least 2 classes, got {num_classes}")
    return (
        features,
        checks.indices(where, "labels", labels, len(features), num_classes),
        num_classes,
        categorical,
    )


def _coded(features: Any) -> tuple[Any, int]:
    """(n, d) the codes numbered from 0, and how many there are."""
    codes, inverse = np.unique(features, return_inverse=True)
    return inverse.reshape(features.shape).astype(np.int32), codes.size


def _scaled(features: Any) -> Any:
    """(n, d) each column from -1 to 1; 0 where it never changes."""
    low, high = features.min(axis=0), features.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.where(high > low, 2.0 * (features - low) / spread - 1.0, 0.0)
