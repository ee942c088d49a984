"""Measure the servers at a size that matters: `python -m tests.pipeline.stores.server.measure_size FOLDER…`.

It copies the documents of embedded indexes, with their vectors, to the servers until there are enough
sentences, and then searches as one user and as twenty. The times of MongoDB's part are FerretDB's where tests
run on that, which reads whole collections: Weaviate's part is measured on its own, too.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from pipeline.stores.base import DocumentStore, Manifest, NewDocument, SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.server import ServerStore
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
            yield whole(store, info.source)


def whole(store: DocumentStore, source: str) -> NewDocument:
    """A document as it is written to another store."""
    document = store.document(source)
    info = document.info
    sentences = list(store.get_many((), of_sections=[one.node_id for one in document.sections]).values())
    vectors = store.vectors([node.node_id for node in (*document.sections, *sentences)])
    return NewDocument(
        info.id,
        source,
        info.root,
        info.title,
        info.hash,
        document.text,
        document.sections,
        sentences,
        vectors,
    )


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
    ask = store.sentences._ask

    def timed(*given: Any) -> Any:
        started = time.perf_counter()
        found = ask(*given)
        weaviate.append(time.perf_counter() - started)
        return found

    def one_user(number: int) -> None:
        for question in questions[number::users]:
            started = time.perf_counter()
            store.search(question)
            total.append(time.perf_counter() - started)

    store.sentences._ask = timed  # type: ignore[method-assign]
    threads = [threading.Thread(target=one_user, args=(number,)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.sentences._ask = ask  # type: ignore[method-assign]
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
