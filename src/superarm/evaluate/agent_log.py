"""The log of an agent, as offline evaluation reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from superarm.arms import Offered
from superarm.evaluate.features import require_room
from superarm.evaluate.log import Log, event_log
from superarm.evaluate.tables import LogError
from superarm.store.journal import entries, offer_of, reader

NDArray = np.ndarray[Any, Any]


@dataclass
class Made:
    """A decision: what was on offer, the rows that were chosen (k,), with what chances, and what came."""

    offered: Offered
    chosen: NDArray
    propensities: NDArray
    rewards: NDArray
    observed: NDArray


def agent_log(folder: str | Path) -> Log:
    """Return the decisions of an agent's store that feedback came for, while the agent may be at work.

    Decisions whose chances are not known are left out, and so is history that was given to `Agent.fit`.

    Args:
        folder: of `Agent(..., store=folder)`.

    >>> import numpy as np, superarm, tempfile
    >>> folder = tempfile.mkdtemp() + "/agent"
    >>> with superarm.Agent(superarm.epsilon_greedy(epsilon=0.2), store=folder) as agent:
    ...     for reward in (0.0, 1.0, 0.0):
    ...         told = agent.update(agent.select(np.eye(3)), reward)
    >>> agent_log(folder).rewards.tolist()
    [0.0, 1.0, 0.0]
    """
    where = "agent_log"
    made = [one for one in _decisions(Path(folder)) if one.observed.any()]
    if not made:
        raise LogError(f"{where}: log must have decisions with chances and feedback, got none")
    arms, slots = (max(len(part(one)) for one in made) for part in (lambda one: one.offered.ids, _chosen))
    dim = made[0].offered.dim
    require_room(where, len(made), arms, dim)
    contexts, mask = np.zeros((len(made), arms, dim)), np.zeros((len(made), arms), bool)
    actions = np.full((len(made), slots), -1)
    rewards, propensities = np.zeros((len(made), slots)), np.ones((len(made), slots))
    observed = np.zeros((len(made), slots), bool)
    for row, one in enumerate(made):
        count, used = len(one.offered.ids), len(one.chosen)
        contexts[row, :count], mask[row, :count] = one.offered.contexts, one.offered.mask
        actions[row, :used], rewards[row, :used] = one.chosen, one.rewards[:used]
        propensities[row, :used], observed[row, :used] = one.propensities, one.observed[:used]
    if slots == 1:
        return event_log(contexts, actions[:, 0], rewards[:, 0], mask=mask, propensities=propensities[:, 0])
    return event_log(contexts, actions, rewards, mask=mask, propensities=propensities, observed=observed)


def _chosen(one: Made) -> NDArray:
    return one.chosen


def _decisions(folder: Path) -> Iterator[Made]:
    """The decisions in their order."""
    found: dict[int, Made] = {}
    path = folder / "log.sqlite"
    with closing(reader(folder)) as base:
        for entry in entries(base, path, 0):
            arrays = entry.arrays
            if entry.kind == "decision" and "propensities" in arrays:
                offered, slots = offer_of(base, path, entry), len(arrays["items"])
                blank = np.zeros(slots), np.zeros(slots, bool)
                found[entry.decision] = Made(offered, arrays["chosen"], arrays["propensities"], *blank)
            elif entry.kind == "feedback" and entry.decision in found:
                one, new = found[entry.decision], arrays["observed"]
                one.rewards = np.where(new, arrays["feedback"], one.rewards)
                one.observed = one.observed | new
    yield from found.values()
