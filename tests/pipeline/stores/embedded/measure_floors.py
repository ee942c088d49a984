"""Measure the embedded store's floors: `python -m tests.pipeline.stores.embedded.measure_floors`.

It prints CPU seconds, which other work on the machine disturbs least: what one edited file among 3,000 costs
beside the first ingest, when it is found again, and what it costs to open an index of 100,000 sentences; and
wall-clock percentiles of searches of one user and of 20 at once.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from pipeline.stores.base import NewDocument, SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from tests.contracts.documents import MANIFEST, make_document
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import run_ingest

FILES = 3_000
SENTENCES = 34  # a document: 102,000 together
DIMENSIONS = 384
SEARCHES = 200
USERS = 20
SYLLABLES = ("bdfgkl", ("ara", "eno", "ilu", "oro"), ("k", "m", "n", "st", "t"), "aeiou", "lmnrst")
WORDS = ["".join(letters) for letters in product(*SYLLABLES)]


def sentence(number: int) -> str:
    """A sentence of eight words, another one for each number."""
    words = (WORDS[(number * 7 + place * place * 3) % len(WORDS)] for place in range(8))
    return f"{' '.join(words)} {number}."


def edit(folder: Path) -> None:
    """Ingest 3,000 files, edit one, and ingest them again; with the time of a fake encoder."""
    files = folder / "files"
    files.mkdir()
    for number in range(FILES):
        lines = "\n\n".join(sentence(number * 10 + place) for place in range(10))
        (files / f"{number}.md").write_text(f"# Page {number}\n\n{lines}\n", encoding="utf-8")
    with closing(EmbeddedStore(folder / "data")) as store:
        began = time.process_time()
        run_ingest(store, files, encoder=FakeEncoder())
        first = time.process_time() - began
        store.search(SearchRequest("page", None, 5))
        (files / "7.md").write_text("# Page 7\n\nThe zeppelin hums.\n", encoding="utf-8")
        began, clock = time.process_time(), time.perf_counter()
        run_ingest(store, files, encoder=FakeEncoder())
        again = time.process_time() - began
        assert store.search(SearchRequest("zeppelin", None, 5)).bm25_sentences
        seconds = time.perf_counter() - clock
    print(f"first ingest {first:.2f} s, one edited file {again:.2f} s: {again / first:.1%}")
    print(f"found after {seconds:.2f} s on the clock")


def documents() -> Iterator[NewDocument]:
    """Documents of 102,000 sentences, with random vectors."""
    random = np.random.default_rng(1)
    for number in range(FILES):
        lines = [sentence(number * SENTENCES + place) for place in range(SENTENCES)]
        document = make_document(f"{number}.md", {"Page": lines})
        vectors = random.standard_normal((len(document.vectors), DIMENSIONS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        yield replace(document, vectors=dict(zip(document.vectors, vectors, strict=True)))


def opening(folder: Path) -> None:
    """Open an index of 102,000 sentences, search it first by words, then by vector, and as several users."""
    manifest = replace(MANIFEST, dimensions=DIMENSIONS)
    with closing(EmbeddedStore(folder)) as store, store.writing(manifest) as writing:
        for document in documents():
            writing.replace(document)
    vector = np.eye(1, DIMENSIONS, dtype=np.float32)[0]
    began = time.process_time()
    with closing(EmbeddedStore(folder)) as store:
        opened = time.process_time() - began
        store.search(SearchRequest(sentence(5), None, 50))
        words = time.process_time() - began
        store.search(SearchRequest(None, vector, 50))
        vectors = time.process_time() - began
        print(f"opened {opened:.3f} s, first words {words:.3f} s, first vectors {vectors:.3f} s")
        began = time.process_time()
        one = p95(store, vector, users=1)
        print(f"{(time.process_time() - began) / SEARCHES * 1e3:.1f} ms of CPU a search")
        many = p95(store, vector, users=USERS)
        print(f"p95 of one user {one * 1e3:.0f} ms, of {USERS} {many * 1e3:.0f} ms: {many / one:.1f} times")
        began = time.process_time()
        with store.writing(manifest) as writing:
            writing.delete("7.md")
        print(f"one document deleted: {time.process_time() - began:.2f} s")


def p95(store: EmbeddedStore, vector: np.ndarray, *, users: int) -> float:
    """The 95th percentile of the seconds of searches by users; of several, each asks about once a second."""
    seconds: list[float] = []

    def user(number: int) -> None:
        pauses = np.random.default_rng(number).exponential(1.0 if users > 1 else 0.0, SEARCHES // users)
        for search, pause in enumerate(pauses):
            time.sleep(pause)
            began = time.perf_counter()
            store.search(SearchRequest(sentence(number * 100 + search), vector, 50))
            seconds.append(time.perf_counter() - began)

    threads = [threading.Thread(target=user, args=(number,)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statistics.quantiles(seconds, n=20)[18]


if __name__ == "__main__":
    for measure in (edit, opening):
        with tempfile.TemporaryDirectory() as place:
            measure(Path(place))
