"""How a session chooses: one decision, many in one compiled call, or the best without exploring.

The way of a decision: what is offered is checked and put in its places (`arms`), the learner chooses
(`learner`, `compiled`), and the choice is logged and remembered as one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from superarm import checks
from superarm.agent.arms import Offered
from superarm.agent.compiled import OfferBuffer, RawDecision
from superarm.agent.learner import Learner
from superarm.agent.selection import Pending, Selection
from superarm.agent.session import Session
from superarm.features.tables import Contexts, Id, Ids, Mask, OnOffer, read_table

NDArray = np.ndarray[Any, Any]
MAX_TOGETHER = 256  # decisions in one compiled call: what it takes to begin one is lost in them
MIN_TOGETHER = 8  # fewer decisions are not worth a program of their own
MAX_COPIED = 2**20  # features that are copied for it: 8 MB
UNSEEN = np.zeros(1, bool)
UNSEEN.flags.writeable = False  # one for all


def choose(
    session: Session, contexts: Contexts | None = None, ids: Ids | None = None, mask: Mask | None = None
) -> Selection:
    """Choose in the next decision."""
    state = session.state
    offered = _offered(session, contexts, ids, mask)
    if state.learner is not None:
        return _chosen(session, offered, state.learner)
    with state.provisional(offered.dim) as learner:
        return _chosen(session, offered, learner)


def _offered(
    session: Session, contexts: Contexts | None = None, ids: Ids | None = None, mask: Mask | None = None
) -> Offered:
    state = session.state
    learner = state.learner
    offered = state.arms.offer("select", contexts, ids, mask, None if learner is None else learner.spec.dim)
    if state.rule.floor is not None:
        state.settings.require_floor(state.policy.chooser.size, offered.mask)
    return offered


def _chosen(session: Session, offered: Offered, learner: Learner) -> Selection:
    state = session.state
    raw, epoch = learner.choose(offered, state.arms.placed, state.rule)
    return _recorded(session, offered, learner.decisions, raw, epoch)


def _recorded(session: Session, offered: Offered, number: int, raw: RawDecision, epoch: int) -> Selection:
    """Log and remember a decision as one step, and return it."""
    names, used = offered.names(raw.items), raw.used
    features, scores, chance, error = raw.features, raw.scores, raw.chance, raw.error
    if used < len(scores):  # slots that are not used come last
        features, scores = features[:used], scores[:used]
        chance, error = (None if one is None else one[:used] for one in (chance, error))
    selection = Selection(number, names, features.copy(), scores, chance, error)  # the caller may change them
    seen = UNSEEN if len(raw.items) == 1 else np.zeros(len(raw.items), bool)
    pending = Pending(names, raw.items, raw.features, seen, raw.memo, session.now(), epoch)
    state, recorder = session.state, session.recorder
    with session.atomic_step:
        if recorder is not None:
            recorder.decided(selection, pending, offered)
        state.arms.settle(offered)
        state.decided(pending, offered.contexts.shape[1])
    return selection


def choose_many(session: Session, batch: Sequence[Any]) -> list[Selection]:
    """Choose once for each of several contexts, or mappings of the arguments of `choose`."""
    wanted = [given if isinstance(given, Mapping) else {"contexts": given} for given in batch]
    for given in wanted:
        checks.keywords("select_many", given, OnOffer)
    made: list[Selection] = []
    with session.together():
        while len(made) < len(wanted):
            alike = _alike(session, wanted[len(made) : len(made) + MAX_TOGETHER])
            made += _choose_alike(session, alike) if alike else [choose(session, **wanted[len(made)])]
            if not alike:
                session.settle()
    return made


def _alike(session: Session, wanted: Sequence[Mapping[str, Any]]) -> list[tuple[Offered, OfferBuffer]]:
    """The first of what is wanted that can be decided in one call; none, where they are few."""
    state = session.state
    found: list[tuple[Offered, OfferBuffer]] = []
    most = 0 if state.learner is None else state.learner.at_once(state.rule)
    for given in wanted[:most] if min(len(wanted), most) >= MIN_TOGETHER else ():
        try:
            offered = _offered(session, **given)
        except Exception:  # which `choose` raises again, when those before it have been made
            break
        buffer = state.arms.placed(offered)
        shape = buffer.packed.shape
        if not state.arms.knows(offered) or shape[0] * shape[1] * (len(found) + 1) > MAX_COPIED:
            break
        if found and shape != found[0][1].packed.shape:
            break
        found.append((offered, buffer))
    return found if len(found) >= MIN_TOGETHER else []


def _choose_alike(session: Session, alike: list[tuple[Offered, OfferBuffer]]) -> Iterator[Selection]:
    state = session.state
    learner = state.started(alike[0][0].dim)
    decisions, epoch = learner.choose_all([buffer for _, buffer in alike], state.rule)
    for (offered, _), raw in zip(alike, decisions, strict=True):
        yield _recorded(session, offered, learner.decisions, learner.sound(raw), epoch)


def predict(
    session: Session, contexts: Contexts | None, ids: Ids | None, mask: Mask | None
) -> tuple[Id, ...]:
    """The best by all that was learned, without exploring; nothing is recorded."""
    state = session.state
    offered = state.arms.offer("predict", contexts, ids, mask, state.dim)
    buffer = state.arms.placed(offered)
    with state.provisional(offered.dim, keep=False) as learner:
        return offered.names(learner.predict(buffer).items)


def shortlist(session: Session, contexts: Contexts | jax.Array, size: int) -> NDArray:
    """The rows of the `size` best of a large catalogue; nothing is recorded."""
    where, state = "shortlist", session.state
    if state.arms.fixed is not None or not state.traits.pointwise:
        must = "the policy must score items one by one, by their features alone"
        got = f"{state.policy.name} with the explorer {type(state.first.explorer).__name__}"
        raise ValueError(f"{where}: {must}, got {got}")
    features: Any = contexts
    if not isinstance(contexts, jax.Array | np.ndarray):
        features = read_table(where, contexts, state.arms.columns, labels=False).values
    if features.ndim != 2 or features.dtype.kind not in "fiu" or not all(features.shape):
        got = f"{features.dtype} {features.shape}"
        raise ValueError(f"{where}: contexts must be an array (n, d) of numbers, got {got}")
    count, dim = features.shape
    if state.dim not in (None, dim):
        raise ValueError(f"{where}: contexts must have {state.dim} features, as before, got {dim}")
    length = checks.count(where, "size", size)
    checks.between(where, "size", length, 1, count)
    with state.provisional(dim, keep=False) as learner:
        return learner.shortlist(features, length)
