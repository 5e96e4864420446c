"""Off-policy estimators on plain arrays: direct, IPS, self-normalized IPS, doubly robust.

With w the chance of the target over that of the log, r the reward and q a model's prediction, over n events
and their slots k:

    direct   mean_i values_i,  values_i = sum_{k, a} chance_{ika} q_{ika}
    ips      mean_i sum_k w_ik r_ik
    snips    sum_k size_k (sum_i w_ik r_ik) / (sum_i w_ik)
    dr       mean_i [values_i + sum_k w_ik (r_ik - q_ik)]

A single choice is one slot. A ranking has a slot per position, and chances of an item at a position; the
weights are then those of the item-position model of Li et al. (2018): unbiased when an item's reward depends
on the item and its position, not on its neighbours. A set has chances that an item is in it; its slots have
no order, so that snips divides by the sum over all of them.

Horvitz & Thompson (1952), JASA 47; Swaminathan & Joachims (2015), The Self-Normalized Estimator for
Counterfactual Learning, NeurIPS; Dudik, Langford & Li (2011), Doubly Robust Policy Evaluation and Learning,
ICML; Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay & Wen (2018), Offline Evaluation of Ranking Policies
with Click Models, KDD.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from superarm import checks
from superarm.evaluate.estimators.estimates import Estimates
from superarm.evaluate.estimators.evidence import Evidence, Kind, evidence
from superarm.evaluate.estimators.intervals import (
    NONE,
    Interval,
    Statistic,
    asymptotic,
    bootstrap,
    events_needed,
    mean_of,
)
from superarm.evaluate.estimators.overlap import MIN_EFFECTIVE_EVENTS, Overlap, overlap

Floats = npt.NDArray[np.float64]

Method = Literal["direct", "ips", "snips", "dr"]
METHODS: tuple[Method, ...] = get_args(Method)
IntervalName = Literal["asymptotic", "bootstrap"]
INTERVALS: tuple[IntervalName, ...] = get_args(IntervalName)


@checks.named
def estimate(
    rewards: npt.ArrayLike,
    propensities: npt.ArrayLike,
    chances: npt.ArrayLike,
    *,
    observed: npt.ArrayLike | None = None,
    values: npt.ArrayLike | None = None,
    predictions: npt.ArrayLike | None = None,
    influence: npt.ArrayLike | None = None,
    kind: Kind = "ranking",
    sizes: npt.ArrayLike | None = None,
    methods: Sequence[Method] | None = None,
    confidence: float = 0.95,
    interval: IntervalName = "asymptotic",
    resamples: int = 1000,
    seed: int = 0,
    clip: float | None = None,
) -> Estimates:
    """Estimate a policy's mean reward per event from the log of another; warn where the two hardly overlap.

    The arrays are (n,) for single choices, (n, k) for sets and rankings. `off_policy` makes them from a log.

    Args:
        rewards: what every slot earned.
        propensities: the log's chance of the logged item, in (0, 1].
        chances: the target's chance of the same item (of a ranking: at the same position).
        observed: False in slots that were not used; they count nothing, whatever the arrays say there.
        values: (n,) the target's expected reward by a model; for "direct" and "dr".
        predictions: the model's prediction of the logged items' rewards; for "dr". The model must not have
            learned from the event it predicts.
        influence: (n,) what every event moved in `values` through the model's fit, for the interval of
            "direct"; None takes the model as known, and its interval is then too narrow.
        kind: "ranking" for single choices and positions, "set".
        sizes: what the target's chances of all arms sum to: as rewards for rankings (default 1), (n,) for
            sets (default k). For "snips" and the check of the mean weight.
        methods: some of "direct", "ips", "snips", "dr"; None for all that the arguments allow.
        confidence: of the intervals, in (0, 1).
        interval: "asymptotic", normal; or "bootstrap", percentiles of resampled events.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        clip: the largest weight to let stand: less variance for some bias, which intervals do not know of.

    Warns:
        RuntimeWarning: where overlap is poor (see `superarm.evaluate.overlap`), and where the terms of a mean
            are too skewed for its interval. Where the target never chooses what was logged, estimates that
            need weights are NaN.

    >>> found = estimate([1.0, 0.0, 1.0, 0.0] * 100, [0.5] * 400, [0.9, 0.1, 0.9, 0.1] * 100)
    >>> [round(float(number), 3) for number in (found["ips"].estimate, found["ips"].low, found["ips"].high)]
    [0.9, 0.811, 0.989]
    >>> round(found["ips"].effective_sample_size)
    244
    """
    where = "estimate"
    found = evidence(
        where,
        rewards,
        propensities,
        chances,
        observed=observed,
        values=values,
        predictions=predictions,
        influence=influence,
        kind=kind,
        sizes=sizes,
    )
    return estimated(
        where,
        found,
        methods=methods,
        confidence=confidence,
        interval=interval,
        resamples=resamples,
        seed=seed,
        clip=clip,
    )


def estimated(
    where: str,
    found: Evidence,
    *,
    methods: Sequence[str] | None,
    confidence: float,
    interval: str,
    resamples: int,
    seed: int,
    clip: float | None,
) -> Estimates:
    """Return what the methods make of the evidence, and warn; the options are those of `estimate`."""
    chosen = _methods(where, methods, found)
    if not 0.0 < checks.real(where, "confidence", confidence) < 1.0:
        raise ValueError(f"{where}: confidence must be > 0 and < 1, got {confidence}")
    checks.one_of(where, "interval", interval, INTERVALS)
    checks.count(where, "resamples", resamples, low=100)
    rng = np.random.default_rng(checks.count(where, "seed", seed, low=0))
    shared = overlap(found.weights, found.used, found.sizes)
    if clip is not None:
        found = found.clipped(float(checks.positive(where, "clip", clip)))
    known = {one: _statistic(found, one) for one in chosen if one == "direct" or not shared.empty}
    intervals: dict[str, Interval] = {}
    if interval == "asymptotic":
        intervals = {one: asymptotic(statistic, confidence) for one, statistic in known.items()}
    elif known:
        drawn = bootstrap(list(known.values()), confidence, resamples, rng)
        intervals = dict(zip(known, drawn, strict=True))
    rows = []
    for method in chosen:
        bounds, weighted = intervals.get(method, NONE), method != "direct"
        rows.append(
            {
                "method": method,
                "estimate": known[method].estimate if method in known else np.nan,
                "low": bounds.low,
                "high": bounds.high,
                "standard_error": bounds.error,
                "effective_sample_size": shared.effective if weighted else np.nan,
                "n": found.rewards.shape[0],
                "max_weight": float(found.weights.max()) if weighted else np.nan,
            }
        )
    cautions = _cautions(shared, known, chosen)
    for sentence in cautions:
        checks.warn(f"{where}: {sentence}")
    return Estimates(pd.DataFrame(rows), confidence, interval, clip, cautions)


def _statistic(found: Evidence, method: str) -> Statistic:
    """What a method computes, as a function of means over events."""
    weighted = found.weights * found.rewards
    if method == "ips":
        return mean_of(weighted.sum(axis=1))
    if method == "snips":
        return _self_normalized(weighted, found.weights, found.sizes)
    values, predictions = np.asarray(found.values), np.asarray(found.predictions)
    if method == "dr":
        return mean_of(values + np.sum(found.weights * (found.rewards - predictions), axis=1))
    moved = np.zeros_like(values) if found.influence is None else found.influence
    return mean_of(values + moved - moved.mean())


def _self_normalized(weighted: Floats, weights: Floats, sizes: Floats) -> Statistic:
    """Rows are (weighted rewards, weights, sizes), each per group of slots: positions, or the whole set."""
    if sizes.shape[1] == 1:
        weighted, weights = weighted.sum(axis=1, keepdims=True), weights.sum(axis=1, keepdims=True)
    rows = np.hstack([weighted, weights, sizes])

    def value(means: Floats) -> Any:
        above, below, size = np.split(means, 3, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample without weight has no value
            return np.sum(np.where(size > 0, size * above / below, 0.0), axis=-1)

    above, below, size = np.split(rows.mean(axis=0), 3)
    safe = np.where(below > 0, below, 1.0)  # a position that the target leaves empty
    slopes = np.concatenate([size / safe, -size * above / safe**2, above / safe])
    return Statistic(rows, value, (rows - rows.mean(axis=0)) @ slopes)


def _methods(where: str, methods: Sequence[str] | None, found: Evidence) -> tuple[str, ...]:
    modelled = found.values is not None
    lacking = {"direct": not modelled, "dr": not modelled or found.predictions is None}
    if methods is None:
        return tuple(method for method in METHODS if not lacking.get(method))
    named = (methods,) if isinstance(methods, str) else tuple(methods)
    if not named or len(set(named)) < len(named):
        raise ValueError(f"{where}: methods must be there, each once, got {list(named)}")
    for method in named:
        if lacking.get(checks.one_of(where, "methods", method, METHODS)):
            needs = "values" if method == "direct" else "values and predictions"
            raise ValueError(f"{where}: {needs} must be given for method {method!r}, got None")
    return named


def _cautions(shared: Overlap, known: dict[str, Statistic], chosen: tuple[str, ...]) -> tuple[str, ...]:
    """What to warn of, if anything rests on weights."""
    if chosen == ("direct",):
        return ()
    told = list(shared.cautions)
    weighted = {method: statistic for method, statistic in known.items() if method != "direct"}
    flat = [method for method, statistic in weighted.items() if not np.any(statistic.influence)]
    if flat:
        told.append(f"the interval of {', '.join(flat)} has no width, since weighted rewards do not vary")
    events = len(next(iter(weighted.values())).influence) if weighted else 0
    needed = {method: events_needed(statistic) for method, statistic in weighted.items()}
    skewed = [method for method in weighted if needed[method] > events]
    if skewed and shared.effective >= MIN_EFFECTIVE_EVENTS:  # with fewer, that is said
        told.append(
            f"the interval of {', '.join(skewed)} may be too narrow: terms are so skewed that "
            f"{max(needed.values()):.0f} events are needed, got {events}; log more, or clip weights"
        )
    return tuple(told)
