"""A log: what was on offer, what was chosen, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm import checks
from superarm.types import Array, Spec, pytree


@pytree
@dataclass(frozen=True)
class Log:
    """n logged decisions among K arms with d features. Build it with `event_log`.

    Attributes:
        contexts: (n, K, d) features of the arms that were on offer.
        actions: (n,) which of the K arms was chosen.
        rewards: (n,) what it earned.
    """

    contexts: Array
    actions: Array
    rewards: Array

    @property
    def spec(self) -> Spec:
        """d features, K arms."""
        _, num_arms, dim = self.contexts.shape
        return Spec(dim=dim, num_arms=num_arms)


def event_log(contexts: Any, actions: Any, rewards: Any, *, binary: bool = False) -> Log:
    """Return a log of decisions, checked.

    Args:
        contexts: (n, K, d) features of the arms on offer, finite.
        actions: (n,) the arm chosen in each event, from 0 to K - 1.
        rewards: (n,) what came back, finite.
        binary: whether rewards must be 0 or 1.

    >>> import numpy as np
    >>> log = event_log(np.zeros((4, 3, 2)), [0, 1, 2, 0], [0, 1, 0, 0], binary=True)
    >>> log.spec
    Spec(dim=2, num_arms=3, capacity=0)
    >>> event_log(np.zeros((1, 3, 2)), [3], [0.5])
    Traceback (most recent call last):
    ...
    ValueError: event_log: actions must be between 0 and 2, got 3 at 0
    """
    where = "event_log"
    features = checks.matrix(where, "contexts", contexts, (None, None, None))
    if 0 in features.shape:
        raise ValueError(f"{where}: contexts must not be empty, got shape {features.shape}")
    events, num_arms, _ = features.shape
    earned = checks.matrix(where, "rewards", rewards, (events,))
    if binary and (bad := np.flatnonzero((earned != 0) & (earned != 1))).size:
        raise ValueError(f"{where}: rewards must be 0 or 1, got {earned[bad[0]]:g} at {bad[0]}")
    return Log(
        contexts=features,
        actions=checks.indices(where, "actions", actions, events, num_arms),
        rewards=earned,
    )
