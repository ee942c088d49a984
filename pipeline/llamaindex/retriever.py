"""The search as LlamaIndex's retriever, for any of its parts that wants one, and nodes as it has them."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

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
        found = self.hybrid_search.search(query_bundle.query_str).passages
        return [NodeWithScore(node=text_node(passage.node), score=passage.score) for passage in found]


SHOWN = frozenset({"source", "heading_path", "header"})
"""Metadata that LlamaIndex's components show a model; all but the first are embedded, too."""


def text_node(node: Node) -> TextNode:
    """Return a node as LlamaIndex's, which knows its document and its section."""
    if isinstance(node, TextNode):
        return node
    made = TextNode(
        id_=node.node_id,
        text=node.text,
        start_char_idx=node.start_char_idx,
        end_char_idx=node.end_char_idx,
        metadata=dict(node.metadata),
        excluded_embed_metadata_keys=sorted(node.metadata.keys() - (SHOWN - {"source"})),
        excluded_llm_metadata_keys=sorted(node.metadata.keys() - SHOWN),
    )
    if isinstance(node, StoredNode):
        made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=node.document_id)
        if node.section_id:
            made.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=node.section_id)
    return made
