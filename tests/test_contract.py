"""The contract of the parts: what is left out is said in one sentence, or has its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.contract import Beliefs, Chooser, Environment, Model, Oracle
from superarm.environments.arm_sets import fixed_arms
from superarm.explorers import UCB
from superarm.policy import Policy
from superarm.pytree import pytree, static
from superarm.schedules import Constant
from superarm.types import DuelScores, PairScores, Spec, State


@pytree
@dataclass(frozen=True)
class Flat(Beliefs):
    """Nothing but a mean, which is a field."""

    mean: Any

    def norms(self):
        return jnp.ones_like(self.mean)


class Silent(Model):
    """A model that does not say how often it is fitted."""

    def check(self, spec, width):
        pass

    def init(self, key, spec, width):
        return State((), ())

    def beliefs(self, state, contexts, width):
        return Flat(contexts[:, 0])

    def observe(self, state, key, event, width):
        return ()

    def learn(self, state, key, width):
        return ()


@pytree
@dataclass(frozen=True)
class Fitted(Silent):
    """The same, which says it by a field without a default."""

    learn_every: int = static()


class First(Oracle):
    """An oracle that says neither how many items it chooses, nor how well."""

    native = True

    def check(self, num_arms):
        pass

    def solve(self, key, scores, mask):
        raise NotImplementedError


class Pick(Chooser):
    def check(self, num_arms):
        pass

    def choose(self, key, scores, mask):
        raise NotImplementedError


class World(Environment):
    native = True
    spec = Spec(dim=2, num_arms=3)

    def init(self, key):
        return ()

    def offer(self, world, key):
        raise NotImplementedError

    def respond(self, world, key, offer, decision):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("part", "missing"),
    [(Silent, "learn_every"), (First, "factor.* size"), (Pick, "native.* size"), (Beliefs, "mean")],
)
def test_what_a_part_must_say_is_missed_when_it_is_built(part, missing):
    with pytest.raises(TypeError, match=f"abstract.* {missing.replace(' ', '.*')}"):
        part()


def test_what_a_part_must_say_may_be_a_field():
    assert Fitted(learn_every=5).learn_every == 5
    assert jax.tree.structure(Fitted(5)) != jax.tree.structure(Fitted(6))
    with pytest.raises(TypeError, match="learn_every"):
        Fitted()

    class Below(Fitted):
        """A class below the one with the field."""

    assert Below(learn_every=7).learn_every == 7


def test_beliefs_without_an_information_matrix_have_a_determinant_of_one():
    explorer = UCB(Constant(np.float64(2.0)))
    policy = Policy(Fitted(5), None, explorer, superarm.lin_ucb().chooser)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=2, num_arms=3))
        scores = policy.score(state, jax.random.key(1), np.eye(3, 2), 4)[1]
    np.testing.assert_array_equal(scores, [3.0, 2.0, 2.0])


def test_a_world_without_an_oracle_has_none():
    assert World().oracle is None
    assert fixed_arms(World()).oracle is None


def test_what_few_beliefs_have_the_others_say_that_they_have_not():
    flat = Flat(jnp.zeros(3))
    for ask, must in (
        (flat.plan, "the model has no plan of the first decisions"),
        (lambda: flat.layers, "the model has no layers of estimates"),
        (lambda: flat.members, "the model is no ensemble"),
    ):
        with pytest.raises(TypeError, match=f"^Flat: {must}"):
            ask()
    pairs = PairScores(mean=jnp.zeros(2), reach=jnp.eye(2), bonus=jnp.eye(2), spread=jnp.eye(2))
    with pytest.raises(TypeError, match=r"^PairScores: scores of pairs have no layers"):
        pairs.descend(jnp.ones(2, bool))
    with pytest.raises(TypeError, match=r"abstract.*mean"):
        type("Blank", (DuelScores,), {"finite": lambda self, mask: True})()


@pytree
@dataclass(frozen=True)
class Checked:
    value: Any

    def __post_init__(self):
        if self.value != 1.0:
            raise ValueError("checked: value must be 1")


def test_a_class_may_check_its_fields_and_is_still_rebuilt_by_jax():
    with pytest.raises(ValueError, match="value must be 1"):
        Checked(2.0)
    assert jax.tree.map(lambda leaf: None, Checked(1.0)).value is None
    assert jax.jit(lambda one: one)(Checked(1.0)).value == 1.0


def test_a_word_among_the_leaves_is_refused_with_the_class():
    """Annotated, an attribute of the contract is a field, which JAX would trace."""
    with pytest.raises(
        TypeError, match=r"^Loud: score_scale must be static\(\), or stand without an annotation"
    ):

        @pytree
        @dataclass(frozen=True)
        class Loud:
            score_scale: str = "reward"
