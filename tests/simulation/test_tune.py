"""Grid search: a point's regret is that of its own run, however the points are run, and bad ones are told."""

import dataclasses
import json
import math
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import superarm
from superarm import evaluate
from superarm.cli.app import app
from superarm.contract import Explorer
from superarm.environments import linear_scores, nonlinear_scores
from superarm.experiments.experiment import (
    SCALES,
    Experiment,
    ExperimentError,
    Figure,
    Plan,
    Setting,
    Tunable,
)
from superarm.policies import anytime
from superarm.pytree import pytree
from superarm.report import curves
from superarm.reproduce import tuning as experiment_tuning
from superarm.reproduce.registry import EXPERIMENTS
from superarm.simulation import batch as batches
from superarm.simulation.tune import TUNING_SEEDS, GridError, Tuning, tune
from superarm.statistics import interval
from superarm.types import Array

WORLD = linear_scores(dim=4, num_arms=6)


def linear(radius, noise):
    return superarm.lin_ucb(radius=radius, noise=noise)


def totals(result):
    """(regret, reward) of every run, policies first, then seeds."""
    runs = result.table.groupby(["policy", "seed"], sort=False)[["regret", "reward"]].sum()
    return runs.to_numpy()


def simulated(build, found, world):
    """The same runs by `compare`, one after another."""
    points = found.means()[list(found.grid)].to_dict(orient="records")
    seeds = found.table["seed"].unique().tolist()
    policies = {str(point): build(**point) for point in points}
    return totals(superarm.compare(policies, world, rounds=found.rounds, seeds=seeds, workers=0))


# --- the runs ---


def test_a_point_has_the_regret_of_its_own_simulation():
    grid = {"radius": [0.1, 10.0], "noise": [0.1, 1.0]}
    found = tune(linear, grid, WORLD, rounds=150, seeds=2, workers=0)
    assert batches.room(linear(1.0, 1.0), WORLD, 150) >= 4, "nothing would be run together"
    np.testing.assert_allclose(
        found.table[["regret", "reward"]], simulated(linear, found, WORLD), rtol=1e-10, atol=1e-10
    )
    assert found.table["radius"].tolist() == [0.1] * 4 + [10.0] * 4
    assert found.table["noise"].tolist() == [0.1, 0.1, 1.0, 1.0] * 2
    assert found.table["seed"].tolist() == [1000, 1001] * 4
    assert found.table["regret"].nunique() > 4, "points or seeds do not differ"


@pytest.fixture(scope="module")
def neural_runs():
    """Above 512 observations, so that fits loop over more than one block of history."""
    world = nonlinear_scores(dim=5, num_arms=4)

    def build(radius, learning_rate):
        model = superarm.neural(
            superarm.perceptron(width=6),
            learning_rate=learning_rate,
            learn_every=100,
            steps=30,
            reduction="mean",
        )
        return superarm.neural_ucb(model, radius=radius)

    grid = {"radius": [0.1], "learning_rate": [0.01, 0.3, 1e6]}
    with pytest.warns(RuntimeWarning) as told:
        found = tune(build, grid, world, rounds=760, seeds=1, workers=0)
    return build, world, found, [str(one.message) for one in told]


def test_neural_points_learn_as_in_their_own_simulation(neural_runs):
    build, world, found, _ = neural_runs
    assert batches.room(found.policy(), world, 760) >= 3
    with pytest.warns(RuntimeWarning, match="diverged"):
        expected = simulated(build, found, world)
    np.testing.assert_allclose(found.table[["regret", "reward"]], expected, rtol=1e-5)
    regret = found.table["regret"]
    assert regret[1] < 0.9 * regret[0], "the learning rate makes no difference"


@pytest.mark.full
def test_fits_draw_the_minibatches_of_their_own_simulation():
    model = superarm.neural(superarm.perceptron(width=4), batch=8, learn_every=20, steps=9)

    def build(radius):
        return superarm.neural_ucb(model, radius=radius)

    world = nonlinear_scores(dim=3, num_arms=4)
    found = tune(build, {"radius": [0.01, 0.1]}, world, rounds=100, seeds=1, workers=0)
    np.testing.assert_allclose(found.table[["regret", "reward"]], simulated(build, found, world), rtol=1e-5)


def test_refused_fits_are_counted_and_told(neural_runs):
    _, _, found, told = neural_runs
    assert found.table["refused_fits"].tolist() == [0, 0, 7]
    assert told == ["tune: fits diverged and were refused at radius=0.1, learning_rate=1e+06"]


def test_batches_share_one_compilation_and_their_size_changes_nothing(monkeypatch):
    """Five points in batches of 3: the second is filled up, and nothing of the filling is counted."""
    grid = {"radius": [0.01, 1.0, 3.0, 10.0, 100.0]}
    world = linear_scores(dim=3, num_arms=5)
    sizes = []

    def run_batch(batch, on_rounds):
        sizes.append((len(batch.policies), batch.count))
        return batches.run_batch(batch, on_rounds)

    def run(batch):
        sizes.clear()
        found = tune(
            lambda radius: superarm.lin_ucb(radius=radius),
            grid,
            world,
            rounds=70,
            seeds=2,
            batch=batch,
            workers=0,
        )
        return found.table, list(sizes)

    monkeypatch.setattr(sys.modules["superarm.simulation.tune"], "run_batch", run_batch)
    before = batches._chunk._cache_size()
    small, sizes_small = run(3)
    assert batches._chunk._cache_size() == before + 1
    alone, sizes_alone = run(1)
    assert batches._chunk._cache_size() == before + 1
    assert (sizes_small, sizes_alone) == ([(3, 3), (3, 2)] * 2, [(1, 1)] * 10)
    pd.testing.assert_frame_equal(small, alone, rtol=1e-10)
    assert small["regret"].nunique() == 10
    assert small["radius"].tolist() == [0.01] * 2 + [1.0] * 2 + [3.0] * 2 + [10.0] * 2 + [100.0] * 2


def test_only_what_differs_is_kept_more_than_once():
    policies = [linear(radius, 0.5) for radius in (1.0, 2.0)]
    leaves = jax.tree.leaves(policies[0])
    axes = batches.differing(policies)
    assert [float(leaf) for leaf, axis in zip(leaves, axes, strict=True) if axis == 0] == [1.0]
    members = batches._Members.of(policies, axes)
    assert sorted(leaf.shape for leaf in members.leaves) == [()] * (len(leaves) - 1) + [(2,)]


def test_batches_are_for_small_states():
    def neural(width, units):
        return superarm.neural_ucb(superarm.neural(superarm.perceptron(width=units)), width=width)

    world = nonlinear_scores(dim=20, num_arms=5)
    assert batches.room(neural("diagonal", 20), world, 1000) == batches.MAX_BATCH == 25
    assert batches.room(neural("full", 10), world, 1000) == 9  # 353 kB of width, 84 kB of history
    assert batches.room(neural("full", 20), world, 1000) == 1
    assert batches.room(neural("dual", 20), world, 1000) == 1


def test_states_have_room_for_all_that_will_be_observed():
    world = nonlinear_scores(superarm.top_k(3), dim=4, num_arms=5)
    assert batches._spec(superarm.cn_ucb(world.oracle), world, 50).capacity == 150
    assert batches._spec(superarm.comb_lin_ucb(world.oracle), world, 50).capacity == 0


def test_the_same_in_worker_processes():
    grid = {"radius": [0.1, 10.0], "noise": [0.1, 1.0]}
    run = [tune(linear, grid, WORLD, rounds=150, seeds=2, workers=workers).table for workers in (0, 2)]
    pd.testing.assert_frame_equal(*run, check_exact=True)


def test_points_meet_the_same_worlds_and_of_equals_the_first_is_best():
    """A parameter without effect: a draw of a point's own would show."""
    found = tune(
        lambda scale, nothing: superarm.lin_ts(scale=scale, noise=0.1),
        {"scale": [5.0, 0.5], "nothing": [3.0, 2.0]},
        WORLD,
        rounds=80,
        seeds=[7, 3],
        workers=0,
    )
    regret = found.table["regret"].to_numpy().reshape(2, 2, 2)
    np.testing.assert_array_equal(regret[:, 0], regret[:, 1])
    assert found.table["seed"].tolist() == [7, 3] * 4
    assert found.best == {"scale": 0.5, "nothing": 3.0}


def best_two(scores, mask):
    return np.argsort(-scores)[:2]


@pytest.mark.parametrize("kind", ["host oracle", "doubling"])
def test_what_cannot_be_compiled_together_is_run_as_ever(kind, monkeypatch):
    monkeypatch.setattr(batches, "_together", None)
    if kind == "host oracle":
        oracle = superarm.oracles.function(best_two, size=2)
        world = linear_scores(oracle, dim=3, num_arms=5)

        def build(noise):
            return superarm.comb_lin_ucb(oracle, noise=noise)
    else:
        world = linear_scores(dim=3, num_arms=5)

        def build(noise):
            return anytime.doubling(lambda epoch: superarm.lin_ucb(noise=noise), period=10)

    found = tune(build, {"noise": [0.1, 100.0]}, world, rounds=30, seeds=2, workers=0, batch=2)
    np.testing.assert_array_equal(found.table[["regret", "reward"]], simulated(build, found, world))
    assert found.best == {"noise": 0.1}


@pytree
@dataclasses.dataclass(frozen=True)
class Brittle(Explorer):
    """Scores that are not finite from decision `limit` on."""

    limit: Array

    def scores(self, key, beliefs, count):
        return jnp.where(count.astype(self.limit.dtype) < self.limit, beliefs.mean, jnp.nan)


def brittle(limit):
    return dataclasses.replace(
        superarm.lin_ucb(noise=0.1), explorer=Brittle(np.float64(limit)), name="brittle"
    )


@pytest.mark.parametrize("batch", [None, 1])
def test_a_point_that_fails_does_not_spoil_the_others(batch, capsys):
    grid = {"limit": [1e6, 100.0, 200.0, 1e7]}
    with pytest.warns(RuntimeWarning) as told:
        found = tune(brittle, grid, WORLD, rounds=150, seeds=2, workers=0, batch=batch, progress=True)
    assert [str(one.message) for one in told] == [
        "tune: regret counts as infinite at limit=100: "
        "a score was not finite, or no feasible set was on offer"
    ]
    assert found.table["regret"].tolist()[2:4] == [math.inf, math.inf]
    assert found.table["reward"].tolist()[2:4] == [-math.inf, -math.inf]
    others = found.table[found.table["limit"] != 100.0]
    sound = totals(superarm.simulate(brittle(1e6), WORLD, rounds=150, seeds=[1000, 1001], workers=0))
    np.testing.assert_allclose(others[["regret", "reward"]], np.tile(sound, (3, 1)), rtol=1e-10)
    assert found.best == {"limit": 1e6}
    assert capsys.readouterr().err.endswith("tune: 1200 of 1200 rounds\n"), "lost rounds are not counted"


def test_when_every_point_fails_there_is_nothing_to_find():
    with pytest.raises(superarm.SimulationError, match="tune: every point failed: a score was not finite"):
        tune(brittle, {"limit": [1.0, 2.0, 3.0, 4.0]}, WORLD, rounds=150, seeds=2, workers=0)


def test_a_world_whose_regret_is_not_a_number_fails():
    total = batches.Total.of(math.nan, 1.0)
    assert (total.regret, total.reward) == (math.inf, -math.inf)
    assert batches.Total.of(2.0, 1.0, 3) == batches.Total(2.0, 1.0, 3)
    assert batches.Total.of(2.0, 1.0, 3, sound=False).regret == math.inf


def test_seeds_to_tune_on_are_apart_from_those_that_are_reported():
    plans = [one.plan(scale) for one in EXPERIMENTS.values() for scale in SCALES]
    reported = max(plan.repetitions(setting) for plan in plans for setting in plan.settings)
    assert reported <= TUNING_SEEDS == 1000


# --- bad input ---


def tune_badly(build=linear, grid=None, world=WORLD, **options):
    return tune(
        build, grid or {"radius": [1.0], "noise": [1.0]}, world, workers=0, **({"rounds": 5} | options)
    )


LOG = evaluate.event_log(np.ones((20, 2, 1)), np.arange(20) % 2, np.arange(20) % 2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            {"build": 3},
            "tune: build must be a function that returns a policy, got int",
        ),
        (
            {"build": lambda radius, noise: radius},
            "tune: build(radius=1, noise=1) must have epochs, check, got float",
        ),
        ({"grid": [1.0]}, "tune: grid must map arguments to lists of numbers, got list"),
        ({"grid": {"radius": 0.5}}, "tune: grid radius must be a list of numbers, got float"),
        ({"grid": {"radius": "0.5"}}, "tune: grid radius must be a list of numbers, got str"),
        ({"grid": {"radius": ["a"]}}, "tune: grid radius must be a number, got str"),
        (
            {"grid": {"radius": [np.ones(2)]}},
            "tune: grid radius must be a list of numbers, got an array in it",
        ),
        ({"grid": {"radius": [math.inf]}}, "tune: grid radius must be finite, got inf"),
        (
            {"grid": {"radius": []}},
            "tune: grid radius must have values, each once, got 0 values, 0 of them different",
        ),
        (
            {"grid": {"radius": [1.0, 2.0, 1]}},
            "tune: grid radius must have values, each once, got 3 values, 2 of them different",
        ),
        (
            {"grid": {"seed": [1.0]}},
            "tune: grid must name at least one argument of build, none of seed, regret, regret_low, "
            "regret_high, reward, refused_fits, got seed",
        ),
        (
            {"grid": {"radius": [1.0]}},
            "tune: grid must name the arguments of build: missing a required argument: 'noise'",
        ),
        (
            {"grid": {"radius": [1.0], "noise": [1.0], "nu": [1.0]}},
            "tune: grid must name the arguments of build: got an unexpected keyword argument 'nu'",
        ),
        ({"grid": {"radius": [1.0], "noise": [1.0, -1.0]}}, "lin_ucb: noise must be > 0, got -1.0"),
        ({"rounds": 0}, "tune: rounds must be >= 1, got 0"),
        ({"batch": 0}, "tune: batch must be >= 1, got 0"),
        ({"seeds": 0}, "tune: seeds must be >= 1, got 0"),
        ({"seeds": []}, "tune: seeds must be there, each once, got []"),
        ({"seeds": [4, 4]}, "tune: seeds must be there, each once, got [4, 4]"),
        (
            {"world": None},
            "tune: environment must extend superarm.contract.Environment, got NoneType",
        ),
        (
            {"world": evaluate.logged_world(LOG)},
            "tune: environment must tell the regret of a decision, got LoggedWorld, which tells logged "
            "rewards only",
        ),
        (
            {"build": lambda radius, noise: superarm.comb_lin_ucb(superarm.top_k(9))},
            "top_k: k must be at most the number of arms, 6, got 9",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(bad, message):
    with pytest.raises((ValueError, TypeError)) as error:
        tune_badly(**bad)
    assert str(error.value) == message


def test_no_grid_is_told():
    with pytest.raises(GridError, match=r"tune: grid must name at least one argument of build, .*, got none"):
        tune(linear, {}, WORLD, rounds=5)


@pytest.mark.parametrize(
    "build",
    [
        lambda radius, draws: superarm.lin_ts(scale=radius, draws=int(draws)),
        lambda radius, draws: superarm.lin_ts(scale=np.full(int(draws), radius)),
    ],
    ids=["structure", "shapes"],
)
def test_points_must_differ_in_real_hyperparameters_only(build):
    with pytest.raises(GridError) as error:
        tune(build, {"radius": [0.5, 1.0], "draws": [1, 2]}, WORLD, rounds=5, workers=0)
    assert str(error.value) == (
        "tune: points must differ in real hyperparameters only, got another structure at radius=0.5, draws=2 "
        "than at radius=0.5, draws=1; whole numbers and switches are structure, to be tuned one after the "
        "other, and parts that are functions must be made outside build"
    )


# --- what is found ---


def tuning_of(grid, regrets, seeds=3, build=None):
    """A tuning whose regrets are given per point; seeds differ by 0, 1, ... ."""
    names, points = list(grid), pd.MultiIndex.from_product(grid.values()).to_list()
    rows = [
        dict(zip(names, point, strict=True))
        | {"seed": 1000 + seed, "regret": regret + seed, "reward": 10.0 - seed, "refused_fits": seed}
        for point, regret in zip(points, regrets, strict=True)
        for seed in range(seeds)
    ]
    return Tuning(pd.DataFrame(rows), {name: tuple(grid[name]) for name in names}, 50, build or linear)


SQUARE = {"radius": [10.0, 0.1], "noise": [1.0, 0.5, 2.0]}


def test_means_and_the_best_point():
    found = tuning_of(SQUARE, [6.0, 5.0, 4.0, 1.5, 1.25, 7.0])
    means = found.means()
    assert means["regret"].tolist() == [7.0, 6.0, 5.0, 2.5, 2.25, 8.0]
    expected = interval(np.array([1.25, 2.25, 3.25]))
    assert means.loc[4].to_dict() == {
        "radius": 0.1,
        "noise": 0.5,
        "regret": 2.25,
        "regret_low": expected.low,
        "regret_high": expected.high,
        "reward": 9.0,
        "refused_fits": 3,
    }
    assert found.best == {"radius": 0.1, "noise": 0.5}
    policy = found.policy()
    assert (float(policy.explorer.radius.value), float(policy.model.noise)) == (0.1, 0.5)


def test_a_failed_seed_makes_the_point_infinite():
    found = tuning_of({"radius": [1.0, 2.0]}, [3.0, 4.0])
    found.table.loc[1, "regret"] = math.inf
    row = found.means().loc[0]
    assert (row["regret"], row["regret_low"], row["regret_high"]) == (math.inf,) * 3
    assert found.best == {"radius": 2.0}


def test_json_holds_the_means_and_null_for_infinity():
    found = tuning_of(SQUARE, [6.0, 5.0, math.inf, 1.5, 1.25, 7.0])
    content = json.loads(found.to_json())
    assert content["grid"] == SQUARE
    assert content["best"] == {"radius": 0.1, "noise": 0.5}
    assert (content["rounds"], content["seeds"]) == (50, [1000, 1001, 1002])
    assert [point["regret"] for point in content["points"]] == [7.0, 6.0, None, 2.5, 2.25, 8.0]
    assert {"jax", "superarm"} <= set(content["versions"])


def test_save_writes_the_table_the_summary_and_the_figure(tmp_path):
    found = tuning_of(SQUARE, [6.0, 5.0, math.inf, 1.5, 1.25, 7.0])
    assert found.save(tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
    files = {path.suffix: path for path in (tmp_path / "new" / "folder").iterdir()}
    assert {path.name for path in files.values()} == {f"tuning.{end}" for end in ("csv", "json", "png")}
    pd.testing.assert_frame_equal(pd.read_csv(files[".csv"]), found.table)
    assert json.loads(files[".json"].read_text()) == json.loads(found.to_json())
    assert files[".png"].read_bytes().startswith(b"\x89PNG")


def test_saving_that_is_cut_short_leaves_what_was_there(tmp_path, monkeypatch):
    found = tuning_of({"radius": [1.0, 2.0]}, [3.0, 4.0])
    found.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupted(figure, path):
        assert list(path.parent.iterdir()), "nothing was written before"
        raise KeyboardInterrupt

    monkeypatch.setattr(curves, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuning_of({"radius": [1.0, 2.0]}, [1.0, 1.0]).save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# --- figures ---


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_two_parameters_are_a_heat_map_with_the_best_cell_marked(tmp_path):
    found = tuning_of(SQUARE, [6.0, 5.0, math.inf, 1.5, 1.25, 7.0])
    figure = found.plot(tmp_path / "grid.svg")
    assert (tmp_path / "grid.svg").read_bytes() == _svg(found, tmp_path), "the same figure is the same file"
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("radius", "noise")
    assert (labels(axes.xaxis), labels(axes.yaxis)) == (["0.1", "10"], ["0.5", "1", "2"])
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert cells == {(0, 0): "2.25", (1, 0): "6", (0, 1): "2.5", (1, 1): "7", (0, 2): "8", (1, 2): "failed"}
    (mark,) = axes.patches
    assert (mark.get_x(), mark.get_y(), mark.get_width(), mark.get_height()) == (-0.5, -0.5, 1.0, 1.0)
    shown = axes.images[0].get_array()
    np.testing.assert_array_equal(shown.filled(-1.0), [[2.25, 6.0], [2.5, 7.0], [8.0, -1.0]])
    assert axes.get_title(loc="left") == "Mean regret; best at radius = 0.1, noise = 0.5"


def _svg(found, folder):
    found.plot(folder / "again.svg")
    return (folder / "again.svg").read_bytes()


def test_one_parameter_is_a_line_with_a_band():
    found = tuning_of({"noise": [1.0], "radius": [10.0, 0.1, 1.0, 100.0]}, [6.0, 2.0, 1.0, math.inf])
    (axes,) = found.plot().axes
    line, star = axes.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), [[0.1, 3.0], [1.0, 2.0], [10.0, 7.0]])
    np.testing.assert_array_equal(star.get_xydata(), [[1.0, 2.0]])
    assert star.get_marker() == "*"
    assert axes.get_xscale() == "log"
    assert labels(axes.xaxis) == ["0.1", "1", "10"]
    assert not list(axes.xaxis.get_minorticklocs())
    band = axes.collections[0].get_paths()[0].get_extents()
    assert band.y1 == pytest.approx(interval(np.array([6.0, 7.0, 8.0])).high)
    assert band.y0 == pytest.approx(interval(np.array([1.0, 2.0, 3.0])).low)
    assert axes.get_title(loc="left") == "Mean regret; best at radius = 1, at noise = 1"


def test_one_seed_has_no_band_and_zero_no_logarithm():
    found = tuning_of({"radius": [0.0, 1.0]}, [3.0, 2.0], seeds=1)
    (axes,) = found.plot().axes
    band = axes.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == (2.0, 3.0)
    assert axes.get_xscale() == "linear"


def test_more_parameters_are_at_their_best():
    grid = {"one": [1.0], "two": [1.0, 2.0], "three": [1.0, 2.0], "four": [5.0, 6.0]}
    found = tuning_of(grid, [9.0, 8.0, 7.0, 6.0, 5.0, 1.0, 3.0, 2.0])
    (axes,) = found.plot().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("two", "three")
    np.testing.assert_array_equal(axes.images[0].get_array(), [[9.0, 2.0], [7.0, 3.0]])
    assert axes.get_title(loc="left") == "Mean regret; best at two = 2, three = 1, at one = 1, four = 6"


def test_a_grid_of_equals_and_of_zeros_is_drawn():
    for regrets in ([4.0] * 6, [0.0] * 6, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]):
        (axes,) = tuning_of(SQUARE, regrets, seeds=1).plot().axes
        assert {text.get_text() for text in axes.texts} == {f"{regret:g}" for regret in regrets}


# --- the command line ---


def plan(scale):
    setting = Setting(
        "small",
        environment=lambda: linear_scores(dim=4, num_arms=6),
        policies={"LinUCB": lambda world: superarm.lin_ucb()},
        parameters={},
    )
    never = Setting("large", environment=lambda: 1 / 0, policies={}, parameters={})
    return Plan(settings=(setting, never), rounds={"smoke": 20, "quick": 30, "paper": 40}[scale], seeds=2)


def lin_ucb_at(world, radius, noise=0.1, **others):
    assert world.spec.dim == 4
    return superarm.lin_ucb(radius=radius, noise=noise)


def draws_at(world, draws):
    return superarm.lin_ts(draws=int(draws))


def brittle_at(world, limit):
    return brittle(limit)


TINY = Experiment(
    id="tiny/lines",
    title="Small lines",
    reference="none",
    plan=plan,
    claims=(),
    figure=Figure("regret", "round", "regret"),
    tunables={
        "LinUCB": Tunable(lin_ucb_at, {"radius": [0.1, 10.0], "noise": [0.1, 1.0]}),
        "draws": Tunable(draws_at, {"draws": [1, 2]}),
        "brittle": Tunable(brittle_at, {"limit": [1.0, 2.0, 3.0, 4.0]}),
    },
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, TINY.id, TINY)
    monkeypatch.setitem(EXPERIMENTS, "tiny/none", dataclasses.replace(TINY, id="tiny/none", tunables={}))
    monkeypatch.delenv("SUPERARM_DEBUG", raising=False)


def invoke(*arguments):
    return CliRunner().invoke(app, ["tune", *(str(argument) for argument in arguments)])


def test_tune_writes_the_grid_and_shows_its_points(tiny, tmp_path):
    done = invoke(TINY.id, "--policy", "LinUCB", "--seeds", 2, "--out", tmp_path, "--workers", 0)
    assert done.exit_code == 0, done.stderr
    folder = tmp_path / TINY.id / "LinUCB"
    table = pd.read_csv(folder / "tuning.csv")
    expected = tune(linear, TINY.tunables["LinUCB"].grid, WORLD, rounds=30, seeds=2, workers=0)
    pd.testing.assert_frame_equal(table, expected.table)
    *points, last = done.stdout.splitlines()
    assert last == f"tiny/lines, LinUCB: written to {folder}"
    assert len(points) == 4
    best = expected.best
    (marked,) = (line for line in points if line.startswith("  best"))
    assert re.search(rf"radius {best['radius']:g} +noise {best['noise']:g} +regret [0-9.]+, 95 % ", marked)
    assert done.stderr.endswith("tune: 240 of 240 rounds\n")
    assert {path.name for path in folder.iterdir()} == {f"tuning.{end}" for end in ("csv", "json", "png")}


def test_a_grid_of_ones_own_as_json_lines(tiny, tmp_path):
    done = invoke(
        *(TINY.id, "--policy", "LinUCB", "--grid", "radius=0.5, 1e2", "--grid", "noise=1,2"),
        *("--rounds", 25, "--seeds", 2, "--out", tmp_path, "--workers", 0, "--json"),
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["radius"], row["noise"]) for row in rows] == [
        (0.5, 1.0),
        (0.5, 2.0),
        (100.0, 1.0),
        (100.0, 2.0),
    ]
    assert {(row["id"], row["policy"]) for row in rows} == {(TINY.id, "LinUCB")}
    (best,) = (row for row in rows if row["best"])
    assert best["regret"] == min(row["regret"] for row in rows)
    assert json.loads((tmp_path / TINY.id / "LinUCB/tuning.json").read_text())["rounds"] == 25


def test_a_parameter_that_is_not_named_keeps_the_values_of_the_experiment(tiny, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        experiment_tuning, "tune", lambda build, grid, world, **options: asked.append((grid, options))
    )
    done = invoke(
        TINY.id,
        "--policy",
        "LinUCB",
        "--grid",
        "noise=3",
        "--out",
        tmp_path,
        "--scale",
        "paper",
        "--workers",
        1,
    )
    assert done.exit_code == 70  # nothing was found
    assert asked == [
        (
            {"radius": [0.1, 10.0], "noise": [3.0]},
            {"rounds": 40, "seeds": 5, "workers": 1, "progress": True, "engine": "local", "address": None},
        )
    ]


def test_an_interrupted_search_leaves_nothing(tiny, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment_tuning, "tune", interrupted)
    done = invoke(TINY.id, "--policy", "LinUCB", "--out", tmp_path)
    assert (done.exit_code, done.stderr) == (130, "superarm: interrupted\n")
    assert not [path for path in tmp_path.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("tiny/line --policy LinUCB", "tune: unknown experiment 'tiny/line'; did you mean 'tiny/lines'?"),
        ("tiny/none --policy LinUCB", "tune: tiny/none has no policy that can be tuned"),
        (
            "tiny/lines --policy LinTS",
            "tune: tiny/lines cannot tune a policy 'LinTS'; it can tune LinUCB, draws, brittle",
        ),
        (
            "tiny/lines --policy LinUCB --scale big",
            "tune: scale must be one of smoke, quick, paper, got 'big'",
        ),
        (
            "tiny/lines --policy LinUCB --grid nu=1",
            "tune: LinUCB of tiny/lines has no parameter 'nu'; it has radius, noise",
        ),
        (
            "tiny/lines --policy LinUCB --grid world=1",
            "tune: LinUCB of tiny/lines has no parameter 'world'; it has radius, noise",
        ),
        (
            "tiny/lines --policy LinUCB --grid radius",
            "tune: --grid must read NAME=NUMBER,NUMBER,..., got 'radius'",
        ),
        ("tiny/lines --policy LinUCB --grid =1", "tune: --grid must read NAME=NUMBER,NUMBER,..., got '=1'"),
        (
            "tiny/lines --policy LinUCB --grid radius=",
            "tune: --grid radius must list at least one number, got none",
        ),
        (
            "tiny/lines --policy LinUCB --grid radius=1,,2",
            "tune: --grid radius must list finite numbers, got ''",
        ),
        (
            "tiny/lines --policy LinUCB --grid radius=1,two",
            "tune: --grid radius must list finite numbers, got 'two'",
        ),
        (
            "tiny/lines --policy LinUCB --grid radius=inf",
            "tune: --grid radius must list finite numbers, got 'inf'",
        ),
        (
            "tiny/lines --policy LinUCB --grid radius=1 --grid radius=2",
            "tune: --grid radius must be given once, with all its numbers",
        ),
        (
            "tiny/lines --policy LinUCB --grid radius=1,1.0",
            "tune: grid radius must have values, each once, got 2 values, 1 of them different",
        ),
        (
            "tiny/lines --policy LinUCB --grid noise=-1",
            "tune: LinUCB cannot be built at radius=0.1, noise=-1: lin_ucb: noise must be > 0, got -1.0",
        ),
        (
            "tiny/lines --policy draws",
            "tune: points must differ in real hyperparameters only, got another structure",
        ),
        ("tiny/lines --policy brittle", "tune: every point failed: a score was not finite"),
        ("tiny/lines --policy LinUCB --out {file}", "tune: cannot write to {file}"),
    ],
)
def test_bad_grids_are_one_sentence_and_exit_code_2(tiny, tmp_path, arguments, sentence):
    place = tmp_path / "file"
    place.write_text("in place of a folder")
    out = () if "--out" in arguments else ("--out", tmp_path / "out")
    done = invoke(*arguments.format(file=place).split(), *out, "--workers", 0, "--rounds", 150)
    assert done.exit_code == 2, done.stderr
    assert done.stdout == ""
    said = [line for line in done.stderr.splitlines() if not line.endswith("rounds")]
    assert len(said) == 1
    assert said[0].startswith("superarm: " + sentence.format(file=place))
    assert not [path for path in (tmp_path / "out").rglob("*") if not path.is_dir()]


def test_labels_of_tunables_name_folders():
    with pytest.raises(ExperimentError, match="Experiment: a name must be letters"):
        dataclasses.replace(TINY, tunables={"../up": TINY.tunables["LinUCB"]})
