"""The second recipe: find the passages of the documents that may answer a question.

correct spelling → embed → search both levels → fuse → merge sentences into sections → rerank → judge
→ add linked sections → merge sections into parents → select

To add a signal that reorders passages, write a function in `pipeline/finding/` and call it in `_find` after
`names_first`; if it can raise sections from below the first `depth`, call it in `fetch_sections`, too. To add
a ranked list, add a field to `SearchResponse` that both stores fill, its name and weight to
`pipeline/finding/fusion.py`, and its title to `ui/inspector/ranks.py`.
To add a language, see `pipeline/analysis.py` (stems) and `readers/language.py` (sentences).
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from pipeline.analysis import content_terms, names
from pipeline.answer import Answerability, Passage, Retrieval
from pipeline.finding import fusion
from pipeline.finding.fusion import LISTS
from pipeline.finding.merging import merge_up
from pipeline.finding.names import names_first, with_linked
from pipeline.finding.passages import fetch_sections, fetched, gather, select
from pipeline.finding.reranking import READ_PASSAGES, rerank
from pipeline.finding.spelling import corrected, is_misspelt
from pipeline.finding.verdict import Calibration, judge, signals
from pipeline.models.base import CrossEncoder, Encoder
from pipeline.models.onnx import CORES
from pipeline.models.tokens import CountTokens
from pipeline.options import RetrievalOptions
from pipeline.steps.events import KEPT_RANKS, Trace
from pipeline.stores.base import DocumentStore, Ranking, SearchRequest, SearchResponse, Statistics, Vector
from pipeline.words import well_formed

LONGEST = 10_000  # most characters of a question; the rest is cut off
AT_ONCE = threading.BoundedSemaphore(CORES)  # limits how many searches of a process run at the same time


@dataclass(eq=False, kw_only=True)
class HybridSearch:
    """Searches sections and sentences, lexically and densely; safe to use from several threads."""

    store: DocumentStore
    encoder: Encoder
    count_tokens: CountTokens
    options: RetrievalOptions
    calibration: Calibration
    cross_encoder: CrossEncoder | None = None

    def search(
        self,
        question: str,
        *,
        options: RetrievalOptions | None = None,
        hypothesis: str = "",
        ranks: int | None = KEPT_RANKS,
        stop: threading.Event | None = None,
        trace: Trace | None = None,
    ) -> Retrieval:
        """Return the passages for a question, best first, with the verdict and the steps.

        `hypothesis` is a hypothetical answer; its vector is averaged with the question's (HyDE, Gao et al.,
        2022). The steps are appended to `trace`; a new trace keeps the first `ranks` of a list (None = all).
        Once `stop` is set, the reranker is skipped. Raises `StoreError`, `ManifestMismatch` and `ModelError`;
        if only the reranker fails, its step fails and the search goes on.
        """
        options, stop = options or self.options, stop or threading.Event()
        trace, asked = trace or Trace(ranks=ranks), well_formed(question[:LONGEST])
        begun = len(trace.steps)
        with trace.step("correct", question=asked) as correcting:
            question = corrected(asked, self.store)
            correcting.data["corrected"] = question if question != asked else ""
        with AT_ONCE:
            passages, verdict = self._find(question, hypothesis, options, trace, stop)
        steps, was = tuple(trace.steps[begun:]), asked if is_misspelt(asked, question) else ""
        return Retrieval(question, tuple(passages), verdict, steps, was)

    def _find(
        self, question: str, hypothesis: str, options: RetrievalOptions, trace: Trace, stop: threading.Event
    ) -> tuple[list[Passage], Answerability]:
        """Return the selected passages, and the verdict on all fetched ones."""
        with trace.step("embed", model=self.encoder.name, hypothesis=hypothesis) as embedding:
            own = vector = self.encoder.encode_query(question)
            if hypothesis:
                vector = _mean(own, self.encoder.encode_passages([hypothesis])[0])
            embedding.data["dimensions"] = len(vector)
        indexed = self.store.statistics()
        alpha = fusion.alpha_for(options.alpha, indexed.languages, self.encoder.languages)
        with trace.step(
            "search",
            text=question,
            alpha=alpha,
            candidates=options.candidates,
            paths=options.paths,
            sentences=indexed.sentences,
        ) as searching:
            found = self._search(question, vector, alpha, options, indexed)
            searching.data |= {name: _rounded(getattr(found, name)[: trace.ranks]) for name in LISTS}
            searching.data["hits"] = sum(len(getattr(found, name)) for name in LISTS)
        weights = fusion.list_weights(alpha)
        with trace.step("fuse", weights=weights) as fusing:
            ranking = fusion.fuse_sections(found, weights=weights)
            fusing.data |= {
                "sections": len(ranking),
                "ranking": [item._asdict() for item in ranking[: trace.ranks]],
            }
        with trace.step("merge") as merging:
            depth = max(options.top_k, READ_PASSAGES)
            sections = fetch_sections(ranking, question, store=self.store, depth=depth)
            leaves = fusion.sentence_scores(found, weights=weights)
            passages = gather(sections, leaves, nodes=self.store)
            merging.data["sections"] = fetched(passages)
        with trace.step("rerank") as reranking:
            if reranking.is_on(options.rerank):
                passages = rerank(reranking, question, passages, self.cross_encoder, stop)
            passages = _descending(names_first(passages, [p.section for p in passages], question))
        with trace.step("answerable") as judging:
            if hypothesis:  # a model's own words are near to the documents whatever was asked
                found = self._search(question, own, alpha, options, indexed)
            verdict = self._judge(question, found, passages, indexed)
            judging.data |= {"verdict": verdict.verdict, **asdict(verdict)}
        with trace.step("merge_up", within=options.top_k) as merging_up:
            known = {passage.section.node_id for passage in passages}
            passages = with_linked(passages, question, store=self.store, paths=options.paths)
            linked = [passage for passage in passages if passage.section.node_id not in known]
            merging_up.data["linked"] = fetched(linked)
            if merging_up.is_on(options.merge_up):
                passages = merge_up(merging_up, passages, question, self.store)
        with trace.step("select", top_k=options.top_k, context_tokens=options.context_tokens) as selecting:
            passages = select(selecting, passages, self.count_tokens)
        return passages, verdict

    def _search(
        self, text: str, vector: Vector, alpha: float, options: RetrievalOptions, indexed: Statistics
    ) -> SearchResponse:
        """Return the ranked lists of both levels, by BM25 (none if alpha is 1) and by vector (none if 0)."""
        request = SearchRequest(
            text=text if alpha < 1 else None,
            vector=vector if alpha > 0 else None,
            top_k=options.candidates,
            paths=options.paths,
            languages=tuple(indexed.languages) or ("en",),
        )
        return self.store.search(request)

    def _judge(
        self, question: str, found: SearchResponse, passages: list[Passage], indexed: Statistics
    ) -> Answerability:
        """Return the verdict on the fetched passages; without passages, its probability is 0."""
        calibration, index = self.calibration, self.store
        if not passages:
            return Answerability(0.0, calibration.threshold, sure=calibration.sure)
        unknown = index.lacking([*content_terms(question), *names(question)])
        values = signals(question, found, passages, sentences=indexed.sentences, unknown=unknown)
        return judge(question, values, passages[0], calibration=calibration, unknown=unknown)


def _mean(question: Vector, hypothesis: Vector) -> Vector:
    """Return the mean of both vectors, scaled to unit length; the question's vector if they are opposite."""
    mean = question + hypothesis
    length = float(np.linalg.norm(mean))
    return question if length < 1e-6 else np.asarray(mean / length, dtype=np.float32)


def _descending(passages: list[Passage]) -> list[Passage]:
    """Return the passages with each score raised to the highest one after it, so that scores descend."""
    highest = list(accumulate((passage.score for passage in reversed(passages)), max))
    return [replace(p, score=score) for p, score in zip(passages, reversed(highest), strict=True)]


def _rounded(ranking: Ranking) -> list[dict[str, Any]]:
    """Return the hits as dictionaries for the step's data, with scores rounded to 5 digits."""
    return [hit._replace(score=round(hit.score, 5))._asdict() for hit in ranking]
