"""`athena ingest`: index documents, and say what was done and what could not be read."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.options import AsJson, DataDir
from athena.cli.running import err, flush, opened, say_error, show
from pipeline.words import counted

if TYPE_CHECKING:
    from athena import Athena
    from athena.cli.progress import Counted
    from pipeline.ingest import IngestReport, Progress

SOME_FAILED = 3
"""Exit code where the command did its work, but some files could not be read."""

STAGES = {
    "renewing": "Embedding everything again: the index is outdated",
    "reading": "Reading",
    "embedding": "Embedding",
    "storing": "Storing",
    "indexing": "Indexing words",
    "relating": "Reading names and relations",
}


def ingest(
    paths: Annotated[list[str] | None, typer.Argument(help="Folders or files; default: the corpus.")] = None,
    formats: Annotated[
        str | None, typer.Option(help="What is read of folders: md,pdf,docx,html … or all.")
    ] = None,
    data_dir: DataDir = None,
    rebuild: Annotated[bool, typer.Option(help="Index everything anew.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: index what changes there, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Index documents: only what changed is read and embedded again, what vanished is removed."""
    from athena.cli.progress import counter

    with opened(data_dir, formats=formats) as athena:
        chosen = paths or [str(athena.settings.corpus)]
        with counter(err, quiet=as_json) as count:
            report = athena.ingest(
                chosen,
                on_progress=(lambda progress: _count(count, progress)) if count else None,
                rebuild=rebuild,
            )
        _show(report, as_json=as_json)
        if watch:
            _watch(athena, chosen, as_json=as_json)
            return
    if report.problems:
        reached = report.added or report.changed or report.unchanged
        raise typer.Exit(SOME_FAILED if reached else 1)


def _show(report: IngestReport, *, as_json: bool) -> None:
    show(as_json, report, lambda: ingest_text(report))
    flush()


def _watch(athena: Athena, paths: list[str], *, as_json: bool) -> None:
    """Index what changes until Ctrl-C, or until the system asks the process to end."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    err.print("Watching for changes (Ctrl-C ends it)", style="dim")
    athena.watch(
        paths,
        stop=stop,
        on_report=lambda report: _show(replace(report, unchanged=[]), as_json=as_json),
        on_error=say_error,
    )


def _count(count: Counted, progress: Progress) -> None:
    count(STAGES.get(progress.stage, progress.stage), progress.done, progress.total)


def _size(report: IngestReport) -> str:
    return f"{counted(report.sections, 'section')}, {counted(report.sentences, 'sentence')}"


def ingest_text(report: IngestReport) -> RenderableType:
    """What an ingest did, and each file that failed with the reason and what to do."""
    from pipeline.ingest import left_out_summary

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
        Text(f"{counts or 'nothing to index'}: {_size(report)}"),
        Text(f"{counted(report.embedded, 'passage')} embedded in {report.seconds:.1f} s", style="dim"),
    ]
    if report.outdated:
        lines.append(Text(f"Everything was embedded again: the index was made with {report.outdated}."))
    if report.stopped:
        lines.append(Text("Stopped before the end. Ingest again to go on.", style="yellow"))
    if left_out := left_out_summary(report.left_out):
        lines.append(Text(f"Left out: {left_out}.", style="dim"))
    lines += [Text(warning, style="yellow") for warning in report.warnings]
    lines += [
        Text(f"Not indexed: '{problem.source}': {problem.reason}. {problem.fix}", style="yellow")
        for problem in report.problems
    ]
    return Group(*lines)
