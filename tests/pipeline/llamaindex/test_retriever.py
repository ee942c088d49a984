"""The search as LlamaIndex's retriever."""

from __future__ import annotations

import asyncio

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import QueryBundle, TextNode

from pipeline.llamaindex.retriever import HybridRetriever
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_search

QUESTION = "Why is the cabin fan loud?"


def test_it_retrieves_a_node_a_passage(manual: EmbeddedStore) -> None:
    hybrid_search = make_search(manual, top_k=3)
    retriever = HybridRetriever(hybrid_search)
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUESTION)
    passages = hybrid_search.search(QUESTION).passages
    assert [(node.node.node_id, node.score) for node in nodes] == [
        (passage.node.node_id, passage.score) for passage in passages
    ]
    assert len(nodes) == 3
    assert all(isinstance(node.node, TextNode) for node in nodes)
    assert [node.node_id for node in retriever.retrieve(QueryBundle(QUESTION))] == [
        node.node_id for node in nodes
    ]


async def _retrieve_later(retriever: HybridRetriever) -> list[str]:
    return [node.node_id for node in await retriever.aretrieve(QUESTION)]


def test_it_retrieves_asynchronously(manual: EmbeddedStore) -> None:
    retriever = HybridRetriever(make_search(manual))
    assert asyncio.run(_retrieve_later(retriever)) == [node.node_id for node in retriever.retrieve(QUESTION)]
