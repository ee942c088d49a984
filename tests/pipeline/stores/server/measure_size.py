"""Measure the servers at a size that matters: `python -m tests.pipeline.stores.server.measure_size FOLDER…`.

It copies the documents of embedded indexes, with their vectors, to the servers until there are enough
sentences, and then searches as one user and as twenty. The times of MongoDB's part are FerretDB's where tests
run on that, which reads whole collections: Weaviate's part is measured on its own, too.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pipeline.stores.base import Manifest, NewDocument, SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.migration import whole
from pipeline.stores.server import ServerStore, searching
from tests.server_stores import server_addresses

WORDS = 12
"""Words of a sentence that are asked as a question."""

SEARCHES = 100
USERS = 20
TOP_K = 100


def stored(folder: Path) -> Iterator[NewDocument]:
    """The documents of an embedded index, with their vectors."""
    with closing(EmbeddedStore(folder)) as store:
        for info in store.documents():
            yield whole(store, info)


def copies(documents: Callable[[], Iterable[NewDocument]], sentences: int) -> Iterator[NewDocument]:
    """The documents, again and again under other names, until there are enough sentences."""
    left = sentences
    for number in count():
        for document in documents():
            if left <= 0:
                return
            left -= len(document.sentences)
            yield replace(document, source=f"copy {number}/{document.source}")


def ingest(store: ServerStore, documents: Iterable[NewDocument], manifest: Manifest) -> list[SearchRequest]:
    """Write the documents, print the speed, and return questions: beginnings of some of their sentences."""
    chooser, questions, sentences, started = random.Random(1), list[SearchRequest](), 0, time.perf_counter()
    with store.writing(manifest) as writing:
        for document in documents:
            writing.replace(document)
            sentences += len(document.sentences)
            if document.sentences and len(questions) < SEARCHES:
                node = chooser.choice(document.sentences)
                text = " ".join(node.text.split()[:WORDS])
                questions.append(SearchRequest(text, document.vector(node), TOP_K))
    seconds = time.perf_counter() - started
    print(
        f"ingest: {sentences:,} sentences in {seconds:.0f} s, {sentences / seconds:.0f} a second", flush=True
    )
    return questions


def search(store: ServerStore, questions: list[SearchRequest], users: int) -> None:
    """Ask the questions as some users at once, and print percentiles of all and of Weaviate's part."""
    total, weaviate = list[float](), list[float]()

    def timed(seconds: list[float], call: Callable[..., Any], *given: Any) -> Any:
        started = time.perf_counter()
        found = call(*given)
        seconds.append(time.perf_counter() - started)
        return found

    ask = partial(timed, weaviate, searching.ask_all)
    with patch.object(searching, "ask_all", ask), ThreadPoolExecutor(users) as pool:
        list(pool.map(partial(timed, total, store.search), questions))
    for name, seconds in (("search", total), ("Weaviate's part", weaviate)):
        cuts = statistics.quantiles(seconds, n=20)
        print(f"{users} users, {name}: p50 {cuts[9] * 1000:.0f} ms, p95 {cuts[18] * 1000:.0f} ms", flush=True)


def main() -> None:
    """Measure with the indexes that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+", help="data folder of an embedded index")
    parser.add_argument("--sentences", type=int, default=200_000)
    given = parser.parse_args()
    with closing(EmbeddedStore(given.folder[0])) as first:
        manifest = first.statistics().manifest
    assert manifest is not None

    def documents() -> Iterator[NewDocument]:
        for folder in given.folder:
            yield from stored(folder)

    measure(documents, manifest, given.sentences)


def measure(documents: Callable[[], Iterable[NewDocument]], manifest: Manifest, sentences: int) -> None:
    """Ingest and search on the real servers, and remove it all."""
    with server_addresses() as addresses, closing(ServerStore(addresses)) as store:
        questions = ingest(store, copies(documents, sentences), manifest)
        for users in (1, USERS):
            search(store, questions, users)


if __name__ == "__main__":
    main()
