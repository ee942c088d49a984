"""One ingest while it runs: the steps that its recipe calls, and what it has done so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.ingesting.batches import (
    Batch,
    CutDocument,
    embedding_texts,
    gather,
    known_vectors,
    one_ahead,
)
from pipeline.ingesting.documents import Candidate, FoundDocuments, Problem, Reader
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentInfo, DocumentStore, NewDocument, Vector, Writing
from readers.converting.converted import Conversion, conversion_of
from readers.errors import ReaderError
from readers.files import LeftOut, Source

Stage = Literal["renewing", "reading", "embedding", "storing", "indexing", "relating"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: documents read or stored of all, or texts embedded of those known so far.

    "renewing" counts all documents where an outdated index makes the ingest embed each of them again.
    """

    stage: Stage
    done: int
    total: int
    document: str = ""


@dataclass(frozen=True, slots=True)
class OtherFormat:
    """Documents of one format that were left out; `fix` says what to do so that they are read."""

    format: str
    sources: tuple[str, ...]
    fix: str


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
    warnings: tuple[str, ...] = ()  # what of a new document is not read as what it is, and why
    converted: tuple[Conversion, ...] = ()  # new or changed documents that were no Markdown
    left_out: tuple[OtherFormat, ...] = ()  # documents of formats that the folders are not read for
    outdated: str = ""  # why everything was embedded again, though nobody asked for it
    rebuilt: bool = False  # everything was to be embedded again; stopped, the former index is searched
    total: int = 0  # documents that should be in the index in the end


class Stopped(Exception):
    """Somebody asked to stop."""


class IngestRun:
    """The state of one ingest, while it has the writer's turn."""

    def __init__(
        self,
        store: DocumentStore,
        writing: Writing,
        *,
        rebuild: bool,
        outdated: str,
        on_progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self._started = time.perf_counter()
        self._store = store
        self._writing = writing
        self._rebuild = rebuild
        self._outdated = outdated
        self._on_progress = on_progress or (lambda _: None)
        self._should_stop = should_stop or (lambda: False)
        self._indexed = {info.source: info for info in store.sections.documents()}
        self._written = {info.source: info for info in writing.documents()}
        self._gone: Sequence[str] = ()
        self._moved: dict[str, str] = {}  # sources that are gone, by the hash of what they had
        self._total = 0
        self._added: list[str] = []
        self._changed: list[str] = []
        self._unchanged: list[str] = []
        self._deleted: list[str] = []
        self._problems: list[Problem] = []
        self._warnings: list[str] = []
        self._converted: list[Conversion] = []
        self._left_out: tuple[LeftOut, ...] = ()
        self._embedded = 0
        self.stopped = False

    @property
    def indexed(self) -> Collection[DocumentInfo]:
        """The documents that were visible when it began."""
        return self._indexed.values()

    def wanted(self, found: FoundDocuments, gone: Collection[str]) -> list[Candidate]:
        """What should be in the index; for a rebuild also what was not found this time and is not gone."""
        self._problems += found.problems
        self._left_out = tuple(other for other in found.left_out.values() if other.mentioned)
        wanted = list(found.candidates)
        if self._rebuild:
            present = {candidate.source for candidate in wanted} | set(gone)
            others = (info for info in self.indexed if info.source not in present)
            wanted += (Candidate(info.source, info.root) for info in others)
        self._total = len(wanted)
        self._tell_renewing(0)
        return wanted

    def leave_out(self, gone: Sequence[str], *, wanted: Iterable[Candidate]) -> None:
        """Note which documents are gone; a rebuild that was broken off loses all that are not wanted."""
        self._gone = gone
        self._moved = {self._written[source].hash: source for source in gone if source in self._written}
        if self._rebuild:
            self._delete(sorted(self._written.keys() - {candidate.source for candidate in wanted}))

    def read(self, wanted: Iterable[Candidate], *, reader: Reader) -> Iterator[tuple[Candidate, Source]]:
        """The documents that are not in the index as their files are now, each with its text."""
        for done, candidate in enumerate(wanted):
            self._check_stop()
            self._tell("reading", done, self._total, candidate.source)
            info = self._written.get(candidate.source)
            known = info.hash if info is not None and info.root == candidate.root else ""
            try:
                content = self._load(candidate, reader, known=known)
            except ReaderError as error:
                self._problems.append(Problem.of(error))
                continue
            if content is None or content.hash == known:
                self._unchanged.append(candidate.source)
            else:
                yield candidate, content
        self._tell("reading", self._total, self._total)

    def cut(
        self, documents: Iterable[tuple[Candidate, Source]], *, reader: Reader, encoder: Encoder
    ) -> Iterator[CutDocument]:
        """The documents as sections and sentences; text that reads as before comes with its vector."""
        for candidate, content in documents:
            source = candidate.source
            sections, sentences = reader.cut(content.text, source=source)
            self._warnings += (f"{source}: {warning}" for warning in reader.warnings(content.text, sections))
            if content.encoding:
                self._warnings.append(
                    f"{source}: it is not UTF-8 and was read as {content.encoding} (Latin-1). "
                    "If letters are wrong, save it as UTF-8 and ingest again."
                )
            if content.not_included:
                names = ", ".join(f"'{name}'" for name in content.not_included)
                self._warnings.append(f"{source}: not read in, included too often or too long: {names}.")
            if made := conversion_of(content.text, source=source):
                self._converted.append(made)
            texts = embedding_texts(sections, sentences, encoder=encoder)
            former = source if source in self._written else self._moved.get(content.hash, "")
            is_new = self._rebuild or not former
            known = {} if is_new else known_vectors(self._store, former, encoder=encoder)
            yield CutDocument(candidate, content, sections, sentences, texts, known)

    def embed(self, documents: Iterable[CutDocument], *, encoder: Encoder) -> Iterator[NewDocument]:
        """The documents with the vectors of their nodes, many embedded at once.

        While the model works on a batch, the one before it is stored and the next one is cut.
        """

        def encode(batch: Batch) -> Sequence[Vector]:
            def report(done: int) -> None:
                self._check_stop()
                self._tell("embedding", self._embedded + done, self._embedded + len(batch))

            rows = batch.encode(encoder, on_progress=report)
            self._embedded += len(batch)
            return rows

        for batch, rows in one_ahead(encode, gather(documents)):
            yield from batch.with_vectors(rows)

    def store(self, documents: Iterable[NewDocument]) -> None:
        """Write the documents one by one, as they come."""
        for document in documents:
            self._check_stop()
            self._writing.replace(document)
            (self._changed if document.source in self._indexed else self._added).append(document.source)
            self._tell("storing", self._done, self._total, document.source)
            self._tell_renewing(self._done)

    def delete(self) -> None:
        """Delete the documents that are gone, which those that have their text now were made from."""
        self._check_stop()
        self._delete([source for source in self._gone if source in self._written])
        self._deleted += self._gone

    def publish(self) -> None:
        """Make a rebuilt index the one that is searched."""
        self._check_stop()
        self._tell("indexing", self._done, self._total)
        self._writing.publish()
        self._tell_renewing(self._total)

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
            warnings=tuple(self._warnings),
            converted=tuple(self._converted),
            left_out=_by_format(self._left_out),
            outdated=self._outdated,
            rebuilt=self._rebuild,
            total=self._total,
        )

    def _delete(self, sources: Iterable[str]) -> None:
        for source in sources:
            self._writing.delete(source)
            self._written.pop(source, None)

    def _load(self, candidate: Candidate, reader: Reader, *, known: str) -> Source | None:
        """The document's text; None where the file still has the hash `known`.

        Where the file cannot be read, a rebuild takes the text in the index; else the error is raised.
        """
        if candidate.path is not None:
            try:
                return reader.read(candidate.path, source=candidate.source, known=known)
            except ReaderError as error:
                if not self._rebuild or candidate.source not in self._indexed:
                    raise
                self._problems.append(Problem.of(error))
        stored = self._store.sections.document(candidate.source)
        return Source(stored.text, stored.info.hash)

    @property
    def _done(self) -> int:
        return len(self._added) + len(self._changed) + len(self._unchanged)

    def _tell_renewing(self, done: int) -> None:
        if self._outdated:
            self._tell("renewing", done, self._total)

    def _tell(self, stage: Stage, done: int, total: int, document: str = "") -> None:
        self._on_progress(Progress(stage, done, total, document))

    def _check_stop(self) -> None:
        """Raise where somebody asked to stop, or the store can be written no more."""
        if self._should_stop():
            raise Stopped
        self._writing.check()


def _by_format(left_out: Iterable[LeftOut]) -> tuple[OtherFormat, ...]:
    """What was left out, format by format."""
    groups: dict[tuple[str, str], list[str]] = {}
    for other in left_out:
        groups.setdefault((other.format, other.fix), []).append(other.source)
    return tuple(OtherFormat(name, tuple(sources), fix) for (name, fix), sources in sorted(groups.items()))
