"""The first recipe: files → what changed → sections → sentences → vectors → store.

A document whose file has the hash that it was indexed with is read no further: no model is opened for it.
Of one that changed, what reads the same as before keeps its vector.
Each document is stored whole or not at all; whatever ends an ingest, the next one completes it.
A rebuild makes the index anew beside the old one, which is searched until the new one is complete.
Documents of folders that are not named this time come along, from the text in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pipeline.ingesting.batches import Cutter
from pipeline.ingesting.documents import Corpus, Problem, find_documents, vanished, without_collisions
from pipeline.ingesting.run import IngestReport, IngestRun, Makers, Progress, Stopped
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest

__all__ = ["Corpus", "IngestReport", "Makers", "Problem", "Progress", "ingest"]


def ingest(
    paths: Iterable[Path | str],
    *,
    store: DocumentStore,
    corpus: Corpus,
    make_cutter: Callable[[], Cutter],
    make_encoder: Callable[[], Encoder],
    manifest: Manifest,
    max_bytes: int,
    root: str | None = None,
    rebuild: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> IngestReport:
    """Bring the index up to date with the files at and below `paths`, and report what was done.

    Cutter and encoder are made only when a document has changed. Documents given a `root` belong
    to that instead of to their folder, and none is taken for deleted. `should_stop` is asked before each
    document and while embedding; what was stored by then stays.

    Raises:
        ManifestMismatch: the index was made with another model or splitter; `rebuild` makes it anew.
        StoreError: the store cannot be written.
    """
    makers = Makers(make_cutter, make_encoder)
    with store.writing(manifest, rebuild=rebuild) as writing:
        run = IngestRun(store, corpus=corpus, makers=makers, on_progress=on_progress, should_stop=should_stop)
        found = find_documents(paths, corpus=corpus, max_bytes=max_bytes, root=root)
        found = without_collisions(found, run.indexed)
        gone = vanished(found, run.indexed)
        candidates = run.candidates(found, gone, rebuild=rebuild)
        run.delete(writing, gone, rebuilt=candidates if rebuild else None)
        try:
            changed = run.changed(candidates, writing, rebuild=rebuild)
            for document, vectors in run.embedded(changed):
                run.store(document, vectors)
            run.complete(writing)
        except Stopped:
            run.stopped = True
    return run.report()
