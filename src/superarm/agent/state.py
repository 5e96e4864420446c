"""All that an agent knows: a function of what happened, in order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from superarm.agent import inspection
from superarm.agent.arms import Arms, arms_of
from superarm.agent.compiled import Chances, Happened
from superarm.agent.learner import Core
from superarm.agent.selection import Pending
from superarm.agent.settings import Settings, settings_of
from superarm.agent.tables import Id
from superarm.errors import UnknownDecisionError
from superarm.policy import Policy
from superarm.types import Spec

NDArray = np.ndarray[Any, Any]


class Book:
    """The policy, its arms, what it learned, and the decisions that wait for feedback."""

    def __init__(
        self, where: str, policy: Any, arms: int | Sequence[Id] | None, settings: dict[str, Any]
    ) -> None:
        """Begin empty."""
        first: Policy = policy.epochs(1)[0].policy
        self.policy = policy
        self.settings: Settings = settings_of(where, first, settings)
        self.chances: Chances = self.settings.chances()
        self.arms: Arms = arms_of(where, first, arms)
        self.core: Core | None = None
        self.waiting: OrderedDict[int, Pending] = OrderedDict()
        self.updates = self.expired = self.repeated = 0
        self.is_duel = policy.chooser.compares
        self.feedback_range = first.traits.feedback_range

    @property
    def dim(self) -> int | None:
        """d, once it is known."""
        return None if self.core is None else self.core.spec.dim

    def started(self, dim: int) -> Core:
        """Return the core, begun if it was not."""
        if self.core is None:
            spec = Spec(dim=dim, num_arms=self.arms.fixed or inspection.padded(self.policy.chooser.size))
            one = self.settings
            self.core = Core(
                self.policy, seed=one.seed, spec=spec, most=one.max_observations, learns=not one.background
            )
        return self.core

    def tried(self, dim: int, *, keep: bool = True) -> Tried:
        """Give the core; if the first call of all fails, or keeps nothing, it has not begun."""
        return Tried(self, dim, keep)

    def decided(self, pending: Pending) -> None:
        """Remember a decision; the oldest expire."""
        number = self.started(pending.features.shape[1]).decided()
        self.waiting[number] = pending
        self.expire(pending.time)
        while len(self.waiting) > self.settings.max_pending:
            self.waiting.popitem(last=False)
            self.expired += 1

    def find(self, number: Any, now: float) -> Pending | None:
        """Return the decision of a number; None if it does not wait any more, by then."""
        if type(number) is not int and (isinstance(number, bool) or not isinstance(number, int | np.integer)):
            raise TypeError(f"update: decision must be a Selection or its id, got {type(number).__name__}")
        made = 0 if self.core is None else self.core.decisions
        if not 0 <= number < made:
            raise UnknownDecisionError(f"update: decision must be one that was made, got {number} of {made}")
        self.expire(now)
        return self.waiting.get(int(number))

    def told(self, number: int, values: NDArray, known: NDArray) -> None:
        """Take in feedback that was accepted. `Core.learn_if_due` comes next."""
        pending = self.waiting[number]
        happened = Happened(pending.items, pending.features, values, known, pending.memo)
        self.started(0).observe(number, happened, pending.epoch)
        self.updates += 1
        if pending.told(known):
            del self.waiting[number]

    def given(self, happened: Happened) -> None:
        """Take in a choice that was made elsewhere, with its feedback."""
        core = self.started(happened.features.shape[1])
        self.arms.given(happened.items, happened.features)
        core.observe(core.decided(), happened, core.number)
        self.updates += 1

    def expire(self, now: float) -> None:
        """Forget decisions that have waited too long."""
        if self.settings.max_age is None:
            return
        while self.waiting and next(iter(self.waiting.values())).time < now - self.settings.max_age:
            self.waiting.popitem(last=False)
            self.expired += 1


class Tried:
    """A call that may be the first; see `Book.tried`. A class, since every decision passes through it."""

    def __init__(self, book: Book, dim: int, keep: bool) -> None:
        """Begin nothing yet."""
        self.book, self.dim, self.keep, self.before = book, dim, keep, book.core

    def __enter__(self) -> Core:
        """Return the core."""
        try:
            return self.book.started(self.dim)
        except BaseException:
            self.book.core = self.before
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Forget what was begun in vain."""
        if kind is not None or not self.keep:
            self.book.core = self.before
