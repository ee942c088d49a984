"""Documents for contract tests, written out as headings and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from pipeline.analysis import embedding_text
from pipeline.stores.base import DocumentStore, Manifest, NewDocument, SearchRequest
from readers.levels import Section, Sentence
from tests.fakes import FakeEncoder

ENCODER = FakeEncoder()
MANIFEST = Manifest(1, ENCODER.name, ENCODER.dimensions, "lines", fingerprint="file 1", recipe=1)
OTHER_ENCODER = FakeEncoder(name="other", dimensions=16)
OTHER_MANIFEST = replace(MANIFEST, embedding_model="other", dimensions=16)


def delete(store: DocumentStore, source: str) -> None:
    """Remove a document from a store that has one; raises `UnknownDocument`."""
    with store.writing(store.statistics().manifest or MANIFEST) as writing:
        writing.delete(source)


def make_id(*parts: object) -> str:
    return str(uuid5(NAMESPACE_URL, repr(parts)))


def make_document(
    source: str,
    content: Mapping[str, Sequence[str]],
    *,
    root: str = "/manuals",
    encoder: FakeEncoder = ENCODER,
) -> NewDocument:
    """A document with a section for each heading, and in it a sentence a line."""
    text, sections, sentences = "", list[Section](), list[Sentence]()
    for heading, lines in content.items():
        text += f"# {heading}\n"
        section = _section(source, heading, "\n".join(lines), start=len(text))
        sections.append(section)
        for position, line in enumerate(lines):
            sentences.append(_sentence(section, line, position=position, start=len(text)))
            text += line + "\n"
    vectors = {node.node_id: encoder.encode_query(embedding_text(node)) for node in (*sections, *sentences)}
    return NewDocument(
        make_id(source),
        source,
        root,
        f"Title of {source}",
        str(hash(text)),
        text,
        sections,
        sentences,
        vectors,
    )


def _section(source: str, heading: str, text: str, *, start: int) -> Section:
    metadata = {"source": source, "heading_path": ["Manual", heading], "level": 1, "hash": str(hash(text))}
    return Section(make_id(source, heading), text, metadata, start, start + len(text), make_id(source))


def _sentence(section: Section, text: str, *, position: int, start: int) -> Sentence:
    shared = {key: section.metadata[key] for key in ("source", "heading_path")}
    metadata = {**shared, "position": position, "kind": "prose"}
    node_id = make_id(section.node_id, position)
    return Sentence(node_id, text, metadata, start, start + len(text), section.node_id)


def found(store: DocumentStore, text: str) -> set[str]:
    """Sections that hold the words, checked to be found by vector, too."""
    response = store.search(SearchRequest(text, ENCODER.encode_query(text), 100))
    by_words = {hit.section_id for hit in response.bm25_sections}
    assert by_words <= {hit.section_id for hit in response.dense_sections}
    return by_words


def write(store: DocumentStore, source: str, content: dict[str, list[str]]) -> None:
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document(source, content))
