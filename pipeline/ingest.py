"""The first recipe: find files → read → cut into sections and sentences → embed → store.

A document whose file has the hash it was indexed with is read no further, and no model is opened for it. In a
changed document, text that reads the same as before keeps its vector, and so it does in one that moved.
Each document is stored whole or not at all; if an ingest ends early, the next one completes it. A rebuild
makes a new index beside the old one, which is searched until the new one is complete; it includes documents
of folders that are not named this time, from their text in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pipeline.ingesting.batches import CutDocument, is_full
from pipeline.ingesting.documents import Problem, Reader, find_documents
from pipeline.ingesting.run import IngestReport, IngestRun, Progress, Stopped, left_out_summary
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest, Vector
from pipeline.stores.manifest import why_outdated

__all__ = ["IngestReport", "Problem", "Progress", "Reader", "ingest", "left_out_summary"]


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
    `should_stop` is called before each document and while embedding; what was stored by then stays.
    An outdated index, made with another file of the same model or another recipe, is rebuilt.

    Raises:
        ManifestMismatch: the index was made with another model or splitter; `rebuild` replaces it.
        StoreError: the store cannot be written.
    """
    outdated = "" if rebuild else why_outdated(store.sections.manifest(), manifest)
    rebuild = rebuild or bool(outdated)
    with store.writing(manifest, rebuild=rebuild) as writing:
        run = IngestRun(
            store, writing, reader=reader, encoder=encoder, rebuild=rebuild, outdated=outdated,
            on_progress=on_progress, should_stop=should_stop,
        )  # fmt: skip
        found = find_documents(paths, reader=reader, indexed=store.sections.documents(), root=root)
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="athena-embed") as model:
                embedding = _Embedding(run, model)
                for number, candidate in enumerate(run.plan(found)):
                    content = run.read(candidate, number)
                    if content is not None:
                        embedding.add(run.cut(candidate, content))
                run.read_all()
                embedding.finish()
            run.finish()
        except Stopped:
            run.stopped = True
    return run.report()


class _Embedding:
    """Embeds documents in batches in a thread, while the batch before is stored and the next one is cut."""

    def __init__(self, run: IngestRun, model: ThreadPoolExecutor) -> None:
        self._run = run
        self._model = model
        self._batch: list[CutDocument] = []
        self._at_work: tuple[Sequence[CutDocument], Future[dict[str, Vector]]] | None = None

    def add(self, document: CutDocument) -> None:
        """Embed a document as soon as there are enough of them."""
        self._batch.append(document)
        if is_full(self._batch):
            self._next()

    def finish(self) -> None:
        """Embed and store everything that was added."""
        self._next()
        self._next()

    def _next(self) -> None:
        """Begin to embed the documents that were added, and store the batch before."""
        done = (self._at_work[0], self._at_work[1].result()) if self._at_work else None
        batch, self._batch, self._at_work = self._batch, [], None
        if batch:
            self._at_work = batch, self._model.submit(self._run.embed, batch)
        if done:
            self._run.store(*done)
