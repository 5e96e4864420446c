"""Rounds are thinned to those that are read: every number of a summary stays what it was."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from superarm.experiments import rules
from superarm.experiments.claims import MissingRuns, judge
from superarm.experiments.experiment import Experiment, ExperimentError, Figure, Plan, Setting
from superarm.experiments.reads import POINTS, reads_of
from superarm.experiments.runs import Runs, elsewhere, lowest, per_round, share, sweep, total
from superarm.experiments.store import Origin, ResultFolder, RunFile
from superarm.experiments.thinning import KEY, thinned
from superarm.reproduce import runner
from superarm.reproduce.papers.sun2026.claims import _spent
from superarm.reproduce.registry import EXPERIMENTS, same_paper
from superarm.simulation.simulate import SimulationError

NUMBERS = ["regret", "realized_regret", "reward", "value", "best"]
ROUNDS, EVERY = 2000, 4  # 500 rows a run, of which a curve shows those of every 20th round


class World:
    def check(self):
        pass


@dataclasses.dataclass
class Simulator:
    """Stands in for run_seed: random numbers in every column, and regret that falls."""

    calls: list = dataclasses.field(default_factory=list)
    stop_after: int | None = None
    broken_seed: int | None = None

    def __call__(self, policy, environment, *, rounds, seed, record_every, on_rounds, timed):
        if self.stop_after is not None and len(self.calls) == self.stop_after:
            raise KeyboardInterrupt
        if seed == self.broken_seed:
            raise SimulationError("no sound decision")
        self.calls.append((policy, seed))
        on_rounds(rounds)
        ends = np.arange(record_every, rounds + 1, record_every)
        rng = np.random.default_rng([seed, len(policy)])
        frame = pd.DataFrame({"seed": seed, "round": ends})
        frame = frame.assign(**{name: rng.uniform(1.0, 2.0, len(ends)) for name in NUMBERS})
        frame["regret"] *= len(policy) / np.sqrt(ends)
        frame["seconds"] = frame["choice_seconds"] = rng.uniform(1.0, 2.0, len(ends))
        frame["seconds"] *= 3.0
        frame.attrs |= {"compile_seconds": 0.5, "refused_fits": 0}
        return frame


def plan_of(scale):
    settings = tuple(
        Setting(
            f"m{x}",
            World,
            {name: lambda world, name=x * name: name for name in ("one", "other", "random")},
            {"m": x},
            x=float(x),
        )
        for x in (1, 2, 3)
    )
    return Plan(settings, ROUNDS, seeds=4, record_every=EVERY, timed=True)


CLAIMS = (
    rules.within("the total is 200", total("m1", "one"), 200.0, relative=0.5),
    rules.within("36 rounds, between two points of a curve", total("m1", "one", last=36), 20.0, relative=0.5),
    rules.below(
        "the second half has less regret",
        total("m1", "other", first=ROUNDS // 2 + 1, last=ROUNDS),
        total("m1", "other", last=ROUNDS // 2),
    ),
    rules.at_most(
        "a window inside", per_round("m2", "one", column="realized_regret", first=137, last=1404), 1.0
    ),
    rules.below("the last rounds", per_round("m3", "one", first=1997, last=2000), total("m3", "one", last=4)),
    rules.within("a share", share("m2", "random", last=96), 1.0, absolute=0.1),
    rules.linear("it is flat", sweep("one", last=1500)),
    rules.flat("it is flat", sweep("other"), reference=2.0, decades=0.1),
    rules.more_variable("one varies more", total("m1", "random"), total("m1", "one")),
    rules.chain("in order", {"one": total("m1", "one")}, {"other": total("m1", "other", last=1804)}),
    rules.not_worse(
        "no worse than the best", total("m1", "one"), lowest(total("m1", "other"), total("m1", "random"))
    ),
    rules.below("choosing is cheap", _spent("one", "m1", choice=True), _spent("one", "m1", choice=False)),
    rules.within("it is not recorded apart", total("m1", "one", last=37), 1.0, relative=0.1),
    rules.within("it is not run", total("m9", "one"), 1.0, relative=0.1),
)
LAYOUT = Figure("regret", "round", "regret")
FAKE = Experiment("fake/curve", "Curves", "nobody (2026)", plan_of, CLAIMS, LAYOUT)
READER = dataclasses.replace(
    FAKE,
    id="fake/reader",
    claims=(
        rules.below("later", elsewhere(FAKE.id, total("m1", "one", first=1857)), total("m1", "one")),
        rules.below("never", elsewhere(FAKE.id, total("m9", "one", last=8)), total("m1", "one", last=8)),
    ),
)


@pytest.fixture
def simulator(monkeypatch):
    stand_in = Simulator()
    for experiment in (FAKE, READER):
        monkeypatch.setitem(EXPERIMENTS, experiment.id, experiment)
    monkeypatch.setattr(runner, "run_seed", stand_in)
    runner._built.cache_clear()
    runner._environment.cache_clear()
    return stand_in


def change_claims(monkeypatch, *claims):
    monkeypatch.setitem(EXPERIMENTS, FAKE.id, dataclasses.replace(FAKE, claims=claims))


def run(out, name=FAKE.id, **options):
    return runner.run(name, out=out, workers=0, **options)


def file_in(out, name=FAKE.id):
    return out / name / "quick" / "rounds.parquet"


def rows_in(out):
    return pd.read_parquet(file_in(out))


def reads(experiment=FAKE):
    return reads_of(experiment.id, {one.id: (one, one.plan("quick")) for one in (FAKE, READER)})


def bare(summary):
    """What came out, to the last bit, without the times of compiling; as text, where NaN equals itself."""
    return repr((summary.claims, summary.finals, summary.times.run_seconds, summary.seeds, summary.reduced))


# --- the same numbers ---


@pytest.mark.parametrize("broken", [None, 2])
def test_claims_and_totals_are_those_of_all_rounds(simulator, tmp_path, broken):
    simulator.broken_seed = broken
    thin, full = run(tmp_path / "thin"), run(tmp_path / "full", keep_rounds=True)
    assert bare(thin) == bare(full)
    all_rows = rows_in(tmp_path / "full")
    assert len(all_rows) == 3 * 3 * 4 * ROUNDS / EVERY
    assert len(rows_in(tmp_path / "thin")) <= len(all_rows) * (POINTS + 10) / 500
    assert (file_in(tmp_path / "thin").stat().st_size) < 0.08 * file_in(tmp_path / "full").stat().st_size

    before = judge(CLAIMS, Runs(all_rows, {"m1": 1.0, "m2": 2.0, "m3": 3.0}))
    assert {claim.verdict for claim in before} >= {"fails", "open"} | ({"holds"} if broken is None else set())
    assert [claim.measured is None for claim in before[-2:]] == [True, True]
    for found, expected in zip(thin.claims, before, strict=True):
        assert dataclasses.replace(found, measured=None) == dataclasses.replace(expected, measured=None)
        if expected.measured is not None:
            assert found.measured == pytest.approx(expected.measured, rel=1e-12)
    totals = all_rows.groupby(["setting", "policy", "seed"])["regret"].sum(min_count=1)
    for final in thin.finals:
        mean = totals[final.setting, final.policy].mean(skipna=False)
        assert final.regret == pytest.approx(mean, rel=1e-12, nan_ok=True)


def test_the_figure_is_the_same_and_has_few_points(simulator, tmp_path):
    run(tmp_path / "thin")
    run(tmp_path / "full", keep_rounds=True)
    drawn = [(tmp_path / name / FAKE.id / "quick/figure.png").read_bytes() for name in ("thin", "full")]
    assert drawn[0] == drawn[1]
    ends = sorted(reads()["regret"])
    assert set(range(20, ROUNDS + 1, 20)) < set(ends)
    assert len(ends) <= POINTS + 10
    assert rows_in(tmp_path / "thin")["round"].unique().tolist() == ends


def test_what_is_read_is_what_claims_curves_and_totals_name():
    found = reads()
    assert set(found) == {"regret", "realized_regret", "value", "best", "seconds", "choice_seconds"}
    assert found["realized_regret"] == {136, 1404}
    assert found["value"] == found["best"] == {96, ROUNDS}
    assert {36, 1804, 1996, 4} < found["regret"]
    assert 1856 in found["regret"], "another experiment reads it"
    assert 8 not in found["regret"]
    assert found["seconds"] == {ROUNDS}
    alone = reads_of(FAKE.id, {FAKE.id: (FAKE, plan_of("quick"))})
    assert 1856 not in alone["regret"]
    assert 1856 not in reads(READER)["regret"]


def test_a_claim_that_reads_the_rows_themselves_keeps_them_all(simulator, tmp_path, monkeypatch):
    change_claims(monkeypatch, rules.finite("no NaN"))
    assert run(tmp_path).claims[0].verdict == "holds"
    assert len(rows_in(tmp_path)) == 3 * 3 * 4 * ROUNDS / EVERY
    summary = run(tmp_path, seeds=5)
    assert (summary.claims[0].verdict, summary.claims[0].detail) == (
        "holds",
        f"of {3 * 3 * 5 * 500 * 5} numbers",
    )


def test_another_experiment_finds_its_window_in_thinned_rounds(simulator, tmp_path):
    run(tmp_path / "thin")
    run(tmp_path / "full", keep_rounds=True)
    thin, full = (run(tmp_path / name, READER.id) for name in ("thin", "full"))
    assert bare(thin) == bare(full)
    assert [claim.verdict for claim in thin.claims] == ["holds", "open"]


# --- sums, against plain NumPy ---


def table_of(rng, lengths=(30, 30, 17)):
    rows = [
        {"setting": "s", "policy": policy, "seed": seed, "round": end, "a": rng.uniform(), "b": rng.uniform()}
        for policy in ("p", "q")
        for seed, length in enumerate(lengths)  # the log of the last one ends early
        for end in range(1, length + 1)
    ]
    return pd.DataFrame(rows)


def test_a_number_is_the_sum_over_the_rounds_since_the_number_before():
    table = table_of(np.random.default_rng(0))
    found = thinned(table, {"a": frozenset({5, 10, 20, 30}), "b": frozenset({10, 30}), "c": frozenset({30})})
    assert list(found.columns) == [*KEY, "round", "a", "b"]
    for (policy, seed), rows in found.groupby(["policy", "seed"]):
        whole = table[(table["policy"] == policy) & (table["seed"] == seed)]
        last = len(whole)
        assert rows["round"].tolist() == [5, 10, *([20, 30] if last == 30 else [17])]
        for column, ends in (("a", [5, 10, 20, 30]), ("b", [10, 30])):
            known = rows[rows[column].notna()]
            sums = np.cumsum(whole[column].to_numpy())
            assert known["round"].tolist() == sorted({min(end, last) for end in ends})
            np.testing.assert_allclose(known[column].cumsum(), sums[known["round"] - 1], rtol=1e-12)


def test_what_is_thinned_already_stays_as_it_is():
    reads = {"a": frozenset({5, 10, 30}), "b": frozenset({10, 30})}
    once = thinned(table_of(np.random.default_rng(1)), reads)
    pd.testing.assert_frame_equal(thinned(once, reads), once, check_exact=True)


def test_a_window_of_thinned_numbers_ends_where_a_number_does():
    table = thinned(
        table_of(np.random.default_rng(2), (30, 30)), {"a": frozenset({5, 30}), "b": frozenset({10, 30})}
    )
    runs = Runs(table, {"s": None})
    assert total("s", "p", column="b", first=11)(runs).notna().all()
    for asked in ({"column": "b", "last": 5}, {"column": "a", "last": 10}, {"column": "a", "first": 11}):
        with pytest.raises(MissingRuns, match="not recorded apart"):
            total("s", "p", **asked)(runs)
    with pytest.raises(MissingRuns, match="c of these runs is not kept"):
        total("s", "p", column="c")(runs)


def test_a_window_that_one_seed_does_not_have_is_missing():
    table = table_of(np.random.default_rng(3), (30, 30))
    runs = Runs(table[(table["seed"] == 0) | (table["round"] % 10 == 0)], {"s": None})
    assert len(total("s", "p", column="a", last=20)(runs)) == 2
    with pytest.raises(MissingRuns, match="rounds 1 to 15 are not recorded apart"):
        total("s", "p", column="a", last=15)(runs)


# --- going on with a thinned folder ---


def test_more_seeds_join_thinned_ones(simulator, tmp_path):
    whole = run(tmp_path / "whole", seeds=6)
    run(tmp_path / "parts", seeds=2)
    simulator.calls.clear()
    simulator.stop_after = 7
    with pytest.raises(runner.Interrupted):
        run(tmp_path / "parts", seeds=6)
    (cell, *_) = sorted((tmp_path / "parts" / FAKE.id / "quick/cells").iterdir())
    assert len(pd.read_parquet(cell)) == ROUNDS / EVERY, "cells stay as they were run"
    simulator.stop_after = None
    assert bare(run(tmp_path / "parts", seeds=6)) == bare(whole)
    assert {seed for _, seed in simulator.calls} == {2, 3, 4, 5}
    pd.testing.assert_frame_equal(rows_in(tmp_path / "parts"), rows_in(tmp_path / "whole"), check_exact=True)


def test_settings_that_are_run_later_find_what_claims_compare_them_with(simulator, tmp_path):
    whole = run(tmp_path / "whole")
    run(tmp_path / "parts", settings=["m3"])
    run(tmp_path / "parts", settings=["m2"])
    assert bare(run(tmp_path / "parts")) == bare(whole)


def test_a_merge_that_was_cut_short_counts_no_round_twice(simulator, tmp_path):
    first = run(tmp_path)
    expected = rows_in(tmp_path)
    store = ResultFolder(tmp_path / FAKE.id / "quick")
    cell = RunFile("m1", "one", 0)
    options = {"rounds": ROUNDS, "seed": 0, "record_every": EVERY, "timed": True}
    store.cells.mkdir()
    store.write(cell, simulator("one", None, on_rounds=lambda done: None, **options), Origin())
    again = run(tmp_path)
    assert bare(again) == bare(first)
    assert again.times == first.times
    pd.testing.assert_frame_equal(rows_in(tmp_path), expected, check_exact=True)


def test_rounds_that_were_kept_stay_kept(simulator, tmp_path):
    run(tmp_path, seeds=2, keep_rounds=True)
    run(tmp_path, seeds=3)
    assert len(rows_in(tmp_path)) == 3 * 3 * 3 * ROUNDS / EVERY


def test_thinned_rounds_cannot_be_asked_back(simulator, tmp_path):
    run(tmp_path, seeds=2)
    simulator.calls.clear()
    with pytest.raises(
        ExperimentError, match=r"are thinned already, and --keep-rounds cannot .* use --fresh"
    ):
        run(tmp_path, seeds=3, keep_rounds=True)
    assert simulator.calls == []
    run(tmp_path, seeds=2, keep_rounds=True, fresh=True)
    assert len(rows_in(tmp_path)) == 3 * 3 * 2 * ROUNDS / EVERY


def as_before(path):
    """Write a table as versions before did: all rounds, and no word about them."""
    table = pq.read_table(path)
    described = json.loads(table.schema.metadata[b"superarm"])
    del described["rounds"]
    pq.write_table(table.replace_schema_metadata({b"superarm": json.dumps(described)}), path)


def test_tables_of_before_are_thinned_by_the_next_run(simulator, tmp_path):
    first = run(tmp_path, keep_rounds=True)
    as_before(file_in(tmp_path))
    simulator.calls.clear()
    assert bare(run(tmp_path)) == bare(first)
    assert simulator.calls == []
    assert len(rows_in(tmp_path)) < 3 * 3 * 4 * (POINTS + 10)


@pytest.mark.parametrize("seeds", [4, 6])
def test_a_claim_about_what_was_thinned_away_is_open(simulator, tmp_path, monkeypatch, seeds):
    """Not failed, as if the runs were lost; also where there are newer runs beside them."""
    run(tmp_path)
    change_claims(
        monkeypatch,
        rules.at_most("a column", total("m1", "one", column="reward"), 1e9),
        rules.at_most("a round", total("m1", "one", last=48), 1e9),
        rules.at_most("a round of a column", total("m1", "one", column="value", last=1404), 1e9),
        rules.finite("no NaN"),
    )
    summary = run(tmp_path, seeds=seeds)
    assert summary.seeds == seeds
    assert [(claim.verdict, claim.measured) for claim in summary.claims] == [("open", None)] * 4
    words = [claim.detail for claim in summary.claims]
    assert words[0] == "reward of these runs is not kept"
    assert words[3] == "not all rounds of these runs are kept"
    assert run(tmp_path, seeds=seeds).claims == summary.claims


# --- drawing again ---


def test_redrawing_thins_and_draws_and_leaves_the_summary(simulator, tmp_path):
    run(tmp_path, keep_rounds=True)
    as_before(file_in(tmp_path))
    folder = tmp_path / FAKE.id / "quick"
    before = (folder / "summary.json").read_bytes()
    drawn = (folder / "figure.png").read_bytes()
    (folder / "figure.png").unlink()
    runner.redraw(FAKE.id, scale="quick", out=tmp_path)
    assert (folder / "summary.json").read_bytes() == before
    assert (folder / "figure.png").read_bytes() == drawn
    assert len(rows_in(tmp_path)) < 3 * 3 * 4 * (POINTS + 10)
    assert len(simulator.calls) == 3 * 3 * 4


def test_without_rounds_there_is_nothing_to_draw(simulator, tmp_path):
    with pytest.raises(ExperimentError, match=r"redraw: .* holds no rounds"):
        runner.redraw(FAKE.id, scale="quick", out=tmp_path)


def test_a_paper_is_what_its_experiments_may_ask(simulator):
    assert [one.id for one in same_paper(FAKE.id)] == [FAKE.id, READER.id]
