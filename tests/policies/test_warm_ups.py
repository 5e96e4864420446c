"""Which policies can have a warm-up before them."""

from __future__ import annotations

import pytest

import superarm
from superarm.explorers import UCB, WarmUp
from superarm.schedules import Constant

SET = superarm.top_k(2)
WARM = WarmUp(UCB(Constant(1.0)), 5, "each")


@pytest.mark.parametrize("duel", [superarm.max_inp(), superarm.vacdb(100)], ids=lambda policy: policy.name)
def test_a_duel_has_none(duel):
    with pytest.raises(TypeError, match=r"^warm_up: policy must choose arms or sets, got a duel$"):
        superarm.warm_up(duel)


@pytest.mark.parametrize("chooser", [None, SET])
def test_a_second_one_is_refused_where_the_first_is_wrapped_too(chooser):
    """`combine` puts a link around the explorer of a set."""
    policy = superarm.combine("logistic", explorer=WARM, chooser=chooser)
    assert isinstance(policy.explorer, WarmUp) == (chooser is None)
    with pytest.raises(
        ValueError, match=r"^warm_up: policy must not have a warm-up already .*, got combine$"
    ):
        superarm.warm_up(policy)
