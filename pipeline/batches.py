"""Documents gathered until embedding them together pays: many texts at once, each only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.analysis import embedding_text
from pipeline.corpus import Candidate, FileText
from pipeline.errors import UnknownDocument
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, NewDocument, Vector

BATCH_TEXTS = 4096
"""Texts that are embedded together at least, where there are as many: enough to sort them by length."""


class Cutter(Protocol):
    """Cuts a document into its two levels."""

    def cut(self, text: str, *, source: str) -> tuple[Sequence[Node], Sequence[Node]]:
        """The sections, and the sentences of all of them, in order; each sentence knows its section."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is cut, with the text of each node that is to be embedded, by node id.

    `known` has vectors by text: those of the document's former version.
    """

    candidate: Candidate
    file: FileText
    sections: Sequence[Node]
    sentences: Sequence[Node]
    texts: Mapping[str, str]
    known: Mapping[str, Vector]

    @property
    def new_texts(self) -> Iterator[str]:
        """The texts that have no vector yet."""
        return (text for text in self.texts.values() if text not in self.known)


def prepare(
    candidate: Candidate,
    file: FileText,
    *,
    cutter: Cutter,
    known: Mapping[str, Vector],
) -> Prepared:
    """Cut a document into sections and sentences."""
    sections, sentences = cutter.cut(file.text, source=candidate.source)
    texts = {node.node_id: embedding_text(node) for node in (*sections, *sentences)}
    return Prepared(candidate, file, sections, sentences, texts, known)


def known_vectors(store: DocumentStore, source: str) -> dict[str, Vector]:
    """The vectors of an indexed document by embedded text; none where it is not indexed."""
    try:
        sections = store.sections.document(source).sections
    except UnknownDocument:
        return {}
    by_section = store.sentences.of_sections([section.node_id for section in sections])
    nodes = [*sections, *(sentence for sentences in by_section.values() for sentence in sentences)]
    vectors = store.sentences.vectors([node.node_id for node in nodes])
    return {embedding_text(node): vectors[node.node_id] for node in nodes}


class Batch:
    """The documents that wait to be embedded."""

    def __init__(self) -> None:
        self._documents: list[Prepared] = []
        self._texts: dict[str, int] = {}
        self._nodes = 0

    def __len__(self) -> int:
        """How many texts are to be embedded."""
        return len(self._texts)

    def add(self, document: Prepared) -> None:
        """Let a document wait."""
        self._documents.append(document)
        self._nodes += len(document.texts)
        for text in document.new_texts:
            self._texts.setdefault(text, len(self._texts))

    @property
    def is_full(self) -> bool:
        """True where it is worth embedding now, or holds as much as should be in memory."""
        return len(self._texts) >= BATCH_TEXTS or self._nodes >= 2 * BATCH_TEXTS

    def encode(
        self, make_encoder: Callable[[], Encoder], *, on_progress: Callable[[int], None]
    ) -> Sequence[Vector]:
        """The vectors of the new texts, from one call of the encoder; without any, none is made."""
        if not self._texts:
            return ()
        return list(make_encoder().encode_passages(list(self._texts), on_progress=on_progress))

    def with_vectors(self, rows: Sequence[Vector]) -> Iterator[tuple[Prepared, dict[str, Vector]]]:
        """Each document with the vectors of its nodes: those it had, and those that `encode` gave."""
        for document in self._documents:
            known = document.known
            yield (
                document,
                {
                    node_id: known[text] if text in known else rows[self._texts[text]]
                    for node_id, text in document.texts.items()
                },
            )


def finished(prepared: Prepared, vectors: Mapping[str, Vector], *, document_id: str) -> NewDocument:
    """The document as it goes to the store."""
    source = prepared.candidate.source
    title = prepared.sections[0].metadata.get("title", source) if prepared.sections else source
    return NewDocument(
        id=document_id,
        source=source,
        root=prepared.candidate.root,
        title=title,
        hash=prepared.file.hash,
        text=prepared.file.text,
        sections=prepared.sections,
        sentences=prepared.sentences,
        vectors=vectors,
    )
