"""How a session learns: from feedback, from history, and by fits that are due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from superarm import checks
from superarm.agent.arms import require_places
from superarm.agent.compiled import Observation
from superarm.agent.feedback import Feedback, read_feedback, require_shares
from superarm.agent.learner import Learner, observations_in
from superarm.agent.selection import Selection
from superarm.agent.session import INTERRUPTED, Session

if TYPE_CHECKING:
    from superarm.agent.feedback import Outcome


def update(session: Session, decision: Selection | int, outcome: Outcome) -> bool:
    """Learn what came of a decision; return whether it was new."""
    now = session.now()  # once: what is accepted now must be in time when it is replayed, too
    feedback = _read(session, decision, outcome, now)
    if session.state.learner is not None:
        session.state.learner.make_room(feedback.count)
    return _learned_from(session, feedback, now)


def update_many(session: Session, pairs: Sequence[tuple[Selection | int, Outcome]]) -> list[bool]:
    """Learn from several decisions; all are checked before any is learned from."""
    state, now = session.state, session.now()
    read = [_read(session, decision, outcome, now) for decision, outcome in pairs]
    numbers = [feedback.number for feedback in read]
    twice = len(set(numbers)) < len(numbers)  # then the second is no news any more
    if state.learner is not None:
        news: Counter[int] = Counter()
        for feedback in read:
            news[feedback.number] += feedback.count
        size = state.policy.chooser.size
        state.learner.make_room(sum(min(count, size) for count in news.values()))
    with session.together():
        return [
            _learned_from(session, _read(session, *pair, now) if twice else feedback, now)
            for pair, feedback in zip(pairs, read, strict=True)
        ]


def _read(session: Session, decision: Selection | int, outcome: Outcome, now: float) -> Feedback:
    """What the caller says of a decision, checked."""
    state = session.state
    number = decision.id if isinstance(decision, Selection) else decision
    pending = state.find(number, now)
    if pending is not None and isinstance(decision, Selection) and decision.items != pending.ids:
        must = f"decision must be one of this agent's, whose number {number} chose {pending.ids}"
        raise ValueError(f"update: {must}, got {decision.items}")
    traits = state.traits
    return read_feedback(int(number), pending, outcome, duel=traits.compares, allowed=traits.feedback_range)


def _learned_from(session: Session, feedback: Feedback, now: float) -> bool:
    state, recorder = session.state, session.recorder
    if not feedback.count:
        state.repeated += 1
        return False
    with session.atomic_step:
        if recorder is not None:
            recorder.feedback(feedback, now)
        state.learn_from(feedback, now)
        failure = _learn_if_due(session, now)
    if failure is not None:
        _report(failure)
    session.settle()
    return True


def _learn_if_due(session: Session, now: float) -> BaseException | None:
    """Fit, where a fit is due; one that fails is logged, and leaves the fit before in force.

    Returns:
        What a fit failed with, to be reported once all is settled.
    """
    learner = session.state.learner
    if learner is None or not learner.due:
        return None
    try:
        with session.atomic_step.lifted():  # a fit may take long, and changes nothing until it is taken over
            fit = learner.fit_now()
    except BaseException as error:
        _log_failure(session, now, learner)
        return error
    learner.learned(fit)
    return None


def _report(failure: BaseException) -> None:
    """Raise the interrupt of a fit; warn of its error: what was observed is recorded all the same."""
    if not isinstance(failure, Exception):
        raise failure
    checks.warn(f"agent: a fit failed: {failure}")


def _log_failure(session: Session, now: float, learner: Learner) -> None:
    if session.recorder is None:
        return
    try:
        session.recorder.failed(now, learner)
    except BaseException:
        session.stopped = INTERRUPTED  # a replay would make the fit
        raise


def fit(session: Session, log: Any) -> int:
    """Learn from history: choices that were made elsewhere, and what came of them."""
    where, state = "fit", session.state
    if state.arms.fixed is not None:
        require_places(where, state.arms.places, log)
    arms, dim = log.contexts.shape[1:]
    if state.dim not in (None, dim) or state.arms.fixed not in (None, arms):
        fixed = "any number of" if state.arms.fixed is None else state.arms.fixed
        must = f"log must have {fixed} arms with {state.dim or dim} features"
        raise ValueError(f"{where}: {must}, got {arms} with {dim}")
    events = observations_in(where, log, state.policy.chooser.size, state.traits.feedback_range)
    for event in events if state.traits.compares else ():
        require_shares(where, event.feedback, event.observed)
    with state.provisional(dim) as learner:
        learner.make_room(sum(int(event.observed.sum()) for event in events))
        state.arms.require_same(where, events)
        with session.together():
            for event in events:
                _take_in(session, learner, event)
    return len(events)


def _take_in(session: Session, learner: Learner, event: Observation) -> None:
    now = session.now()
    with session.atomic_step:
        if session.recorder is not None:
            session.recorder.given(learner.decisions, event, now)
        session.state.take_in(event)
        failure = _learn_if_due(session, now)
    if failure is not None:
        _report(failure)


def learn_now(session: Session) -> None:
    """Fit now, whether or not it is due."""
    session.background.wait()
    learner = session.state.learner
    if learner is None or learner.policy.learn_every is None:
        return
    made = learner.fit_now()
    with session.atomic_step:
        if session.recorder is not None:
            session.recorder.learned(session.now())
        learner.learned(made)
