"""Sections and sentences as LlamaIndex's nodes, and nodes of others as sections that can be cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

from readers.leaves import Leaf, build_sentences
from readers.levels import Section, Sentence

SECTION_KEYS = ("source", "title", "level", "start_line", "end_line", "page", "front_matter", "hash")
SENTENCE_KEYS = ("source", "title", "position", "siblings", "kind", "start_line", "end_line", "page")
SOURCE = "source"  # shown to a language model, but not embedded


class SectionNode(TextNode):
    """A section that remembers what it was made from, so that its text need not be parsed again.

    What is made from it by serialising forgets that, which costs time only.
    """

    _section: Section | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, section: Section) -> SectionNode:
        """The node of a section."""
        document = RelatedNodeInfo(node_id=section.document_id, node_type=ObjectType.DOCUMENT)
        node = cls(**_fields(section, SECTION_KEYS), relationships={NodeRelationship.SOURCE: document})
        node._section = section
        return node

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)

    def remembered(self) -> Section | None:
        """What it was made from; None if the text is another one by now."""
        return self._section if self._section is not None and self._section.text == self.text else None


def section_of(node: BaseNode) -> Section:
    """A node as a section that can be cut; without offsets of its own it starts at 0."""
    text, start = node.get_content(), _offset(node)
    remembered = node.remembered() if isinstance(node, SectionNode) else None
    return Section(
        node_id=node.node_id,
        text=text,
        metadata=node.metadata,
        start_char_idx=start,
        end_char_idx=start + len(text),
        document_id=node.source_node.node_id if node.source_node else "",
        blocks=remembered.blocks if remembered and remembered.start_char_idx == start else None,
    )


def leaf_nodes(parent: BaseNode, leaves: Sequence[Leaf]) -> list[TextNode]:
    """A node per leaf of `parent`, in order, and the parent's CHILD relationships."""
    return sentence_nodes(parent, build_sentences(section_of(parent), leaves))


def sentence_nodes(
    parent: BaseNode, sentences: Sequence[Sentence], *, link_neighbours: bool = False
) -> list[TextNode]:
    """A node per sentence of `parent`, in order, and the parent's CHILD relationships."""
    nodes = [_sentence_node(sentence, parent) for sentence in sentences]
    infos = [RelatedNodeInfo(node_id=node.node_id) for node in nodes]
    if infos:
        parent.relationships[NodeRelationship.CHILD] = infos
    if link_neighbours:
        for node, before in zip(nodes[1:], infos, strict=False):
            node.relationships[NodeRelationship.PREVIOUS] = before
        for node, after in zip(nodes, infos[1:], strict=False):
            node.relationships[NodeRelationship.NEXT] = after
    return nodes


def _sentence_node(sentence: Sentence, parent: BaseNode) -> TextNode:
    relationships: dict[NodeRelationship, Any] = {
        NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent.node_id, node_type=parent.get_type())
    }
    if parent.source_node is not None:
        relationships[NodeRelationship.SOURCE] = parent.source_node
    return TextNode(**_fields(sentence, SENTENCE_KEYS), relationships=relationships)


def _fields(made: Section | Sentence, not_embedded: Sequence[str]) -> dict[str, Any]:
    """What LlamaIndex's node has of a section or a sentence, but for its relationships."""
    return {
        "id_": made.node_id,
        "text": made.text,
        "start_char_idx": made.start_char_idx,
        "end_char_idx": made.end_char_idx,
        "metadata": dict(made.metadata),
        "excluded_embed_metadata_keys": list(not_embedded),
        "excluded_llm_metadata_keys": [key for key in not_embedded if key != SOURCE],
    }


def _offset(node: BaseNode) -> int:
    """Where the node's text starts in its file; 0 if it does not say."""
    offset = getattr(node, "start_char_idx", None)
    if offset is None:
        offset = node.metadata.get("start_char_idx", 0)
    return offset if isinstance(offset, int) else 0
