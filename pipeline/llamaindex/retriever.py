"""The search as LlamaIndex's retriever, for any of its parts that wants one, and nodes as it has them."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from pipeline.answer import Retrieval
from pipeline.nodes import Node, StoredNode
from pipeline.retrieve import HybridSearch
from readers.llamaindex import node_fields


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


def text_node(node: Node) -> TextNode:
    """Return a node as LlamaIndex's, which knows its document, and its section or its sentences."""
    if isinstance(node, TextNode):
        return node
    above, below = dict[NodeRelationship, str](), tuple[str, ...]()
    if isinstance(node, StoredNode):
        above = {NodeRelationship.SOURCE: node.document_id, NodeRelationship.PARENT: node.section_id}
        below = node.sentence_ids
    made = TextNode(**node_fields(node, node.metadata, above))
    if below:
        made.relationships[NodeRelationship.CHILD] = [RelatedNodeInfo(node_id=child) for child in below]
    return made


def nodes_with_score(retrieval: Retrieval) -> list[NodeWithScore]:
    """Return a node for each passage, best first."""
    return [NodeWithScore(node=text_node(found.node), score=found.score) for found in retrieval.passages]
