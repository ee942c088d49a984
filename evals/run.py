"""The two evaluations as the command line runs them: index, ask everything, report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evals import answers, retrieval
from evals.datasets import load_corpus, load_qrels, load_queries
from evals.indexing import Indexed, Report, dataset_name, index_corpus, section_names
from pipeline.errors import DatasetError
from pipeline.stores.embedded import EmbeddedStore

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentStore
    from wiring import Athena

Bars = Callable[[str, int, int], None]  # a bar's name, done, total


def evaluate_retrieval(
    athena: Athena,
    folder: Path,
    *,
    split: str = "test",
    run: Path | None = None,
    corpus: Path | None = None,
    report: Bars | None = None,
) -> retrieval.RetrievalReport:
    """Index the folder's corpus for the occasion and rank every judged question's documents."""
    qrels = load_qrels(folder, split)
    queries = retrieval.judged(load_queries(folder), qrels, folder=folder)
    with _index(athena, folder, corpus, report) as (store, indexed):
        retriever = athena.retriever_over(store, athena.language_model()[0])
        options = replace(
            athena.options,
            top_k=retrieval.DEPTH,
            candidates=max(retrieval.DEPTH, athena.options.candidates),
            context_tokens=10**9,
        )
        ranked = retrieval.rank_queries(
            queries,
            search=lambda question: retriever.search(question, options=options),
            condense=athena.condense,
            names=indexed.names,
            report=_bar(report, "Asking"),
        )
    if run:
        retrieval.write_run(run, ranked)
    return retrieval.report_on(
        ranked,
        qrels,
        dataset=dataset_name(folder),
        split=split,
        indexed=indexed,
        settings=asdict(options),
    )


def evaluate_answers(
    athena: Athena, folder: Path, *, corpus: Path | None = None, report: Bars | None = None
) -> answers.AnswersReport:
    """Index the folder's corpus for the occasion, ask every question and judge what is quoted."""
    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    with _index(athena, folder, corpus, report) as (store, indexed):
        retriever = athena.retriever_over(store, athena.language_model()[0])
        judgements = answers.judge_answers(
            queries,
            search=retriever.search,
            quotes=lambda found: athena.quote_texts(found, store=store),
            condense=athena.condense,
            report=_bar(report, "Asking"),
        )
    return answers.report_on(
        judgements,
        dataset=dataset_name(folder),
        threshold=retriever.calibration.threshold,
        indexed=indexed,
        settings=asdict(athena.options),
    )


@contextmanager
def _index(
    athena: Athena, folder: Path, corpus: Path | None, report: Bars | None
) -> Iterator[tuple[DocumentStore, Indexed]]:
    """An index of the corpus in a temporary folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="athena-eval-") as scratch:
        if corpus is None:
            store = EmbeddedStore(Path(scratch))
            try:
                yield store, _index_beir(athena, folder, store, report)
            finally:
                store.close()
            return
        from wiring import open_athena

        other = open_athena(athena.settings.model_copy(update={"data_dir": Path(scratch)}))
        try:
            yield other.store, _index_markdown(other, corpus)
        finally:
            other.close()


def _index_beir(athena: Athena, folder: Path, store: DocumentStore, report: Bars | None) -> Indexed:
    return index_corpus(
        load_corpus(folder),
        store=store,
        parser=athena.make_parser(),
        encoder=athena.encoder,
        manifest=athena.manifest,
        report=_bar(report, "Indexing"),
    )


def _index_markdown(athena: Athena, corpus: Path) -> Indexed:
    done = athena.ingest([corpus])
    documents = len(athena.store.sections.documents())
    return Indexed(section_names(athena.store), documents, done.sentences, done.seconds)


def _bar(report: Bars | None, name: str) -> Report | None:
    return None if report is None else lambda done, total: report(name, done, total)
