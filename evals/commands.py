"""`athena eval`: measure retrieval, answers and memory on a folder of questions.

`athena.cli` registers these commands if this package is installed. Import `athena.cli` before this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.running import (
    Alpha,
    AsJson,
    DataDir,
    Hyde,
    Llm,
    Rerank,
    counter,
    err,
    failing_clearly,
    opened,
    out,
    print_json,
    show,
)
from pipeline.words import counted

if TYPE_CHECKING:
    from evals.answers import AnswersReport
    from evals.experiments import Experiment, ExperimentResult
    from evals.remembering import MemoryReport
    from evals.retrieval import RetrievalReport

app = typer.Typer(help="Measure retrieval and answers on a folder of questions.", no_args_is_help=True)

Corpus = Annotated[Path | None, typer.Option(help="Markdown folder as corpus; ids: SOURCE#HEADING > PATH.")]
Failures = Annotated[bool, typer.Option("--failures", help="Also list the questions that went wrong.")]


@app.command()
def retrieval(
    folder: Annotated[Path, typer.Argument(help="A folder in BEIR's layout.")],
    split: Annotated[str, typer.Option(help="Which qrels: qrels/SPLIT.tsv.")] = "test",
    corpus: Corpus = None,
    alpha: Alpha = None,
    rerank: Rerank = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rank the documents for every question, and score the rankings by the relevance judgements."""
    from evals.retrieval import evaluate_retrieval

    flags = {"alpha": alpha, "rerank": rerank}
    with opened(data_dir, **flags) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_retrieval(athena, folder, split=split, corpus=corpus, report=report)
    show(as_json, asdict(result), lambda: metrics_text(result))


@app.command()
def answers(
    folder: Annotated[Path, typer.Argument(help="A folder of questions: docs/evaluation-format.md.")],
    corpus: Corpus = None,
    trulens: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also record the answers in this TruLens database.")
    ] = None,
    indexed: Annotated[
        bool, typer.Option("--index", "--indexed", help="Ask the data folder's existing index.")
    ] = False,
    judged_by: Annotated[
        str | None,
        typer.Option(
            "--judge", metavar="NAME", help="ollama/NAME or openai/NAME judges the answers, in TruLens."
        ),
    ] = None,
    failures: Failures = False,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check answers: do the quotes, or a model's text, hold the answer, and is abstaining right?

    The rules see words, numbers, units and ids, not meaning; similarity measures topic, not truth.
    """
    from evals.answers import evaluate_answers

    flags = {"hyde": hyde, "rerank": rerank, "llm": llm}
    with opened(data_dir, **flags) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_answers(
            athena,
            folder,
            corpus=corpus,
            trulens=trulens,
            indexed=indexed,
            judge=judged_by,
            failures=failures,
            report=report,
        )
    show(as_json, asdict(result), lambda: answers_text(result))


@app.command()
def memory(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A file or folder with talks, or dialogues in LoCoMo's format."),
    ],
    only_kept: Annotated[bool, typer.Option("--kept", help="Judge the kept memories alone.")] = False,
    failures: Failures = False,
    llm: Llm = "none",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Play conversations in the chat, ask about them, and count right answers and kept facts."""
    from evals.remembering import evaluate_memory
    from evals.talks import load_talks

    talks = load_talks(path)
    with opened(data_dir, llm=llm) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_memory(athena, talks, only_kept=only_kept, failures=failures, report=report)
    show(as_json, asdict(result), lambda: memory_text(result))


@app.command()
def experiment(
    names: Annotated[list[str] | None, typer.Argument(metavar="A … D", help="Experiments by name.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All experiments of Athena.")] = False,
    results: Annotated[
        Path | None, typer.Option("--results", help="Folder of the results; default: evals/results.")
    ] = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run each configuration that has no result yet, and compare it with the first of its experiment."""
    from evals.experiments import RESULTS, load_experiment, run
    from evals.experiments import names as ours
    from evals.report import table

    if bool(names) == every:
        raise typer.BadParameter("name experiments, or give --all")
    flags = {name: flag for name, flag in (("data_dir", data_dir), ("llm", llm)) if flag is not None}

    def say(line: str) -> None:
        err.print(line, style="yellow", markup=False)

    with failing_clearly():
        for planned in [load_experiment(name) for name in names or ours()]:
            with counter(err, quiet=as_json) as report:
                result = run(planned, results=results or RESULTS, flags=flags, say=say, report=report)
            if as_json:
                print_json(experiment_shape(planned, result))
            else:
                title = f"{planned.name}. {planned.title}: {planned.dataset.name}\n"
                out.print(title + table(result), markup=False, soft_wrap=True)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The new folder.")],
    user: Annotated[str | None, typer.Option("--user", help="Only the answers to this user.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write rated answers as a question set: `athena eval answers FOLDER --index` asks them again."""
    from evals.ratings import write_rated

    with opened(data_dir, llm="none") as athena:
        written = write_rated(athena.conversations, folder, user=user)
    show(as_json, {"questions": written}, lambda: f"{counted(written, 'question')} written to {folder}.")


@app.command()
def dashboard(
    database: Annotated[str, typer.Argument(metavar="FILE", help="The file that --trulens wrote.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8502,
    host: Annotated[str, typer.Option(help="Address to listen on; the page has no login.")] = "127.0.0.1",
) -> None:
    """Open TruLens' dashboard over recorded answers in a browser."""
    from evals.trulens import serve_dashboard

    with failing_clearly():
        serve_dashboard(database, host=host, port=port)


# -- tables for people ------------------------------------------------------------------------------------


def _table(rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with a row for each metric: its name, then its numbers."""
    table = Table(box=box.SIMPLE, padding=(0, 0, 0, 1), show_header=False)
    for row in rows:
        table.add_row(*row)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def metrics_text(report: RetrievalReport | AnswersReport) -> RenderableType:
    """Return the metrics, times and sizes of an evaluation."""
    rows = [(name, f"{value:.4f}") for name, value in report.metrics.items() if value is not None]
    rows += [(f"ms a question, {name}", f"{ms:.1f}") for name, ms in report.ms_per_query.items()]
    rows.append(("ingest, s", f"{report.ingest_seconds:.1f}"))
    sizes = f"{counted(report.documents, 'document')}, {counted(report.sentences, 'sentence')}"
    left_out = f"Without a judgement: {', '.join(report.unjudged)}" if report.unjudged else ""
    return Group(Text(f"{report.dataset}: {sizes}", style="bold"), _table(rows), left_out)


def answers_text(report: AnswersReport) -> RenderableType:
    """Return the metrics of all questions, the judge's scores and the failures; `--json` has each kind."""
    judged = [(f"judged: {name}", f"{value:.4f}") for name, value in (report.judge or {}).items()]
    failures = [
        Text(f"{one['id']}: {one['question']}\n  {'; '.join(one['problems'])}\n  → {one['said']}")
        for one in report.failures
    ]
    by = Text(f"Answers by {report.llm or 'no model: quotes'}")
    return Group(metrics_text(report), by, _table(judged), *failures)


def memory_text(report: MemoryReport) -> RenderableType:
    """Return the shares by kind of talk and metric, and the failures."""
    rows = (
        (f"{kind}: {name}", f"{found['share']:.3f}", f"{found['count']:,.4g} of {found['of']:,}")
        for kind, metrics in report.kinds.items()
        for name, found in metrics.items()
    )
    size = f"{counted(report.talks, 'talk')}, {counted(report.messages, 'message')}"
    left_out = f"{counted(report.left_out, 'question')} without evidence left out"
    return Group(Text(f"{size}; {left_out}", style="bold"), _table(rows), *map(Text, report.failures))


def experiment_shape(experiment: Experiment, result: ExperimentResult) -> dict[str, object]:
    """Return an experiment's output for `--json`: means and intervals, without scores of single questions."""
    configurations = [
        {
            "name": one.name,
            "metrics": {name: one.interval(name)[0] for name in one.metrics},
            "intervals": {name: one.interval(name)[1:] for name in one.metrics},
            "ms_per_query": {"p50": one.ms_p50, "p95": one.ms_p95},
            "words": one.words,
        }
        for one in result.configurations
    ]
    about = {"experiment": experiment.name, "title": experiment.title, "dataset": experiment.dataset.name}
    return about | {"configurations": configurations, "comparisons": result.comparisons}
