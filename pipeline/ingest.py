"""The first recipe: find files → read → cut into sections and sentences → embed → store.

A document whose file is unchanged is neither cut nor embedded. In a changed or renamed document, unchanged
text keeps its vector. Each document is stored whole or not at all; the next ingest completes an interrupted
one. A rebuild embeds all documents again; for folders that are not in `paths`, it takes the documents' text
from the index. No search finds a document until the rebuild has reached it.

To add a dialect of Markdown, add rows to `readers/dialects.tsv`; for its syntax to include files, to
`readers/includes.tsv`. To add a language, see `readers/language.py` (sentences) and `pipeline/analysis.py`
(stems). Both need a higher `FORMAT`; see docs/architecture.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from pipeline.ingesting.documents import Reader, find_documents
from pipeline.ingesting.run import CutDocument, IngestReport, IngestRun, Progress, Stopped, left_out_summary
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest, Vector, is_outdated

__all__ = ["IngestReport", "Progress", "Reader", "ingest", "left_out_summary"]


def ingest(
    paths: Iterable[Path | str],
    *,
    store: DocumentStore,
    reader: Reader,
    encoder: Encoder,
    manifest: Manifest,
    uploads: Path | None = None,
    rebuild: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> IngestReport:
    """Bring the index up to date with the files at and below `paths`, and report what was done.

    A document of the folder `uploads` stays if its file is missing: another machine may have the file.
    `should_stop` is called before each progress report, also from another thread; stored documents stay.
    An index made with another build of the same embedding model, or by an older Athena, is rebuilt.

    Raises:
        ManifestMismatch: the index was made with another model or splitter; `rebuild` replaces it.
        StoreError: the store cannot be written.
    """
    started, report = time.perf_counter(), IngestReport()
    rebuild = rebuild or is_outdated(store.statistics().manifest, manifest)

    def tell(progress: Progress) -> None:
        if should_stop and should_stop():
            raise Stopped
        if on_progress:
            on_progress(progress)

    with store.writing(manifest, rebuild=rebuild) as writing, ThreadPoolExecutor(1, "athena-embed") as thread:
        indexed = {info.source: info for info in store.documents()}
        found = find_documents(paths, reader=reader, indexed=indexed.values(), uploads=uploads)
        report.problems += found.problems
        report.left_out += found.left_out
        run = IngestRun(store, writing, reader, encoder, found, report, tell, indexed)
        try:
            # While a batch is embedded in the thread, the batch before is stored and the next one is cut.
            before, embedding = list[CutDocument](), thread.submit(dict[str, Vector])
            for batch in chain(run.cut_batches(), [[]]):  # the empty batch stores the last one
                vectors = embedding.result()
                embedding = thread.submit(run.embed, batch)
                run.store_batch(before, vectors)
                before = batch
            run.delete_gone()
        except Stopped:
            report.stopped = True
    documents = store.documents()
    report.sections = sum(info.sections for info in documents)
    report.sentences = sum(info.sentences for info in documents)
    report.seconds = time.perf_counter() - started
    return report
