"""The evaluations as the command line runs them: index, ask everything, report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evals.conversations.reading import load_conversations
from evals.datasets import load_corpus, load_qrels, load_queries, with_texts
from evals.runs import answers, memory, passages, retrieval, support
from evals.runs.asking import condensed, quotes_shown
from evals.runs.indexing import Indexed, Report, dataset_name, index_corpus, section_names
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena
    from evals.trulens.records import Recorder

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
    with _index(athena, folder, corpus, report) as (other, indexed):
        options = other.options.but(
            top_k=retrieval.DEPTH,
            candidates=max(retrieval.DEPTH, other.options.candidates),
            context_tokens=10**9,
            merge_up=False,  # what is judged are sections
            follow_links=False,
        )
        hybrid_search = other.hybrid_search
        ranked = retrieval.rank_queries(
            queries,
            search=partial(hybrid_search.search, options=options),
            condense=condensed,
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
        settings=options.model_dump(),
    )


def evaluate_answers(
    athena: Athena,
    folder: Path,
    *,
    corpus: Path | None = None,
    trulens: str | None = None,
    report: Bars | None = None,
) -> answers.AnswersReport:
    """Index the folder's corpus for the occasion, ask every question and judge what is quoted.

    With a TruLens database, the questions go through the whole chat engine and its answers are recorded
    there; else only what its quotes are made of is run.
    """
    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    if corpus:
        queries = with_texts(queries, corpus)
    bar = _bar(report, "Asking")
    with (
        _recorder(trulens, folder) as recorder,
        _index(athena, folder, corpus, report) as (other, indexed),
    ):
        hybrid_search = other.hybrid_search
        if recorder:
            judgements = recorder.judge_answers(queries, athena=other, report=bar)
        else:
            judgements = answers.judge_answers(
                queries,
                search=hybrid_search.search,
                quotes=partial(quotes_shown, other),
                condense=condensed,
                report=bar,
            )
    return answers.report_on(
        judgements,
        dataset=dataset_name(folder),
        threshold=hybrid_search.calibration.threshold,
        indexed=indexed,
        settings=athena.options.model_dump(),
    )


def evaluate_support(athena: Athena, path: Path, *, report: Bars | None = None) -> support.SupportReport:
    """Check labelled sentences by their passages, and compare what is marked with what people found."""
    items = support.load_support(path)
    found, ms = support.flag_sentences(
        items, cutter=athena.sentence_cutter(), encoder=athena.encoder, report=_bar(report, "Checking")
    )
    return support.report_on(found, dataset=dataset_name(path), ms_per_question=ms)


def evaluate_memory(athena: Athena, path: Path, *, report: Bars | None = None) -> memory.MemoryReport:
    """Remember each conversation as one user's turns, in memory alone, and ask what is asked about it."""
    return memory.evaluate(
        load_conversations(path), encoder=athena.encoder, report=_bar(report, "Remembering and asking")
    )


def evaluate_passages(
    athena: Athena, folder: Path, *, corpus: Path | None = None, report: Bars | None = None
) -> passages.PassagesReport:
    """Index the folder's corpus for the occasion, and look for the answers in the first passages."""
    queries = load_queries(folder)
    if corpus:
        queries = with_texts(queries, corpus)
    if not any(query.answerable and query.gold for query in queries):
        raise DatasetError(
            f"No question of '{folder}' has an answer.", "Put `answers` into the lines of queries.jsonl."
        )
    with _index(athena, folder, corpus, report) as (other, indexed):
        hybrid_search = other.hybrid_search
        return passages.evaluate(
            queries,
            search=lambda question, options: hybrid_search.search(question, options=options),
            options=other.options,
            condense=condensed,
            dataset=dataset_name(folder),
            indexed=indexed,
            report=_bar(report, "Asking"),
        )


def _recorder(trulens: str | None, folder: Path) -> AbstractContextManager[Recorder | None]:
    """The database is opened before anything is indexed: what is wrong with it is said at once."""
    if trulens is None:
        return nullcontext()
    from evals.trulens.records import open_recorder

    return open_recorder(trulens, dataset=dataset_name(folder))


@contextmanager
def _index(
    athena: Athena, folder: Path, corpus: Path | None, report: Bars | None
) -> Iterator[tuple[Athena, Indexed]]:
    """Another Athena over an index of the corpus, in a temporary folder which is gone afterwards.

    It is the embedded store whatever the settings say: an evaluation leaves everybody's servers alone.
    """
    from athena import open_athena

    with tempfile.TemporaryDirectory(prefix="athena-eval-") as scratch:
        changes = {"data_dir": Path(scratch), "store": "embedded"}
        other = open_athena(athena.settings.model_copy(update=changes))
        try:
            if corpus is None:
                yield other, _index_beir(other, folder, report)
            else:
                yield other, _index_markdown(other, corpus)
        finally:
            other.close()


def _index_beir(athena: Athena, folder: Path, report: Bars | None) -> Indexed:
    return index_corpus(
        load_corpus(folder),
        store=athena.store,
        cutter=athena.sentence_cutter(),
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
