"""What the command line shows: progress on a terminal, answers with footnotes, tables of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from rich import box
from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from pipeline.errors import AthenaError, ModelError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepStarted

if TYPE_CHECKING:
    from athena.diagnosis import Diagnosis
    from pipeline.answer import Answer, Citation, Passage, Retrieval
    from pipeline.finding.why import Place, Why
    from pipeline.ingest import IngestReport
    from pipeline.ingest import Progress as IngestProgress
    from pipeline.models.ollama_pull import Pulling
    from pipeline.stores.migration import Migration
    from pipeline.stores.server import OrphanReport

EXCERPT = 240  # characters of a passage shown in a list of results
LOGGED_EVERY = 5  # percent of a download, where there is no terminal
STAGES = {
    "reading": "Reading",
    "embedding": "Embedding",
    "storing": "Storing",
    "indexing": "Indexing words",
}


class Engine(Protocol):
    """What answers: `pipeline.chat.ChatRecipe`, or a fake."""

    def run(self, message: str) -> Iterator[ChatEvent]:
        """Yield the events of one answer."""


@contextmanager
def ingest_progress(console: Console, *, quiet: bool) -> Iterator[Callable[[IngestProgress], None] | None]:
    """A progress bar a stage; None where nobody looks."""
    if quiet or not console.is_terminal:
        yield None
        return
    with _bars(console) as bars:
        tasks: dict[str, Any] = {}

        def show(progress: IngestProgress) -> None:
            label = STAGES.get(progress.stage, progress.stage)
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=progress.total)
            bars.update(tasks[label], completed=progress.done, total=progress.total)

        yield show


@contextmanager
def counter(console: Console, *, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Progress bars by name: called with (name, done, total); None where nobody looks."""
    if quiet or not console.is_terminal:
        yield None
        return
    with _bars(console) as bars:
        tasks: dict[str, Any] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield show


@contextmanager
def pull_progress(console: Console) -> Iterator[Callable[[Pulling], None]]:
    """A bar on a terminal; in a log a line for each new status and every five percent."""
    if not console.is_terminal:
        said: tuple[str, int] = ("", 0)

        def say(pulling: Pulling) -> None:
            nonlocal said
            share = int(100 * pulling.done / pulling.total) // LOGGED_EVERY if pulling.total else 0
            if (pulling.status, share) != said:
                said = (pulling.status, share)
                console.print(_pulling_text(pulling), markup=False)

        yield say
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bars:
        task = bars.add_task("Asking", total=None)

        def show(pulling: Pulling) -> None:
            bars.update(task, description=pulling.status, completed=pulling.done, total=pulling.total or None)

        yield show


def _pulling_text(pulling: Pulling) -> str:
    if not pulling.total:
        return pulling.status
    percent = 100 * pulling.done / pulling.total
    return f"{pulling.status}: {percent:.0f} % of {decimal(pulling.total)}"


def _bars(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


def ingest_text(report: IngestReport) -> RenderableType:
    """What an ingest did, and each file that failed with the reason and what to do."""
    counts = ", ".join(
        f"{len(sources):,} {name}"
        for name, sources in (
            ("added", report.added),
            ("changed", report.changed),
            ("unchanged", report.unchanged),
            ("removed", report.deleted),
        )
        if sources
    )
    lines: list[RenderableType] = [
        Text(f"{counts or 'nothing to index'}: {report.sections:,} sections, {report.sentences:,} sentences"),
        Text(f"{report.embedded:,} passages embedded in {report.seconds:.1f} s", style="dim"),
    ]
    if report.stopped:
        lines.append(Text("Stopped before the end. Ingest again to go on.", style="yellow"))
    lines += [
        Text(f"Not indexed: '{problem.source}': {problem.reason}. {problem.fix}", style="yellow")
        for problem in report.problems
    ]
    return Group(*lines)


def search_text(retrieval: Retrieval) -> RenderableType:
    """The passages, best first."""
    if not retrieval.passages:
        return Text("Nothing was found. Is anything indexed? `athena doctor` tells.")
    lines: list[RenderableType] = []
    for rank, passage in enumerate(retrieval.passages, start=1):
        lines += _result_lines(rank, passage)
    verdict = retrieval.answerability
    word = "answer" if verdict.answerable else "do not answer"
    lines.append(
        Text(f"The documents probably {word} this ({verdict.probability:.0%}).", style="dim"),
    )
    return Group(*lines)


def _result_lines(rank: int, passage: Passage) -> list[RenderableType]:
    node = passage.node
    breadcrumb = " › ".join([node.metadata["source"], *node.metadata["heading_path"]])
    place = f"  lines {node.metadata['start_line']}-{node.metadata['end_line']}, score {passage.score:.3f}"
    text = " ".join(node.text.split())
    excerpt = text if len(text) <= EXCERPT else text[:EXCERPT].rsplit(" ", 1)[0] + " …"
    return [
        Text.assemble((f"{rank:>2}  ", "bold"), (breadcrumb, "bold"), (place, "dim")),
        Text(f"    {excerpt}"),
    ]


def why_text(why: Why) -> RenderableType:
    """What became of one section in a search."""
    if not why.indexed:
        return Text(why.explanation)
    table = Table(box=box.SIMPLE, title=" › ".join([why.source, *why.heading_path]), title_justify="left")
    for column in ("list", "rank", "score"):
        table.add_column(column, justify="left" if column == "list" else "right")
    for name, place in [*why.lists.items(), ("fused", why.fused), ("reranked", why.reranked)]:
        table.add_row(name, *_place(place))
    return Group(table, Text(why.explanation))


def _place(place: Place) -> tuple[str, str]:
    return (
        "-" if place.rank is None else str(place.rank),
        "-" if place.score is None else f"{place.score:.3f}",
    )


def watch_answer(engine: Engine, question: str, console: Console) -> Answer:
    """Ask, with the step that works shown on a terminal; raises `ModelError` where the run fails."""
    with console.status("Thinking", spinner="dots") as status:
        return _finish(engine.run(question), lambda text: status.update(f"{escape(text)} …"))


def ask_quietly(engine: Engine, question: str) -> Answer:
    """Ask and wait; raises `ModelError` where the run fails."""
    return _finish(engine.run(question), lambda _: None)


def _finish(events: Iterator[ChatEvent], show: Callable[[str], None]) -> Answer:
    for event in events:
        match event:
            case StepStarted(text=text):
                show(text.rstrip(" …."))
            case AnswerFinished(answer=answer):
                return answer
            case RunFailed(message=message, fix=fix):
                raise ModelError(message, fix)
    raise AthenaError("The answer ended unexpectedly.", "Ask again with `athena -v ask …` to see more.")


def answer_text(answer: Answer) -> RenderableType:
    """The answer with its citations as footnotes."""
    lines: list[RenderableType] = [Text(answer.text), Text("")]
    lines += [_footnote(citation) for citation in answer.citations]
    if answer.nearest:
        lines.append(Text("Nearest sections:", style="dim"))
        lines += [_footnote(citation) for citation in answer.nearest]
    lines += [
        Text(f"Not supported by what it cites: {answer.text[item.start : item.end].strip()}", style="yellow")
        for item in answer.support
        if not item.supported
    ]
    lines += [Text(notice, style="dim") for notice in answer.notices]
    model = answer.model or "no model: quotes"
    lines.append(Text(f"{model}, {answer.seconds:.1f} s", style="dim"))
    return Group(*lines)


def _footnote(citation: Citation) -> Text:
    breadcrumb = " › ".join([citation.source, *citation.heading_path])
    lines = f"{citation.start_line}-{citation.end_line}"
    return Text(f"[{citation.marker}] {breadcrumb}, lines {lines}", style="dim")


def read_question(console: Console) -> str:
    """The next question; "" at the end of input."""
    try:
        return console.input("[bold]› [/bold]").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


class Figures(Protocol):
    """What both evaluations report."""

    @property
    def dataset(self) -> str:
        """The data set's name."""

    @property
    def documents(self) -> int:
        """Indexed documents."""

    @property
    def sentences(self) -> int:
        """Indexed sentences."""

    @property
    def metrics(self) -> Mapping[str, float | None]:
        """The figures by name."""

    @property
    def ms_per_query(self) -> Mapping[str, float]:
        """Milliseconds by percentile."""

    @property
    def ingest_seconds(self) -> float:
        """Seconds of indexing."""


def metrics_text(figures: Figures) -> RenderableType:
    """The figures of an evaluation as a table."""
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in figures.metrics.items():
        table.add_row(name, "-" if value is None else f"{value:.4f}")
    for name, ms in figures.ms_per_query.items():
        table.add_row(f"ms a question, {name}", f"{ms:.1f}")
    table.add_row("ingest, s", f"{figures.ingest_seconds:.1f}")
    size = f"{figures.dataset}: {figures.documents:,} documents, {figures.sentences:,} sentences"
    return Group(Text(size, style="bold"), table)


def migration_text(done: Migration, to: str) -> str:
    """What a copy between stores did."""
    was = f"; {done.documents_unchanged:,} and {done.conversations_unchanged:,} were there"
    there = was if done.documents_unchanged or done.conversations_unchanged else ""
    copied = f"{done.documents:,} documents and {done.conversations:,} conversations copied{there}."
    return f"{copied}\nUse them with ATHENA_STORE={to}."


def repair_text(removed: OrphanReport | None) -> str:
    """What a repair removed."""
    if removed is None:
        return "Nothing to repair: the embedded store heals itself. ATHENA_STORE=server chooses the servers."
    return "\n".join(f"Removed: {line}" for line in removed.lines()) or "Nothing to repair."


def doctor_text(diagnosis: Diagnosis) -> RenderableType:
    """Each check with a tick or a cross, and what mends it."""
    lines: list[RenderableType] = []
    for check in diagnosis.checks:
        mark = ("✓ ", "green") if check.ok else ("✗ ", "red")
        lines.append(Text.assemble(mark, (f"{check.name}: ", "bold"), check.detail))
        if check.fix:
            lines.append(Text(f"    {check.fix}", style="dim" if check.ok else "yellow"))
    return Group(*lines)
