"""`athena eval experiment`: run configurations on one question set, and compare them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import AsJson, DataDir, Llm
from athena.cli.running import err, failing_clearly, out, print_json
from pipeline.errors import ConfigurationError
from pipeline.words import counted

if TYPE_CHECKING:
    from evals.experiments import Outcome, Planned
    from evals.results import ExperimentResult

Names = Annotated[
    list[str] | None, typer.Argument(metavar="A … E | FILE.toml", help="Experiments by name, or TOML files.")
]
Results = Annotated[
    Path | None, typer.Option("--results", help="Where results are kept. By default evals/results.")
]
NOT_PRINTED = {"configurations": {"__all__": {"questions", "scores"}}}  # they are in the files


def experiment(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="All that come along.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, and run nothing.")] = False,
    results: Results = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Then delete their results of other code, data or settings.")
    ] = False,
    embedding: Annotated[
        list[str] | None, typer.Option("--embedding", help="Another embedding model for C: repeat it.")
    ] = None,
    llm: Llm = None,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Also draw each as SVG and PNG there.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run the configurations of experiments that have no result yet, and compare them with their first."""
    from athena.cli.progress import counter
    from evals.experiments import delete_others, plan_all, run, together
    from evals.results import RESULTS

    if bool(names) == every:
        raise typer.BadParameter("name experiments, or give --all")
    given = {"data_dir": data_dir, "llm": llm}
    flags = {name: flag for name, flag in given.items() if flag is not None}
    folder = results or RESULTS
    with failing_clearly():
        plans = plan_all(names or [], embeddings=embedding or (), **flags)
        if dry_run:
            _show_plans(plans, folder, as_json)
            return
        with counter(err, quiet=as_json) as report:
            outcomes = list(run(plans, results=folder, report=report))
        if replace:
            delete_others(plans, folder)
        found = together(outcomes)
        _show_results(found, outcomes, as_json)
        if plots:
            _draw(found, plots)


def _draw(results: Sequence[ExperimentResult], folder: Path) -> None:
    """Their plots; without the plotting package the tables are all there is, and why is said."""
    from evals.plots import draw

    try:
        for result in results:
            err.print(str(draw(result, folder)), markup=False, highlight=False)
    except ConfigurationError as error:
        err.print(str(error), style="yellow", markup=False)


def _show_plans(plans: Sequence[Planned], folder: Path, as_json: bool) -> None:
    """What would run, and how long it took when it last did."""
    from evals.experiments import last_seconds, result_path

    rows: list[dict[str, Any]] = [
        {
            "experiment": planned.experiment.name,
            "configuration": planned.named.name,
            "digest": planned.digest,
            "state": _state(planned, result_path(planned, folder).is_file()),
            "last_seconds": last_seconds(planned, folder),
        }
        for planned in plans
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("", "configuration", "would", "last took", box=box.SIMPLE)
    for row in rows:
        took = "-" if row["last_seconds"] is None else f"{row['last_seconds']:.0f} s"
        table.add_row(row["experiment"], row["configuration"], row["state"], took)
    running = [row for row in rows if row["state"] == "run"]
    known = [row["last_seconds"] for row in running if row["last_seconds"] is not None]
    last = f"{len(known)} of them last took {sum(known):.0f} s" if known else "none of them ran here before"
    end = f"{counted(len(running), 'configuration')} would run" + (f"; {last}." if running else ".")
    out.print(Group(table, Text(end)))


def _state(planned: Planned, is_kept: bool) -> str:
    if is_kept:
        return "be kept"
    return "be skipped" if planned.skip else "run"


def _show_results(results: Sequence[ExperimentResult], outcomes: Sequence[Outcome], as_json: bool) -> None:
    """Each experiment's table, or a line of JSON for each, and what was left out of it."""
    by_name = {result.experiment: result for result in results}
    for name in dict.fromkeys(outcome.planned.experiment.name for outcome in outcomes):
        result = by_name.get(name)
        skipped = [
            {"name": one.planned.named.name, "why": one.why}
            for one in outcomes
            if (one.planned.experiment.name, one.status) == (name, "skipped")
        ]
        if as_json:
            shape = result.model_dump(mode="json", exclude=NOT_PRINTED) if result else {"experiment": name}
            print_json({**shape, "skipped": skipped})
            continue
        if result:
            out.print(experiment_text(result))
        for one in skipped:
            out.print(f"{name}, {one['name']}: left out. {one['why']}", style="yellow", markup=False)


def experiment_text(result: ExperimentResult) -> RenderableType:
    """The configurations with their metrics, and how each differs from the first."""
    from evals.significance import MARGIN

    first = result.baseline
    table = Table("", *first.metrics, "ms", box=box.SIMPLE, padding=(0, 0, 0, 1))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    verdicts = {(one.a, one.metric): SIGNS[one.verdict] for one in result.comparisons}
    for one in result.configurations:
        cells = [
            f"{value:.3f}{verdicts.get((one.name, metric), ' ')}" for metric, value in one.metrics.items()
        ]
        table.add_row(one.name, *cells, f"{one.ms['all']['p50']:.0f}" if one.ms else "-")
    lines = [
        result.uncompared or f"▲ better, ▼ worse than '{first.name}' (paired bootstrap, Holm); no mark: noise"
    ]
    if few := {one.metric: one for one in result.margins}:
        worst = max(few.values(), key=lambda one: one.needed)
        lines.append(
            f"Too few questions to see a difference of {MARGIN}: {', '.join(few)} "
            f"({worst.questions}; {worst.needed:,} would do)"
        )
    title = f"{result.experiment}. {result.title}: {result.dataset}, {len(first.questions)} questions"
    return Group(Text(title, style="bold"), table, Text("\n".join(lines), style="dim"))


SIGNS = {"better": "▲", "worse": "▼", "noise": " "}
