"""Whether two stores find the same: the overlap of their first ten, and nDCG@10 of each.

`python -m bench.store_agreement DATA/scifact` indexes a BEIR folder in an embedded store and in
the servers that `ATHENA_TEST_…` name, by default those of `scripts/servers.sh`, each text embedded once, and
asks both the judged questions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evals.datasets import Question, load_corpus, load_qrels, load_queries
from evals.metrics import mean, ndcg_at, percentile
from evals.runs.indexing import index_corpus
from pipeline.finding.fusion import fuse_sections, list_weights
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Matrix, SearchRequest, Vector

if TYPE_CHECKING:
    from athena import Athena

DEPTH = 10
CANDIDATES = 100
SETTLED_S = 95.0  # by then a server has written to its disk what it had in memory
WEIGHTS = list_weights(alpha=0.5, bm25_section_share=0.75, dense_section_share=0.375)

Ranking = list[str]  # section ids, best first


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two stores agree; a question's overlap is the share of the first ten that they share."""

    questions: int
    overlap: float


class RememberingEncoder:
    """An encoder that embeds each text once, however often it is asked."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, Vector] = {}
        self.name = encoder.name
        self.fingerprint = encoder.fingerprint
        self.dimensions = encoder.dimensions
        self.max_tokens = encoder.max_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self._encoder.count_tokens(text)

    def opening(self, text: str) -> str:
        """What of a section is embedded."""
        return self._encoder.opening(text)

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> Matrix:
        """A row a text."""
        new = list({text for text in texts if text not in self._vectors})
        if new:
            rows = self._encoder.encode_passages(new, on_progress=on_progress)
            self._vectors.update(zip(new, rows, strict=True))
        return np.asarray([self._vectors[text] for text in texts], dtype=np.float32)

    def encode_query(self, text: str) -> Vector:
        """One question's vector."""
        return self._encoder.encode_query(text)


def fused(store: DocumentStore, text: str, vector: Vector) -> Ranking:
    """The first ten sections of the four lists, fused as a search does."""
    response = store.sentences.search(SearchRequest(text, vector, CANDIDATES))
    return [item.id for item in fuse_sections(response, weights=WEIGHTS)[:DEPTH]]


def compare(
    stores: tuple[DocumentStore, DocumentStore], questions: Sequence[str], *, encoder: Encoder
) -> Agreement:
    """How far two stores with the same documents agree on some questions."""
    overlaps = []
    for question in questions:
        vector = encoder.encode_query(question)
        first, second = (fused(store, question, vector) for store in stores)
        overlaps.append(len(set(first) & set(second)) / max(1, len(first), len(second)))
    return Agreement(len(overlaps), mean(overlaps))


def judge(
    store: DocumentStore,
    queries: Sequence[Question],
    qrels: Mapping[str, Mapping[str, int]],
    names: Mapping[str, str],
    *,
    encoder: Encoder,
) -> tuple[float, float]:
    """nDCG@10, and the median milliseconds of a search."""
    scores, times = [], []
    for query in queries:
        vector = encoder.encode_query(query.text)
        started = time.perf_counter()
        ranking = fused(store, query.text, vector)
        times.append((time.perf_counter() - started) * 1000)
        scores.append(ndcg_at([names[item] for item in ranking], qrels[query.id], DEPTH))
    return mean(scores), percentile(times, 0.5)


def main() -> None:
    """Compare on a BEIR folder; prints a table."""
    from athena import load_settings, open_athena
    from bench.server.servers import own_corner
    from pipeline.stores.embedded import EmbeddedStore
    from pipeline.stores.server import ServerStore

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="athena-eval-") as scratch, own_corner() as addresses:
        athena = open_athena(load_settings(data_dir=Path(scratch)))
        embedded, server = EmbeddedStore(Path(scratch)), ServerStore(addresses)
        try:
            _report(athena, given.folder, {"embedded": embedded, "server": server})
        finally:
            embedded.close()
            server.close()


def _report(athena: Athena, folder: Path, stores: Mapping[str, DocumentStore]) -> None:
    encoder = RememberingEncoder(athena.encoder)
    qrels = load_qrels(folder, "test")
    queries = [query for query in load_queries(folder) if query.id in qrels]
    for name, store in stores.items():
        indexed = index_corpus(
            load_corpus(folder),
            store=store,
            cutter=athena.sentence_cutter(),
            encoder=encoder,
            manifest=athena.manifest,
        )
        print(f"{name}: indexed in {indexed.seconds:.0f} s", flush=True)
        judged = partial(judge, store, queries, qrels, indexed.names, encoder=encoder)
        print("{}: nDCG@10 {:.4f}, {:.0f} ms a search".format(name, *judged()), flush=True)
    time.sleep(SETTLED_S)
    print("later: nDCG@10 {:.4f}, {:.0f} ms a search".format(*judged()))
    first, second = stores.values()
    agreement = compare((first, second), [query.text for query in queries], encoder=encoder)
    print(f"overlap of the first ten: {agreement.overlap:.3f} over {agreement.questions} questions")


if __name__ == "__main__":
    main()
