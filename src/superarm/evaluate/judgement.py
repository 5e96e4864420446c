"""A policy judged by a log: it learns from the first events, and is evaluated on the rest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from superarm import checks
from superarm.agent.agent import Agent
from superarm.agent.arms import require_places
from superarm.evaluate.estimators.estimates import Estimates
from superarm.evaluate.estimators.estimators import METHODS, Method
from superarm.evaluate.estimators.off_policy import EstimatingOptions, off_policy
from superarm.evaluate.logs.log import Log
from superarm.evaluate.propensities import chances_of
from superarm.policies.anytime import Anytime
from superarm.policy import Policy


class JudgingOptions(EstimatingOptions, total=False):
    """Settings of `judge` beside its policy, its log and what is learned from."""

    draws: int | None
    seed: int


@checks.named
def judge(
    policy: Policy | Anytime | Agent,
    log: Log,
    *,
    train: float = 0.5,
    draws: int | None = None,
    seed: int = 0,
    **options: Unpack[EstimatingOptions],
) -> Estimates:
    """Estimate what a policy would have earned per event.

    Args:
        policy: a policy, which learns from the first events of the log and is judged by the others; or an
            `Agent` that has learned elsewhere, which is judged by all.
        log: in the order of time, with propensities.
        train: the share of events to learn from; 0 to judge the policy before it has learned.
        draws: decisions per event for chances that are not exact; see `chances_of`.
        seed: of the policy's chance, the folds and the bootstrap.
        options: of `off_policy`.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> contexts, actions = rng.normal(size=(600, 3, 2)), rng.integers(3, size=600)
    >>> rewards = contexts[np.arange(600), actions, 0]
    >>> log = superarm.evaluate.event_log(contexts, actions, rewards, propensities=np.full(600, 1 / 3))
    >>> found = judge(superarm.epsilon_greedy(epsilon=0.1), log)
    >>> bool(found["snips"].estimate > 0.6)
    True
    """
    where = "judge"
    _require_alike(where, policy, log)
    if isinstance(policy, Agent):
        agent, rest = policy, log
        if agent.num_arms is not None:
            require_places(where, agent.arms, log)
        if agent.num_arms not in (None, log.spec.num_arms):
            must = f"log must have the agent's {agent.num_arms} arms"
            raise ValueError(f"{where}: {must}, got {log.spec.num_arms}")
    else:
        agent, rest = _taught(where, policy, log, train, seed)
    taken = agent.snapshot(log.spec.dim)
    told: dict[str, Any] = {"count": taken.count, "draws": draws, "positions": log.ranking, "seed": seed}
    chances = chances_of(taken.policy, rest, state=taken.state, **told)
    return off_policy(rest, _floored(agent, rest, chances), seed=seed, **options)


def _require_alike(where: str, policy: Any, log: Log) -> None:
    """Refuse a policy that chooses something else than the log's did."""
    checks.has(where, "log", log, ("contexts", "actions", "rewards", "ranking"))
    one = policy.policy if isinstance(policy, Agent) else policy
    chooser, slots = checks.has(where, "policy", one, ("epochs", "chooser")).chooser, log.slots or 1
    if chooser.compares:  # preferences of its two arms add up to 1, so that every policy would earn 1
        raise ValueError(f"{where}: policy must earn rewards, which a duel does not, got {one.name}")
    size = chooser.size
    if (log.slots is None and size > 1) or (log.ranking and size != slots):
        must = "policy must choose as many arms as the log"
        raise ValueError(f"{where}: {must}, {slots}, got {size}")


def _floored(agent: Agent, log: Log, chances: Any) -> Any:
    """The chances (n, K), or (n, k, K) by position, with the agent's floor under them."""
    least = agent.settings.min_propensity
    if least == 0.0:
        return chances
    by_position = chances.ndim == 3
    size, (events, arms) = agent.policy.chooser.size, (len(chances), chances.shape[-1])
    mask = np.ones((events, arms), bool) if log.mask is None else np.asarray(log.mask)
    if by_position:
        mask = mask[:, None]
    offered = mask.sum(axis=-1, keepdims=True)
    share = np.minimum(least * offered / size, 1.0)
    mixed = (1.0 - share) * chances + share * mask * (1 if by_position else size) / offered
    return np.minimum(mixed, 1.0)  # by a rounding


@dataclass(frozen=True)
class Judged:
    """A grid judged by a log.

    Attributes:
        table: one row per point: its parameters, and estimate, low, high and effective_sample_size.
        best: the point with the highest estimate, of those that have one.
        final: what the best point earns, estimated on events that had no part in choosing it.
    """

    table: pd.DataFrame
    best: dict[str, Any]
    final: Estimates


@checks.named
def judge_grid(
    build: Callable[..., Policy | Anytime],
    grid: Mapping[str, Sequence[Any]],
    log: Log,
    *,
    train: float = 0.5,
    method: Method = "dr",
    **options: Unpack[JudgingOptions],
) -> Judged:
    """Judge a policy at every point of a grid; choose on one half of the rest, and report on the other.

    The estimate of the best of many is too good to be true. So the events that are not learned from are
    parted once more, at random: one half chooses the point, the other says what it earns.

    Args:
        build: arguments -> policy.
        grid: argument -> values; all combinations are judged.
        log: in the order of time; with propensities, unless the method is "direct", which is then all that is
            reported.
        train: the share of events to learn from.
        method: by which points are compared: "dr", "ips", "snips" or "direct".
        options: of `judge` and `off_policy`.

    >>> import numpy as np, superarm
    >>> rng = np.random.default_rng(0)
    >>> contexts, actions = rng.normal(size=(2000, 3, 2)), rng.integers(3, size=2000)
    >>> rewards = contexts[np.arange(2000), actions, 0]
    >>> log = superarm.evaluate.event_log(contexts, actions, rewards, propensities=np.full(2000, 1 / 3))
    >>> build = lambda epsilon: superarm.epsilon_greedy(epsilon=epsilon)
    >>> judge_grid(build, {"epsilon": [0.1, 0.9]}, log).best
    {'epsilon': 0.1}
    """
    where = "judge_grid"
    checks.one_of(where, "method", method, METHODS)
    if not grid or not all(len(values) for values in grid.values()):
        raise ValueError(f"{where}: grid must name an argument and its values, got {dict(grid)}")
    if log.propensities is None:
        if method != "direct":
            raise ValueError(f"{where}: log must have propensities for {method}, got None")
        options = {"methods": ("direct",), **options}
    learned, choosing, reporting = _parted(where, log, train, int(options.get("seed", 0)))
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    rows = []
    for point in points:
        found = _on(build(**point), log, learned, choosing, {**options, "methods": (method,)})[method]
        columns = ("estimate", "low", "high", "effective_sample_size")
        rows.append(point | {name: getattr(found, name) for name in columns})
    table = pd.DataFrame(rows)
    best = points[_best(where, table["estimate"].to_numpy())]
    return Judged(table, best, _on(build(**best), log, learned, reporting, options))


def _best(where: str, estimates: Any) -> int:
    """Where the highest is; NaN, of a policy that never chooses what was logged, is no estimate."""
    if not np.isfinite(estimates).any():
        must = "grid must have a point that chooses what was logged"
        raise ValueError(f"{where}: {must}, got an estimate of none of {len(estimates)}")
    return int(np.argmax(np.where(np.isfinite(estimates), estimates, -np.inf)))


def _on(policy: Any, log: Log, learned: Any, judged: Any, options: JudgingOptions) -> Estimates:
    """Judge by some events a policy that has learned from others."""
    order = np.concatenate([learned, judged])
    return judge(policy, log.take(order), train=len(learned) / len(order), **options)


def _parted(where: str, log: Log, train: float, seed: int) -> tuple[Any, Any, Any]:
    count = len(log.rewards)
    first = _first(where, count, train)
    rest = first + np.random.default_rng(seed).permutation(count - first)
    half = len(rest) // 2
    if half < 2:
        raise ValueError(f"{where}: log must leave 4 events to judge by, got {len(rest)}")
    return np.arange(first), np.sort(rest[:half]), np.sort(rest[half:])


def _taught(where: str, policy: Any, log: Log, train: float, seed: int) -> tuple[Agent, Log]:
    """An agent that has learned from the first events, and the rest of the log."""
    first = _first(where, len(log.rewards), train)
    by_arm = policy.epochs(1)[0].policy.traits.by_arm
    agent = Agent(policy, arms=log.spec.num_arms if by_arm else None, seed=seed, max_observations=2**31)
    if first:
        agent.fit(replace(log.take(slice(0, first)), arms=None))  # its arms are the log's, by place
        agent.learn()
    return agent, log.take(slice(first, None))


def _first(where: str, count: int, train: float) -> int:
    checks.between(where, "train", train, 0.0, 1.0)
    first = round(train * count)
    if count - first < 2:
        raise ValueError(f"{where}: train must leave 2 events to judge by, got {train:g} of {count}")
    return first
