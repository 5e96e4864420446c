"""Models around other models pass on all of the contract: what is on offer, memos, the rest of an event."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superarm.contract import Beliefs, Model
from superarm.models import Ensemble, Planned
from superarm.models.planned import PlannedBeliefs
from superarm.models.preferences import Preferences
from superarm.precision import FLOAT
from superarm.pytree import pytree
from superarm.types import Event, Spec, State

SPEC = Spec(dim=3, num_arms=4, capacity=20, size=2)
MASK = jnp.asarray([True, False, True, True])
ITEMS = jnp.asarray([2, 3], jnp.int32)


@pytree
@dataclass(frozen=True)
class Offered(Beliefs):
    """What an arm is worth is how many are on offer; a choice must bring that back."""

    mean: Any

    def offered(self, mask):
        return replace(self, mean=jnp.where(mask, jnp.sum(mask), 0).astype(FLOAT))

    def memo(self, items, mask):
        return {"worth": self.mean[items], "offered": jnp.sum(mask).astype(FLOAT)}


@pytree
@dataclass(frozen=True)
class Echo(Model):
    """Its record is the last memo, and the age and time of the event."""

    learn_every: ClassVar[int | None] = None

    def check(self, spec, width):
        pass

    def init(self, key, spec, width):
        memo = {"worth": jnp.zeros(2, FLOAT), "offered": jnp.zeros((), FLOAT)}
        return State(record=(memo, jnp.zeros((), FLOAT), jnp.zeros((), FLOAT)), fit=())

    def beliefs(self, state, contexts, width):
        return Offered(jnp.zeros(contexts.shape[0], FLOAT))

    def observe(self, state, key, event, width):
        assert event.cache == ()
        return event.memo, event.age, event.elapsed

    def learn(self, state, key, width):
        return ()


WRAPPED = {
    "as it is": Echo(),
    "ensemble": Ensemble(Echo(), scale=np.float64(0.1), size=3, spread=False),
    "planned": Planned(Echo(), rounds=5),
    "preferences": Preferences(Echo()),
    "ensemble of duels": Preferences(Ensemble(Echo(), scale=np.float64(0.1), size=3, spread=False)),
    "planned ensemble": Planned(Ensemble(Echo(), scale=np.float64(0.1), size=3, spread=False), rounds=5),
}


@pytest.mark.parametrize("model", WRAPPED.values(), ids=WRAPPED)
def test_what_a_choice_fixed_comes_back_through_wrappers(model):
    with jax.enable_x64(True):
        state = model.init(jax.random.key(0), SPEC, None)
        beliefs = model.beliefs(state, jnp.asarray(np.eye(4, 3)), None).offered(MASK)
        np.testing.assert_array_equal(beliefs.mean, [3.0, 0.0, 3.0, 3.0])
        event = Event(
            items=ITEMS,
            features=jnp.asarray(np.eye(4, 3))[ITEMS],
            feedback=jnp.asarray([1.0, 0.0]),
            observed=jnp.ones(2, bool),
            memo=beliefs.memo(ITEMS, MASK),
            age=jnp.asarray(7.0),
            elapsed=jnp.asarray(0.5),
        )
        record = jax.jit(lambda state, event: model.observe(state, jax.random.key(1), event, None))(
            state, event
        )
    memo, age, elapsed = record.record if isinstance(model, Planned) else record
    members = (3,) if isinstance(model, Ensemble) or isinstance(model.inner, Ensemble) else ()
    np.testing.assert_array_equal(memo["worth"], np.full((*members, 2), 3.0))
    np.testing.assert_array_equal(memo["offered"], np.full(members, 3.0))
    np.testing.assert_array_equal(age, np.full(members, 7.0))
    np.testing.assert_array_equal(elapsed, np.full(members, 0.5))


def test_beliefs_with_a_plan_answer_everything_themselves():
    """What they leave to the contract would be its default, and not what the model says."""
    asked = {name for name in vars(Beliefs) if name[0] != "_"}
    assert asked <= set(vars(PlannedBeliefs)), asked - set(vars(PlannedBeliefs))
    assert not inspect.isabstract(PlannedBeliefs)
