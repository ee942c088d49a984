"""How the answerability model was calibrated: `python -m evals.calibration.answerability DATA`.

Questions that the documents answer against three kinds that they do not: the same questions with the
judged documents taken out of the lists (near), questions of another collection (far), and questions that
people marked as unanswerable. Prints how well each signal and the fitted model tell them apart, fitted
on the other collections than the one it is tried on, then the weights and figures at some thresholds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evals.calibration.logistic import Floats, fit
from evals.datasets import Question, default_folder, load_corpus, load_qrels, load_queries
from evals.metrics import auroc
from evals.runs.asking import condensed
from evals.runs.indexing import index_corpus, section_names
from pipeline.finding.answerability import signals
from pipeline.finding.fusion import fuse_sections, fuse_sentences, list_weights
from pipeline.finding.logistic import sigmoid
from pipeline.finding.passages import gather
from pipeline.stores.base import Ranking, SearchRequest, SearchResponse
from pipeline.stores.embedded import EmbeddedStore

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.options import RetrievalOptions
    from pipeline.stores.base import DocumentStore

NAMES = ("closeness", "coverage", "sentence_coverage", "margin")
MOST_QUESTIONS = 300  # of each collection, so that none outweighs the others
SPARE_HITS = 30  # hits that judged documents may take up before they are taken out
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@dataclass(frozen=True, slots=True)
class Example:
    """One question's signals, and whether the documents that were searched answer it."""

    collection: str
    kind: str  # answerable, near, far, marked
    values: tuple[float, ...]

    @property
    def answerable(self) -> bool:
        """True for questions that the documents answer."""
        return self.kind == "answerable"


@dataclass(frozen=True, slots=True)
class Collection:
    """Questions with their judgements over one index."""

    name: str
    queries: list[Question]
    qrels: dict[str, dict[str, int]]
    store: DocumentStore
    names: dict[str, str]  # section id → the document's id in the qrels


def examples(athena: Athena, own: Collection, others: Sequence[Collection]) -> Iterator[Example]:
    """The examples over one collection's index."""
    by_name = {name: section for section, name in own.names.items()}
    for query in own.queries[:MOST_QUESTIONS]:
        text = condensed(query).question
        gold = {by_name[name] for name in own.qrels.get(query.id, {}) if name in by_name}
        if not query.answerable:
            yield Example(own.name, "marked", _values(athena, own.store, text))
        elif gold:
            yield Example(own.name, "answerable", _values(athena, own.store, text))
            yield Example(own.name, "near", _values(athena, own.store, text, without=gold))
    for other in others:
        for query in other.queries[: MOST_QUESTIONS // (2 * len(others))]:
            yield Example(own.name, "far", _values(athena, own.store, condensed(query).question))


def _values(
    athena: Athena, store: DocumentStore, question: str, *, without: set[str] | None = None
) -> tuple[float, ...]:
    """The signals of one question, as if the sections `without` were not indexed."""
    options = athena.options
    vector = athena.encoder.encode_query(question)
    response = store.sentences.search(SearchRequest(question, vector, options.candidates + SPARE_HITS))
    response = _taken_out(response, without or set(), options)
    weights = list_weights(
        alpha=options.alpha,
        bm25_section_share=options.bm25_section_share,
        dense_section_share=options.dense_section_share,
    )
    ranking = fuse_sections(response, weights=weights)[:20]
    found = gather(
        ranking,
        fuse_sentences(response, weights=weights),
        response,
        store=store,
        vector=vector,
        threshold=options.simple_ratio_thresh,
    )
    values = signals(question, response, found.passages)
    return tuple(values[name] for name in NAMES)


def _taken_out(response: SearchResponse, without: set[str], options: RetrievalOptions) -> SearchResponse:
    def kept(ranking: Ranking, most: int) -> Ranking:
        return tuple(hit for hit in ranking if hit.section_id not in without)[:most]

    return SearchResponse(
        bm25_sections=kept(response.bm25_sections, options.candidates),
        bm25_sentences=kept(response.bm25_sentences, 2 * options.candidates),
        dense_sections=kept(response.dense_sections, options.candidates),
        dense_sentences=kept(response.dense_sentences, 2 * options.candidates),
    )


def fitted(rows: Sequence[Example]) -> tuple[Floats, float]:
    """Weights and intercept; each collection, and in it each answer, counts the same."""
    matrix = np.array([row.values for row in rows])
    labels = np.array([float(row.answerable) for row in rows])
    sizes: dict[tuple[str, bool], int] = {}
    for row in rows:
        sizes[row.collection, row.answerable] = sizes.get((row.collection, row.answerable), 0) + 1
    weights = np.array([1 / sizes[row.collection, row.answerable] for row in rows])
    return fit(matrix, labels, weights=weights * len(rows) / weights.sum())


def print_report(rows: Sequence[Example]) -> None:
    """The tables."""
    collections = sorted({row.collection for row in rows})
    held_out: dict[int, float] = {}
    for collection in collections:
        weights, intercept = fitted([row for row in rows if row.collection != collection])
        for index, row in enumerate(rows):
            if row.collection == collection:
                logit = np.array([float(np.dot(weights, row.values)) + intercept])
                held_out[index] = float(sigmoid(logit)[0])
    print(
        f"{'collection':<12}{'against':<10}{'n':>6}" + "".join(f"{name:>19}" for name in (*NAMES, "held out"))
    )
    for collection in collections:
        for kind in ("near", "far", "marked"):
            chosen = [i for i, row in enumerate(rows) if row.collection == collection]
            chosen = [i for i in chosen if rows[i].kind in ("answerable", kind)]
            labels = [rows[i].answerable for i in chosen]
            if all(labels):
                continue
            scores = [[rows[i].values[j] for i in chosen] for j in range(len(NAMES))]
            scores.append([held_out[i] for i in chosen])
            figures = [auroc(column, labels) or 0.0 for column in scores]
            print(f"{collection:<12}{kind:<10}{len(chosen):>6}" + "".join(f"{x:>19.3f}" for x in figures))
    _print_model(rows, held_out)


def _print_model(rows: Sequence[Example], held_out: dict[int, float]) -> None:
    weights, intercept = fitted(rows)
    print("\nfitted on all:", dict(zip(NAMES, weights.round(2), strict=True)))
    print("intercept:", round(intercept, 2))
    print(f"\n{'threshold':<12}{'collection':<12}{'wrongly abstained':>20}{'near':>9}{'far':>9}{'marked':>9}")
    for threshold in THRESHOLDS:
        for collection in sorted({row.collection for row in rows}):
            shares = [
                _below(rows, held_out, collection, kind, threshold)
                for kind in ("answerable", "near", "far", "marked")
            ]
            figures = "".join(f"{share:>9.3f}" for share in shares[1:])
            print(f"{threshold:<12}{collection:<12}{shares[0]:>20.3f}{figures}")


def _below(
    rows: Sequence[Example], held_out: dict[int, float], collection: str, kind: str, threshold: float
) -> float:
    """The share of the examples of a kind on which Athena would abstain; nan without any."""
    chosen = [i for i, row in enumerate(rows) if (row.collection, row.kind) == (collection, kind)]
    return sum(held_out[i] < threshold for i in chosen) / len(chosen) if chosen else float("nan")


def _beir(athena: Athena, folder: Path, split: str, scratch: Path) -> Collection:
    store = EmbeddedStore(scratch / folder.name)
    indexed = index_corpus(
        load_corpus(folder),
        store=store,
        cutter=athena.sentence_cutter(),
        encoder=athena.encoder,
        manifest=athena.manifest,
    )
    qrels = load_qrels(folder, split)
    asked = [query for query in load_queries(folder) if query.id in qrels or not query.answerable]
    return Collection(folder.name, asked, qrels, store, indexed.names)


def _manuals(athena: Athena, corpus: Path, questions: Path, scratch: Path) -> Collection:
    from athena import open_athena

    other = open_athena(athena.settings.model_copy(update={"data_dir": scratch / "manuals"}))
    other.ingest([corpus])
    names = section_names(other.store)
    qrels = load_qrels(questions, "test")
    return Collection("manuals", load_queries(questions), qrels, other.store, names)


def main() -> None:
    """Parse, index, print."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=default_folder())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="athena-calibrate-") as folder:
        scratch = Path(folder)
        athena = open_athena(load_settings(llm="none", data_dir=scratch / "none"))
        collections = [
            _beir(athena, arguments.data / "scifact", "train", scratch),
            _beir(athena, arguments.data / "mtrag" / "mtragun_pooled", "test", scratch),
            _manuals(athena, Path("docs_corpus"), Path("evals/data/manuals"), scratch),
        ]
        rows: list[Example] = []
        for own in collections:
            rows += examples(athena, own, [other for other in collections if other is not own])
        print_report(rows)
        for own in collections:
            own.store.close()


if __name__ == "__main__":
    main()
