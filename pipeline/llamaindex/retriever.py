"""The search as LlamaIndex's retriever, for any of its parts that wants one, and nodes as it has them."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    QueryBundle,
    RelatedNodeInfo,
    RelatedNodeType,
    TextNode,
)

from pipeline.answer import Retrieval
from pipeline.nodes import Node, StoredNode
from pipeline.retrieve import HybridSearch


class HybridRetriever(BaseRetriever):
    """Searches sections and sentences, lexically and densely; fulfils LlamaIndex's `BaseRetriever`."""

    def __init__(
        self, hybrid_search: HybridSearch, *, callback_manager: CallbackManager | None = None
    ) -> None:
        super().__init__(callback_manager=callback_manager or CallbackManager([]))
        self.hybrid_search = hybrid_search

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """A node a passage, best first."""
        return nodes_with_score(self.hybrid_search.search(query_bundle.query_str))


# What LlamaIndex's own parts show a model of a node, besides its text.
_EMBEDDED_KEYS = frozenset({"heading_path", "header"})
_PROMPT_KEYS = frozenset({"source", "heading_path", "header"})


def text_node(node: Node) -> TextNode:
    """A node as LlamaIndex's; one that is so already stays as it is."""
    if isinstance(node, TextNode):
        return node
    return TextNode(
        id_=node.node_id,
        text=node.text,
        start_char_idx=node.start_char_idx,
        end_char_idx=node.end_char_idx,
        metadata=dict(node.metadata),
        excluded_embed_metadata_keys=[key for key in node.metadata if key not in _EMBEDDED_KEYS],
        excluded_llm_metadata_keys=[key for key in node.metadata if key not in _PROMPT_KEYS],
        relationships=_relationships(node) if isinstance(node, StoredNode) else {},
    )


def nodes_with_score(retrieval: Retrieval) -> list[NodeWithScore]:
    """A node a passage, best first."""
    return [NodeWithScore(node=text_node(found.node), score=found.score) for found in retrieval.passages]


def _relationships(node: StoredNode) -> dict[NodeRelationship, RelatedNodeType]:
    """The document, and a sentence's section or a section's sentences."""
    found: dict[NodeRelationship, RelatedNodeType] = {
        NodeRelationship.SOURCE: RelatedNodeInfo(node_id=node.document_id, node_type=ObjectType.DOCUMENT)
    }
    if node.section_id:
        found[NodeRelationship.PARENT] = _text(node.section_id)
    else:
        found[NodeRelationship.CHILD] = [_text(sentence) for sentence in node.sentence_ids]
    return found


def _text(node_id: str) -> RelatedNodeInfo:
    return RelatedNodeInfo(node_id=node_id, node_type=ObjectType.TEXT)
