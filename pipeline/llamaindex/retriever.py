"""The search as LlamaIndex's retriever, for any of its parts that wants one."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from pipeline.llamaindex.text_nodes import nodes_with_score
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
