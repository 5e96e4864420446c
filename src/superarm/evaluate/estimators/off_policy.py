"""Off-policy evaluation: what a policy would have earned, from the log of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.evaluate.estimators.estimates import Estimates
from superarm.evaluate.estimators.estimators import METHODS, IntervalName, Method, estimated
from superarm.evaluate.estimators.evidence import evidence
from superarm.evaluate.estimators.reward_model import Predicted, RewardModel, RewardModelName, predicted
from superarm.evaluate.logs.log import Log

Floats = npt.NDArray[np.float64]
Target = Callable[[Any, Any], Any]  # (contexts (n, K, d), mask (n, K)) -> chances

ROUNDING = 1e-6  # sums of chances may be off by it: files and float32 round


class EstimatingOptions(TypedDict, total=False):
    """Settings of `off_policy` beside the log, the policy and a seed."""

    methods: Sequence[Method]
    model: RewardModelName | RewardModel
    penalty: float
    folds: int
    confidence: float
    interval: IntervalName
    resamples: int
    clip: float | None


@checks.named
def off_policy(
    log: Log,
    target: Target | npt.ArrayLike,
    *,
    methods: Sequence[Method] = METHODS,
    model: RewardModelName | RewardModel = "ridge",
    penalty: float = 1.0,
    folds: int = 2,
    confidence: float = 0.95,
    interval: IntervalName = "asymptotic",
    resamples: int = 1000,
    seed: int = 0,
    clip: float | None = None,
) -> Estimates:
    """Estimate a policy's mean reward per event from a log of another's choices, by several methods.

    The methods are those of `superarm.evaluate.estimators`. Of a set or a ranking the reward is the sum over
    its slots, and every slot in use must have been observed: give what was never seen the reward it had, 0
    for a click that did not come.

    Args:
        log: with propensities, unless "direct" is all that is asked for.
        target: the policy's chances, or a function of contexts (n, K, d) and mask (n, K) that returns them:
            (n, K) the chance of every arm for single choices, or of being in the set; (n, k, K) the chance of
            standing at every position for rankings, which a log that is one of rankings must have.
            `chances_of` has those of a superarm policy.
        methods: some of "direct", "ips", "snips", "dr".
        model: of rewards, for "direct" and "dr": "ridge", "logistic" for rewards from 0 to 1, or an object
            with fit and predict; see `superarm.evaluate.reward_model`.
        penalty: of the named models.
        folds: for cross-fitting.
        confidence: of the intervals, in (0, 1).
        interval: "asymptotic" or "bootstrap".
        resamples: of the bootstrap.
        seed: of the folds and the bootstrap.
        clip: the largest weight to let stand; None for all.

    The interval of "direct" knows the noise of a named model's fit, not the error of a model that cannot be
    right; with a model of your own it takes the model as known. Prefer "dr" where propensities are known.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> contexts = rng.normal(size=(4000, 3, 2))
    >>> actions = rng.integers(3, size=4000)
    >>> rewards = contexts[np.arange(4000), actions, 0] + rng.normal(size=4000)
    >>> log = superarm.evaluate.event_log(contexts, actions, rewards, propensities=np.full(4000, 1 / 3))
    >>> best = np.eye(3)[contexts[:, :, 0].argmax(axis=1)]  # earns 0.846, the mean of the largest of three
    >>> found = off_policy(log, best)
    >>> found.table["method"].tolist()
    ['direct', 'ips', 'snips', 'dr']
    >>> bool(found["dr"].low < 0.846 < found["dr"].high), round(found["dr"].effective_sample_size / 4000, 1)
    (True, 0.3)
    """
    where = "off_policy"
    checks.has(where, "log", log, ("contexts", "actions", "rewards", "propensities", "ranking"))
    asked = (methods,) if isinstance(methods, str) else tuple(methods)
    weighted = [method for method in asked if method != "direct"]
    if log.propensities is None and weighted:
        raise ValueError(f"{where}: log must have propensities for {', '.join(weighted)}, got None")
    used = _used(where, log)
    chances = _checked(where, log, _told(target, log))
    of_items = _of_items(log, chances)
    told: Predicted | None = None
    if "direct" in asked or "dr" in asked:
        told = predicted(log, chances, model=model, penalty=penalty, folds=folds, seed=seed, where=where)
    is_set = log.slots is not None and chances.ndim == 2
    found = evidence(
        where,
        log.rewards,
        # Without propensities weights are not used; these say nothing.
        np.ones(used.shape) if log.propensities is None else log.propensities,
        of_items,
        observed=used,
        values=told and told.values,
        predictions=told and told.predictions,
        influence=told and told.influence,
        kind="set" if is_set else "ranking",
        sizes=chances.sum(axis=-1),
    )
    return estimated(
        where,
        found,
        methods=asked,
        confidence=confidence,
        interval=interval,
        resamples=resamples,
        seed=seed,
        clip=clip,
    )


def _used(where: str, log: Log) -> Any:
    """(n,) or (n, k) the slots in use; all must have been observed."""
    used = np.asarray(log.actions) >= 0
    if log.observed is not None:
        row = np.argwhere(np.asarray(log.observed) != used)[0].tolist()
        must = "log must have the reward of every item, 0 where nothing came of it"
        raise ValueError(f"{where}: {must}, got one not observed at {checks.place(row)}")
    return used


def _told(target: Target | npt.ArrayLike, log: Log) -> Any:
    if not callable(target):
        return target
    mask = np.ones(log.contexts.shape[:2], bool) if log.mask is None else log.mask
    return target(log.contexts, mask)


def _checked(where: str, log: Log, told: Any) -> Floats:
    """Return the target's chances, if they can be."""
    events, num_arms, _ = log.contexts.shape
    chances = np.asarray(checks.chances(where, "target's chances", told))
    shapes: list[tuple[int, ...]] = [] if log.ranking else [(events, num_arms)]
    shapes += [] if log.slots is None else [(events, log.slots, num_arms)]
    if chances.shape not in shapes:
        must = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{where}: target's chances must have shape {must}, got {chances.shape}")
    if log.mask is not None:
        off = ~log.mask if chances.ndim == 2 else ~log.mask[:, None]
        lost = np.argwhere(off & (chances > 0))
        if lost.size:
            must = "target's chances must be 0 for arms that are not on offer"
            got = f"{chances[tuple(lost[0])]:g} at {checks.place(lost[0].tolist())}"
            raise ValueError(f"{where}: {must}, got {got}")
    totals = chances.sum(axis=-1)
    if log.slots is not None and chances.ndim == 2:
        _require_sets(where, log)
        return chances
    # A ranking may leave a position empty, with some chance.
    bad = np.argwhere(totals > 1 + ROUNDING if log.slots else np.abs(totals - 1) > ROUNDING)
    if bad.size:
        must = "sum to at most 1 at every position" if log.slots else "sum to 1 in every event"
        got = f"{totals[tuple(bad[0])]:g} at {checks.place(bad[0].tolist())}"
        raise ValueError(f"{where}: target's chances must {must}, got {got}")
    return chances


def _require_sets(where: str, log: Log) -> None:
    items = np.sort(np.asarray(log.actions), axis=1)
    twice = np.argwhere((items[:, 1:] == items[:, :-1]) & (items[:, 1:] >= 0))
    if twice.size:
        row, slot = twice[0]
        must = "log must have an item once in a set"
        raise ValueError(f"{where}: {must}, got item {items[row, slot]} twice at {row}")


def _of_items(log: Log, chances: Floats) -> Floats:
    """As the log's actions: the target's chances of what was chosen."""
    actions = np.maximum(np.asarray(log.actions), 0)
    rows = np.arange(actions.shape[0])
    if log.slots is None:
        return np.asarray(chances[rows, actions])
    if chances.ndim == 2:
        return np.take_along_axis(chances, actions, axis=1)
    return np.asarray(chances[rows[:, None], np.arange(log.slots), actions])
