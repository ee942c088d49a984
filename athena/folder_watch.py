"""Keep an index up to date with folders: ingest them at once, then after each change of a file in them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import AthenaError, ConfigurationError

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.ingest import IngestReport

REST_MS = 500  # time without a change before an ingest, so that a burst of changes is ingested once
LONGEST_WAIT_MS = 60_000  # while changes never pause, ingest after this time
RETRY_MS = 1_000  # until a failed ingest is repeated: another process may have been writing


def watch_folders(
    athena: Athena,
    paths: Sequence[Path | str],
    *,
    stop: threading.Event,
    on_report: Callable[[IngestReport], None],
    on_error: Callable[[AthenaError], None],
) -> None:
    """Ingest the paths now and after every change, until `stop` is set.

    `on_report` gets the report of each ingest that changed the index or met a problem. A failed ingest is
    repeated until it succeeds; `on_error` gets the same error only once. Changes in hidden folders and in
    the data folder are ignored. Raises `ConfigurationError` if none of the paths exists.
    """
    from watchfiles import watch

    data_dir, failure = athena.settings.data_dir.resolve(), ""
    folders = [path.resolve() for path in map(Path, paths) if path.exists()]
    if not folders:
        where = ", ".join(map(str, paths))
        raise ConfigurationError(f"There is nothing to watch at {where}.", "Check the path.")
    changes = watch(  # watching starts before the first ingest, so that no change is missed
        *folders,
        watch_filter=lambda _, path: _matters(Path(path), folders, data_dir),
        debounce=LONGEST_WAIT_MS,
        step=REST_MS,
        stop_event=stop,
        rust_timeout=RETRY_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    for number, changed in enumerate(changes):
        if number and not changed and not failure:
            continue
        try:
            report = athena.ingest(paths, should_stop=stop.is_set)
        except AthenaError as error:
            if str(error) != failure:
                on_error(error)
            failure = str(error)
            continue
        failure = ""
        if report.added or report.changed or report.deleted or report.problems:
            on_report(report)


def _matters(path: Path, folders: Sequence[Path], data_dir: Path) -> bool:
    """Return whether a changed path may be a document: not in a hidden folder, nor in the data folder."""
    if path.is_relative_to(data_dir):
        return False
    inside = [path.relative_to(folder).parts for folder in folders if path.is_relative_to(folder)]
    return any(not any(part.startswith(".") for part in parts[:-1]) for parts in inside)
