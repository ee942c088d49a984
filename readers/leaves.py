"""Leaf nodes for spans of a parent node: ids, offsets in the file, relationships."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode

from readers.blocks import Kind, line_starts
from readers.ids import sentence_id

INHERITED = ("source", "title", "heading_path")
EXCLUDED_FROM_EMBEDDING = ("source", "title", "position", "siblings", "kind", "start_line", "end_line")
EXCLUDED_FROM_PROMPT = ("title", "position", "siblings", "kind", "start_line", "end_line")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf to be: `text[start:end]` of the parent's own text."""

    kind: Kind
    start: int
    end: int
    header: str | None = None


def build_leaves(
    parent: BaseNode, leaves: Sequence[Leaf], *, link_neighbours: bool = False
) -> list[TextNode]:
    """A node per leaf, in order, and the parent's CHILD relationships.

    Offsets count in the file if the parent knows its own (`start_char_idx`), else in its text.
    """
    build = _LeafBuilder(parent, siblings=len(leaves))
    nodes = [build(leaf, position) for position, leaf in enumerate(leaves)]
    infos = [RelatedNodeInfo(node_id=node.node_id) for node in nodes]
    if infos:
        parent.relationships[NodeRelationship.CHILD] = infos
    if link_neighbours:
        for node, before in zip(nodes[1:], infos, strict=False):
            node.relationships[NodeRelationship.PREVIOUS] = before
        for node, after in zip(nodes, infos[1:], strict=False):
            node.relationships[NodeRelationship.NEXT] = after
    return nodes


def offset_of(node: BaseNode) -> int:
    """Where the node's text starts in its file; 0 if it does not say."""
    offset = getattr(node, "start_char_idx", None)
    if offset is None:
        offset = node.metadata.get("start_char_idx", 0)
    return offset if isinstance(offset, int) else 0


class _LeafBuilder:
    """Builds the leaves of one parent."""

    def __init__(self, parent: BaseNode, *, siblings: int) -> None:
        self._text = parent.get_content()
        self._id = parent.node_id
        self._offset = offset_of(parent)
        self._siblings = siblings
        self._first_line = int(parent.metadata.get("start_line", 1))
        self._line_starts = line_starts(self._text)
        self._inherited = {key: parent.metadata[key] for key in INHERITED if key in parent.metadata}
        self._relationships: dict[NodeRelationship, Any] = {
            NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent.node_id, node_type=parent.get_type())
        }
        if parent.source_node is not None:
            self._relationships[NodeRelationship.SOURCE] = parent.source_node

    def __call__(self, leaf: Leaf, position: int) -> TextNode:
        """The node of `leaf`."""
        return TextNode(
            id_=sentence_id(self._id, position),
            text=self._text[leaf.start : leaf.end],
            start_char_idx=self._offset + leaf.start,
            end_char_idx=self._offset + leaf.end,
            metadata=self._metadata(leaf, position),
            excluded_embed_metadata_keys=list(EXCLUDED_FROM_EMBEDDING),
            excluded_llm_metadata_keys=list(EXCLUDED_FROM_PROMPT),
            relationships=dict(self._relationships),
        )

    def _metadata(self, leaf: Leaf, position: int) -> dict[str, Any]:
        metadata = {
            key: list(value) if isinstance(value, list) else value for key, value in self._inherited.items()
        }
        metadata["position"] = position
        metadata["siblings"] = self._siblings
        metadata["kind"] = leaf.kind.value
        if leaf.header is not None:
            metadata["header"] = leaf.header
        before_first = self._first_line - 1
        metadata["start_line"] = before_first + bisect_right(self._line_starts, leaf.start)
        metadata["end_line"] = before_first + bisect_right(self._line_starts, leaf.end - 1)
        return metadata
