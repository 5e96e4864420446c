"""Settings and plans: their names, and the fingerprint of what is run."""

from __future__ import annotations

import pytest

from superarm.experiments.experiment import ExperimentError, Plan, Setting


class World:
    """Nothing is asked of it."""


@pytest.mark.parametrize("name", ["a--b", "a/b", "", "../up", "-a"])
def test_names_that_cannot_be_files_are_refused(name):
    with pytest.raises(ExperimentError, match="a name must be"):
        Setting(name, environment=World, policies={}, parameters={})


def test_a_fingerprint_depends_on_what_is_run_and_not_on_seeds():
    def plan(**changes):
        setting = Setting("a", World, {}, changes.pop("parameters", {"m": 1}))
        return Plan((setting,), **{"rounds": 10, "seeds": 2, **changes})

    def mark(one):
        return one.fingerprint(one.settings[0])

    assert mark(plan()) == mark(plan(seeds=9)) == mark(plan(reduced="less"))
    others = [plan(rounds=20), plan(record_every=2), plan(parameters={"m": 2})]
    assert len({mark(plan()), *map(mark, others)}) == 4
