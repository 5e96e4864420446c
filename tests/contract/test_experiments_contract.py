"""What every experiment must do. One row per experiment; a test says that none is without one."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest

from contract.experiments import ROWS
from superarm.experiments import SCALES, rules
from superarm.experiments.claims import MissingRuns
from superarm.experiments.reads import CURVES, reads_of
from superarm.experiments.runs import Runs, total
from superarm.experiments.store import RunFile
from superarm.experiments.thinning import thinned
from superarm.policies.anytime import GROWTH, loss_constant
from superarm.reproduce.papers.bae2026 import replay
from superarm.reproduce.papers.sun2026.claims import RESTART_LOSS
from superarm.reproduce.registry import EXPERIMENTS, PAPERS, Registry, lookup, plan_of, same_paper
from superarm.simulation.round import check_meeting

every_experiment = pytest.mark.parametrize("name", ROWS)
every_scale = pytest.mark.parametrize("scale", SCALES)


@pytest.fixture(autouse=True)
def public_sample(monkeypatch):
    """Plans are those of the public data, wherever the full ones may be."""
    monkeypatch.delenv(replay.FULL, raising=False)


def labels_of(plan):
    return [(setting.name, label) for setting in plan.settings for label in setting.policies]


# --- names and words ---


def test_every_experiment_has_a_row_and_every_row_an_experiment():
    assert list(ROWS) == list(EXPERIMENTS)


def test_ids_are_unique_and_begin_with_their_paper():
    listed = [
        (paper, experiment.id)
        for paper in PAPERS
        for experiment in importlib.import_module(f"superarm.reproduce.papers.{paper}").EXPERIMENTS
    ]
    assert [name for _, name in listed] == list(EXPERIMENTS)  # one that is there twice would be lost here
    assert all(re.fullmatch(rf"{paper}/[a-z0-9]+(-[a-z0-9]+)*", name) for paper, name in listed)
    assert {name: EXPERIMENTS[name].id for name in ROWS} == {name: name for name in ROWS}


@every_experiment
def test_title_reference_and_figure_say_what_is_shown(name):
    experiment = lookup(name)
    year = re.search(r"\d{4}", name)[0]
    assert f"({year}), " in experiment.reference
    assert experiment.title == experiment.title.strip()
    assert experiment.title
    assert experiment.figure.layout in (*CURVES, "sweep", "runtime")
    assert experiment.figure.x_label


def test_titles_are_unique():
    assert Counter(experiment.title for experiment in EXPERIMENTS.values()).most_common(1)[0][1] == 1


# --- plans ---


@every_experiment
@every_scale
def test_a_plan_is_sound(name, scale):
    experiment, plan = lookup(name), plan_of(name, scale)
    names = [setting.name for setting in plan.settings]
    assert len(set(names)) == len(names) >= 1
    assert plan.rounds % plan.record_every == 0
    assert min(plan.repetitions(setting) for setting in plan.settings) >= 2
    assert (experiment.figure.layout == "sweep") == all(s.x is not None for s in plan.settings)
    assert plan.reduced or scale == "paper"


@every_experiment
def test_labels_name_files_of_their_own(name):
    """Also on a disk where capital letters do not count."""
    for scale in SCALES:
        files = [RunFile(*one, seed=0).file.casefold() for one in labels_of(plan_of(name, scale))]
        assert len(set(files)) == len(files)


@every_experiment
def test_the_paper_scale_is_that_of_the_row(name):
    plan, row = plan_of(name, "paper"), ROWS[name]
    runs = sum(len(setting.policies) * plan.repetitions(setting) for setting in plan.settings)
    found = (len(plan.settings), runs, len(lookup(name).claims))
    assert found == (row.settings, row.runs, row.claims)
    assert row.claims


@every_experiment
def test_results_stay_valid(name):
    """The fingerprints that mark the rows on disk; where this fails, `results/` must be run anew."""
    plan = plan_of(name, "paper")
    marks = "".join(plan.fingerprint(setting) for setting in plan.settings)
    assert hashlib.sha256(marks.encode()).hexdigest()[:12] == ROWS[name].marks


@every_experiment
def test_fingerprints_stay_when_a_plan_is_built_again_and_part_its_settings(name):
    for scale in SCALES:
        plans = plan_of(name, scale), plan_of(name, scale)
        first, again = ([plan.fingerprint(setting) for setting in plan.settings] for plan in plans)
        assert first == again
        assert len(set(first)) == len(first)


@every_experiment
def test_parameters_survive_json(name):
    """A parameter that JSON changes would never equal itself in a summary that is read again."""
    for setting in (setting for scale in SCALES for setting in plan_of(name, scale).settings):
        text = json.dumps(dict(setting.parameters), sort_keys=True)
        assert json.dumps(json.loads(text), sort_keys=True) == text
        assert setting.parameters


# --- claims ---


@dataclass(frozen=True)
class MadeUp(Runs):
    """Runs of random numbers, in frames by setting and policy."""

    frames: dict = field(default_factory=dict)

    def rows(self, setting, policy):
        if (setting, policy) not in self.frames:
            raise MissingRuns(f"{policy} in {setting} is not planned")
        return self.frames[setting, policy]


def made_up(name):
    """Rows of the paper-scale plan: every policy in every setting, three seeds, at the recorded rounds."""
    plan = plan_of(name, "paper")
    ends = np.arange(plan.record_every, plan.rounds + 1, plan.record_every)
    rng = np.random.default_rng(0)
    where = pd.DataFrame({"seed": np.repeat([0, 1, 2], len(ends)), "round": np.tile(ends, 3)})
    columns = ["regret", "realized_regret", "reward", "value", "best", "seconds", "choice_seconds"]
    frames = {
        one: where.assign(**{column: rng.uniform(1.0, 2.0, len(where)) for column in columns})
        for one in labels_of(plan)
    }
    axis = {setting.name: setting.x for setting in plan.settings}
    return MadeUp(pd.concat(frames.values()), axis, made_up, frames=frames)


@every_experiment
def test_claims_are_about_what_the_paper_scale_runs(name):
    runs = made_up(name)
    sentences = [claim.sentence for claim in lookup(name).claims]
    assert Counter(sentences).most_common(1)[0][1] == 1
    for claim in lookup(name).claims:
        try:
            finding = claim.rule(runs)
        except MissingRuns as missing:
            pytest.fail(f"{claim.sentence!r} asks for what is not planned: {missing}")
        assert finding.verdict in ("holds", "fails", "open")
        assert claim.sentence == claim.sentence.strip()
        assert claim.expected


def reads_at_paper_scale(name):
    return reads_of(name, {one.id: (one, one.plan("paper")) for one in same_paper(name)})


def thinned_of(name):
    """The same rows, of which those are kept that are read."""
    runs, reads = made_up(name), reads_at_paper_scale(name)
    frames = {
        one: thinned(frame.assign(setting=one[0], policy=one[1]), reads) for one, frame in runs.frames.items()
    }
    return replace(runs, table=runs.table if reads is None else None, other=thinned_of, frames=frames)


@every_experiment
def test_claims_are_the_same_about_thinned_rows(name):
    full, thin = made_up(name), thinned_of(name)
    for claim in lookup(name).claims:
        found, expected = claim.rule(thin), claim.rule(full)
        assert (found.verdict, found.detail) == (expected.verdict, expected.detail), claim.sentence
        assert found.measured == pytest.approx(expected.measured, rel=1e-9, nan_ok=True)


def test_few_experiments_read_all_their_rows():
    """Those that claim that no number is missing; their runs have ten rows each."""
    whole = {name for name in ROWS if reads_at_paper_scale(name) is None}
    assert whole == {"wen2015/longest-path-noise", "wen2015/longest-path-prior"}


def test_a_claim_about_what_is_not_run_is_found():
    lacking = lookup("hwang2023/linear").claims
    runs = made_up("hwang2023/linear")
    fewer = {one: frame for one, frame in runs.frames.items() if one != ("authors", "CN-TS")}
    with pytest.raises(MissingRuns, match="CN-TS in authors is not planned"):
        [claim.rule(replace(runs, frames=fewer)) for claim in lacking]


def test_a_claim_about_a_window_that_is_not_recorded_is_found():
    claim = rules.at_most("it is one", total("authors", "CN-TS", last=15), 1.0)  # a row has ten rounds
    with pytest.raises(MissingRuns, match="rounds 1 to 15 are not recorded apart"):
        claim.rule(made_up("hwang2023/linear"))


def test_the_factor_of_restarts_is_that_of_the_library():
    assert loss_constant(100, GROWTH) == RESTART_LOSS


# --- policies and worlds ---


@every_experiment
def test_policies_meet_their_worlds_at_smoke_scale(name):
    """The worlds of this scale are invented: no file is needed."""
    plan = plan_of(name, "smoke")
    for setting in plan.settings:
        world = setting.environment()
        world.check()
        for label, build in setting.policies.items():
            check_meeting(name, label, build(world), world, plan.rounds)


@every_experiment
def test_all_methods_of_the_paper_scale_can_be_built(name):
    """In the smoke scale's world, as the paper's may need files."""
    smoke, paper = plan_of(name, "smoke"), plan_of(name, "paper")
    world = smoke.settings[0].environment()
    for setting in paper.settings:
        for label, build in setting.policies.items():
            check_meeting(name, f"{setting.name}, {label}", build(world), world, smoke.rounds)


@pytest.mark.parametrize("name", [name for name in ROWS if lookup(name).tunables])
def test_what_can_be_tuned_can_be_built_at_the_ends_of_its_grid(name):
    plan = plan_of(name, "smoke")
    world = plan.settings[0].environment()
    for label, tunable in lookup(name).tunables.items():
        assert tunable.grid
        for end in (0, -1):
            point = {parameter: values[end] for parameter, values in tunable.grid.items()}
            check_meeting(name, label, tunable.build(world, **point), world, plan.rounds)


# --- the registry ---


def test_one_experiment_imports_its_paper_alone():
    code = (
        "import sys; from superarm.reproduce.registry import lookup; lookup('wen2015/adult');"
        "print([name for name in sys.modules if name.startswith('superarm.reproduce.papers.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert "superarm.reproduce.papers.wen2015" in done.stdout
    assert not any(paper in done.stdout for paper in PAPERS[1:])


def test_the_registry_is_a_mapping_in_the_order_of_its_papers():
    registry = Registry(("wen2015", "oh2026"))
    added = replace(lookup("wen2015/adult"), id="other/one")
    registry[added.id] = added
    expected = [name for name in ROWS if name.startswith(("wen2015/", "oh2026/"))]
    assert list(registry) == [*expected, "other/one"]
    assert len(registry) == len(expected) + 1
    assert registry["other/one"] is added
    assert "other/two" not in registry
    assert "bae2026/h1" not in registry
    del registry["other/one"]
    assert list(registry) == expected
