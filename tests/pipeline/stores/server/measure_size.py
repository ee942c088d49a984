"""Measure the servers at a size that matters: `python -m tests.pipeline.stores.server.measure_size SCIFACT`.

It indexes BEIR's SciFact in the embedded store, copies it to the servers, and prints nDCG@10 of the searches
of both. Then it writes copies of the documents, with slightly different vectors, until there are enough
sentences, and searches as one user and as twenty. Where FerretDB stands in for MongoDB, it reads whole
collections: Weaviate's part is measured on its own, too.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from athena import Athena, open_athena
from athena.settings import Settings
from evals.datasets import load_corpus, load_qrels, load_queries
from evals.indexing import index_documents
from evals.metrics import mean, ndcg_at
from pipeline.stores.base import DocumentStore, Manifest, NewDocument, SearchRequest, Vector
from pipeline.stores.migration import whole
from pipeline.stores.server import ServerStore, searching
from tests.server_stores import server_addresses

ABSTRACTS = 20  # in a document
NOISE = 0.02  # a dimension: a copy's vector has a cosine of .93 with the first one's
WORDS = 12  # of a sentence that are asked as a question
SEARCHES = 100
USERS = 20
TOP_K = 100
FOUND = 10


def quality(name: str, athena: Athena, folder: Path) -> None:
    """Print SciFact's mean nDCG@10 in an index, without reranking."""
    qrels = load_qrels(folder, "test")
    options = athena.options.but(top_k=TOP_K, context_tokens=10**9, merge_up=False, rerank=False)
    scores = []
    for query in load_queries(folder):
        if query.id in qrels:
            found = athena.hybrid_search.search(query.text, options=options).passages
            ranking = [passage.section.metadata["source"] for passage in found]
            scores.append(ndcg_at(ranking, qrels[query.id], FOUND))
    print(f"{name}: nDCG@10 {mean(scores):.4f}, {len(scores)} questions", flush=True)


def copies(store: DocumentStore, sentences: int, *, first: int) -> Iterator[NewDocument]:
    """Documents of 20 abstracts until there are enough sentences; copy 0 has the abstracts' own vectors."""
    noise = np.random.default_rng(1)
    infos, left = store.documents(), sentences
    for number in count(first):
        for start in range(0, len(infos), ABSTRACTS):
            some = [whole(store, info) for info in infos[start : start + ABSTRACTS]]
            vectors = {id_: vector for one in some for id_, vector in one.vectors.items()}
            document = replace(
                some[0],
                source=f"copy {number}/{start}",
                sections=[section for one in some for section in one.sections],
                sentences=[sentence for one in some for sentence in one.sentences],
                vectors=_moved(vectors, noise) if number else vectors,
            )
            yield document
            left -= len(document.sentences)
            if left <= 0:
                return


def _moved(vectors: Mapping[str, Vector], noise: np.random.Generator) -> dict[str, Vector]:
    moved = np.array([*vectors.values()])
    moved += noise.normal(0, NOISE, moved.shape)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return dict(zip(vectors, moved, strict=True))


def ingest(store: DocumentStore, documents: Iterable[NewDocument], manifest: Manifest) -> list[SearchRequest]:
    """Write the documents, print the speed, and return questions: beginnings of some of their sentences."""
    chooser, questions, sentences, seconds = random.Random(1), list[SearchRequest](), 0, 0.0
    with store.writing(manifest) as writing:
        for document in documents:
            started = time.perf_counter()
            writing.replace(document)
            seconds += time.perf_counter() - started
            sentences += len(document.sentences)
            node = chooser.choice(document.sentences)
            text = " ".join(node.text.split()[:WORDS])
            questions.append(SearchRequest(text, document.vectors[node.node_id], TOP_K))
    print(
        f"{sentences:,} sentences written in {seconds:.0f} s, {sentences / seconds:.0f} a second", flush=True
    )
    return chooser.choices(questions, k=SEARCHES)


def search(store: DocumentStore, questions: list[SearchRequest], users: int) -> None:
    """Ask the questions as some users, and print percentiles of all and of Weaviate's part.

    Of several users, each asks about once a second.
    """
    total, weaviate = list[float](), list[float]()

    def timed(seconds: list[float], call: Callable[..., Any], *given: Any) -> Any:
        started = time.perf_counter()
        found = call(*given)
        seconds.append(time.perf_counter() - started)
        return found

    def one(question: SearchRequest) -> None:
        time.sleep(random.expovariate(1.0) if users > 1 else 0.0)
        timed(total, store.search, question)

    ask = partial(timed, weaviate, searching.ask_all)
    with patch.object(searching, "ask_all", ask), ThreadPoolExecutor(users) as pool:
        list(pool.map(one, questions))
    for name, seconds in (("search", total), ("Weaviate's part", weaviate)):
        cuts = statistics.quantiles(seconds, n=20)
        print(f"{users} users, {name}: p50 {cuts[9] * 1000:.0f} ms, p95 {cuts[18] * 1000:.0f} ms", flush=True)


def main() -> None:
    """Measure on the real servers, and remove all that was written there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scifact", type=Path, help="folder of corpus.jsonl, queries.jsonl and qrels/")
    parser.add_argument("--index", type=Path, help="data folder that has SciFact's index; else one is made")
    parser.add_argument("--sentences", type=int, default=200_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, server_addresses() as addresses:
        settings = Settings(data_dir=given.index or Path(place), llm="none")
        with closing(open_athena(settings)) as athena, closing(ServerStore(addresses)) as store:
            if given.index is None:
                index_documents(athena, load_corpus(given.scifact))
            manifest = athena.store.statistics().manifest
            assert manifest is not None
            quality("embedded", athena, given.scifact)
            own = athena.store.statistics().sentences
            ingest(store, copies(athena.store, own, first=0), manifest)
            with patch.object(athena.store, "search", store.search):  # FerretDB reads sections too slowly
                quality("servers", athena, given.scifact)
            questions = ingest(store, copies(athena.store, given.sentences - own, first=1), manifest)
            for users in (1, USERS):
                search(store, questions, users)


if __name__ == "__main__":
    main()
