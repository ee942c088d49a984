"""Parts for programs of LlamaIndex, besides `Athena.retriever`."""

from __future__ import annotations

from pipeline.llamaindex.retriever import HybridRetriever
from readers.llamaindex import MarkdownReader, PunktSentenceParser

__all__ = ["HybridRetriever", "MarkdownReader", "PunktSentenceParser"]
