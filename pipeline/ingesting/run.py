"""One ingest while it runs: what it has done so far, and the steps that its recipe calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pipeline.ingesting.batches import (
    Batch,
    Cutter,
    Prepared,
    finished,
    gather,
    known_vectors,
    one_ahead,
    prepare,
)
from pipeline.ingesting.documents import Candidate, Corpus, FileText, Found, Problem, from_index
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentInfo, DocumentStore, Vector, Writing

Stage = Literal["reading", "embedding", "storing", "indexing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: documents read or stored of all, or texts embedded of those known so far."""

    stage: Stage
    done: int
    total: int
    document: str = ""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did, by source; `sections` and `sentences` count what the index holds now."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]
    problems: tuple[Problem, ...]
    sections: int
    sentences: int
    embedded: int  # texts that went through the model
    seconds: float
    stopped: bool


@dataclass(frozen=True, slots=True)
class Makers:
    """What makes a changed document's nodes and vectors; each is made when the first one has changed."""

    cutter: Callable[[], Cutter]
    encoder: Callable[[], Encoder]


class Stopped(Exception):
    """Somebody asked to stop."""


class IngestRun:
    """The state of one ingest."""

    def __init__(
        self,
        store: DocumentStore,
        *,
        corpus: Corpus,
        makers: Makers,
        on_progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self._started = time.perf_counter()
        self._store = store
        self._corpus = corpus
        self._makers = Makers(cache(makers.cutter), cache(makers.encoder))
        self._on_progress = on_progress or (lambda _: None)
        self._should_stop = should_stop or (lambda: False)
        self._indexed = {info.source: info for info in store.sections.documents()}
        self._total = 0
        self._added: list[str] = []
        self._changed: list[str] = []
        self._unchanged: list[str] = []
        self._deleted: list[str] = []
        self._problems: list[Problem] = []
        self._embedded = 0
        self.stopped = False

    @property
    def indexed(self) -> Collection[DocumentInfo]:
        """The documents that were visible when it began."""
        return self._indexed.values()

    def candidates(self, found: Found, gone: Collection[str], *, rebuild: bool) -> list[Candidate]:
        """What should be in the index; for a rebuild also what was not found this time and is not gone."""
        self._problems += found.problems
        candidates = list(found.candidates)
        if rebuild:
            present = {candidate.source for candidate in candidates} | set(gone)
            others = (info for info in self.indexed if info.source not in present)
            candidates += (from_index(self._store.sections, info) for info in others)
        self._total = len(candidates)
        return candidates

    def delete(
        self, writing: Writing, gone: Sequence[str], *, rebuilt: Iterable[Candidate] | None = None
    ) -> None:
        """Delete what is gone; of a rebuild that was broken off, all that will not be `rebuilt`."""
        self._deleted += gone
        if rebuilt is not None:
            wanted = {candidate.source for candidate in rebuilt}
            gone = [info.source for info in writing.documents() if info.source not in wanted]
        for source in gone:
            writing.delete(source)

    def changed(
        self, candidates: Sequence[Candidate], writing: Writing, *, rebuild: bool
    ) -> Iterator[Prepared]:
        """The documents that are not in the index as their files are now, cut into nodes."""
        written = {info.source: info for info in writing.documents()}
        for done, candidate in enumerate(candidates):
            self._check_stop()
            self._tell("reading", done, self._total, candidate.source)
            file = self._load(candidate, rebuild=rebuild)
            if file is None:
                continue
            info = written.get(candidate.source)
            if info is not None and (info.hash, info.root) == (file.hash, candidate.root):
                self._unchanged.append(candidate.source)
                continue
            cutter, encoder = self._makers.cutter(), self._makers.encoder()
            is_new = rebuild or info is None
            known = {} if is_new else known_vectors(self._store, candidate.source, encoder=encoder)
            yield prepare(candidate, file, cutter=cutter, encoder=encoder, known=known)
        self._tell("reading", self._total, self._total)

    def embedded(self, documents: Iterable[Prepared]) -> Iterator[tuple[Prepared, Mapping[str, Vector]]]:
        """The documents with the vectors of their nodes, many embedded at once.

        While the model has a batch, the former one is handed out and the next one cut.
        """
        for batch, rows in one_ahead(self._encode, gather(documents)):
            yield from batch.with_vectors(rows)

    def store(self, prepared: Prepared, vectors: Mapping[str, Vector]) -> None:
        """Write one document."""
        self._check_stop()
        source = prepared.candidate.source
        document_id = self._corpus.document_id(source)
        self._store.replace(finished(prepared, vectors, document_id=document_id))
        (self._changed if source in self._indexed else self._added).append(source)
        self._tell("storing", self._done(), self._total, source)

    def complete(self, writing: Writing) -> None:
        """Make a rebuilt index the one that is searched."""
        self._check_stop()
        self._tell("indexing", self._done(), self._total)
        writing.publish()

    def report(self) -> IngestReport:
        """What was done."""
        documents = self._store.sections.documents()
        return IngestReport(
            added=tuple(self._added),
            changed=tuple(self._changed),
            unchanged=tuple(self._unchanged),
            deleted=tuple(self._deleted),
            problems=tuple(self._problems),
            sections=sum(info.sections for info in documents),
            sentences=sum(info.sentences for info in documents),
            embedded=self._embedded,
            seconds=time.perf_counter() - self._started,
            stopped=self.stopped,
        )

    def _load(self, candidate: Candidate, *, rebuild: bool) -> FileText | None:
        """The document's text; where the file cannot be read, a rebuild takes the former version."""
        try:
            return candidate.load()
        except self._corpus.unreadable as error:
            self._problems.append(Problem.of(error))
        info = self._indexed.get(candidate.source)
        return from_index(self._store.sections, info).load() if rebuild and info else None

    def _encode(self, batch: Batch) -> Sequence[Vector]:
        def report(done: int) -> None:
            self._check_stop()
            self._tell("embedding", self._embedded + done, self._embedded + len(batch))

        rows = batch.encode(self._makers.encoder, on_progress=report)
        self._embedded += len(batch)
        return rows

    def _done(self) -> int:
        return len(self._added) + len(self._changed) + len(self._unchanged)

    def _tell(self, stage: Stage, done: int, total: int, document: str = "") -> None:
        self._on_progress(Progress(stage, done, total, document))

    def _check_stop(self) -> None:
        if self._should_stop():
            raise Stopped
