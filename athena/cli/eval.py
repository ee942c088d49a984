"""`athena eval`: measure retrieval and answers on a folder of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.experiments import experiment
from athena.cli.options import Alpha, AsJson, Candidates, DataDir, Hyde, Llm, Rerank
from athena.cli.running import err, failing_clearly, opened, show
from pipeline.words import counted

if TYPE_CHECKING:
    from evals.answers import AnswersReport
    from evals.passages import PassagesReport
    from evals.retrieval import RetrievalReport
    from evals.talks import TalksReport
    from evals.turn_search import MemoryReport

app = typer.Typer(help="Measure retrieval and answers on a folder of questions.", no_args_is_help=True)
app.command()(experiment)


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
    folder: Annotated[Path, typer.Argument(help="A folder of questions: docs/evaluation-format.md.")],
    corpus: Corpus = None,
    trulens: Annotated[
        str | None,
        typer.Option(metavar="PATH_OR_URL", help="Also record the chat's answers in this TruLens database."),
    ] = None,
    indexed: Annotated[
        bool, typer.Option("--index", "--indexed", help="Ask the data folder's own index, as it is.")
    ] = False,
    judged_by: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="ollama/NAME or openai/NAME also judges the answers, in TruLens.",
        ),
    ] = None,
    failures: Annotated[bool, typer.Option("--failures", help="Also list what went wrong.")] = False,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check answers: the quotes, or what a model writes, and whether abstaining is right.

    By rule, which sees words, numbers, units and ids, not meaning; similarity is closeness of topic, not
    truth.
    """
    from athena.cli.progress import counter
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
        typer.Argument(
            metavar="PATH", help="Conversations in LoCoMo's or BEAM's format, or talks: a file, a folder."
        ),
    ],
    failures: Annotated[bool, typer.Option("--failures", help="Also list what went wrong in talks.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remember conversations, ask about them, and count what is found and answered."""
    from athena.cli.progress import counter
    from evals.talks import evaluate_talks, load_talks
    from evals.turn_search import evaluate_memory

    with opened(data_dir, llm="none") as athena, counter(err, quiet=as_json) as report:
        if talks := load_talks(path):
            told = evaluate_talks(athena, talks, failures=failures, report=report)
            show(as_json, asdict(told), lambda: talks_text(told))
            return
        result = evaluate_memory(athena, path, report=report)
    show(as_json, asdict(result), lambda: memory_text(result))


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
    database: Annotated[str, typer.Argument(metavar="PATH_OR_URL", help="What --trulens recorded into.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8502,
) -> None:
    """Open TruLens' dashboard over recorded answers in a browser."""
    from evals.trulens import serve_dashboard

    with failing_clearly():
        serve_dashboard(database, host=host, port=port)


def memory_text(report: MemoryReport) -> RenderableType:
    """Which turns were found, and what was answered, over all questions and by their category."""
    found = {"all": {"questions": report.questions, **report.metrics}, **report.by_category}
    asked = report.questions + report.never_said
    chat = {"all": {"questions": asked, **report.chat}, **report.chat["by_category"]}
    size = f"{counted(report.conversations, 'conversation')}, {counted(report.turns, 'turn')}"
    left_out = (
        f"\nleft out: {counted(report.left_out, 'question')} without evidence" if report.left_out else ""
    )
    made = report.made
    never_said = f"\n{counted(report.never_said, 'question')} about what was never said"
    cost = f"a turn: {made['ms_per_turn']:.1f} ms, {made['bytes_per_turn']:,} bytes"
    return Group(
        Text(size + left_out + never_said, style="bold"),
        _shares("the search", found, [*report.metrics]),
        Text(f"a read: {_times(report.ms_per_read)}"),
        _shares("the chat", chat, ["R@5", "hit@10", "answered", "span", "tokens", "left_alone"]),
        Text(f"a question: {_times(report.chat['ms_per_question'])}"),
        Text(f"{cost}; {made['memories']:,} memories"),
    )


def _shares(title: str, rows: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> Table:
    """A row for all questions and for each category; "-" is a share of nothing."""
    table = Table(
        title, "asked", *(name.replace("_", " ") for name in names), box=box.SIMPLE, padding=(0, 0, 0, 1)
    )
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for category, row in rows.items():
        shares = ["-" if row[name] is None else f"{row[name]:.3f}" for name in names]
        table.add_row(category.replace("_", " "), f"{row['questions']:,.0f}", *shares)
    return table


def _times(ms: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f} ms" for name, value in ms.items())


def talks_text(report: TalksReport) -> RenderableType:
    """What was answered and believed, by the kind of talk; then what went wrong, where that was asked for."""
    table = Table("", *report.talks, box=box.SIMPLE)
    for metric in dict.fromkeys(name for found in report.talks.values() for name in found):
        shares = [found.get(metric) for found in report.talks.values()]
        cells = [f"{share['count']} of {share['of']}" if share else "-" for share in shares]
        table.add_row(metric.replace("_", " "), *cells)
    return Group(table, *map(Text, report.failures))


def metrics_text(report: RetrievalReport | AnswersReport) -> RenderableType:
    """The figures of an evaluation as a table."""
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in report.metrics.items():
        if value is not None:
            table.add_row(name, f"{value:.4f}")
    for name, ms in report.ms_per_query.items():
        table.add_row(f"ms a question, {name}", f"{ms:.1f}")
    table.add_row("ingest, s", f"{report.ingest_seconds:.1f}")
    size = (
        f"{report.dataset}: {counted(report.documents, 'document')}, {counted(report.sentences, 'sentence')}"
    )
    left_out = f"Without judgement, left out: {', '.join(report.unjudged)}" if report.unjudged else ""
    return Group(Text(size, style="bold"), table, *filter(None, [left_out]))


def answers_text(report: AnswersReport) -> RenderableType:
    """The figures of all questions, and those that each kind of question is about."""
    names = ("section", "first_quote", "any_quote", "marked", "parts", "alone")
    about = [name for name in names if any(row[name] is not None for row in report.by_kind.values())]
    kinds = [_shares("kind", report.by_kind, about)] if any(report.by_kind) else []
    judged = [judged_text(report.judge)] if report.judge else []
    by = Text(f"Answers by {report.llm or 'no model: quotes'}")
    failures = [
        Text(f"{one['id']}: {one['question']}\n  {'; '.join(one['problems'])}\n  → {one['said']}")
        for one in report.failures
    ]
    return Group(metrics_text(report), *kinds, by, *judged, *failures)


def judged_text(judged: Mapping[str, float]) -> RenderableType:
    """The means of the metrics that a language model judged."""
    table = Table("judged", "", box=box.SIMPLE)
    for name, value in judged.items():
        table.add_row(name, f"{value:.4f}")
    return table


def passages_text(report: PassagesReport) -> RenderableType:
    """Which of the first passages have the answer: a column for each way to search."""
    ways = report.variants
    table = Table("in the first", box=box.SIMPLE)
    for way in ways:
        table.add_column(way.name, justify="right")
    for count in ways[0].shares:
        table.add_row(counted(count, "passage"), *(f"{way.shares[count]:.2f}" for way in ways))
    for count in ways[0].words:
        table.add_row(f"words of {count}", *(f"{way.words[count]:.0f}" for way in ways))
    table.add_row("parents", *(f"{way.merged_up:.2f}" for way in ways))
    table.add_row("ms a question", *(f"{way.ms_per_query['p50']:.1f}" for way in ways))
    size = f"{report.dataset}: {report.questions} questions, the share with the answer"
    return Group(Text(size, style="bold"), table)
