"""Folders that a server keeps its index in step with, where the settings want it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from athena.reading import UPLOADS
from pipeline.notices import notices

if TYPE_CHECKING:
    from athena import Athena, Settings
    from pipeline.errors import AthenaError
    from pipeline.ingest import IngestReport

UPLOADS_ALONE = (
    "The uploads alone are watched. Name a folder in ATHENA_CORPUS, or run `athena ingest --watch FOLDER`, "
    "to have it watched, too."
)

log = logging.getLogger(__name__)


@contextmanager
def watched(settings: Settings, find_athena: Callable[[], Athena], *, ingest: bool) -> Iterator[None]:
    """Watch the uploads, and the corpus where one is set or is to be ingested, while the block runs."""
    uploads = settings.data_dir / UPLOADS
    folders = [uploads]
    if ingest or "corpus" in settings.model_fields_set:
        folders.append(settings.corpus)
    stop = threading.Event()

    def watch() -> None:
        find_athena().watch(folders, stop=stop, tell=_tell, fail=_fail)

    thread = threading.Thread(target=watch, name="athena-watch")
    if settings.watch:
        if len(folders) == 1:
            notices.info(UPLOADS_ALONE)
        uploads.mkdir(parents=True, exist_ok=True)
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if settings.watch:
            thread.join()


def _tell(report: IngestReport) -> None:
    counts = len(report.added), len(report.changed), len(report.deleted)
    log.info("%d documents added, %d changed, %d removed", *counts)
    for problem in report.problems:
        notices.warning("Not indexed: '%s': %s. %s", problem.source, problem.reason, problem.fix)


def _fail(error: AthenaError) -> None:
    notices.warning("Nothing could be indexed, it is tried again: %s", error)
