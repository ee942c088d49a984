"""The second recipe: a question in, the passages that may answer it out.

spelling → HyDE → (wait) → embed → hybrid search of both levels → fuse → auto-merge → rerank → answerable? →
links → merge up → select
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from pipeline.analysis import embedding_question
from pipeline.answer import Answerability, Passage, Retrieval
from pipeline.asking import spelling
from pipeline.finding import hyde, reranking
from pipeline.finding.admission import Admission, Place
from pipeline.finding.answerability import doubted, judge, stray_word
from pipeline.finding.beside import Beside, blend
from pipeline.finding.called import LOOKED_AT, called_first, calls, explained_in
from pipeline.finding.contents import without_contents
from pipeline.finding.entries import entries_first, is_own_section
from pipeline.finding.fusion import Fused, fuse_sections, list_weights, sentence_scores
from pipeline.finding.hyde import Hypothesize
from pipeline.finding.links import follow
from pipeline.finding.merging import merge_up
from pipeline.finding.passages import gather, select
from pipeline.finding.tree import Trees, heading_path
from pipeline.finding.verdict_signals import IndexFacts
from pipeline.finding.verdict_weights import Calibration
from pipeline.models.base import CrossEncoder, Encoder
from pipeline.models.tokens import CountTokens
from pipeline.options import RetrievalOptions
from pipeline.steps.events import Events, outcome
from pipeline.steps.records import (
    KEPT_RANKS,
    AnswerableStep,
    CorrectStep,
    EmbedStep,
    FuseStep,
    HydeStep,
    LinksStep,
    MergedUp,
    MergeStep,
    MergeUpStep,
    RerankStep,
    SearchStep,
    SelectStep,
    WaitStep,
)
from pipeline.steps.trace import RunningStep, Trace
from pipeline.stores.base import DocumentStore, Hit, Ranking, SearchRequest, SearchResponse, Vector
from pipeline.words import well_formed

LONGEST = 10_000  # characters of a question; a longer one is searched for by its beginning
MIN_GATHERED = 20  # sections that are fetched and merged: the reranker and the answer read no further


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is searched for: the question, with a hypothesis where one was written.

    `beside` is another wording of it that is searched for, too.
    """

    question: str
    hypothesis: str = ""
    vector: Vector | None = None  # of the question, with its hypothesis
    own: Vector | None = None  # of the question alone
    beside: Beside | None = None
    beside_vector: Vector | None = None


class HybridSearch:
    """Searches sections and sentences, lexically and densely.

    `pipeline/llamaindex/retriever.py` shows a search as LlamaIndex's retriever.
    """

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
        self.store = store
        self.encoder = encoder
        self.options = options
        self.calibration = calibration
        self._count_tokens = count_tokens
        self.cross_encoder = cross_encoder
        self._hypothesize = hypothesize
        self._admission = admission or Admission()

    def search(
        self,
        question: str,
        *,
        options: RetrievalOptions | None = None,
        hypothesis: str | None = None,
        ranks: int | None = KEPT_RANKS,
        beside: Beside | None = None,
    ) -> Retrieval:
        """Passages for a question, best first, with the verdict and the steps.

        `beside` is another wording of a question that came in a conversation. A `hypothesis` of an earlier
        search takes the place of a new one ("" = without). The steps keep the first `ranks` of each list,
        None = all. Raises `StoreError` and `ManifestMismatch`; a hypothesis or reranker that fails is a
        failed step.
        """
        trace = Trace(ranks=ranks)
        return outcome(self.run(question, trace=trace, options=options, hypothesis=hypothesis, beside=beside))

    def run(
        self,
        question: str,
        *,
        trace: Trace,
        options: RetrievalOptions | None = None,
        stop: threading.Event | None = None,
        hypothesis: str | None = None,
        beside: Beside | None = None,
    ) -> Events[Retrieval]:
        """The same search, with its steps as events and in the trace.

        Once `stop` is set, the slow steps, hypothesis and reranker, are left out and say so.
        """
        options, stop, take = options or self.options, stop or threading.Event(), trace.take
        first = len(trace.steps)
        weights = list_weights(
            alpha=options.alpha,
            bm25_section_share=options.bm25_section_share,
            dense_section_share=options.dense_section_share,
        )
        asked = question = well_formed(question[:LONGEST])
        question = yield from take(
            CorrectStep(question=asked), spelling.correct, self.store.sentences, options, question=asked
        )
        if beside and options.spelling:  # with the same words
            wrong = spelling.misspelt(beside.text, self.store.sentences)
            beside = replace(beside, text=spelling.with_words(beside.text, wrong))
        written = yield from take(
            HydeStep(question=question), hyde.write, self._hypothesize, options, known=hypothesis, stop=stop
        )
        query = SearchQuery(question, written, beside=beside)
        with self._admission.place() as place:
            if not place.held:
                yield from take(WaitStep(places=self._admission.places), self._wait, place)
            query = yield from take(EmbedStep(model=self.encoder.name), self._embed, query)
            response = yield from take(self._searching(query, options), self._search_lists, query)
            ranking = yield from take(FuseStep(weights=weights), self._fuse, response)
            passages = yield from take(
                MergeStep(simple_ratio_thresh=options.simple_ratio_thresh),
                self._merge, query, response, ranking, weights, options,
            )  # fmt: skip
            passages = yield from take(
                RerankStep(top_n=options.rerank_top_n, weight=options.rerank_weight),
                reranking.take, question, passages,
                cross_encoder=self.cross_encoder, wanted=options.rerank, stop=stop,
            )  # fmt: skip
            passages = entries_first(question, passages)
            passages = called_first(
                passages,
                [passage.section for passage in passages],
                question,
                explained=explained_in(question, response.bm25_sentences, self.store.sentences),
            )
            verdict = yield from take(AnswerableStep(), self._judge, query, response, passages, options)
            trees = Trees(self.store.sections)
            passages = yield from take(LinksStep(), self._follow_links, query, passages, trees, options)
            passages = yield from take(
                MergeUpStep(ratio=options.merge_up_ratio, within=options.top_k),
                self._merge_up, query, passages, trees, options,
            )  # fmt: skip
            passages = yield from take(
                SelectStep(top_k=options.top_k, context_tokens=options.context_tokens), self._select, passages
            )
        steps = tuple(trace.steps[first:])
        return Retrieval(question, tuple(passages), verdict, steps, asked if asked != question else "")

    # -- the steps ----------------------------------------------------------------------------------

    @staticmethod
    def _wait(step: RunningStep[WaitStep], place: Place) -> None:
        place.wait()
        if not place.held:
            step.record = replace(
                step.record, detail="no place came free in time: searching alongside the others"
            )

    def _embed(self, step: RunningStep[EmbedStep], query: SearchQuery) -> SearchQuery:
        own = vector = self.encoder.encode_query(embedding_question(query.question))
        if query.hypothesis:
            vector = hyde.combine(vector, self.encoder.encode_passages([query.hypothesis])[0])
        step.record = replace(step.record, dimensions=len(vector))
        query = replace(query, vector=vector, own=own)
        if query.beside:
            other = self.encoder.encode_query(embedding_question(query.beside.text))
            query = replace(query, beside_vector=other)
        return query

    def _searching(self, query: SearchQuery, options: RetrievalOptions) -> SearchStep:
        """What will be searched, and in how much."""
        return SearchStep(
            text=f"{query.question} {query.hypothesis}" if options.hyde_lexical else query.question,
            beside=query.beside.text if query.beside else "",
            beside_share=query.beside.share if query.beside else 0.0,
            alpha=options.alpha,
            candidates=options.candidates,
            paths=options.paths,
            sentences=self.store.sentences.count(),
        )

    def _search_lists(self, step: RunningStep[SearchStep], query: SearchQuery) -> SearchResponse:
        record = step.record
        response = self._response(record, record.text, query, query.vector)
        lists = (
            response.bm25_sections, response.bm25_sentences, response.dense_sections, response.dense_sentences
        )  # fmt: skip
        first = [_rounded(ranking[: step.ranks]) for ranking in lists]
        step.record = replace(
            record,
            bm25_sections=first[0],
            bm25_sentences=first[1],
            dense_sections=first[2],
            dense_sentences=first[3],
            hits=sum(map(len, lists)),
        )
        return response

    def _response(
        self, record: SearchStep, text: str, query: SearchQuery, vector: Vector | None
    ) -> SearchResponse:
        """What the words and the vector find, with what the other wording does."""
        response = self._searched(record, text, vector)
        if query.beside:
            other = self._searched(record, query.beside.text, query.beside_vector)
            response = blend(response, other, share=record.beside_share)
        return response

    def _searched(self, record: SearchStep, text: str, vector: Vector | None) -> SearchResponse:
        return self.store.sentences.search(
            SearchRequest(
                text=text if record.alpha < 1 else None,
                vector=vector if record.alpha > 0 else None,
                top_k=record.candidates,
                paths=record.paths,
            )
        )

    @staticmethod
    def _fuse(step: RunningStep[FuseStep], response: SearchResponse) -> list[Fused]:
        ranking = fuse_sections(response, weights=step.record.weights)
        step.record = replace(step.record, sections=len(ranking), ranking=tuple(ranking))
        return ranking

    def _merge(
        self,
        step: RunningStep[MergeStep],
        query: SearchQuery,
        response: SearchResponse,
        ranking: list[Fused],
        weights: dict[str, float],
        options: RetrievalOptions,
    ) -> list[Passage]:
        depth = max(MIN_GATHERED, options.top_k, options.rerank_top_n if options.rerank else 0)
        head = ranking[:LOOKED_AT]
        if calls(query.question):
            found = self.store.sections.get_many([item.id for item in head])
            head = called_first(
                head,
                [found.get(item.id) for item in head],
                query.question,
                explained=explained_in(query.question, response.bm25_sentences, self.store.sentences),
            )
        gathered = gather(
            head[:depth],
            sentence_scores(response, weights=weights),
            response,
            store=self.store,
            vector=query.vector,
            threshold=options.simple_ratio_thresh,
        )
        step.record = replace(step.record, sections=gathered.sections)
        return without_contents(gathered.passages, query.question, sections=self.store.sections)

    def _judge(
        self,
        step: RunningStep[AnswerableStep],
        query: SearchQuery,
        response: SearchResponse,
        passages: list[Passage],
        options: RetrievalOptions,
    ) -> Answerability:
        if query.hypothesis:  # what a model made up is near to the documents whatever was asked
            response = self._response(self._searching(query, options), query.question, query, query.own)
        index = IndexFacts.of(query.question, self.store)
        verdict = judge(query.question, response, passages, index=index, calibration=self.calibration)
        if verdict.verdict == "answered" and index.unknown and query.vector is not None:
            stray = stray_word(
                query.question, index.unknown, passages, sentences=self.store.sentences, encoder=self.encoder
            )
            verdict = doubted(verdict, stray, calibration=self.calibration)
        step.record = replace(
            step.record,
            probability=verdict.probability,
            threshold=verdict.threshold,
            sure=verdict.sure,
            verdict=verdict.verdict,
            signals=verdict.signals,
        )
        return verdict

    def _follow_links(
        self,
        step: RunningStep[LinksStep],
        query: SearchQuery,
        passages: list[Passage],
        trees: Trees,
        options: RetrievalOptions,
    ) -> list[Passage]:
        if not options.follow_links:
            step.skip("switched off")
            return passages
        passages, led = follow(
            passages, query.question, store=self.store, trees=trees, vector=query.vector, paths=options.paths
        )
        step.record = replace(step.record, led=led)
        return passages

    @staticmethod
    def _merge_up(
        step: RunningStep[MergeUpStep],
        query: SearchQuery,
        passages: list[Passage],
        trees: Trees,
        options: RetrievalOptions,
    ) -> list[Passage]:
        if not options.merge_up:
            step.skip("switched off")
            return passages
        if is_own_section(query.question, passages):
            step.skip("the first section is the entry that was asked for")
            return passages
        before = {section_id for passage in passages for section_id in passage.section_ids}
        merged = merge_up(passages, trees=trees, within=step.record.within, ratio=step.record.ratio)
        parents = [passage for passage in merged if passage.members and passage not in passages]
        step.record = replace(
            step.record,
            parents=tuple(
                MergedUp(
                    passage.section.node_id,
                    heading_path(passage),
                    passage.members,
                    len(before.intersection(passage.members)),
                )
                for passage in parents
            ),
        )
        return merged

    def _select(self, step: RunningStep[SelectStep], passages: list[Passage]) -> list[Passage]:
        record = step.record
        selection = select(
            passages,
            top_k=record.top_k,
            context_tokens=record.context_tokens,
            count_tokens=self._count_tokens,
        )
        step.record = replace(
            record,
            selected=tuple(passage.section.node_id for passage in selection.passages),
            dropped=tuple(selection.dropped),
            tokens=selection.tokens,
        )
        return selection.passages


def _rounded(ranking: Ranking) -> Ranking:
    """The ranking with scores as short as people read them."""
    return tuple(Hit(hit.node_id, hit.section_id, round(hit.score, 5)) for hit in ranking)
