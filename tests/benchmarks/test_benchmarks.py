"""What the benchmarks report is computed as they say; nothing is timed here."""

from importlib.util import find_spec

import numpy as np
import pytest
from benchmarks.__main__ import SECTIONS
from benchmarks.fit_parts import Layers, NewtonSteps

import superarm
from benchmarks import growth_presets, machine, peers


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_has_a_file(name):
    assert find_spec(f"benchmarks.{name}") is not None


def test_the_machine_is_described_in_one_line():
    assert "cores" in machine.machine()
    assert "\n" not in machine.machine()


def test_of_every_round_the_least_of_the_turns_counts():
    turns = [{"items": [0, 1, 2], "spent": [3.0, 1.0, 9.0]}, {"items": [0, 1], "spent": [1.0, 7.0]}]
    assert peers.settled(turns) == {"items": [0, 1], "seconds": 1.0}


def test_slopes_are_those_of_power_laws():
    sizes = np.array([16.0, 64.0, 256.0])
    np.testing.assert_allclose(growth_presets.slope(3.0 * sizes**1.5, sizes), 1.5)


def test_hidden_units_change_and_nothing_else():
    policy = superarm.nvldb(units=6)
    assert growth_presets.resized(policy, 12).model.model.network.network.width == 12
    assert growth_presets.resized(superarm.lin_ucb(), 12).name == "lin_ucb"
    assert growth_presets.sized(policy)
    assert not growth_presets.sized(superarm.lin_ucb())


def test_operations_of_fits():
    network = Layers(((3, 2), (1, 3)), rows=5, block=5, steps=7)
    # Scores and gradients of 9 weights and what passes through 3 of them, and twice the scores.
    assert network.operations == 2 * 5 * (7 * (9 + 9 + 3) + 2 * 9)
    newton = NewtonSteps(rows=5, dim=3, block=5, steps=4, curvatures=2)
    # Scores and slopes in each step and before, and scores, squares and the root for each curvature.
    assert newton.operations == (4 + 1) * 4 * 5 * 3 + 2 * (2 * 5 * (9 + 3) + 9)
