"""Documents that are cut, the text of each of their nodes that is embedded, and its vector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.analysis import embedding_text
from pipeline.errors import UnknownDocument
from pipeline.ingesting.documents import Candidate
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, NewDocument, Vector
from readers.files import Source
from readers.levels import document_id

BATCH_TEXTS = 1024
"""Texts that are embedded together, where there are as many: enough to sort them by length."""


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document with its nodes, the text of each that is embedded (by id), and known vectors by text."""

    candidate: Candidate
    content: Source
    sections: Sequence[Node]
    sentences: Sequence[Node]
    texts: Mapping[str, str]
    known: Mapping[str, Vector]

    def with_vectors(self, new: Mapping[str, Vector]) -> NewDocument:
        """The document as it goes to the store; `new` has the vectors of the texts that are not known."""
        source = self.candidate.source
        return NewDocument(
            id=document_id(source),
            source=source,
            root=self.candidate.root,
            title=self.sections[0].metadata.get("title", source) if self.sections else source,
            hash=self.content.hash,
            text=self.content.text,
            sections=self.sections,
            sentences=self.sentences,
            vectors={
                node_id: self.known[text] if text in self.known else new[text]
                for node_id, text in self.texts.items()
            },
        )


def is_full(batch: Sequence[CutDocument]) -> bool:
    """Whether documents have as many texts as should be embedded together, or be held in memory."""
    new = sum(text not in document.known for document in batch for text in document.texts.values())
    return new >= BATCH_TEXTS or sum(len(document.texts) for document in batch) >= 2 * BATCH_TEXTS


def encode(
    batch: Sequence[CutDocument], *, encoder: Encoder, on_progress: Callable[[int, int], None]
) -> dict[str, Vector]:
    """The vectors of a batch's new texts, each embedded once; `on_progress` gets how many are done."""
    new = (text for document in batch for text in document.texts.values() if text not in document.known)
    texts = list(dict.fromkeys(new))
    if not texts:
        return {}
    rows = encoder.encode_passages(texts, on_progress=lambda done: on_progress(done, len(texts)))
    return dict(zip(texts, rows, strict=True))


def embedding_texts(
    sections: Iterable[Node], sentences: Iterable[Node], *, encoder: Encoder
) -> dict[str, str]:
    """The text of each node that is embedded, by id: whole sentences, the beginnings of sections.

    A change of it must raise `pipeline.analysis.EMBEDDING_RECIPE`.
    """
    texts = {section.node_id: encoder.opening(embedding_text(section)) for section in sections}
    return texts | {sentence.node_id: embedding_text(sentence) for sentence in sentences}


def embed_nodes(
    sections: Sequence[Node], sentences: Sequence[Node], *, encoder: Encoder
) -> dict[str, Vector]:
    """The vectors of nodes by id, all embedded anew."""
    texts = embedding_texts(sections, sentences, encoder=encoder)
    return dict(zip(texts, encoder.encode_passages(list(texts.values())), strict=True))


def known_vectors(store: DocumentStore, source: str, *, encoder: Encoder) -> dict[str, Vector]:
    """The vectors of an indexed document by embedded text; none where it is not indexed."""
    try:
        sections = store.sections.document(source).sections
    except UnknownDocument:
        return {}
    sentences = store.sentences.get_many((), sections=[section.node_id for section in sections])
    texts = embedding_texts(sections, sentences.values(), encoder=encoder)
    vectors = store.sentences.vectors(list(texts))
    return {text: vectors[node_id] for node_id, text in texts.items()}
