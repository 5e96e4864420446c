"""Experiments of papers: the registry, what a run keeps on disk, and resuming."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from superarm.experiments import rules
from superarm.experiments.claims import Claim, Finding
from superarm.experiments.experiment import Experiment, ExperimentError, Figure, Plan, Setting
from superarm.experiments.runs import total
from superarm.experiments.store import Origin, ResultFolder, RunFile
from superarm.experiments.summary import MAX_BYTES, find_summaries, read_summary
from superarm.reproduce import runner
from superarm.reproduce.papers.wen2015.data import invented_items
from superarm.reproduce.registry import EXPERIMENTS, lookup, matching, plan_of
from superarm.reproduce.runner import _as_planned
from superarm.simulation.simulate import SimulationError
from superarm.statistics import interval

NUMBERS = ["regret", "realized_regret", "reward", "value", "best"]


# --- the registry ---


def test_ids_are_the_papers():
    assert list(EXPERIMENTS) == [
        "wen2015/longest-path",
        "wen2015/longest-path-size",
        "wen2015/longest-path-dim",
        "wen2015/longest-path-noise",
        "wen2015/longest-path-prior",
        "wen2015/adult",
        "wen2015/lastfm",
        "hwang2023/linear",
        "hwang2023/quadratic",
        "hwang2023/cosine",
        "hwang2023/dim-40",
        "hwang2023/dim-120",
        *(f"bae2026/h{number}" for number in range(1, 7)),
        *(f"bae2026/dimension-{level}" for level in ("low", "middle", "high")),
        *(f"bae2026/{name}" for name in ("mnist", "mushroom", "shuttle", "magic", "banknote", "phoneme")),
        "bae2026/open-bandit",
        *("sun2026/linear", "sun2026/logistic", "sun2026/distance", "sun2026/quadratic"),
        *("sun2026/logistic-runtime", "sun2026/quadratic-runtime"),
        *("sun2026/ensemble-size", "sun2026/regularization", "sun2026/perturbation", "sun2026/network"),
        *("sun2026/anytime-schedules", "sun2026/large"),
        *("sun2026/shuttle", "sun2026/mushroom", "sun2026/adult", "sun2026/covertype"),
        *("oh2026/cosine", "oh2026/square", "oh2026/quadratic", "oh2026/agnostic", "oh2026/radius"),
        "oh2026/self-duels",
        *("oh2026/statlog", "oh2026/magic", "oh2026/covertype"),
        *("oh2026/width", "oh2026/high-dim", "oh2026/runtime"),
    ]


def test_paper_scale_is_the_papers():
    default = plan_of("wen2015/longest-path", "paper")
    assert (default.rounds, default.seeds, default.reduced) == (150, 200, "")
    assert dict(default.settings[0].parameters) == {
        "size": 30,
        "dim": 200,
        "theta_scale": 10.0,
        "true_noise": 1.0,
        "prior_scale": 10.0,
        "noise": 1.0,
    }
    axis = {name: [s.x for s in plan_of(f"wen2015/longest-path-{name}", "paper").settings] for name in SWEEPS}
    assert axis == SWEEPS
    size = plan_of("wen2015/longest-path-size", "paper")
    assert [size.repetitions(setting) for setting in size.settings] == [200] * 11
    assert size.reduced == ""
    for name, chosen in (("adult", 100), ("lastfm", 10)):
        plan = plan_of(f"wen2015/{name}", "paper")
        assert (plan.rounds, plan.settings[0].parameters["chosen"]) == (1000, chosen)
        assert list(plan.settings[0].policies) == ["CombLinTS", "CombUCB1", "CombTS"]


SWEEPS = {
    "size": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 250],
    "dim": [10, 60, 110, 160, 210, 260, 310, 360, 410, 460, 510],
    "noise": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4],
    "prior": [1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5],
}


def test_wildcards_and_ids_are_matched_once_and_in_order():
    found = matching(["wen2015/longest-path-noise", "wen2015/longest-path*"])
    assert [one.id for one in found] == list(EXPERIMENTS)[:5]


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("wen2015/longst-path", "did you mean 'wen2015/longest-path'?"),
        ("adult", "did you mean 'wen2015/adult'?"),
        ("qqq", "`superarm list` shows them all"),
        ("nobody/*", "`superarm list` shows them all"),
    ],
)
def test_an_unknown_id_is_one_sentence_with_a_suggestion(name, end):
    with pytest.raises(ExperimentError) as error:
        matching([name], where="run")
    assert str(error.value) == f"run: unknown experiment {name!r}; {end}"


def test_an_unknown_scale_names_the_scales():
    with pytest.raises(ExperimentError, match="run: scale must be one of smoke, quick, paper, got 'big'"):
        plan_of("wen2015/adult", "big", where="run")


# --- running, with a world that costs nothing ---


class World:
    """Enough of an environment for the runner."""

    def check(self):
        pass


@dataclasses.dataclass
class Simulator:
    """Stands in for run_seed: counts its calls, and stops or fails when told to."""

    calls: list = dataclasses.field(default_factory=list)
    stop_after: int | None = None
    broken_seed: int | None = None
    refused: int = 0

    def __call__(self, policy, environment, *, rounds, seed, record_every, on_rounds, timed=False):
        assert not timed
        if self.stop_after is not None and len(self.calls) == self.stop_after:
            raise KeyboardInterrupt
        if seed == self.broken_seed:
            raise SimulationError("no sound decision")
        self.calls.append((policy, seed))
        ends = np.arange(record_every, rounds + 1, record_every)
        regret = np.random.default_rng([seed, len(policy)]).uniform(size=len(ends)) / ends
        on_rounds(rounds)
        frame = pd.DataFrame({"seed": seed, "round": ends, "regret": regret})
        frame = frame.assign(realized_regret=regret, reward=1.0, value=1.0, best=2.0, seconds=0.25)
        frame.attrs["compile_seconds"] = 1.5
        frame.attrs["refused_fits"] = self.refused
        return frame


def fake_plan(scale, **changes):
    policies = {"one": lambda world: "one", "other": lambda world: "other"}
    settings = tuple(Setting(f"m{x}", World, policies, {"m": x}, x=float(x)) for x in (1, 2))
    return Plan(**{"settings": settings, "rounds": 8, "seeds": 3, "record_every": 2, **changes})


FAKE = Experiment(
    id="fake/line",
    title="A <b>fake</b> line",
    reference="nobody (2026)",
    plan=fake_plan,
    claims=(
        rules.finite("no NaN"),
        Claim("two is three", "3", lambda runs: Finding(2.0, "fails", "it is two")),
        rules.within("m = 9 is run", total("m9", "one"), 1.0, relative=0.1),
    ),
    figure=Figure("sweep", "m", "regret"),
)


@pytest.fixture
def simulator(monkeypatch):
    stand_in = Simulator()
    monkeypatch.setitem(EXPERIMENTS, FAKE.id, FAKE)
    monkeypatch.setattr(runner, "run_seed", stand_in)
    runner._built.cache_clear()
    runner._environment.cache_clear()
    return stand_in


def change_plan(monkeypatch, **changes):
    changed = dataclasses.replace(FAKE, plan=lambda scale: fake_plan(scale, **changes))
    monkeypatch.setitem(EXPERIMENTS, FAKE.id, changed)


def run_fake(out, **options):
    return runner.run(FAKE.id, out=out, workers=0, **options)


def rows_in(out):
    return pd.read_parquet(out / FAKE.id / "quick" / "rounds.parquet").drop(columns="seconds")


def test_a_run_leaves_a_table_a_summary_and_figures(simulator, tmp_path):
    steps = []
    summary = run_fake(tmp_path, progress=lambda done, rounds: steps.append((done, rounds)))
    folder = tmp_path / FAKE.id / "quick"
    assert sorted(path.name for path in folder.iterdir()) == [
        "figure.png",
        "rounds.parquet",
        "summary.json",
    ]
    table = rows_in(tmp_path)
    assert list(table.columns) == ["setting", "policy", "seed", "round", *NUMBERS]
    assert len(table) == 2 * 2 * 3 * 4
    assert steps[0] == (0, 96)
    assert steps[-1] == (96, 96)
    assert [claim.verdict for claim in summary.claims] == ["holds", "fails", "open"]
    assert (summary.seeds, summary.rounds, summary.scale) == (3, 8, "quick")
    assert (summary.times.run_seconds, summary.times.compile_seconds) == (12.0, 18.0)
    assert summary.refused_fits == 0
    assert summary.times.run_seconds_per_seed == 1.0
    assert set(summary.versions) == {"python", "superarm", "jax", "jaxlib", "numpy", "scipy"}


def test_figures_show_settings_and_policies_in_the_order_of_the_plan():
    settings = tuple(Setting(name, World, {"z": World, "a": World}, {}) for name in ("small", "large"))
    rows = [("large", "a"), ("large", "z"), ("left", "a"), ("small", "a"), ("small", "z")]  # by name, on disk
    table = pd.DataFrame(rows, columns=["setting", "policy"])
    found = _as_planned(Plan(settings, rounds=1, seeds=1), table)
    assert list(found.itertuples(index=False, name=None)) == [
        ("small", "z"),
        ("small", "a"),
        ("large", "z"),
        ("large", "a"),
        ("left", "a"),
    ]


def test_totals_are_the_means_over_seeds(simulator, tmp_path):
    summary = run_fake(tmp_path)
    totals = rows_in(tmp_path).query("setting == 'm2' and policy == 'one'").groupby("seed")["regret"].sum()
    final = next(one for one in summary.finals if (one.setting, one.policy) == ("m2", "one"))
    expected = interval(totals.to_numpy())
    np.testing.assert_allclose(
        [final.regret, final.regret_low, final.regret_high], [expected.mean, expected.low, expected.high]
    )
    # Value 1 and best 2 are per recorded row, of two rounds each.
    assert (final.return_per_round, final.optimum_per_round) == (0.5, 1.0)


def test_an_interrupted_run_goes_on_where_it_stopped(simulator, tmp_path):
    whole = tmp_path / "whole"
    run_fake(whole)
    expected = rows_in(whole)
    simulator.calls.clear()

    parts = tmp_path / "parts"
    simulator.stop_after = 5
    with pytest.raises(runner.Interrupted, match="5 of 12 runs are finished and kept"):
        run_fake(parts)
    cells = {path: path.stat().st_mtime_ns for path in (parts / FAKE.id / "quick" / "cells").iterdir()}
    assert len(cells) == 5
    assert not (parts / FAKE.id / "quick" / "summary.json").exists()

    simulator.stop_after = 8
    with pytest.raises(runner.Interrupted, match="8 of 12"):
        run_fake(parts)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in cells.items())

    simulator.stop_after = None
    run_fake(parts)
    assert len(simulator.calls) == 12
    pd.testing.assert_frame_equal(rows_in(parts), expected)


def test_finished_seeds_are_not_run_again_and_more_can_be_added(simulator, tmp_path):
    run_fake(tmp_path, seeds=2)
    summary = run_fake(tmp_path, seeds=2)
    assert len(simulator.calls) == 8
    assert "2 of 3 repetitions were asked for" in summary.reduced
    summary = run_fake(tmp_path)
    assert len(simulator.calls) == 12
    assert {seed for _, seed in simulator.calls[8:]} == {2}
    assert (summary.seeds, summary.reduced) == (3, "")
    assert run_fake(tmp_path, seeds=1).seeds == 3


def test_other_settings_are_refused_unless_fresh(simulator, tmp_path, monkeypatch):
    run_fake(tmp_path)
    change_plan(monkeypatch, rounds=16)
    with pytest.raises(ExperimentError, match=r"holds runs of 'm1' with other settings .* use --fresh"):
        run_fake(tmp_path)
    assert len(simulator.calls) == 12
    assert run_fake(tmp_path, fresh=True).rounds == 16
    assert rows_in(tmp_path)["round"].max() == 16


def test_cells_of_other_settings_are_refused_too(simulator, tmp_path, monkeypatch):
    simulator.stop_after = 1
    with pytest.raises(runner.Interrupted):
        run_fake(tmp_path)
    simulator.stop_after = None
    change_plan(monkeypatch, record_every=4)
    with pytest.raises(ExperimentError, match="with other settings"):
        run_fake(tmp_path)


def test_a_merge_that_was_cut_short_counts_no_row_twice(simulator, tmp_path):
    run_fake(tmp_path)
    expected = rows_in(tmp_path)
    store = ResultFolder(tmp_path / FAKE.id / "quick")
    rows = simulator("one", None, rounds=8, seed=0, record_every=2, on_rounds=lambda rounds: None)
    plan = fake_plan("quick")
    store.cells.mkdir()
    store.write(RunFile("m1", "one", 0), rows, Origin({"m1": plan.fingerprint(plan.setting("m1"))}))
    (store.cells / ".m1--one--1.parquet.77").write_bytes(b"half a fi")
    run_fake(tmp_path)
    pd.testing.assert_frame_equal(rows_in(tmp_path), expected)
    assert not store.cells.exists()


@pytest.mark.parametrize("name", ["rounds.parquet", "cells/m1--one--0.parquet", "cells/what.parquet"])
def test_damaged_tables_are_one_sentence(simulator, tmp_path, name):
    path = tmp_path / FAKE.id / "quick" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(ExperimentError, match=f"run: .*{path.name} is damaged; delete it"):
        run_fake(tmp_path)
    assert simulator.calls == []


def test_a_folder_that_cannot_be_written_is_said_before_any_work(simulator, tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(ExperimentError, match=r"run: cannot write to .*; choose another --out"):
        run_fake(tmp_path / "results")
    assert simulator.calls == []


def test_two_runs_do_not_share_a_folder(simulator, tmp_path):
    with (
        ResultFolder(tmp_path / FAKE.id / "quick").opened(),
        pytest.raises(ExperimentError, match="another run is writing"),
    ):
        run_fake(tmp_path)
    run_fake(tmp_path)


def test_a_run_that_breaks_down_is_not_a_number_and_fails_the_claim(simulator, tmp_path):
    simulator.broken_seed = 1
    summary = run_fake(tmp_path)
    assert summary.claims[0].verdict == "fails"
    assert summary.claims[0].measured == 4 * 4 * len(NUMBERS)
    assert read_summary(tmp_path / FAKE.id / "quick" / "summary.json").finals[0].regret is None


def test_refused_fits_are_told_counted_and_kept(simulator, tmp_path):
    simulator.refused = 2
    with pytest.warns(RuntimeWarning, match="24 fits diverged|12 fits diverged"):
        summary = run_fake(tmp_path)
    assert summary.refused_fits == 2 * 2 * 3 * 2
    file = tmp_path / FAKE.id / "quick" / "summary.json"
    assert read_summary(file).refused_fits == 24
    assert run_fake(tmp_path).refused_fits == 24  # with nothing left to run
    content = json.loads(file.read_text())
    del content["refused_fits"]  # as files of before had it
    file.write_text(json.dumps(content))
    assert read_summary(file).refused_fits is None


def test_one_seed_has_no_interval(simulator, tmp_path):
    run_fake(tmp_path, seeds=1)
    final = read_summary(tmp_path / FAKE.id / "quick" / "summary.json").finals[0]
    assert final.regret is not None
    assert (final.regret_low, final.regret_high) == (None, None)


def test_bad_numbers_of_seeds_are_refused(simulator, tmp_path):
    with pytest.raises(ExperimentError, match="run: seeds must be >= 1, got 0"):
        run_fake(tmp_path, seeds=0)


# --- summaries ---


@pytest.fixture
def summary_path(simulator, tmp_path):
    run_fake(tmp_path)
    return tmp_path / FAKE.id / "quick" / "summary.json"


def test_a_summary_survives_writing_and_reading(summary_path):
    summary = read_summary(summary_path)
    assert summary == dataclasses.replace(summary)
    text = summary_path.read_text()
    summary.write(summary_path.parent)
    assert summary_path.read_text() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("claims"), "Summary must have schema, id"),
        (lambda content: content.update(extra=1), "Summary must have"),
        (lambda content: content.update(schema=99), "its schema is not 1"),
        (lambda content: content.update(rounds="8"), "rounds must be int, got str"),
        (lambda content: content.update(rounds=True), "rounds must be int, got bool"),
        (lambda content: content.update(scale="huge"), "unknown scale 'huge'"),
        (lambda content: content["claims"][0].update(verdict="maybe"), "verdict must be .*, got str"),
        (lambda content: content["claims"].append(7), "Verdict must have"),
        (lambda content: content.update(finals={}), "finals must be .*, got dict"),
        (lambda content: content["finals"][0].update(regret="big"), "regret must be .*, got str"),
        (lambda content: content["versions"].update(jax=[]), "versions must be str, got list"),
    ],
)
def test_a_damaged_summary_is_one_sentence(summary_path, change, message):
    content = json.loads(summary_path.read_text())
    change(content)
    summary_path.write_text(json.dumps(content))
    with pytest.raises(ExperimentError, match=message) as error:
        read_summary(summary_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000])
def test_what_is_not_json_is_no_summary(tmp_path, content):
    path = tmp_path / "summary.json"
    path.write_bytes(content)
    with pytest.raises(ExperimentError, match="is damaged"):
        read_summary(path)


def test_a_huge_summary_is_not_read(tmp_path):
    path = tmp_path / "summary.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(ExperimentError, match="larger than"):
        read_summary(path)


def test_the_largest_finished_scale_counts(simulator, tmp_path):
    for scale in ("paper", "smoke"):
        run_fake(tmp_path, scale=scale)
    assert [(summary.id, summary.scale) for summary in find_summaries(tmp_path)] == [(FAKE.id, "paper")]


# --- the papers' experiments, at their smallest ---


# One smoke scale of each kind; the others run in `make test-full`.
SHOWN = {
    *("hwang2023/quadratic", "bae2026/h1", "sun2026/logistic", "oh2026/square"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SHOWN else [pytest.mark.full]) for name in EXPERIMENTS]
)
def test_smoke_scale_runs(name, tmp_path):
    summary = runner.run(name, scale="smoke", seeds=2, out=tmp_path, workers=0, keep_rounds=True)
    table = pd.read_parquet(tmp_path / name / "smoke" / "rounds.parquet")
    logged = name == "bae2026/open-bandit"  # of a log only the reward is known
    assert np.isfinite(table[["reward"] if logged else NUMBERS].to_numpy()).all()
    assert logged or (table["value"] <= table["best"] + 1e-9).all()
    assert len(summary.claims) == len(lookup(name).claims)
    assert (tmp_path / name / "smoke" / "figure.png").stat().st_size > 1000
    assert {claim.verdict for claim in summary.claims} <= {"open"}


def test_a_setting_can_be_run_alone_and_the_rest_later(tmp_path):
    name = "wen2015/longest-path-noise"
    everything = [setting.name for setting in lookup(name).plan("smoke").settings]
    options = {"scale": "smoke", "seeds": 2, "out": tmp_path, "workers": 0}
    first = runner.run(name, settings=everything[:1], **options)
    assert [setting.name for setting in first.settings] == everything[:1]
    assert f"not run, or not all: {', '.join(everything[1:])}" in first.reduced
    assert len(first.claims) == len(lookup(name).claims)
    with pytest.raises(ExperimentError, match="a setting of wen2015/longest-path-noise must be one of"):
        runner.run(name, settings=["sigma3"], **options)
    whole = runner.run(name, **options)
    assert [setting.name for setting in whole.settings] == everything
    assert "not run" not in whole.reduced


def test_what_an_interrupted_run_left_out_is_told(tmp_path, monkeypatch):
    name = "hwang2023/quadratic"
    (setting,) = lookup(name).plan("smoke").settings
    lost, original = next(iter(setting.policies)), runner._run_cells

    def interrupted(work, todo, *rest):
        original(work, [cell for cell in todo if cell.policy != lost], *rest)

    monkeypatch.setattr(runner, "_run_cells", interrupted)
    summary = runner.run(name, scale="smoke", seeds=2, out=tmp_path, workers=0)
    assert f"not run, or not all: {setting.name}" in summary.reduced
    assert {one.policy for one in summary.finals} == set(setting.policies) - {lost}


def test_policies_meet_the_same_world_in_every_setting_of_a_sweep(tmp_path):
    runner.run("wen2015/longest-path-noise", scale="smoke", seeds=2, out=tmp_path, workers=0)
    table = pd.read_parquet(tmp_path / "wen2015/longest-path-noise/smoke/rounds.parquet")
    best = table.pivot(index=["seed", "round"], columns="setting", values="best")
    np.testing.assert_array_equal(best["sigma1"], best["sigma1e-07"])


def test_the_real_catalogues_are_built_from_their_loaders(monkeypatch):
    items = invented_items()
    wide = dataclasses.make_dataclass("Items", ["features", "weights", "groups"])(
        np.tile(items.features, (10, 1)), np.tile(items.weights, 10), np.tile(items.groups, 10)
    )
    monkeypatch.setattr("superarm.datasets.load_adult", lambda: wide)
    monkeypatch.setattr("superarm.datasets.load_lastfm", lambda audience: wide)
    adult = plan_of("wen2015/adult", "paper").settings[0].environment()
    lastfm = plan_of("wen2015/lastfm", "paper").settings[0].environment()
    assert (adult.oracle.size, lastfm.oracle.size) == (100, 10)
    assert adult.spec.num_arms == lastfm.spec.num_arms == 400
