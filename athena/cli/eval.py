"""`athena eval`: measure retrieval and answers on a folder of questions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import Alpha, AsJson, Candidates, DataDir, Hyde, Llm, Rerank
from athena.cli.running import err, failing_clearly, opened, show
from pipeline.words import counted

if TYPE_CHECKING:
    from evals.answers import AnswersReport
    from evals.injections import InjectionsReport
    from evals.passages import PassagesReport
    from evals.retrieval import RetrievalReport
    from evals.support import SupportReport
    from evals.turn_search import MemoryReport

app = typer.Typer(help="Measure retrieval and answers on a folder of questions.", no_args_is_help=True)

Corpus = Annotated[Path | None, typer.Option(help="Markdown folder as corpus; ids: SOURCE#HEADING > PATH.")]


@app.command()
def retrieval(
    folder: Annotated[Path, typer.Argument(help="A folder in BEIR's layout.")],
    split: Annotated[str, typer.Option(help="Which qrels: qrels/SPLIT.tsv.")] = "test",
    run: Annotated[Path | None, typer.Option(help="Also write the ranking as a TREC run.")] = None,
    corpus: Corpus = None,
    alpha: Alpha = None,
    candidates: Candidates = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rank every question's documents and compare with the judgements."""
    from athena.cli.progress import counter
    from evals.retrieval import evaluate_retrieval

    flags = {"alpha": alpha, "candidates": candidates, "hyde": hyde, "rerank": rerank, "llm": llm}
    with opened(data_dir, **flags) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_retrieval(athena, folder, split=split, run=run, corpus=corpus, report=report)
    show(as_json, asdict(result), lambda: metrics_text(result))


@app.command()
def answers(
    folder: Annotated[Path, typer.Argument(help="A folder in BEIR's layout, queries with `answer`.")],
    corpus: Corpus = None,
    trulens: Annotated[
        str | None,
        typer.Option(metavar="PATH_OR_URL", help="Also record the chat's answers in this TruLens database."),
    ] = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check whether the quotes hold the answers, and whether abstaining is right."""
    from athena.cli.progress import counter
    from evals.answers import evaluate_answers

    flags = {"hyde": hyde, "rerank": rerank, "llm": llm}
    with opened(data_dir, **flags) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_answers(athena, folder, corpus=corpus, trulens=trulens, report=report)
    show(as_json, asdict(result), lambda: metrics_text(result))


@app.command()
def support(
    path: Annotated[
        Path, typer.Argument(metavar="FOLDER_OR_FILE", help="Labelled sentences, as JSON lines.")
    ],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check whether sentences that the passages do not support are marked, and only they."""
    from athena.cli.progress import counter
    from evals.support import evaluate_support

    with opened(data_dir, llm="none") as athena, counter(err, quiet=as_json) as report:
        result = evaluate_support(athena, path, report=report)
    show(as_json, asdict(result), lambda: support_text(result))


@app.command()
def passages(
    folder: Annotated[Path, typer.Argument(help="A folder in BEIR's layout, queries with `answers`.")],
    corpus: Corpus = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Look for the answers in the first passages, with and without parents and links."""
    from athena.cli.progress import counter
    from evals.passages import evaluate_passages

    flags = {"hyde": hyde, "rerank": rerank, "llm": llm}
    with opened(data_dir, **flags) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_passages(athena, folder, corpus=corpus, report=report)
    show(as_json, asdict(result), lambda: passages_text(result))


@app.command()
def memory(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="Conversations in LoCoMo's or BEAM's format: a file, a folder."),
    ],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remember conversations, ask about them, and count which of the answering turns are found."""
    from athena.cli.progress import counter
    from evals.turn_search import evaluate_memory

    with opened(data_dir, llm="none") as athena, counter(err, quiet=as_json) as report:
        result = evaluate_memory(athena, path, report=report)
    show(as_json, asdict(result), lambda: memory_text(result))


@app.command()
def injections(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Count memories that are recalled for unrelated messages, and those that are missed, by threshold."""
    from evals.injections import count_injections

    with opened(data_dir) as athena:
        result = count_injections(athena.encoder)
    show(as_json, asdict(result), lambda: injections_text(result))


@app.command()
def dashboard(
    database: Annotated[str, typer.Argument(metavar="PATH_OR_URL", help="What --trulens recorded into.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8502,
) -> None:
    """Open TruLens' dashboard over recorded answers in a browser."""
    from evals.recording import serve_dashboard

    with failing_clearly():
        serve_dashboard(database, host=host, port=port)


def injections_text(report: InjectionsReport) -> RenderableType:
    """False injections and missed ones by threshold; the one that is set is marked."""
    table = Table("threshold", "false injections", "missed", "", box=box.SIMPLE)
    for row in report.at:
        mark = "as set" if row == report.as_set else ""
        table.add_row(f"{row.threshold:.2f}", str(row.false_injections), str(row.missed), mark)
    size = (
        f"{report.model}: {report.memories} memories, {report.related} related messages, "
        f"{report.unrelated} unrelated"
    )
    return Group(Text(size, style="bold"), table)


def support_text(report: SupportReport) -> RenderableType:
    """The figures of checking sentences as a table."""
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in report.metrics.items():
        low, high = report.intervals[name]
        table.add_row(name, f"{value:.3f} [{low:.3f}, {high:.3f}]")
    for label, share in report.by_label.items():
        table.add_row(f"marked: {label} ({report.counts[label]})", f"{share:.3f}")
    table.add_row("ms a question", f"{report.ms_per_question:.1f}")
    size = f"{report.dataset}: {report.questions:,} questions, {report.sentences:,} sentences"
    return Group(Text(size, style="bold"), table)


def memory_text(report: MemoryReport) -> RenderableType:
    """Which turns were found, over all questions and by their category."""
    table = Table("", "questions", *report.metrics, box=box.SIMPLE)
    for column in table.columns[1:]:
        column.justify = "right"
    rows = {"all": {"questions": report.questions, **report.metrics}, **report.by_category}
    for name, row in rows.items():
        shares = [f"{row[metric]:.3f}" for metric in report.metrics]
        table.add_row(name, f"{row['questions']:,.0f}", *shares)
    size = f"{counted(report.conversations, 'conversation')}, {counted(report.turns, 'turn')}"
    left_out = (
        f"; left out: {counted(report.left_out, 'question')} without evidence" if report.left_out else ""
    )
    times = ", ".join(f"{name} {ms:.1f} ms" for name, ms in report.ms_per_read.items())
    return Group(Text(size + left_out, style="bold"), table, Text(f"a read: {times}"))


def metrics_text(report: RetrievalReport | AnswersReport) -> RenderableType:
    """The figures of an evaluation as a table."""
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in report.metrics.items():
        table.add_row(name, "-" if value is None else f"{value:.4f}")
    for name, ms in report.ms_per_query.items():
        table.add_row(f"ms a question, {name}", f"{ms:.1f}")
    table.add_row("ingest, s", f"{report.ingest_seconds:.1f}")
    size = (
        f"{report.dataset}: {counted(report.documents, 'document')}, {counted(report.sentences, 'sentence')}"
    )
    return Group(Text(size, style="bold"), table)


def passages_text(report: PassagesReport) -> RenderableType:
    """Which of the first passages have the answer: a row for each way to search."""
    first = report.variants[0]
    table = Table("", box=box.SIMPLE)
    for column in (
        *map(str, first.shares),
        *(f"words {n}" for n in first.words),
        "parents",
        "led",
        "ms",
    ):
        table.add_column(column, justify="right")
    for way in report.variants:
        shares = [f"{share:.2f}" for share in way.shares.values()]
        words = [f"{words:.0f}" for words in way.words.values()]
        brought = f"{way.merged_up:.2f}", f"{way.led:.2f}", f"{way.ms_per_query['p50']:.1f}"
        table.add_row(way.name, *shares, *words, *brought)
    size = f"{report.dataset}: {report.questions} questions, the share with the answer in the first passages"
    return Group(Text(size, style="bold"), table)
