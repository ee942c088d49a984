"""The texts of nodes that are embedded, and their vectors."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.analysis import embedding_text
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, Vector


def embedding_texts(
    sections: Iterable[Node], sentences: Iterable[Node], *, encoder: Encoder
) -> dict[str, str]:
    """The text of each node that is embedded, by id: whole sentences, the beginnings of sections.

    A change of it must raise `pipeline.analysis.EMBEDDING_RECIPE`.
    """
    texts = {section.node_id: encoder.opening(embedding_text(section)) for section in sections}
    return texts | {sentence.node_id: embedding_text(sentence) for sentence in sentences}


def known_vectors(store: DocumentStore, source: str, *, encoder: Encoder) -> dict[str, Vector]:
    """The vectors of an indexed document by embedded text; raises `UnknownDocument`."""
    sections = store.sections.document(source).sections
    sentences = store.sentences.get_many((), sections=[section.node_id for section in sections])
    texts = embedding_texts(sections, sentences.values(), encoder=encoder)
    vectors = store.sentences.vectors(list(texts))
    return {text: vectors[node_id] for node_id, text in texts.items()}
