"""All that an agent knows: a function of what happened, in order."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from superarm.agent.arms import Arms, arms_of
from superarm.agent.compiled import Observation, padded
from superarm.agent.feedback import Feedback
from superarm.agent.learner import Learner
from superarm.agent.numpy_linear import COMPILED, FORM
from superarm.agent.selection import Pending
from superarm.agent.settings import Settings, settings_of
from superarm.errors import StoreError, UnknownDecisionError
from superarm.features.tables import Id
from superarm.policies.anytime import Anytime
from superarm.policy import Policy
from superarm.types import Spec


def agent_id(value: object) -> str:
    """Return the id of an agent: 32 hexadecimal digits."""
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{32}", value):
        raise StoreError(f"state file: is damaged: agent must be 32 hexadecimal digits, got {value!r:.50}")
    return value


def form_of(where: str, value: object) -> int:
    """Return the form by which a run observed; those of later versions are refused."""
    if type(value) is not int or value not in (COMPILED, FORM):
        must = f"{where}: its state was computed by form {value!r:.50}, which this superarm does not know"
        raise StoreError(f"{must}; upgrade it")
    return value


class AgentState:
    """The policy, its arms, what it learned, and the decisions that wait for feedback.

    Attributes:
        new_form: what observes in new runs: see `numpy_linear`.
        form: what observes in this one. A replay of the log uses that of the run that wrote it.
    """

    new_form: ClassVar[int] = FORM

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
        self.form = self.new_form

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
                form=self.form,
            )
        return self.learner

    def use(self, form: int) -> None:
        """Observe by another form from now on, as a run of this agent did or will."""
        self.form = form
        if self.learner is not None:
            self.learner.use(form)

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
        if pending is None or (self.settings.max_age is not None and self._too_old(pending, now)):
            return None
        return pending

    def learn_from(self, feedback: Feedback, now: float) -> None:
        """Take in feedback that was accepted at a time. `Learner.learn_if_due` comes next."""
        if self.settings.max_age is not None:
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
