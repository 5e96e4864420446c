"""The reward model of the direct and the doubly robust method, cross-fitted.

Events are dealt into folds; what an event's items are predicted to earn comes from a fit to the other folds.
A prediction that has seen its own reward would hide the error that the doubly robust method corrects
(Chernozhukov et al., 2018, Double/debiased machine learning, Econometrics Journal 21).

Rows of the regression are the features of an arm and a constant, 1; for rankings, a constant per position.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.evaluate.estimators.linear_fit import FITS, LinearFit
from superarm.evaluate.logs.log import Log

Floats = npt.NDArray[np.float64]

RewardModelName = Literal["ridge", "logistic"]
_BLOCK = 2**22  # numbers in the rows that are predicted at once


class RewardModel(Protocol):
    """A model of the user's, such as a regressor of scikit-learn."""

    def fit(self, rows: Any, rewards: Any, /) -> Any:
        """Learn from rows (m, d) and their rewards (m,)."""

    def predict(self, rows: Any, /) -> Any:
        """(m,) rewards of rows (m, d)."""


@dataclass(frozen=True)
class Predicted:
    """What a model says of a log; the attributes are arguments of `estimate`."""

    values: Floats
    predictions: Floats
    influence: Floats | None


def predicted(
    log: Log,
    chances: Floats,
    *,
    model: RewardModelName | RewardModel = "ridge",
    penalty: float = 1.0,
    folds: int = 2,
    seed: int = 0,
    where: str = "predicted",
) -> Predicted:
    """Fit a model to a log's rewards, and predict what the log's items and the target's would earn.

    Args:
        log: the events.
        chances: (n, K) of the target for single choices and sets, (n, k, K) for rankings.
        model: "ridge"; "logistic", for rewards from 0 to 1; or an object with fit(rows, rewards) and
            predict(rows), such as a regressor of scikit-learn, which is copied for every fold. One with
            predict_proba and classes_ predicts the mean of its classes.
        penalty: of the two named models, > 0.
        folds: from 2 to n.
        seed: of the folds.
        where: the name in messages.

    `influence` is known for the two named models: an event j in the other folds moves the values of a fold by
    g' H^-1 x_j (r_j - q_j), with H the curvature of the fit and g the slope of the fold's values.

    >>> import numpy as np
    >>> from superarm.evaluate import event_log
    >>> x = np.random.default_rng(0).normal(size=(200, 2, 1))
    >>> log = event_log(x, np.arange(200) % 2, 1.0 + x[np.arange(200), np.arange(200) % 2, 0])
    >>> found = predicted(log, np.tile([0.0, 1.0], (200, 1)), penalty=1e-6)
    >>> bool(np.allclose(found.values, 1.0 + x[:, 1, 0], atol=1e-3))
    True
    """
    data = _Rows.of(log, chances)
    events = data.actions.shape[0]
    folds = int(checks.between(where, "folds", checks.count(where, "folds", folds), 2, events))
    penalty = float(checks.positive(where, "penalty", penalty))
    if not isinstance(model, str):
        checks.has(where, "model", model, ("fit", "predict"))
    elif checks.one_of(where, "model", model, tuple(FITS)) == "logistic":
        checks.between(where, "rewards", data.rewards[data.used], 0.0, 1.0)
    fold_of = np.random.default_rng(seed).permutation(events) % folds
    values, predictions, moved = np.zeros(events), np.zeros(data.rewards.shape), np.zeros(events)
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        rows, rewards = data.logged(outside)
        if not rewards.size:
            raise ValueError(f"{where}: log must have items in every fold, got none outside fold {fold}")
        fit = (
            FITS[model](rows, rewards, penalty)
            if isinstance(model, str)
            else _Foreign.of(where, model, rows, rewards)
        )
        values[inside], slope = data.values(fit, inside)
        predictions[inside] = data.predictions(fit, inside)
        if isinstance(fit, LinearFit):
            pulls = (rows @ fit.solve(slope)) * (rewards - fit.predict(rows))
            np.add.at(moved, data.owners(outside), pulls)
    return Predicted(values, predictions, moved if isinstance(model, str) else None)


@dataclass(frozen=True)
class _Rows:
    """The log as rows of a regression: actions, rewards and used are (n, k), chances (n, s, K).

    s is the number of positions of a ranking, else 1.
    """

    contexts: Floats
    actions: Any
    rewards: Floats
    used: Any
    chances: Floats

    @classmethod
    def of(cls, log: Log, chances: Floats) -> _Rows:
        events = log.contexts.shape[0]
        actions, rewards = (np.asarray(part).reshape(events, -1) for part in (log.actions, log.rewards))
        used = actions >= 0 if log.observed is None else np.asarray(log.observed).reshape(events, -1)
        wide = chances[:, None] if chances.ndim == 2 else chances
        return cls(np.asarray(log.contexts), actions, rewards, used, wide)

    @property
    def positions(self) -> int:
        return self.chances.shape[1]

    def owners(self, events: Any) -> Any:
        """(m,) the event of each row that `logged` returns."""
        return np.repeat(events, self.used[events].sum(axis=1))

    def logged(self, events: Any) -> tuple[Floats, Floats]:
        """(m, d + s) rows and (m,) rewards of the slots in use."""
        used = self.used[events]
        return self._chosen(events)[used], self.rewards[events][used]

    def predictions(self, fit: Any, events: Any) -> Floats:
        """(e, k) of the logged items, 0 in slots not used."""
        used = self.used[events]
        found = np.zeros(used.shape)
        if np.any(used):
            found[used] = fit.predict(self._chosen(events)[used])
        return found

    def values(self, fit: Any, events: Any) -> tuple[Floats, Floats]:
        """(e,) expected rewards of the target, and (d + s,) how their sum moves with the coefficients."""
        found, slope = [], np.zeros(self.contexts.shape[2] + self.positions)
        for block in self._blocks(events):
            rows, chances = self._all(block), self.chances[block]
            found.append(np.sum(fit.predict(rows).reshape(chances.shape) * chances, axis=(1, 2)))
            if isinstance(fit, LinearFit):
                slope += (chances.ravel() * fit.slopes(rows)) @ rows
        return np.concatenate(found), slope

    def _chosen(self, events: Any) -> Floats:
        """(e, k, d + s)."""
        actions = np.maximum(self.actions[events], 0)
        features = self.contexts[events[:, None], actions]
        slots = self.used.shape[1]
        constants = np.ones((slots, 1)) if self.positions == 1 else np.eye(slots)
        return np.concatenate([features, np.broadcast_to(constants, (len(events), *constants.shape))], axis=2)

    def _all(self, events: Any) -> Floats:
        """(e s K, d + s) every arm in every position."""
        num_arms, dim = self.contexts.shape[1:]
        rows = np.empty((len(events), self.positions, num_arms, dim + self.positions))
        rows[..., :dim] = self.contexts[events][:, None]
        rows[..., dim:] = np.eye(self.positions)[:, None]
        return rows.reshape(-1, dim + self.positions)

    def _blocks(self, events: Any) -> Iterator[Any]:
        num_arms, dim = self.contexts.shape[1:]
        step = max(1, _BLOCK // (self.positions * num_arms * (dim + self.positions)))
        for start in range(0, len(events), step):
            yield events[start : start + step]


@dataclass(frozen=True)
class _Foreign:
    """A user's model, fitted."""

    where: str
    model: Any

    @classmethod
    def of(cls, where: str, model: Any, rows: Floats, rewards: Floats) -> _Foreign:
        own = copy.deepcopy(model)
        own.fit(rows, rewards)
        return cls(where, own)

    def predict(self, rows: Floats) -> Floats:
        """(m,) expected rewards, checked."""
        if hasattr(self.model, "predict_proba"):  # a classifier of scikit-learn
            told = np.asarray(self.model.predict_proba(rows)) @ np.asarray(self.model.classes_, np.float64)
        else:
            told = self.model.predict(rows)
        return np.asarray(checks.matrix(self.where, "model.predict(rows)", told, (rows.shape[0],)))
