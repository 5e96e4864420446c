"""All that an agent knows: a function of what happened, in order."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from superarm.agent.arms import Arms, arms_of
from superarm.agent.compiled import Observation, padded
from superarm.agent.feedback import Feedback
from superarm.agent.learner import Learner
from superarm.agent.selection import Pending
from superarm.agent.settings import Settings, settings_of
from superarm.agent.tables import Id
from superarm.errors import StoreError, UnknownDecisionError
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.types import Spec


def agent_id(value: object) -> str:
    """Return the id of an agent: 32 hexadecimal digits."""
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{32}", value):
        raise StoreError(f"state file: is damaged: agent must be 32 hexadecimal digits, got {value!r:.50}")
    return value


class AgentState:
    """The policy, its arms, what it learned, and the decisions that wait for feedback."""

    def __init__(
        self,
        where: str,
        policy: Policy | Anytime,
        arms: int | Sequence[Id] | None,
        settings: dict[str, Any],
    ) -> None:
        """Begin empty."""
        self.agent = os.urandom(16).hex()  # an id that no other agent has; that of its store, too
        self.run = os.urandom(8).hex()  # of this opening of the agent
        self.policy = policy
        self.first: Policy = policy.epochs(1)[0].policy
        self.settings: Settings = settings_of(where, self.first, settings)
        self.rule = self.settings.propensity_rule()
        self.arms: Arms = arms_of(where, self.first, arms)
        self.learner: Learner | None = None  # begun with the first features
        self.waiting: OrderedDict[int, Pending] = OrderedDict()
        self.updates = self.expired = self.repeated = 0
        self.traits = self.first.traits

    @property
    def dim(self) -> int | None:
        """d, once it is known."""
        return None if self.learner is None else self.learner.spec.dim

    @property
    def decisions(self) -> int:
        """Made so far."""
        return 0 if self.learner is None else self.learner.decisions

    def started(self, dim: int) -> Learner:
        """Return the learner, begun if it was not."""
        if self.learner is None:
            spec = Spec(dim=dim, num_arms=self.arms.fixed or padded(self.policy.chooser.size))
            settings = self.settings
            self.learner = Learner(
                self.policy,
                seed=settings.seed,
                spec=spec,
                max_observations=settings.max_observations,
                learns=not settings.background,
            )
        return self.learner

    def provisional(self, dim: int, *, keep: bool = True) -> Provisional:
        """Give the learner; if the first call of all fails, or keeps nothing, it has not begun."""
        return Provisional(self, dim, keep)

    def decided(self, pending: Pending, dim: int) -> None:
        """Remember a decision; the oldest expire."""
        number = (self.learner or self.started(dim)).decided()
        waiting = self.waiting
        waiting[number] = pending
        if self.settings.max_age is not None:
            self.expire(pending.time)
        while len(waiting) > self.settings.max_pending:
            waiting.popitem(last=False)
            self.expired += 1

    def find(self, number: Any, now: float) -> Pending | None:
        """Return the decision of a number; None if it does not wait any more, by then."""
        if type(number) is not int and (isinstance(number, bool) or not isinstance(number, int | np.integer)):
            raise TypeError(f"update: decision must be a Selection or its id, got {type(number).__name__}")
        made = 0 if self.learner is None else self.learner.decisions
        if not 0 <= number < made:
            raise UnknownDecisionError(f"update: decision must be one that was made, got {number} of {made}")
        pending = self.waiting.get(int(number))
        return None if pending is None or self._too_old(pending, now) else pending

    def learn_from(self, feedback: Feedback, now: float) -> None:
        """Take in feedback that was accepted at a time. `Learner.learn_if_due` comes next."""
        self.expire(now)
        number = feedback.number
        pending = self.waiting[number]
        observation = Observation(
            pending.items, pending.features, feedback.values, feedback.new, pending.memo
        )
        (self.learner or self.started(0)).observe(number, observation, pending.epoch)
        self.updates += 1
        if pending.note(feedback.new):
            del self.waiting[number]

    def take_in(self, observation: Observation) -> None:
        """Take in a choice that was made elsewhere, with its feedback."""
        learner = self.started(observation.features.shape[1])
        self.arms.given(observation.items, observation.features)
        learner.observe(learner.decided(), observation, learner.number)
        self.updates += 1

    def expire(self, now: float) -> None:
        """Forget decisions that have waited too long."""
        while self.waiting and self._too_old(next(iter(self.waiting.values())), now):
            self.waiting.popitem(last=False)
            self.expired += 1

    def _too_old(self, pending: Pending, now: float) -> bool:
        most = self.settings.max_age
        return most is not None and pending.time < now - most


class Provisional:
    """A call that may be the first; see `AgentState.provisional`."""

    def __init__(self, state: AgentState, dim: int, keep: bool) -> None:
        """Begin nothing yet."""
        self.state, self.dim, self.keep, self.before = state, dim, keep, state.learner

    def __enter__(self) -> Learner:
        """Return the learner."""
        try:
            return self.state.started(self.dim)
        except BaseException:
            self.state.learner = self.before
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Forget what was begun in vain."""
        if kind is not None or not self.keep:
            self.state.learner = self.before
