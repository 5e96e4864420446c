"""The ray engine, on a real cluster of several nodes: the local numbers, whatever is lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial

import jax
import numpy as np
import pandas as pd
import pytest
import ray
from ray.cluster_utils import Cluster
from typer.testing import CliRunner

import superarm
from superarm.cli.app import app
from superarm.environments import longest_path
from superarm.errors import EngineError
from superarm.experiments import ExperimentError
from superarm.jobs import engines as clusters
from superarm.jobs import processes as workers
from superarm.jobs import ray as ray_jobs
from superarm.reproduce import runner
from superarm.simulation.simulate import Job, SimulationError, _run_job

NODE = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20}
# A node that is gone is found out in two seconds, not in twenty.
QUICK = {"health_check_period_ms": 500, "health_check_timeout_ms": 1000, "health_check_failure_threshold": 2}
ROUNDS = 400
EXPERIMENT = "wen2015/longest-path"


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a core each."""
    with clusters.forks_allowed():
        made = Cluster(initialize_head=True, head_node_args=NODE | {"_system_config": QUICK})
        made.add_node(num_cpus=1, object_store_memory=NODE["object_store_memory"])
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def joined(cluster):
    """A connection that tests share: workers start once."""
    if not ray.is_initialized():
        clusters._connect("test", cluster.address, None)


@pytest.fixture
def parted(cluster):
    """No connection."""
    ray.shutdown()


def world():
    return longest_path(size=4, dim=6)


def jobs(seeds=4):
    policy = superarm.comb_lin_ts(world().oracle, prior_scale=10.0)
    return [Job(policy, world(), ROUNDS, seed, 1, False) for seed in range(seeds)]


@pytest.fixture(scope="module")
def local():
    """What the local engine makes of the jobs."""
    return dict(workers.run_jobs(_run_job, jobs(), workers=1))


def run_all(function, what, **options):
    with clusters.connected("test", "ray"):
        return list(clusters.run_jobs(function, what, engine="ray", **options))


def assert_same(found, local):
    assert sorted(index for index, _ in found) == sorted(local)  # each once
    for index, frame in found:
        pd.testing.assert_frame_equal(
            frame.drop(columns="seconds"), local[index].drop(columns="seconds"), check_exact=True
        )


def test_a_killed_worker_s_job_is_done_again_and_counted_once(joined, local, tmp_path):
    told = []

    def dies_once(job, on_rounds):
        mark = tmp_path / str(job.seed)

        def counted(rounds):
            on_rounds(rounds)
            if job.seed % 2 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        return _run_job(job, counted)

    found = run_all(dies_once, jobs(), progress=told.append)
    assert {path.name for path in tmp_path.iterdir()} == {"1", "3"}
    assert_same(found, local)
    assert told[-1] == max(told) == 4 * ROUNDS


def test_a_removed_node_s_jobs_are_done_again_elsewhere(joined, cluster, local, tmp_path):
    """The progress is watched: when a job runs on the third node, that node is taken away."""
    with clusters.forks_allowed():
        node = cluster.add_node(num_cpus=1, object_store_memory=NODE["object_store_memory"])
    doomed, gone = node.node_id, tmp_path / "gone"
    told = []

    def waits_there(job, on_rounds):
        here = ray.get_runtime_context().get_node_id()
        (tmp_path / f"{job.seed}-{here}").touch()
        late = time.monotonic() + 60.0
        while not gone.exists() and here != doomed and time.monotonic() < late:  # a job must get there
            time.sleep(0.1)

        def counted(rounds):
            on_rounds(rounds)
            while here == doomed:  # with some rounds told, until the worker is ended with its node
                time.sleep(0.1)

        return _run_job(job, counted)

    def progress(rounds):
        told.append(rounds)
        if list(tmp_path.glob(f"*-{doomed}")) and not gone.exists():
            gone.touch()
            cluster.remove_node(node, allow_graceful=False)

    found = run_all(waits_there, jobs(), progress=progress)
    lost = {path.name.partition("-")[0] for path in tmp_path.glob(f"*-{doomed}")}
    assert lost
    assert all(len(list(tmp_path.glob(f"{seed}-*"))) == 2 for seed in lost)
    assert_same(found, local)
    assert told[-1] == max(told) == 4 * ROUNDS


@pytest.mark.full
def test_a_job_that_ends_every_worker_is_given_up(joined, monkeypatch):
    monkeypatch.setattr(ray_jobs, "REDOS", 1)
    message = r"^ray: job 0 was lost with its worker 2 times, or its cluster was \(WorkerCrashedError\)$"
    with pytest.raises(EngineError, match=message):
        run_all(lambda job, on_rounds: os.kill(os.getpid(), signal.SIGKILL), [0])


def test_an_error_of_a_job_is_raised_as_it_is(joined):
    def fails(job, on_rounds):
        raise SimulationError(f"round {job}")

    with pytest.raises(SimulationError, match=r"^round 7$"):
        run_all(fails, [7])


@pytest.mark.full
def test_members_of_an_ensemble_are_fitted_on_the_cluster_as_here(joined):
    """Bit for bit, part by part; a worker that dies is replaced."""
    policy = superarm.glm_es(size=6, warmup=0)
    state = policy.init(jax.random.key(0), superarm.Spec(dim=3, num_arms=4, capacity=8))
    state = jax.tree.map(np.ones_like, state)  # as good a history as any
    fit = partial(superarm.learn_members, policy, state, jax.random.key(1), parts=3)
    here, there = jax.tree.leaves(fit(workers=1)), jax.tree.leaves(fit(engine="ray"))
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))


def test_workers_have_the_local_settings_and_where_data_is(joined, monkeypatch, tmp_path):
    monkeypatch.setenv("SUPERARM_DATA", "data")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "compiled")
    monkeypatch.chdir(tmp_path)
    ((_, found),) = run_all(lambda job, on_rounds: dict(os.environ), [0])
    folders = {"SUPERARM_DATA": "data", "JAX_COMPILATION_CACHE_DIR": "compiled"}
    expected = workers.SETTINGS | {name: str(tmp_path / folder) for name, folder in folders.items()}
    expected["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.5"
    assert expected.items() <= found.items()


def test_a_host_in_brackets_is_asked_without_them(monkeypatch):
    asked = []

    def refuse(address, timeout):
        asked.append(address)
        raise OSError("nobody is there")

    monkeypatch.setattr(clusters.socket, "create_connection", refuse)
    with pytest.raises(EngineError, match=r"^run: no Ray cluster answers at '\[::1\]:6379': nobody is there"):
        clusters._require_answer("run", "[::1]:6379")
    assert asked == [("::1", 6379)]


@pytest.mark.full
def test_compare_and_tune_give_the_same_through_a_connection_of_the_caller(joined):
    policies = {"ts": superarm.comb_lin_ts(world().oracle), "chance": superarm.uniform(world().oracle)}
    compare = partial(superarm.compare, policies, world(), rounds=70, seeds=2, keep_items=False)
    tune = partial(superarm.tune, lambda radius: superarm.comb_lin_ucb(world().oracle, radius=radius))
    tune = partial(tune, {"radius": [0.1, 1.0]}, world(), rounds=50, seeds=1)
    found, tuned = compare(engine="ray"), tune(engine="ray")
    assert ray.is_initialized()  # it is the caller's
    with pytest.raises(ValueError, match=r"^compare: address must be None where Ray is connected already"):
        compare(engine="ray", address="auto")
    left, right = (result.table.drop(columns="seconds") for result in (found, compare(workers=1)))
    pd.testing.assert_frame_equal(left, right, check_exact=True)
    pd.testing.assert_frame_equal(tuned.table, tune(workers=1).table, check_exact=True)


def rows(folder):
    return pd.read_parquet(folder / EXPERIMENT / "smoke/rounds.parquet").drop(columns="seconds")


@pytest.mark.full
def test_an_experiment_interrupted_on_a_cluster_goes_on_with_the_local_numbers(parted, cluster, tmp_path):
    options = {"scale": "smoke", "seeds": 4, "engine": "ray", "address": cluster.address}

    def stop(done, rounds):
        if done >= 0.5 * rounds:
            raise KeyboardInterrupt

    with pytest.raises(runner.Interrupted) as caught:
        runner.run(EXPERIMENT, out=tmp_path / "ray", progress=stop, **options)
    kept = len(list((tmp_path / "ray" / EXPERIMENT / "smoke/cells").iterdir()))
    assert 0 < kept < caught.value.planned
    assert caught.value.finished == kept
    assert not ray.is_initialized()

    arguments = ["run", EXPERIMENT, "--scale", "smoke", "--seeds", "4", "--out"]
    again = [*arguments, str(tmp_path / "ray"), "--engine", "ray", "--address", cluster.address]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert CliRunner().invoke(app, [*arguments, str(tmp_path / "local"), "--workers", "1"]).exit_code == 0
    pd.testing.assert_frame_equal(rows(tmp_path / "ray"), rows(tmp_path / "local"), check_exact=True)


@pytest.mark.full
def test_what_runs_ends_with_an_interrupt(parted, cluster, tmp_path):
    def sleeps(job, on_rounds):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(600)

    def stop(rounds):
        if len(list(tmp_path.iterdir())) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), clusters.connected("test", "ray", address=cluster.address):
        list(clusters.run_jobs(sleeps, range(4), engine="ray", progress=stop))
    late = time.monotonic() + 30.0
    while left := [path.name for path in tmp_path.iterdir() if os.path.exists(f"/proc/{path.name}")]:
        assert time.monotonic() < late, left
        time.sleep(0.1)
    assert len(list(tmp_path.iterdir())) == 2  # nor did those begin that were waiting


def test_fresh_forgets_nothing_when_no_cluster_answers(tmp_path):
    kept = tmp_path / EXPERIMENT / "smoke/rounds.parquet"
    kept.parent.mkdir(parents=True)
    kept.touch()
    ray.shutdown()
    options = {"engine": "ray", "address": "127.0.0.1:9", "fresh": True}
    with pytest.raises(ExperimentError, match=r"^run: no Ray cluster answers at '127\.0\.0\.1:9': "):
        runner.run(EXPERIMENT, scale="smoke", seeds=1, out=tmp_path, **options)
    assert kept.exists()


BAD = [
    ({"engine": "spark"}, "engine must be one of 'local', 'ray', got 'spark'"),
    ({"address": "auto"}, "address must be None with the local engine, got 'auto'"),
    ({"engine": "ray", "workers": 0}, "workers must be >= 1 with the ray engine, got 0"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=["name", "address", "workers"])
def test_what_no_engine_can_do_is_refused(options, message, tmp_path):
    with pytest.raises(ValueError, match=f"^compare: {message}$"):
        superarm.compare({"chance": superarm.uniform(world().oracle)}, world(), rounds=5, **options)
    with pytest.raises(ExperimentError, match=f"^run: {message}$"):
        runner.run(EXPERIMENT, scale="smoke", out=tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_without_ray_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["run", EXPERIMENT, "--engine", "ray", "--out", str(tmp_path)])
    said = "superarm: run: the ray engine needs `pip install superarm[ray]`\n"
    assert (done.exit_code, done.stderr) == (2, said)


def test_other_versions_on_a_node_are_refused():
    with pytest.raises(EngineError, match=r"^ray: every node must have jax 2\.0, got 1\.0 on one$"):
        ray_jobs._require_same({"numpy": "1", "jax": "2.0"}, {"numpy": "1", "jax": "1.0"})


def test_ray_is_not_imported_without_need():
    code = "import sys, superarm, superarm.reproduce.runner; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "False\n"


@pytest.mark.full
def test_a_ray_of_one_s_own_starts_after_jax_and_ends(local):
    """Warnings are errors here, and JAX warns of forks once it has begun."""
    superarm.simulate(superarm.uniform(world().oracle), world(), rounds=5, seeds=1, workers=0)
    ray.shutdown()
    with clusters.connected("test", "ray", workers=1):
        assert_same(list(clusters.run_jobs(_run_job, jobs(), engine="ray", workers=1)), local)
    assert not ray.is_initialized()


@pytest.mark.full
@pytest.mark.parametrize(("stop", "sign"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_an_interrupted_program_ends_its_own_ray(tmp_path, stop, sign):
    """A real Ctrl-C, or a request to end: finished cells are kept, and no process of Ray's stays behind."""
    command = "from superarm.cli import main; main()"
    arguments = ["run", EXPERIMENT, "--scale", "smoke", "--seeds", "2000", "--engine", "ray", "--out"]
    mark = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", command, *arguments, str(tmp_path), "--workers", "2"],
        env=os.environ | mark,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    folder = tmp_path / EXPERIMENT / "smoke"
    while process.poll() is None and len(list(folder.glob("cells/*.parquet"))) < 5:
        time.sleep(0.05)
    stop(process.pid, sign)
    _, said = process.communicate(timeout=60)
    kept = len(list(folder.glob("cells/*.parquet")))
    assert process.returncode == 130, said
    assert "Traceback" not in said, said
    assert f"interrupted: {kept} of 2000 runs are finished and kept" in said
    time.sleep(3.0)
    assert not processes_with(mark["XDG_CACHE_HOME"])


def processes_with(text):
    """The processes whose environment has a text."""
    found = []
    for path in os.scandir("/proc"):
        if path.name.isdecimal():
            try:
                with open(f"/proc/{path.name}/environ", "rb") as file:
                    found += [path.name] if text.encode() in file.read() else []
            except OSError:  # it has ended, or is another's
                continue
    return found
