"""Athena with its defaults and no language model; `--rerank` adds its cross-encoder."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from athena import load_settings, open_athena

TOP_K = 10


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Index the folder, except for unchanged files; return the number of all indexed sentences."""
    with open_athena(load_settings(data_dir=options.store, llm="none")) as athena:
        athena.ingest([options.folder])
        return {"passages": athena.store.statistics().sentences, "unit": "sentences"}


def searcher(options: argparse.Namespace) -> Callable[[str], list[str]]:
    """Return a function that runs a full search and returns the paths of the files found, best first."""
    athena = open_athena(load_settings(data_dir=options.store, llm="none", memory="none"))
    deep = athena.options.but(rerank=options.rerank, top_k=TOP_K, context_tokens=10**9)
    hybrid_search = athena.hybrid_search

    def search(question: str) -> list[str]:
        passages = hybrid_search.search(question, options=deep).passages
        return [str(options.folder / passage.section.metadata["source"]) for passage in passages]

    return search
