"""Index the corpus in a thread while a server runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from athena.folder_watch import watch_folders
from pipeline.errors import AthenaError
from pipeline.notices import notices

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.ingest import IngestReport

log = logging.getLogger(__name__)


@contextmanager
def indexing(find_athena: Callable[[], Athena], *, ingest: bool, watch: bool) -> Iterator[None]:
    """Ingest the corpus while the block runs, once, or with `watch` after every change of its files.

    An error is shown as a notice and does not end the block. The end of the block stops the ingest after the
    document at work and waits for it, so that the store can be closed.
    """
    if not (ingest or watch):
        yield
        return
    stop = threading.Event()

    def work() -> None:
        athena = find_athena()
        corpus = [athena.settings.corpus]
        if watch:
            watch_folders(athena, corpus, stop=stop, on_report=_report, on_error=_failed)
            return
        try:
            _report(athena.ingest(corpus, should_stop=stop.is_set))
        except AthenaError as error:
            _failed(error)

    thread = threading.Thread(target=work, name="athena-indexing")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _report(report: IngestReport) -> None:
    counts = len(report.added), len(report.changed), len(report.deleted)
    log.info("%d documents added, %d changed, %d removed", *counts)
    for problem in report.problems:
        notices.warning("Not indexed: '%s': %s. %s", problem.source, problem.reason, problem.fix)


def _failed(error: AthenaError) -> None:
    notices.warning("The corpus could not be indexed: %s", error)
