"""The commands of experiments: list, run, claims, report, tune, demo."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superarm.cli.errors import BAD_INPUT, CLAIM_FAILS, guarded, say_error
from superarm.cli.logs import Json, LogOption, Train, reads_log, tune_on_log
from superarm.cli.process import keep_compiled

if TYPE_CHECKING:
    from superarm.experiments.summary import Summary

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
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 when a claim fails.")]


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
    keep_rounds: Annotated[
        bool,
        typer.Option("--keep-rounds", help="Keep all rounds, not only those that claims and figures read."),
    ] = False,
    strict: Strict = False,
) -> None:
    """Run experiments, or what is left of them, and check the papers' claims.

    Below --out, each has a folder ID/SCALE with rounds.parquet, summary.json and figure.png, and --all writes
    index.html, the page of `report`. Those whose data are missing are left out, which is said at the end,
    with exit code 2.
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
    options |= {"engine": engine, "address": address, "keep_rounds": keep_rounds}
    keep_compiled()
    summaries, left_out = _run_each([one.id for one in chosen], scale=scale, out=out, **options)
    if all_of_them and summaries:
        _write_page([out], out / "index.html")
    if summaries:
        _show_claims(summaries, strict=strict and not left_out)
    for sentence in left_out:
        say_error(sentence)
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
    from rich.console import Console

    from superarm.jobs.progress import progress_of
    from superarm.reproduce.runner import run

    with progress_of(name, Console(stderr=True)) as progress:
        return run(name, out=out, progress=progress, **options)


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
    if as_json:
        for summary in summaries:
            for claim in summary.claims:
                row = {"id": summary.id, "scale": summary.scale} | asdict(claim)
                typer.echo(json.dumps(row, ensure_ascii=False))
    else:
        from rich.console import Console

        from superarm.report.console import claims_text

        Console(soft_wrap=True).print(claims_text(summaries), end="", highlight=False)
    if strict and any(claim.verdict == "fails" for summary in summaries for claim in summary.claims):
        raise typer.Exit(CLAIM_FAILS)


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

    Below --out, a folder ID/LABEL has tuning.csv, tuning.json and tuning.png. They are written
    when all runs are finished; what is interrupted leaves nothing. With --log LOG and no ID, the preset of
    the file --policy is judged by a log at every point: it learns from the first events, one half of the
    rest chooses the point, and the other half says what it earns.
    """
    from superarm.experiments.experiment import ExperimentError
    from superarm.reproduce.tuning import parse_grid, tune_policy

    if (name is None) == (log is None):
        raise ExperimentError("tune: name an experiment, or a log with --log")
    keep_compiled()
    if name is None or log is not None:
        tune_on_log(Path(str(log)), columns, Path(policy), parse_grid(grid or []), train, as_json)
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
        from rich.console import Console

        from superarm.report.console import tuning_text

        Console(soft_wrap=True).print(tuning_text(tuning), end="", highlight=False)
        typer.echo(f"{name}, {policy}: written to {folder}")


@guarded
def demo_command(
    out: Out = Path("demo-output"),
    workers: Workers = None,
    scale: Annotated[str, typer.Option(hidden=True)] = "quick",
) -> None:
    """Compare five policies, redraw a figure of a paper, and write a page of both; a minute or so."""
    from rich.console import Console

    from superarm.jobs.progress import progress_of
    from superarm.reproduce.demo import EXPERIMENT, demo

    keep_compiled()
    out.mkdir(parents=True, exist_ok=True)
    with progress_of(EXPERIMENT, Console(stderr=True)) as progress:
        summary, page = demo(out, scale=scale, workers=workers, say=typer.echo, progress=progress)
    _show_claims([summary])
    typer.echo(f"picture: {out / 'comparison.png'}\npage: {page}")
