"""A world in plain Python whose first round is wrong is refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import superarm
from superarm.contract import Environment
from superarm.environments import alpha_regret
from superarm.types import Offer, Outcome


class World(Environment):
    """Two arms; an offer and an outcome as they are told."""

    native = False
    spec = superarm.Spec(dim=2, num_arms=2)

    def __init__(self, offer=None, oracle=None, **outcome):
        self.offered = {"contexts": np.eye(2), "mask": np.ones(2, bool)} | (offer or {})
        self.outcome = {"feedback": [0.5], "observed": [True], "reward": 0.5, "value": 0.5, "best": 0.6}
        self.outcome |= {"best_reward": 0.6} | outcome
        self.sets = oracle

    @property
    def oracle(self):
        return self.sets

    def init(self, key):
        return None

    def offer(self, world, key):
        return Offer(**self.offered)

    def respond(self, world, key, offer, decision):
        return Outcome(**self.outcome)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (World(feedback=0.5), r"World.respond: feedback must have shape \(1,\), one entry per slot of the"),
        (World(feedback=[0.5, 0.5]), r"respond: feedback must have shape \(1,\), .*, got \(2,\)"),
        (World(observed=True), r"World.respond: observed must have shape \(1,\)"),
        (World(reward=[0.5]), r"World.respond: reward must have shape \(\), one number, got \(1,\)"),
        (World(reward=np.nan), "World.respond: reward must be finite where `knows_regret`, got nan"),
        (World(feedback=[np.nan]), "World.respond: feedback must be finite where it is observed"),
        (World(value=0.7), "World.respond: value must be at most best, 0.6, got 0.7"),
        (World({"contexts": np.eye(3)}), r"World.offer: contexts must have shape \(2, 2\), as `spec` says"),
        (World({"mask": np.ones(3, bool)}), r"World.offer: mask must have shape \(2,\)"),
        (World({"mask": np.zeros(2, bool)}), "World.offer: mask must leave an arm on offer, got none"),
        (
            World(oracle=superarm.top_k(2)),
            "World: policy must choose sets, of up to 2 arms .*, got uniform, which",
        ),
    ],
)
def test_a_wrong_first_round_is_refused(world, message):
    with pytest.raises(ValueError, match=message):
        superarm.simulate(superarm.uniform(), world, rounds=3, seeds=1, workers=0)


def test_a_share_of_the_optimum_may_be_exceeded():
    world = alpha_regret(World(value=0.6), 0.5)
    assert superarm.simulate(superarm.uniform(), world, rounds=3, seeds=1, workers=0).rounds == 3
