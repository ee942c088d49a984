"""The second recipe: a question in, the passages that may answer it out.

HyDE → (wait) → embed → hybrid search of both levels → fuse → auto-merge → rerank → answerable? → select
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.answer import Answerability, Passage, Retrieval
from pipeline.errors import ModelError
from pipeline.finding import hyde
from pipeline.finding.admission import Admission
from pipeline.finding.answerability import Calibration, judge
from pipeline.finding.fusion import Fused, fuse_sections, fuse_sentences, list_weights
from pipeline.finding.hyde import Hypothesize
from pipeline.finding.passages import gather
from pipeline.finding.reranking import rerank
from pipeline.finding.selection import CountTokens, select
from pipeline.models.base import CrossEncoder, Encoder
from pipeline.options import RetrievalOptions
from pipeline.steps.events import RunningStep, Trace
from pipeline.stores.base import DocumentStore, SearchRequest, SearchResponse, Vector

STOPPED = "stopped"
MIN_GATHERED = 20  # sections that are fetched and merged: the reranker and the answer read no further


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: the question, with a hypothesis where one was written."""

    question: str
    hypothesis: str = ""
    vector: Vector | None = None


class HybridSearch:
    """Searches sections and sentences, lexically and densely; `llama_retriever.py` is LlamaIndex's way in."""

    def __init__(
        self,
        *,
        store: DocumentStore,
        encoder: Encoder,
        count_tokens: CountTokens,
        options: RetrievalOptions,
        calibration: Calibration,
        cross_encoder: CrossEncoder | None = None,
        hypothesize: Hypothesize | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._count_tokens = count_tokens
        self.calibration = calibration
        self._cross_encoder = cross_encoder
        self._hypothesize = hypothesize
        self._admission = admission or Admission()
        self.options = options

    def search(
        self,
        question: str,
        *,
        trace: Trace | None = None,
        options: RetrievalOptions | None = None,
        stop: threading.Event | None = None,
    ) -> Retrieval:
        """Passages for a question, best first, with the verdict and every step's details.

        Raises `StoreError` and `ManifestMismatch`; a failing hypothesis or reranker is a failed step. Once
        `stop` is set, the slow steps, hypothesis and reranker, are left out and say so.
        """
        trace, options, stop = trace or Trace(), options or self.options, stop or threading.Event()
        first_step = len(trace.steps)
        query = self._write_hypothesis(question, options, trace, stop)
        with self._admission.place(trace):
            query = self._embed(query, trace)
            response = self._search_lists(query, options, trace)
            ranking = self._fuse(response, options, trace)
            passages = self._merge(query, response, ranking, options, trace)
            passages = self._rerank(query, passages, options, trace, stop)
            answerability = self._judge(query, response, passages, trace)
            passages = self._select(passages, options, trace)
        return Retrieval(question, tuple(passages), answerability, tuple(trace.steps[first_step:]))

    def _write_hypothesis(
        self, question: str, options: RetrievalOptions, trace: Trace, stop: threading.Event
    ) -> Query:
        with trace.step("hyde", question=question) as step:
            if not options.hyde:
                step.skip("switched off")
            elif self._hypothesize is None:
                step.skip("no language model is connected")
            elif options.alpha == 0 and not options.hyde_lexical:
                step.skip("alpha is 0: no dense search needs it")
            elif stop.is_set():
                step.skip(STOPPED)
            else:
                return Query(question, self._hypothesis(question, step, stop))
        return Query(question)

    def _hypothesis(self, question: str, step: RunningStep, stop: threading.Event) -> str:
        """The hypothesis, or "" where the model fails: the search goes on without it, and says so."""
        assert self._hypothesize is not None  # noqa: S101  (the caller has looked)
        try:
            hypothesis = hyde.tidy(self._hypothesize(question, stop))
        except ModelError as error:
            step.fail(str(error))
            return ""
        if stop.is_set():  # half a hypothesis finds something else
            step.skip(STOPPED)
            return ""
        if not hypothesis:
            step.fail("the model wrote nothing")
        step.outputs["hypothesis"] = hypothesis
        return hypothesis

    def _embed(self, query: Query, trace: Trace) -> Query:
        with trace.step("embed", model=self._encoder.name) as step:
            vector = self._encoder.encode_query(query.question)
            if query.hypothesis:
                passage = self._encoder.encode_passages([query.hypothesis])[0]
                vector = hyde.combine(vector, passage)
            step.outputs["dimensions"] = len(vector)
        return Query(query.question, query.hypothesis, vector)

    def _search_lists(self, query: Query, options: RetrievalOptions, trace: Trace) -> SearchResponse:
        text = f"{query.question} {query.hypothesis}" if options.hyde_lexical else query.question
        inputs = {
            "text": text,
            "alpha": options.alpha,
            "candidates": options.candidates,
            "paths": options.paths,
        }
        with trace.step("search", **inputs) as step:
            request = SearchRequest(
                text=text if options.alpha < 1 else None,
                vector=query.vector if options.alpha > 0 else None,
                top_k=options.candidates,
                paths=options.paths,
            )
            response = self._store.sentences.search(request)
            step.outputs.update(_rankings(response))
            step.outputs["sentences"] = self._store.sentences.count()
        return response

    def _fuse(self, response: SearchResponse, options: RetrievalOptions, trace: Trace) -> list[Fused]:
        with trace.step("fuse", **self._weights(options)) as step:
            ranking = fuse_sections(response, weights=self._weights(options))
            step.outputs["ranking"] = [[item.id, item.score, dict(item.contributions)] for item in ranking]
        return ranking

    def _merge(
        self,
        query: Query,
        response: SearchResponse,
        ranking: list[Fused],
        options: RetrievalOptions,
        trace: Trace,
    ) -> list[Passage]:
        with trace.step("merge", simple_ratio_thresh=options.simple_ratio_thresh) as step:
            depth = max(MIN_GATHERED, options.top_k, options.rerank_top_n if options.rerank else 0)
            sentences = fuse_sentences(response, weights=self._weights(options))
            gathered = gather(
                ranking[:depth],
                sentences,
                response,
                store=self._store,
                vector=query.vector,
                threshold=options.simple_ratio_thresh,
            )
            step.outputs["merged"] = [asdict(merge) for merge in gathered.merges]
            step.outputs["nodes"] = gathered.labels
        return gathered.passages

    def _rerank(
        self,
        query: Query,
        passages: list[Passage],
        options: RetrievalOptions,
        trace: Trace,
        stop: threading.Event,
    ) -> list[Passage]:
        with trace.step("rerank", top_n=options.rerank_top_n, weight=options.rerank_weight) as step:
            if not options.rerank:
                step.skip("switched off")
                return passages
            if self._cross_encoder is None:
                step.skip("no cross-encoder is available")
                return passages
            if stop.is_set():
                step.skip(STOPPED)
                return passages
            try:
                ordered = rerank(
                    query.question,
                    passages,
                    cross_encoder=self._cross_encoder,
                    top_n=options.rerank_top_n,
                    weight=options.rerank_weight,
                )
            except ModelError as error:
                step.fail(str(error))
                return passages
            step.outputs.update(
                model=self._cross_encoder.name,
                before=[passage.section.node_id for passage in passages],
                after=[[p.section.node_id, p.score, p.rerank_score] for p in ordered],
            )
        return ordered

    def _judge(
        self, query: Query, response: SearchResponse, passages: list[Passage], trace: Trace
    ) -> Answerability:
        with trace.step("answerable") as step:
            verdict = judge(query.question, response, passages, calibration=self.calibration)
            step.outputs.update(
                probability=verdict.probability, threshold=verdict.threshold, signals=dict(verdict.signals)
            )
        return verdict

    def _select(self, passages: list[Passage], options: RetrievalOptions, trace: Trace) -> list[Passage]:
        with trace.step("select", top_k=options.top_k, context_tokens=options.context_tokens) as step:
            selection = select(
                passages,
                top_k=options.top_k,
                context_tokens=options.context_tokens,
                count_tokens=self._count_tokens,
            )
            step.outputs.update(
                selected=[passage.section.node_id for passage in selection.passages],
                dropped=[list(item) for item in selection.dropped],
                tokens=selection.tokens,
            )
        return selection.passages

    @staticmethod
    def _weights(options: RetrievalOptions) -> dict[str, float]:
        return list_weights(
            alpha=options.alpha,
            bm25_section_share=options.bm25_section_share,
            dense_section_share=options.dense_section_share,
        )


def _rankings(response: SearchResponse) -> Mapping[str, Any]:
    """The four lists as a step keeps them: [node id, section id, score] a hit."""
    return {
        name: [[hit.node_id, hit.section_id, round(hit.score, 5)] for hit in getattr(response, name)]
        for name in ("bm25_sections", "bm25_sentences", "dense_sections", "dense_sentences")
    }
