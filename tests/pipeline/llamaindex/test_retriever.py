"""The search as LlamaIndex's retriever."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, QueryBundle, TextNode

from pipeline.llamaindex.retriever import HybridRetriever, text_node
from pipeline.nodes import StoredNode
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


METADATA = {"source": "fan.md", "heading_path": ["ECS", "Fan"], "position": 1, "hash": "a1b2"}


def test_a_node_keeps_its_place_and_has_headings_and_no_hashes() -> None:
    node = text_node(StoredNode("s1", "It hums.", METADATA, 10, 18, "d1"))
    assert (node.node_id, node.text) == ("s1", "It hums.")
    assert (node.start_char_idx, node.end_char_idx) == (10, 18)
    assert node.get_content(MetadataMode.LLM) == "source: fan.md\nheading_path: ['ECS', 'Fan']\n\nIt hums."
