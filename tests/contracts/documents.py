"""Documents for contract tests, written out as headings and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import NAMESPACE_URL, uuid5

from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

from pipeline.analysis import embedding_text
from pipeline.stores.base import Manifest, NewDocument
from tests.fakes import FakeEncoder

ENCODER = FakeEncoder()
MANIFEST = Manifest(1, ENCODER.name, ENCODER.dimensions, "lines", fingerprint="file 1", recipe=1)


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
    text, sections, sentences = "", list[TextNode](), list[TextNode]()
    for heading, lines in content.items():
        text += f"# {heading}\n"
        section = _section(source, heading, "\n".join(lines), start=len(text))
        sections.append(section)
        for position, line in enumerate(lines):
            sentences.append(
                _sentence(section, line, position=position, siblings=len(lines), start=len(text))
            )
            text += line + "\n"
    nodes = [*sections, *sentences]
    vectors = {node.node_id: encoder.encode_query(embedding_text(node)) for node in nodes}
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


def _section(source: str, heading: str, text: str, *, start: int) -> TextNode:
    document = RelatedNodeInfo(node_id=make_id(source), node_type=ObjectType.DOCUMENT)
    return TextNode(
        id_=make_id(source, heading),
        text=text,
        start_char_idx=start,
        end_char_idx=start + len(text),
        metadata={"source": source, "heading_path": ["Manual", heading], "level": 1, "hash": str(hash(text))},
        relationships={NodeRelationship.SOURCE: document},
    )


def _sentence(section: TextNode, text: str, *, position: int, siblings: int, start: int) -> TextNode:
    parent = RelatedNodeInfo(node_id=section.node_id, node_type=ObjectType.TEXT)
    return TextNode(
        id_=make_id(section.node_id, position),
        text=text,
        start_char_idx=start,
        end_char_idx=start + len(text),
        metadata={
            "source": section.metadata["source"],
            "heading_path": section.metadata["heading_path"],
            "position": position,
            "siblings": siblings,
            "kind": "prose",
        },
        relationships={NodeRelationship.PARENT: parent},
    )
