"""The search as a LlamaIndex retriever, and our nodes as LlamaIndex nodes."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pipeline.nodes import Node
from pipeline.retrieve import HybridSearch


class HybridRetriever(BaseRetriever):
    """Searches sections and sentences, lexically and densely; fulfils LlamaIndex's `BaseRetriever`."""

    def __init__(
        self, hybrid_search: HybridSearch, *, callback_manager: CallbackManager | None = None
    ) -> None:
        super().__init__(callback_manager=callback_manager or CallbackManager([]))
        self.hybrid_search = hybrid_search

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return one node for each passage, best first."""
        found = self.hybrid_search.search(query_bundle.query_str).passages
        return [NodeWithScore(node=text_node(passage.node), score=passage.score) for passage in found]


SHOWN = ("source", "heading_path", "header")
"""Metadata that LlamaIndex's nodes get; LlamaIndex shows them to models."""


def text_node(node: Node) -> TextNode:
    """Return a node as a LlamaIndex node, with its offsets in its document."""
    return TextNode(
        id_=node.node_id,
        text=node.text,
        start_char_idx=node.start_char_idx,
        end_char_idx=node.end_char_idx,
        metadata={name: node.metadata[name] for name in SHOWN if name in node.metadata},
    )
