"""The first recipe: files → what changed → read → cut → embed → store.

A document whose file has the hash it was indexed with is not read any further, and no model is opened for it.
In a changed document, text that reads the same as before keeps its vector, and so it does in one that moved.
Each document is stored whole or not at all; if an ingest ends early, the next one completes it.
A rebuild makes a new index beside the old one, which is searched until the new one is complete.
It includes documents of folders that are not named this time, from the text in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pipeline.ingesting.documents import (
    Problem,
    Reader,
    find_documents,
    vanished,
    with_known,
    without_collisions,
)
from pipeline.ingesting.run import IngestReport, IngestRun, Progress, Stopped
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest
from pipeline.stores.manifest import why_outdated

__all__ = ["IngestReport", "Problem", "Progress", "Reader", "ingest"]


def ingest(
    paths: Iterable[Path | str],
    *,
    store: DocumentStore,
    reader: Reader,
    encoder: Encoder,
    manifest: Manifest,
    root: str | None = None,
    rebuild: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> IngestReport:
    """Bring the index up to date with the files at and below `paths`, and report what was done.

    Documents given a `root` belong to that instead of to their folder, and none counts as deleted.
    `should_stop` is asked before each document and while embedding; what was stored by then stays.
    An outdated index, made with another file of the same model or another recipe, is rebuilt.

    Raises:
        ManifestMismatch: the index was made with another model or splitter; `rebuild` replaces it.
        StoreError: the store cannot be written.
    """
    outdated = "" if rebuild else why_outdated(store.sections.manifest(), manifest)
    rebuild = rebuild or bool(outdated)
    with store.writing(manifest, rebuild=rebuild) as writing:
        run = IngestRun(
            store,
            writing,
            rebuild=rebuild,
            outdated=outdated,
            on_progress=on_progress,
            should_stop=should_stop,
        )
        found = with_known(find_documents(paths, reader=reader, root=root), run.indexed)
        found = without_collisions(found, run.indexed)
        gone = vanished(found, run.indexed)
        wanted = run.wanted(found, gone)
        run.leave_out(gone, wanted=wanted)
        try:  # each step is a generator that works on one document, or batch, when the next one asks for it
            changed = run.read(wanted, reader=reader)
            cut = run.cut(changed, reader=reader, encoder=encoder)
            embedded = run.embed(cut, encoder=encoder)
            run.store(embedded)
            run.delete()
            run.publish()
        except Stopped:
            run.stopped = True
    return run.report()
