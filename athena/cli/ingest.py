"""`athena ingest`: index documents, and say what was done and what could not be read."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.running import AsJson, DataDir, counter, err, opened, say_error, show
from athena.folder_watch import watch_folders
from pipeline.words import counted

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.ingest import IngestReport

SOME_FAILED = 3
"""Exit code if some files could not be read and the others are indexed."""


def ingest(
    paths: Annotated[list[str] | None, typer.Argument(help="Folders or files; default: the corpus.")] = None,
    formats: Annotated[str | None, typer.Option(help="Formats to read in folders: md, or all.")] = None,
    data_dir: DataDir = None,
    rebuild: Annotated[bool, typer.Option(help="Index everything again.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Index every change, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Index documents: embed only new and changed text, and remove documents whose file is gone."""
    with opened(data_dir, formats=formats) as athena:
        chosen = paths or [str(athena.settings.corpus)]
        if watch:
            _watch(athena, chosen, as_json=as_json)
            return
        with counter(err, quiet=as_json) as count:
            report = athena.ingest(
                chosen,
                rebuild=rebuild,
                on_progress=lambda now: count(now.stage.capitalize(), now.done, now.total),
            )
        show(as_json, report, lambda: ingest_text(report))
    if report.problems:
        reached = report.added or report.changed or report.unchanged
        raise typer.Exit(SOME_FAILED if reached else 1)


def _watch(athena: Athena, paths: list[str], *, as_json: bool) -> None:
    """Index the paths and every change in them, until Ctrl-C or SIGTERM."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    err.print("Watching for changes (Ctrl-C ends it)", style="dim")

    def show_report(report: IngestReport) -> None:
        changed = replace(report, unchanged=[])
        show(as_json, changed, lambda: ingest_text(changed))

    watch_folders(athena, paths, stop=stop, on_report=show_report, on_error=say_error)


def ingest_text(report: IngestReport) -> Group:
    """Return the numbers of an ingest, its warnings, and each failed file with the reason and the fix."""
    return Group(*_lines(report))


def _lines(report: IngestReport) -> Iterator[RenderableType]:
    from pipeline.ingest import left_out_summary

    sources = {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "removed": report.deleted,
    }
    counts = ", ".join(f"{len(found):,} {name}" for name, found in sources.items() if found)
    size = f"{counted(report.sections, 'section')}, {counted(report.sentences, 'sentence')}"
    yield Text(f"{counts or 'nothing to index'}; the index has {size}")
    yield Text(f"{counted(report.embedded, 'passage')} embedded in {report.seconds:.1f} s", style="dim")
    if report.stopped:
        yield Text("Stopped before the end. Ingest again to go on.", style="yellow")
    if left_out := left_out_summary(report.left_out):
        yield Text(f"Left out: {left_out}.", style="dim")
    for warning in report.warnings:
        yield Text(warning, style="yellow")
    for problem in report.problems:
        yield Text(f"Not indexed: '{problem.source}': {problem.reason}. {problem.fix}", style="yellow")
