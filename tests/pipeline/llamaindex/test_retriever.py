"""The search as LlamaIndex's retriever."""

from __future__ import annotations

import asyncio

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeRelationship, QueryBundle, TextNode

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


async def _retrieve_later(retriever: HybridRetriever) -> list[str]:
    return [node.node_id for node in await retriever.aretrieve(QUESTION)]


def test_it_retrieves_asynchronously(manual: EmbeddedStore) -> None:
    retriever = HybridRetriever(make_search(manual))
    assert asyncio.run(_retrieve_later(retriever)) == [node.node_id for node in retriever.retrieve(QUESTION)]


METADATA = {"source": "fan.md", "heading_path": ["ECS", "Fan"], "position": 1, "hash": "a1b2"}


def stored(**given: object) -> StoredNode:
    return StoredNode("s1", "It hums.", METADATA, 10, 18, "d1", **given)  # type: ignore[arg-type]


def related(node: TextNode, kind: NodeRelationship) -> list[str]:
    found = node.relationships.get(kind, [])
    return [info.node_id for info in (found if isinstance(found, list) else [found])]


def test_what_it_is_stays() -> None:
    node = text_node(stored())
    assert (node.node_id, node.text, node.metadata) == ("s1", "It hums.", METADATA)
    assert (node.start_char_idx, node.end_char_idx) == (10, 18)


def test_a_section_knows_its_document_and_its_sentences() -> None:
    node = text_node(stored(sentence_ids=("a", "b")))
    assert related(node, NodeRelationship.SOURCE) == ["d1"]
    assert related(node, NodeRelationship.CHILD) == ["a", "b"]
    assert node.parent_node is None


def test_a_sentence_knows_its_document_and_its_section() -> None:
    node = text_node(stored(section_id="s0"))
    assert related(node, NodeRelationship.SOURCE) == ["d1"]
    assert related(node, NodeRelationship.PARENT) == ["s0"]
    assert NodeRelationship.CHILD not in node.relationships


def test_models_are_shown_headings_and_no_hashes() -> None:
    node = text_node(stored())
    assert node.get_content(MetadataMode.EMBED) == "heading_path: ['ECS', 'Fan']\n\nIt hums."
    assert node.get_content(MetadataMode.LLM) == "source: fan.md\nheading_path: ['ECS', 'Fan']\n\nIt hums."
