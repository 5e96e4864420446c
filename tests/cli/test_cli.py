"""The command line: what it prints, what it leaves, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import metadata

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproduce.test_experiments import FAKE, Simulator
from superarm.cli.app import app, main
from superarm.datasets import DataError
from superarm.reproduce import demo, runner
from superarm.reproduce.registry import EXPERIMENTS
from superarm.simulation.result import Result

CLI = [sys.executable, "-m", "superarm.cli"]


@pytest.fixture
def simulator(monkeypatch):
    stand_in = Simulator()
    monkeypatch.setitem(EXPERIMENTS, FAKE.id, FAKE)
    monkeypatch.setattr(runner, "run_seed", stand_in)
    monkeypatch.delenv("SUPERARM_DEBUG", raising=False)
    runner._built.cache_clear()
    runner._environment.cache_clear()
    return stand_in


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_fake(out, *arguments):
    return invoke("run", FAKE.id, "--out", out, "--workers", 0, *arguments)


def call(*arguments, **options):
    command = [*CLI, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)  # noqa: S603


# --- in this process ---


def test_run_shows_claims_and_where_the_files_are(simulator, tmp_path):
    done = run_fake(tmp_path)
    assert done.exit_code == 0
    assert f"fake/line: written to {tmp_path / 'fake/line/quick'}" in done.stdout
    assert "  holds no NaN" in done.stdout
    assert "  fails two is three" in done.stdout
    assert "  open  m = 9 is run" in done.stdout
    assert "fake/line: 96 of 96 rounds" in done.stderr


def test_strict_makes_a_failing_claim_an_exit_code(simulator, tmp_path):
    assert run_fake(tmp_path, "--strict").exit_code == 1
    assert invoke("claims", "--from", tmp_path).exit_code == 0
    assert invoke("claims", "--from", tmp_path, "--strict").exit_code == 1


def test_claims_as_json_lines(simulator, tmp_path):
    run_fake(tmp_path)
    run_fake(tmp_path, "--scale", "smoke")
    done = invoke("claims", "--from", tmp_path, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in rows] == ["holds", "fails", "open"]
    assert rows[1] == {
        "id": "fake/line",
        "scale": "quick",
        "claim": "two is three",
        "measured": 2.0,
        "expected": "3",
        "verdict": "fails",
        "detail": "it is two",
    }
    assert rows[2]["measured"] is None


def test_list_shows_what_is_finished(simulator, tmp_path):
    run_fake(tmp_path)
    done = invoke("list", "--from", tmp_path, "--json")
    rows = {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert set(rows) == set(EXPERIMENTS)
    assert rows[FAKE.id]["finished"] == ["quick"]
    assert rows["wen2015/adult"]["finished"] == []
    shown = invoke("list", "--from", tmp_path).stdout
    assert "smoke|quick|paper; finished: quick" in shown


def test_wildcards_run_several_and_options_reach_the_run(simulator, tmp_path):
    done = invoke("run", "fake/*", "--out", tmp_path, "--workers", 0, "--seeds", 2, "--scale", "paper")
    assert done.exit_code == 0
    assert {seed for _, seed in simulator.calls} == {0, 1}
    assert (tmp_path / "fake/line/paper/summary.json").is_file()


def test_rounds_are_kept_when_asked_for(simulator, tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, FAKE.id, replace(FAKE, claims=FAKE.claims[1:]))  # one reads all rounds
    rows = {}
    for name, options in {"thinned": [], "kept": ["--keep-rounds"]}.items():
        assert run_fake(tmp_path / name, *options).exit_code == 0
        rows[name] = len(pd.read_parquet(tmp_path / name / "fake/line/quick/rounds.parquet"))
    assert rows == {"thinned": 12, "kept": 48}  # a sweep has no curves: the totals are enough
    done = run_fake(tmp_path / "thinned", "--keep-rounds")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].endswith("use --fresh to run it anew, or another --out")


@pytest.fixture
def without_data():
    """An experiment whose data set is missing, before one that can be run."""

    def missing():
        raise DataError("covertype: no file; `superarm data` says where it comes from")

    def plan(scale):
        whole = FAKE.plan(scale)
        return replace(whole, settings=tuple(replace(one, environment=missing) for one in whole.settings))

    lost = replace(FAKE, id="fake/lost", plan=plan)
    kept = dict(EXPERIMENTS)
    EXPERIMENTS.clear()
    EXPERIMENTS.update({one.id: one for one in (lost, FAKE)})
    yield
    EXPERIMENTS.clear()
    EXPERIMENTS.update(kept)  # in their order


def test_all_but_what_has_no_data_are_run_and_the_page_is_written(simulator, without_data, tmp_path):
    done = invoke("run", "--all", "--out", tmp_path, "--workers", 0)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == (
        "superarm: fake/lost is left out: covertype: no file; `superarm data` says where it comes from"
    )
    assert f"fake/line: written to {tmp_path / 'fake/line/quick'}" in done.stdout
    assert "  fails two is three" in done.stdout
    assert "fake/line" in (tmp_path / "index.html").read_text()


def test_one_without_data_is_one_sentence(simulator, without_data, tmp_path):
    done = invoke("run", "fake/lost", "--out", tmp_path, "--workers", 0)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("superarm: covertype: no file; ")
    assert not (tmp_path / "index.html").exists()


def test_an_interrupt_keeps_finished_seeds_and_says_how_to_go_on(simulator, tmp_path):
    simulator.stop_after = 5
    done = run_fake(tmp_path)
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == (
        "superarm: interrupted: 5 of 12 runs are finished and kept;"
        " the same command without --fresh goes on from there"
    )
    simulator.stop_after = None
    assert run_fake(tmp_path).exit_code == 0
    assert len(simulator.calls) == 12


def test_report_writes_a_page(simulator, tmp_path):
    run_fake(tmp_path)
    done = invoke("report", tmp_path)
    page = tmp_path / "index.html"
    assert done.stdout == f"page: {page}\n"
    assert "A &lt;b&gt;fake&lt;/b&gt; line" in page.read_text()
    other = tmp_path / "other.html"
    assert invoke("report", tmp_path, "--out", other).exit_code == 0
    assert other.read_text() == page.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("run fake/lin", "superarm: run: unknown experiment 'fake/lin'; did you mean 'fake/line'?"),
        ("run", "superarm: run: no experiment is named"),
        ("run fake/line --out {file}", "superarm: run: cannot write to"),
        ("run fake/line --scale smok", "quick, paper, got 'smok'; did you mean 'smoke'?"),
        ("run fake/line --setting m=", "a setting of fake/line must be one of "),
        ("run fake/line --scale big", "superarm: run: scale must be one of smoke, quick, paper, got 'big'"),
        ("claims --from {none}", "none holds no finished run of anything; `superarm run ID` makes one"),
        ("claims fake/line --from {none}", "no finished run of fake/line; `superarm run fake/line`"),
        ("claims fake/lin --from {none}", "claims: unknown experiment 'fake/lin'"),
        ("claims --from {hurt}", "is damaged: it is not JSON"),
        ("report {hurt}", "is damaged: it is not JSON"),
        ("report {none}", "holds no finished run"),
        ("report {file}", "holds no finished run"),
        ("demo --out {file}", "superarm: "),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(simulator, tmp_path, arguments, sentence):
    places = {name: tmp_path / name for name in ("file", "none", "hurt")}
    places["file"].write_text("in place of a folder")
    places["hurt"].mkdir()
    (places["hurt"] / "summary.json").write_text("{")
    arguments = arguments.format_map(places).split()
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert simulator.calls == []


def test_an_internal_error_is_one_sentence_unless_debugging(simulator, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_seed", lambda *args, **options: 1 / 0)
    done = run_fake(tmp_path)
    assert done.exit_code == 70
    assert done.stderr == (
        "superarm: internal error, ZeroDivisionError: division by zero; SUPERARM_DEBUG=1 shows where\n"
    )
    monkeypatch.setenv("SUPERARM_DEBUG", "1")
    assert isinstance(run_fake(tmp_path).exception, ZeroDivisionError)


def test_no_command_shows_the_help_with_exit_codes():
    done = invoke()
    assert done.exit_code == 0
    assert "Exit codes: 0 fine; 1 a claim fails" in done.stdout


def test_the_demo_compares_policies_and_writes_a_page(simulator, tmp_path, monkeypatch):
    def compare(policies, environment, *, rounds, seeds, workers, keep_items):
        assert (rounds, workers) == (demo.ROUNDS, 0)
        rows = [(label, seed, last, 1.0) for label in policies for seed in range(seeds) for last in (1, 2)]
        table = pd.DataFrame(rows, columns=["policy", "seed", "round", "regret"])
        return Result(table.assign(reward=1.0, seconds=0.0))

    monkeypatch.setattr(demo, "compare", compare)
    monkeypatch.setattr(demo, "EXPERIMENT", FAKE.id)
    done = invoke("demo", "--out", tmp_path / "shown", "--workers", 0)
    assert done.exit_code == 0
    assert done.stdout.endswith(
        f"picture: {tmp_path / 'shown/comparison.png'}\npage: {tmp_path / 'shown/index.html'}\n"
    )
    page = (tmp_path / "shown/index.html").read_text()
    assert page.count("data:image/png") == 2
    assert all(
        label in page for label in ("CombLinTS", "CombLinUCB", "CombUCB1", "epsilon-greedy", "uniform")
    )
    assert (tmp_path / "shown/comparison.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ("run --bogus", 2, "superarm: No such option: --bogus"),
        ("run wen2015/adult --seeds 0", 2, "superarm: Invalid value for '--seeds'"),
        ("fly", 2, "superarm: No such command 'fly'"),
        ("lst", 2, "superarm: No such command 'lst'. Did you mean 'list'?"),
        ("run --sede 3", 2, "superarm: No such option: --sede (Possible options: --scale, --seeds)"),
        ("report", 2, "superarm: Missing argument"),
        ("run wen2015/adlt", 2, "superarm: run: unknown experiment 'wen2015/adlt'"),
        ("list", 0, ""),
    ],
)
def test_usage_errors_are_one_sentence_too(arguments, code, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["superarm", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == code
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == (1 if sentence else 0)


# --- as a user calls it ---


def test_the_program_answers_and_ends_as_it_says(tmp_path):
    done = call("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"superarm {metadata.version('superarm')}\n",
        "",
    )
    done = call("run", "wen2015/longst-path", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "superarm: run: unknown experiment 'wen2015/longst-path'; did you mean 'wen2015/longest-path'?\n"
    )
    done = call("list", "--json", cwd=tmp_path)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(EXPERIMENTS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["list"], ["list", "--json"], ["--version"]]
)
def test_what_only_answers_imports_nothing_heavy(arguments):
    """The help and the list answer at once: what is heavy waits until a command needs it."""
    code = (
        "import sys; from superarm.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    heavy = {"jax", "jaxlib", "numpy", "scipy", "pandas", "pyarrow", "matplotlib", "optax", "loky", "rich"}
    imported = set(done.stderr.split())
    assert {"superarm", "typer"} <= imported
    assert not imported & heavy


@pytest.mark.full
@pytest.mark.parametrize(("stop", "sign"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_an_interrupted_program_goes_on_with_the_same_numbers(tmp_path, stop, sign):
    """Real workers and a real Ctrl-C, or a request to end: finished cells are neither lost nor run again."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    arguments = ["run", "wen2015/longest-path", "--scale", "smoke", "--seeds", "60", "--out"]
    folder = tmp_path / "parts/wen2015/longest-path/smoke"
    process = subprocess.Popen(  # noqa: S603
        [*CLI, *arguments, str(tmp_path / "parts"), "--workers", "2"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and len(list(folder.glob("cells/*.parquet"))) < 5:
        time.sleep(0.05)
    stop(process.pid, sign)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = len(list(folder.glob("cells/*.parquet")))
    assert f"interrupted: {kept} of 60 runs are finished and kept" in said
    assert "Traceback" not in said

    again = call(*arguments, tmp_path / "parts", "--workers", "2", env=environment)
    whole = call(*arguments, tmp_path / "whole", "--workers", "1", env=environment)
    assert (again.returncode, whole.returncode) == (0, 0)
    assert f"of {20 * (60 - kept)} rounds" in again.stderr
    tables = [
        pd.read_parquet(tmp_path / name / "wen2015/longest-path/smoke/rounds.parquet").drop(columns="seconds")
        for name in ("parts", "whole")
    ]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
