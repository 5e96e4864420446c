"""The command line: list, run, claims, report, tune, evaluate, demo.

Heavy imports wait until a command needs them, so that `--help` and `list` answer at once.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer
from rich.console import Console

from superarm.cli.logs import reads_log

if TYPE_CHECKING:
    from superarm.experiments.summary import Summary

P = ParamSpec("P")

FINE, CLAIM_FAILS, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130

HELP = """
Contextual bandits whose action is one arm, a set of arms, or a duel.

Exit codes: 0 fine; 1 a claim fails (with --strict); 2 bad input (unknown id, unwritable folder, damaged
data, bad option); 70 an error of superarm itself; 130 interrupted, finished seeds are kept.
"""

app = typer.Typer(help=HELP, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID...", help="Ids, or patterns such as 'wen2015/*'.")
]
Out = Annotated[Path, typer.Option("--out", help="The folder of all results.")]
From = Annotated[Path, typer.Option("--from", help="The folder of all results.")]
Workers = Annotated[int | None, typer.Option(min=0, help="Processes; one per core unless given, 0 for none.")]
Engine = Annotated[str, typer.Option(help="local, or ray for a cluster, which needs superarm[ray].")]
Address = Annotated[
    str | None,
    typer.Option(help="A running Ray cluster, such as 10.0.0.1:6379 or auto; else one is started here."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
LogOption = Annotated[Path | None, typer.Option("--log", metavar="LOG", help="Judge by a log instead.")]
Train = Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of events to learn from.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 when a claim fails.")]


process = {"own": False}  # whether the command line is all that this process does


def main() -> NoReturn:
    """Run the command line; usage errors are one sentence too."""
    process["own"] = True
    # A job that is told to end stops as on Ctrl-C: workers are ended with it, finished seeds are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(prog_name="superarm", standalone_mode=False)
    except Exception as error:
        # Typer's own errors (click's, or its copy of them) carry a code and a sentence.
        if not hasattr(error, "format_message"):
            raise
        _say_error(f"{error.format_message().rstrip('.')}; see `superarm --help`")
        code = BAD_INPUT
    sys.exit(code if isinstance(code, int) else FINE)


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors into one sentence and an exit code; SUPERARM_DEBUG=1 shows where they came from."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if os.environ.get("SUPERARM_DEBUG"):
                raise
            code, sentence = _explained(error)
            _say_error(sentence)
            raise typer.Exit(code) from None

    return wrapped


def _keep_compiled() -> None:
    """Keep what JAX compiles, once a command is about to; its settings are those of the whole process."""
    if process["own"]:
        from superarm.compiler import SECONDS, keep_compiled

        keep_compiled(seconds=SECONDS)


def _explained(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the sentence of an error."""
    from superarm.datasets import DataError
    from superarm.errors import ConfigError, StoreError
    from superarm.evaluate import LogError
    from superarm.experiments.experiment import ExperimentError

    if isinstance(error, KeyboardInterrupt):
        kept = f": {error}; the same command without --fresh goes on from there" if str(error) else ""
        return INTERRUPTED, f"interrupted{kept}"
    if isinstance(error, ExperimentError | DataError | ConfigError | StoreError | LogError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        return BAD_INPUT, f"{error.filename or 'a file'}: {error.strerror or error}"
    return INTERNAL, f"internal error, {type(error).__name__}: {error}; SUPERARM_DEBUG=1 shows where"


def _say_error(sentence: str) -> None:
    typer.echo(f"superarm: {sentence}", err=True)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"superarm {metadata.version('superarm')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False,
) -> None:
    """Show the help when no command is given."""
    if debug:
        os.environ["SUPERARM_DEBUG"] = "1"
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
@guarded
def list_command(out: From = Path("results"), as_json: Json = False) -> None:
    """List the experiments, and what is finished of them."""
    from superarm.reproduce.registry import EXPERIMENTS

    for one in EXPERIMENTS.values():
        finished = [scale for scale in one.scales if (out / one.id / scale / "summary.json").is_file()]
        if as_json:
            row = {"id": one.id, "title": one.title, "reference": one.reference, "scales": list(one.scales)}
            typer.echo(json.dumps(row | {"finished": finished}))
        else:
            state = f"finished: {', '.join(finished)}" if finished else "not run"
            typer.echo(f"{one.id:<28}{one.title}\n{'':<28}{'|'.join(one.scales)}; {state}")


@app.command("run")
@guarded
def run_command(
    ids: Ids = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Run every experiment.")] = False,
    scale: Annotated[str, typer.Option(help="smoke, quick or paper.")] = "quick",
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions; the plan's unless given.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="Run only this setting of one experiment; may be repeated.")
    ] = None,
    out: Out = Path("results"),
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what was run before.")] = False,
    strict: Strict = False,
) -> None:
    """Run experiments, or what is left of them, and check the papers' claims.

    Below --out, each has a folder ID/SCALE with rounds.parquet, summary.json, figure.png and figure.svg, and
    --all writes index.html, the page of `report`. Those whose data are missing are left out, which is said at
    the end, with exit code 2.
    """
    from superarm.experiments import ExperimentError
    from superarm.reproduce.registry import EXPERIMENTS, matching, plan_of

    chosen = list(EXPERIMENTS.values()) if all_of_them else matching(ids or [], where="run")
    if not chosen:
        raise ExperimentError(
            "run: no experiment is named; name some, or use --all (`superarm list` shows them)"
        )
    for one in chosen:
        plan_of(one.id, scale, where="run")
    if setting and len(chosen) > 1:
        raise ExperimentError(f"run: --setting needs one experiment, got {len(chosen)}")
    options: dict[str, Any] = {"seeds": seeds, "settings": setting, "workers": workers, "fresh": fresh}
    options |= {"engine": engine, "address": address}
    _keep_compiled()
    summaries, left_out = _run_each([one.id for one in chosen], scale=scale, out=out, **options)
    if all_of_them and summaries:
        _write_page([out], out / "index.html")
    if summaries:
        _show_claims(summaries, strict=strict and not left_out)
    for sentence in left_out:
        _say_error(sentence)
    if left_out:
        raise typer.Exit(BAD_INPUT)


def _run_each(names: list[str], *, scale: str, out: Path, **options: Any) -> tuple[list[Summary], list[str]]:
    """Run one after another; return what came out, and a sentence for each whose data are missing."""
    from superarm.datasets import DataError

    summaries, left_out = [], []
    for name in names:
        try:
            summaries.append(_run_one(name, scale=scale, out=out, **options))
        except DataError as error:
            left_out.append(f"{name} is left out: {error}" if len(names) > 1 else str(error))
        else:
            typer.echo(f"{name}: written to {out / name / scale}")
    return summaries, left_out


def _run_one(name: str, *, out: Path, **options: Any) -> Summary:
    from superarm.jobs.progress import progress_of
    from superarm.reproduce.runner import run

    with progress_of(name, Console(stderr=True)) as progress:
        return run(name, out=out, progress=progress, **options)


@app.command("claims")
@guarded
def claims_command(
    ids: Ids = None, source: From = Path("results"), as_json: Json = False, strict: Strict = False
) -> None:
    """Show the papers' claims and whether they hold, from the largest finished scale of each experiment."""
    from superarm.experiments import ExperimentError
    from superarm.experiments.summary import find_summaries
    from superarm.reproduce.registry import matching

    found = {summary.id: summary for summary in find_summaries(source)}
    wanted = [one.id for one in matching(ids, where="claims")] if ids else list(found)
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        names = " ".join(missing) or "ID"
        raise ExperimentError(
            f"claims: {source} holds no finished run of {', '.join(missing) or 'anything'}; "
            f"`superarm run {names}` makes one"
        )
    _show_claims([found[name] for name in wanted], as_json=as_json, strict=strict)


def _show_claims(summaries: list[Summary], *, as_json: bool = False, strict: bool = False) -> None:
    from superarm.report.console import claims_text

    if as_json:
        for summary in summaries:
            for claim in summary.claims:
                row = {"id": summary.id, "scale": summary.scale} | asdict(claim)
                typer.echo(json.dumps(row, ensure_ascii=False))
    else:
        Console(soft_wrap=True).print(claims_text(summaries), end="", highlight=False)
    if strict and any(claim.verdict == "fails" for summary in summaries for claim in summary.claims):
        raise typer.Exit(CLAIM_FAILS)


@app.command("report")
@guarded
def report_command(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders, searched in depth.")],
    out: Annotated[Path | None, typer.Option(help="The page; DIR/index.html unless given.")] = None,
) -> None:
    """Write one HTML page of all results below DIR; it opens offline."""
    _write_page(folders, out or folders[0] / "index.html")


def _write_page(folders: list[Path], target: Path) -> None:
    from superarm.experiments.experiment import ExperimentError
    from superarm.experiments.summary import NAME, read_summary
    from superarm.report.page import build_page

    paths = [path for folder in folders for path in sorted(folder.glob(f"**/{NAME}"))]
    if not paths:
        named = ", ".join(map(str, folders))
        raise ExperimentError(f"report: {named} holds no finished run; `superarm run ID --out DIR` makes one")
    target.write_text(build_page([(read_summary(path), path.parent) for path in paths]), encoding="utf-8")
    typer.echo(f"page: {target}")


@app.command("tune")
@guarded
@reads_log
def tune_command(
    policy: Annotated[
        str, typer.Option("--policy", metavar="LABEL", help="Which of its policies; with --log a file.")
    ],
    columns: dict[str, Any],
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="An experiment whose policies can be tuned.")
    ] = None,
    log: LogOption = None,
    train: Train = 0.5,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="NAME=NUMBERS", help="Values of a parameter, such as nu=0.01,0.1,1."),
    ] = None,
    scale: Annotated[str, typer.Option(help="smoke, quick or paper; its first setting is taken.")] = "quick",
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds; the plan's unless given.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 1000, 1001, ...; no experiment reports them.")] = 5,
    out: Annotated[Path, typer.Option("--out", help="The folder of all tunings.")] = Path("tuning"),
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Find the best hyperparameters of a policy on a grid; parameters that are not named keep their values.

    Below --out, a folder ID/LABEL has tuning.csv, tuning.json, tuning.png and tuning.svg. They are written
    when all runs are finished; what is interrupted leaves nothing. With --log LOG and no ID, the preset of
    the file --policy is judged by a log at every point: it learns from the first events, one half of the
    rest chooses the point, and the other half says what it earns.
    """
    from superarm.experiments.experiment import ExperimentError
    from superarm.report.console import tuning_text
    from superarm.reproduce.tuning import parse_grid, tune_policy

    if (name is None) == (log is None):
        raise ExperimentError("tune: name an experiment, or a log with --log")
    _keep_compiled()
    if name is None or log is not None:
        _tune_on_log(Path(str(log)), columns, Path(policy), parse_grid(grid or []), train, as_json)
        return
    if set(columns) > {"layout"}:
        raise ExperimentError("tune: columns are for --log, not for an experiment")
    tuning, folder = tune_policy(
        name,
        policy,
        parse_grid(grid or []),
        scale=scale,
        rounds=rounds,
        seeds=seeds,
        out=out,
        workers=workers,
        engine=engine,
        address=address,
        progress=True,
    )
    if as_json:
        for point in json.loads(tuning.to_json())["points"]:
            is_best = all(point[one] == value for one, value in tuning.best.items())
            typer.echo(json.dumps({"id": name, "policy": policy} | point | {"best": is_best}))
    else:
        Console(soft_wrap=True).print(tuning_text(tuning), end="", highlight=False)
        typer.echo(f"{name}, {policy}: written to {folder}")


def _tune_on_log(
    log: Path,
    columns: dict[str, Any],
    policy: Path,
    grid: dict[str, list[float]],
    train: float,
    as_json: bool,
) -> None:
    from superarm.evaluate.command import Source, judged_lines, tune_file

    judged = tune_file(Source(log, columns), policy, grid, train=train)
    if as_json:
        for line in judged_lines(judged):
            typer.echo(line)
        return
    typer.echo(judged.table.to_string(index=False))
    words = ", ".join(f"{one}={value:g}" for one, value in judged.best.items())
    typer.echo(f"best: {words}; on events that had no part in choosing it:\n{judged.final}")


@app.command("evaluate")
@guarded
@reads_log
def evaluate_command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A .parquet, .csv or .csv.gz file, or an agent's folder.")
    ],
    policy: Annotated[
        Path,
        typer.Option("--policy", metavar="FILE", help="A policy (.toml, .json) or an agent (.safetensors)."),
    ],
    columns: dict[str, Any],
    train: Train = 0.5,
    interval: Annotated[str, typer.Option(help="asymptotic or bootstrap.")] = "asymptotic",
    clip: Annotated[float | None, typer.Option(help="The largest weight to let stand.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="A folder for evaluation.json and .png.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate from a log of other choices what a policy would earn per decision, with intervals.

    A policy learns from the first events (--train) and is judged by the rest; an agent, which has learned
    elsewhere, by all. Methods: direct, IPS, self-normalized IPS and doubly robust.
    """
    from superarm.evaluate.command import Source, evaluate_file, write_estimates

    _keep_compiled()
    options: dict[str, Any] = {"train": train, "interval": interval, "clip": clip, "seed": seed}
    found = evaluate_file(Source(log, columns), policy, **options)
    typer.echo(found.to_json() if as_json else str(found))
    if out is not None:
        write_estimates(found, out)
        typer.echo(f"written to {out}", err=True)


@app.command("demo")
@guarded
def demo_command(
    out: Out = Path("demo-output"),
    workers: Workers = None,
    scale: Annotated[str, typer.Option(hidden=True)] = "quick",
) -> None:
    """Compare five policies, redraw a figure of a paper, and write a page of both; a minute or so."""
    from superarm.jobs.progress import progress_of
    from superarm.reproduce.demo import EXPERIMENT, demo

    _keep_compiled()
    out.mkdir(parents=True, exist_ok=True)
    with progress_of(EXPERIMENT, Console(stderr=True)) as progress:
        summary, page = demo(out, scale=scale, workers=workers, say=typer.echo, progress=progress)
    _show_claims([summary])
    typer.echo(f"picture: {out / 'comparison.png'}\npage: {page}")
