"""One ingest while it runs: the steps that its documents take, its progress, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pipeline.analysis import embedding_text
from pipeline.ingesting.documents import Candidate, FoundDocuments, Reader
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo, DocumentStore, NewDocument, Vector, Writing
from readers.levels import document_id
from readers.source import LeftOut, ReaderError, Source

BATCH_TEXTS = 1024
"""The least texts of a batch, except the last one: enough to gain from sorting them by length."""
Stage = Literal["reading", "embedding", "storing", "indexing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an ingest: `done` of `total` documents read or stored, or of the texts cut so far."""

    stage: Stage
    done: int
    total: int
    document: str = ""


@dataclass(slots=True)
class IngestReport:
    """The result of an ingest, filled while it runs; documents are named by their source."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    problems: list[ReaderError] = field(default_factory=list)
    sections: int = 0  # of the whole index, in the end
    sentences: int = 0
    embedded: int = 0  # texts that went through the model
    seconds: float = 0.0
    stopped: bool = False
    warnings: list[str] = field(default_factory=list)  # about new or changed documents
    left_out: list[LeftOut] = field(default_factory=list)  # found, but not read or without text
    languages: dict[str, int] = field(default_factory=dict)  # new or changed documents by ISO 639-1 code
    total: int = 0  # documents that should be in the index in the end


class Stopped(Exception):
    """The ingest was asked to stop."""


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A new or changed document without vectors: its nodes' texts by node id, and known vectors by text."""

    document: NewDocument
    texts: Mapping[str, str]
    known: Mapping[str, Vector]


@dataclass(slots=True)
class IngestRun:
    """The steps of one ingest, inside the store's `writing` block."""

    store: DocumentStore
    writing: Writing
    reader: Reader
    encoder: Encoder
    found: FoundDocuments
    report: IngestReport
    tell: Callable[[Progress], None]
    """Reports the progress; raises `Stopped` if somebody asked to stop."""
    indexed: Mapping[str, DocumentInfo]
    """The documents in the index before the ingest, by source."""
    by_hash: dict[str, DocumentInfo] = field(init=False)
    """The same documents, by the hashes of their files."""

    def __post_init__(self) -> None:
        """Map hashes to documents once, because each new document is looked up by its hash."""
        self.by_hash = {info.hash: info for info in self.indexed.values()}

    def cut_batches(self) -> Iterator[list[CutDocument]]:
        """Read the documents that should be in the index; yield the new and changed ones, cut, in batches."""
        candidates, batch = self._candidates(), list[CutDocument]()
        self.report.total = len(candidates)
        for number, candidate in enumerate(candidates, start=1):
            self.tell(Progress("reading", number, len(candidates), candidate.source))
            if (content := self._read(candidate)) is not None:
                batch.append(self._cut(candidate, content))
            if sum(len(one.texts) for one in batch) >= BATCH_TEXTS:
                yield batch
                batch = []
        yield batch

    def embed(self, batch: Sequence[CutDocument]) -> dict[str, Vector]:
        """Return the vectors of a batch by text; the model is not loaded if all vectors are known."""
        vectors = {text: vector for one in batch for text, vector in one.known.items()}
        texts = list(dict.fromkeys(t for one in batch for t in one.texts.values() if t not in vectors))
        before = self.report.embedded

        def tell(done: int) -> None:
            self.tell(Progress("embedding", before + done, before + len(texts)))

        rows = self.encoder.encode_passages(texts, on_progress=tell) if texts else ()
        self.report.embedded += len(texts)
        return vectors | dict(zip(texts, rows, strict=True))

    def store_batch(self, batch: Sequence[CutDocument], vectors: Mapping[str, Vector]) -> None:
        """Write the documents of a batch with the vectors of their texts."""
        report = self.report
        documents = [
            replace(one.document, vectors={id_: vectors[text] for id_, text in one.texts.items()})
            for one in batch
        ]
        if not documents:
            return
        done = len(report.added) + len(report.changed) + len(report.unchanged) + len(documents)
        self.tell(Progress("storing", done, report.total, documents[-1].source))
        self.writing.replace(*documents)
        for document in documents:
            (report.changed if document.source in self.indexed else report.added).append(document.source)

    def delete_gone(self) -> None:
        """Delete the documents whose files are gone."""
        for source in self.found.gone:
            self.writing.delete(source)
        self.report.deleted += self.found.gone
        self.tell(Progress("indexing", self.report.total, self.report.total))

    def _candidates(self) -> list[Candidate]:
        """Return the found documents, and those of other folders that a rebuild has not reached yet."""
        wanted = {candidate.source: candidate for candidate in self.found.candidates}
        gone = set(self.found.gone)
        for source, info in self.indexed.items():
            if not info.indexed_at and source not in gone:
                wanted.setdefault(source, Candidate(source, info.root))
        return list(wanted.values())

    def _read(self, candidate: Candidate) -> Source | None:
        """Return a document's text; None if the index is up to date, or if the file cannot be read.

        If a rebuild has not reached the document yet, its text in the index replaces an unreadable file.
        """
        source, info = candidate.source, self.indexed.get(candidate.source)
        is_waiting = info is not None and not info.indexed_at
        known = info.hash if info and info.root == candidate.root and not is_waiting else ""
        try:
            path = candidate.path
            content = self.reader.read(path, source=source, known=known) if path else self._stored(source)
        except ReaderError as error:
            self.report.problems.append(error)
            if not is_waiting:
                return None
            content = self._stored(source)
        if content is not None and content.hash != known:
            return content
        self.report.unchanged.append(source)
        return None

    def _stored(self, source: str) -> Source:
        """Return a document's text and hash from the index; raises `UnknownDocument`."""
        stored = self.store.document(source)
        return Source(stored.text, stored.info.hash)

    def _cut(self, candidate: Candidate, content: Source) -> CutDocument:
        """Cut a document into nodes; return it with the texts to embed and the vectors that are known."""
        source = candidate.source
        self.report.left_out += content.left_out
        sections, sentences = self.reader.cut(content.text, source=source)
        metadata = sections[0].metadata if sections else {}
        language = metadata.get("language", "en")
        self.report.languages[language] = self.report.languages.get(language, 0) + 1
        if not sections:
            self.report.left_out.append(LeftOut(source, "without text"))
        former = self.indexed.get(source) or self.by_hash.get(content.hash)
        document = NewDocument(
            document_id(source), source, candidate.root, metadata.get("title", source), content.hash,
            content.text, sections, sentences, vectors={},
        )  # fmt: skip
        known = known_vectors(self.store, former.source, encoder=self.encoder) if former else {}
        return CutDocument(document, embedding_texts(sections, sentences, encoder=self.encoder), known)


def embedding_texts(
    sections: Iterable[Node], sentences: Iterable[Node], *, encoder: Encoder
) -> dict[str, str]:
    """Return the text that is embedded for each node, by node id; of a section, only its beginning.

    Increase `pipeline.analysis.EMBEDDING_RECIPE` with every change of these texts.
    """
    texts = {section.node_id: encoder.opening(embedding_text(section)) for section in sections}
    return texts | {sentence.node_id: embedding_text(sentence) for sentence in sentences}


def known_vectors(store: DocumentStore, source: str, *, encoder: Encoder) -> dict[str, Vector]:
    """Return the vectors of an indexed document by the text that was embedded; raises `UnknownDocument`."""
    sections = store.document(source).sections
    sentences = store.get_many([id_ for section in sections for id_ in section.sentence_ids])
    texts = embedding_texts(sections, sentences.values(), encoder=encoder)
    vectors = store.vectors(list(texts))
    return {text: vectors[node_id] for node_id, text in texts.items()}


def left_out_summary(left_out: Sequence[LeftOut]) -> str:
    """Return how many files and folders were left out, by reason: `3 hidden, 1 folder hidden`; "" if none."""
    reasons = Counter((" folder" * one.source.endswith("/"), one.reason) for one in left_out).most_common()
    return ", ".join(f"{n:,}{kind}{'s' * bool(kind and n > 1)} {why}" for (kind, why), n in reasons)
