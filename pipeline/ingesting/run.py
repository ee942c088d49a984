"""One ingest while it runs: the state that its steps share, and the report on it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from pipeline.ingesting.batches import CutDocument, embedding_texts, encode, known_vectors
from pipeline.ingesting.documents import Candidate, FoundDocuments, Problem, Reader
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Vector, Writing
from readers.errors import ReaderError
from readers.files import UNKNOWN_ENDING, LeftOut, Source

Stage = Literal["renewing", "reading", "embedding", "storing", "indexing", "relating"]
ENGLISH = "en"
ENDINGS = 5
"""Endings of files that the summary names."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest is: documents read or stored, or texts embedded, of those known so far.

    "renewing" counts all documents where an outdated index makes the ingest embed each of them again.
    """

    stage: Stage
    done: int
    total: int
    document: str = ""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did, by source; `sections` and `sentences` count what the index has now."""

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
    warnings: tuple[str, ...] = ()  # about new or changed documents
    left_out: tuple[LeftOut, ...] = ()  # everything that was found and not read
    languages: Mapping[str, int] = field(default_factory=dict)  # new or changed documents by ISO 639-1 code
    outdated: str = ""  # why everything was embedded again, though nobody asked for it
    rebuilt: bool = False  # everything was to be embedded again; stopped, the former index is searched
    total: int = 0  # documents that should be in the index in the end


def left_out_summary(left_out: Sequence[LeftOut]) -> str:
    """How many files and folders are left out, by reason: `3 hidden, 9 of unknown ending (.png)`."""
    reasons, shown = Counter(one.reason for one in left_out), list[str]()
    for reason, number in reasons.most_common():
        names = (PurePosixPath(one.source) for one in left_out if one.reason == reason == UNKNOWN_ENDING)
        common = [name for name, _ in Counter(name.suffix or name.name for name in names).most_common()]
        endings = f" ({', '.join(common[:ENDINGS])}{' …' * (len(common) > ENDINGS)})" if common else ""
        shown.append(f"{number:,} {reason}{endings}")
    return ", ".join(shown)


class Stopped(Exception):
    """Somebody asked to stop."""


class IngestRun:
    """The steps of one ingest, while it has the writer's turn."""

    def __init__(
        self,
        store: DocumentStore,
        writing: Writing,
        *,
        encoder: Encoder,
        reader: Reader,
        rebuild: bool,
        outdated: str,
        on_progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self._started = time.perf_counter()
        self._store = store
        self._writing = writing
        self._encoder = encoder
        self._reader = reader
        self._rebuild = rebuild
        self._outdated = outdated
        self._on_progress = on_progress or (lambda _: None)
        self._should_stop = should_stop or (lambda: False)
        self._indexed = {info.source: info for info in store.sections.documents()}
        self._written = {info.source: info for info in writing.documents()}
        self._found = FoundDocuments((), (), (), ())
        self._moved: dict[str, str] = {}  # sources that are gone, by the hash of their files
        self._done: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": [], "deleted": []}
        self._problems: list[Problem] = []
        self._warnings: list[str] = []
        self._languages = Counter[str]()
        self._total = self._embedded = 0
        self.stopped = False

    def plan(self, found: FoundDocuments) -> list[Candidate]:
        """The documents that should be in the index; for a rebuild also those that were not looked for.

        A rebuild that was broken off loses what is not wanted any more.
        """
        self._found, wanted = found, list(found.candidates)
        self._problems += found.problems
        self._moved = {self._written[source].hash: source for source in found.gone if source in self._written}
        if self._rebuild:
            present = {candidate.source for candidate in wanted}.union(found.gone)
            others = (info for info in self._indexed.values() if info.source not in present)
            wanted += (Candidate(info.source, info.root) for info in others)
            self._delete(sorted(self._written.keys() - {candidate.source for candidate in wanted}))
        self._total = len(wanted)
        self._tell_renewing(0)
        return wanted

    def read(self, candidate: Candidate, number: int) -> Source | None:
        """A document's text; None where it is indexed as its file is now, or cannot be read."""
        self.check_stop()
        self._tell("reading", number, self._total, candidate.source)
        info = self._written.get(candidate.source)
        known = info.hash if info is not None and info.root == candidate.root else ""
        try:
            content = self._load(candidate, known=known)
        except ReaderError as error:
            self._problems.append(Problem.of(error))
            return None
        if content is not None and content.hash != known:
            return content
        self._done["unchanged"].append(candidate.source)
        return None

    def cut(self, candidate: Candidate, content: Source) -> CutDocument:
        """A document as sections and sentences; text that reads as before comes with its vector."""
        source = candidate.source
        sections, sentences = self._reader.cut(content.text, source=source, own_lines=content.lines)
        self._languages[sections[0].metadata.get("language", ENGLISH) if sections else ENGLISH] += 1
        warnings = [*self._reader.warnings(content.text, sections)]
        if content.not_included:
            names = ", ".join(f"'{name}'" for name in content.not_included)
            warnings.append(f"not included, too often or too long: {names}.")
        self._warnings += (f"{source}: {warning}" for warning in warnings)
        texts = embedding_texts(sections, sentences, encoder=self._encoder)
        former = source if source in self._written else self._moved.get(content.hash, "")
        is_new = self._rebuild or not former
        known = {} if is_new else known_vectors(self._store, former, encoder=self._encoder)
        return CutDocument(candidate, content, sections, sentences, texts, known)

    def read_all(self) -> None:
        """Tell that all documents are read."""
        self._tell("reading", self._total, self._total)

    def embed(self, batch: Sequence[CutDocument]) -> dict[str, Vector]:
        """The vectors of the new texts of a batch."""

        def tell(done: int, total: int) -> None:
            self.check_stop()
            self._tell("embedding", self._embedded + done, self._embedded + total)

        vectors = encode(batch, encoder=self._encoder, on_progress=tell)
        self._embedded += len(vectors)
        return vectors

    def store(self, batch: Sequence[CutDocument], vectors: Mapping[str, Vector]) -> None:
        """Write the documents of a batch, one by one."""
        for document in batch:
            self.check_stop()
            source = document.candidate.source
            self._writing.replace(document.with_vectors(vectors))
            self._done["changed" if source in self._indexed else "added"].append(source)
            self._tell("storing", self._count, self._total, source)
            self._tell_renewing(self._count)

    def finish(self) -> None:
        """Delete the documents that are gone, and make a rebuilt index the one that is searched."""
        self.check_stop()
        self._delete([source for source in self._found.gone if source in self._written])
        self._done["deleted"] += self._found.gone
        self.check_stop()
        self._tell("indexing", self._count, self._total)
        self._writing.publish()
        self._tell_renewing(self._total)

    def report(self) -> IngestReport:
        """What was done."""
        documents = self._store.sections.documents()
        return IngestReport(
            **{name: tuple(sources) for name, sources in self._done.items()},
            problems=tuple(self._problems),
            sections=sum(info.sections for info in documents),
            sentences=sum(info.sentences for info in documents),
            embedded=self._embedded,
            seconds=time.perf_counter() - self._started,
            stopped=self.stopped,
            warnings=tuple(self._warnings),
            left_out=tuple(self._found.left_out),
            languages=dict(self._languages),
            outdated=self._outdated,
            rebuilt=self._rebuild,
            total=self._total,
        )

    def check_stop(self) -> None:
        """Raise `Stopped` where somebody asked for it, or `StoreError` where nothing more can be written."""
        if self._should_stop():
            raise Stopped
        self._writing.check()

    def _delete(self, sources: Iterable[str]) -> None:
        for source in sources:
            self._writing.delete(source)
            self._written.pop(source, None)

    def _load(self, candidate: Candidate, *, known: str) -> Source | None:
        """A document's text; None where its file still has the hash `known`.

        Where the file cannot be read, a rebuild takes the text in the index; else the error is raised.
        """
        if candidate.path is not None:
            try:
                return self._reader.read(candidate.path, source=candidate.source, known=known)
            except ReaderError as error:
                if not self._rebuild or candidate.source not in self._indexed:
                    raise
                self._problems.append(Problem.of(error))
        stored = self._store.sections.document(candidate.source)
        return Source(stored.text, stored.info.hash)

    @property
    def _count(self) -> int:
        return sum(len(self._done[name]) for name in ("added", "changed", "unchanged"))

    def _tell_renewing(self, done: int) -> None:
        if self._outdated:
            self._tell("renewing", done, self._total)

    def _tell(self, stage: Stage, done: int, total: int, document: str = "") -> None:
        self._on_progress(Progress(stage, done, total, document))
