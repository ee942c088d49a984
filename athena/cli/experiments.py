"""`athena eval experiment`: run the configurations of experiments and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import AsJson, DataDir, Llm
from athena.cli.running import err, failing_clearly, out, print_json

if TYPE_CHECKING:
    from evals.experiments import ExperimentResult

SIGNS = {"better": "▲", "worse": "▼", "noise": " "}


def experiment(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="A … D | FILE.toml", help="Experiments by name or file."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that come with Athena.")] = False,
    results: Annotated[
        Path | None, typer.Option("--results", help="Folder of the results; default: evals/results.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Run also what has a result.")] = False,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Also draw each as SVG.")
    ] = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run the configurations of experiments that have no result yet, and compare them with the first."""
    from athena.cli.progress import counter
    from evals.experiments import RESULTS, load_experiment, run
    from evals.experiments import names as ours
    from evals.plots import draw

    if bool(names) == every:
        raise typer.BadParameter("name experiments, or give --all")
    given = {"data_dir": data_dir, "llm": llm}
    flags = {name: flag for name, flag in given.items() if flag is not None}

    def say(line: str) -> None:
        err.print(line, style="yellow", markup=False)

    with failing_clearly():
        for planned in [load_experiment(name) for name in names or ours()]:
            with counter(err, quiet=as_json) as report:
                result = run(
                    planned, results=results or RESULTS, flags=flags, anew=anew, say=say, report=report
                )
            if as_json:
                print_json(shape(result))
            else:
                out.print(experiment_text(result))
            if plots:
                draw(result, plots)


def shape(result: ExperimentResult) -> dict[str, object]:
    """What `--json` prints of an experiment: means and intervals, not each question's scores."""
    return {
        "experiment": result.experiment,
        "title": result.title,
        "dataset": result.dataset,
        "configurations": [
            {
                "name": one.name,
                "metrics": {name: one.interval(name)[0] for name in one.metrics},
                "intervals": {name: one.interval(name)[1:] for name in one.metrics},
                "ms_per_query": {"p50": one.ms_p50, "p95": one.ms_p95},
                "words": one.words,
            }
            for one in result.configurations
        ],
        "comparisons": list(result.comparisons),
    }


def experiment_text(result: ExperimentResult) -> RenderableType:
    """The configurations with their metrics, and how each differs from the first."""
    first = result.configurations[0]
    table = Table("", *first.metrics, "ms", box=box.SIMPLE, padding=(0, 0, 0, 1))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    signs = {(one.a, one.metric): SIGNS[one.verdict] for one in result.comparisons}
    for one in result.configurations:
        cells = [f"{one.interval(name)[0]:.3f}{signs.get((one.name, name), ' ')}" for name in first.metrics]
        table.add_row(one.name, *cells, f"{one.ms_p50:.0f}")
    title = f"{result.experiment}. {result.title}: {result.dataset}, {len(first.scores)} questions"
    note = f"▲ better, ▼ worse than '{first.name}' (paired bootstrap, Holm); no mark: noise"
    return Group(Text(title, style="bold"), table, Text(note, style="dim"))
