"""Documents gathered until embedding them together pays: many texts at once, each only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from pipeline.analysis import embedding_text
from pipeline.errors import UnknownDocument
from pipeline.ingesting.documents import Candidate
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, NewDocument, Vector
from readers.files import Source
from readers.levels import document_id

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCH_TEXTS = 1024
"""Texts that are embedded together at least, where there are as many: enough to sort them by length."""


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document that is cut, with the text of each node that is to be embedded, by node id.

    `known` has vectors by text: those of the document's former version.
    """

    candidate: Candidate
    content: Source
    sections: Sequence[Node]
    sentences: Sequence[Node]
    texts: Mapping[str, str]
    known: Mapping[str, Vector]

    @property
    def new_texts(self) -> Iterator[str]:
        """The texts that have no vector yet."""
        return (text for text in self.texts.values() if text not in self.known)

    def with_vectors(self, new: Callable[[str], Vector]) -> NewDocument:
        """The document as it goes to the store; `new` gives the vector of a text that had none."""
        source, known = self.candidate.source, self.known
        title = self.sections[0].metadata.get("title", source) if self.sections else source
        return NewDocument(
            id=document_id(source),
            source=source,
            root=self.candidate.root,
            title=title,
            hash=self.content.hash,
            text=self.content.text,
            sections=self.sections,
            sentences=self.sentences,
            vectors={
                node_id: known[text] if text in known else new(text) for node_id, text in self.texts.items()
            },
        )


def embedding_texts(
    sections: Iterable[Node], sentences: Iterable[Node], *, encoder: Encoder
) -> dict[str, str]:
    """What is embedded of each node, by node id: sentences whole, of sections the beginning.

    A change of what comes back must raise `pipeline.analysis.EMBEDDING_RECIPE`.
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


class Batch:
    """The documents that wait to be embedded."""

    def __init__(self) -> None:
        self._documents: list[CutDocument] = []
        self._texts: dict[str, int] = {}
        self._nodes = 0

    def __len__(self) -> int:
        """How many texts are to be embedded."""
        return len(self._texts)

    def add(self, document: CutDocument) -> None:
        """Let a document wait."""
        self._documents.append(document)
        self._nodes += len(document.texts)
        for text in document.new_texts:
            self._texts.setdefault(text, len(self._texts))

    @property
    def is_full(self) -> bool:
        """True where it is worth embedding now, or holds as much as should be in memory."""
        return len(self._texts) >= BATCH_TEXTS or self._nodes >= 2 * BATCH_TEXTS

    def encode(self, encoder: Encoder, *, on_progress: Callable[[int], None]) -> Sequence[Vector]:
        """The vectors of the new texts, from one call of the encoder; without any, it is not called."""
        if not self._texts:
            return ()
        return list(encoder.encode_passages(list(self._texts), on_progress=on_progress))

    def with_vectors(self, rows: Sequence[Vector]) -> Iterator[NewDocument]:
        """Each document with the vectors of its nodes: those it had, and those that `encode` gave."""
        return (document.with_vectors(lambda text: rows[self._texts[text]]) for document in self._documents)


def gather(documents: Iterable[CutDocument]) -> Iterator[Batch]:
    """The documents in batches, each full but the last."""
    batch = Batch()
    for document in documents:
        batch.add(document)
        if batch.is_full:
            yield batch
            batch = Batch()
    yield batch


def one_ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in order; a thread works on one while the former is used and the next made.

    What `work` raises is raised here, after the former item was used.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="athena-embed") as thread:
        waiting: tuple[Item, Future[Result]] | None = None
        for item in items:
            done = (waiting[0], waiting[1].result()) if waiting else None
            waiting = item, thread.submit(work, item)
            if done:
                yield done
        if waiting:
            yield waiting[0], waiting[1].result()
