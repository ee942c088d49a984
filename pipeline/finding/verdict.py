"""Verdict: whether the passages answer the question, as a calibrated probability with two thresholds.

docs/decisions/answerability.md has the figures behind the weights (fitted at 8c6462ea) and thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.analysis import content_terms, names, share
from pipeline.answer import Answerability, Passage
from pipeline.finding.fusion import sigmoid
from pipeline.finding.names import coverage, is_named, is_title
from pipeline.stores.base import SearchResponse

READ_PASSAGES = 3  # an answer is nearly always in the first three passages, or nowhere
BY_WORDS = 20  # first sentences by BM25; with 5 or 10, unrelated questions stand out less
FEWEST, MOST = 1_000, 100_000  # sentences of an index, clipped to this; those measured have 2,000 to 91,000
LANGUAGES = frozenset({"en"})  # of the documents that the verdict was calibrated on


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic model over signals: below `threshold` *not in the documents*, from `sure` on *answered*."""

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    sure: float

    def probability(self, found: Mapping[str, float]) -> float:
        """Return the probability that the documents answer the question, 0..1."""
        return float(sigmoid(self.intercept + sum(w * found[name] for name, w in self.weights.items())))


BUNDLED = Calibration(
    {
        "nearest_sentence": 3.92, "nearest_section": 1.35, "closeness": 3.6, "agreed": 3.26,
        "coverage": 1.8, "known": 1.79, "index_size": -3.51,
    }, intercept=-5.04, threshold=0.1, sure=0.7,
)  # fmt: skip
# Cosines of other models have other scales: only words decide, and seldom reach a very high or low value.
UNCALIBRATED = Calibration({"coverage": 4.0}, intercept=-2.0, threshold=0.15, sure=0.8)
CALIBRATIONS: Mapping[str, Calibration] = {"all-MiniLM-L6-v2": BUNDLED}  # by the embedding model's name


def judge(
    question: str,
    found: Mapping[str, float],
    first: Passage,
    *,
    calibration: Calibration,
    unknown: Collection[str],
) -> Answerability:
    """Return the verdict on a question from its signals (`found`) and its first passage.

    It is *answered* if the question is the page's title, or if its names are all in the section's heading.
    Otherwise it is at most *closest* if one of the names is in no document (`unknown` are such words), or if
    the passage is in a language that was not calibrated and lacks a content word of the question.
    """
    threshold, sure, probability = calibration.threshold, calibration.sure, calibration.probability(found)
    section = first.section
    is_foreign = section.metadata.get("language", "en") not in LANGUAGES
    if is_title(question, section) or is_named(question, section):
        probability = max(probability, sure)
    elif names(question) & set(unknown) or (is_foreign and coverage(question, section) < 1):
        probability = min(probability, (threshold + sure) / 2)
    return Answerability(probability, threshold, found, sure)


def signals(
    question: str,
    response: SearchResponse,
    passages: Sequence[Passage],
    *,
    sentences: int,
    unknown: Collection[str],
) -> dict[str, float]:
    """Return the signals of the verdict, each 0..1; `passages` has at least one.

    nearest_sentence, nearest_section: the question's highest cosine to any found one. closeness: its highest
    cosine within the first three passages. agreed: its highest cosine to the first sentences by BM25.
    coverage: the share of its content words in the best of the three passages. known: the share that some
    document has (all but `unknown`). index_size: .6 for 1,000 sentences or fewer, 1 for 100,000 or more.
    Without a search by vector, coverage replaces the cosines.
    """
    head = passages[:READ_PASSAGES]
    covered = max(coverage(question, passage.section) for passage in head)
    near, sections = response.dense_sentences, response.dense_sections
    by_words = {hit.node_id for hit in response.bm25_sentences[:BY_WORDS]}
    ids = {passage.section.node_id for passage in head}
    cosines = {
        "nearest_sentence": [hit.score for hit in near],
        "nearest_section": [hit.score for hit in sections],
        "closeness": [hit.score for hit in (*near, *sections) if hit.section_id in ids],
        "agreed": [hit.score for hit in near if hit.node_id in by_words or not by_words],
    }
    return {
        **{name: max((0.0, *found)) if near or sections else covered for name, found in cosines.items()},
        "coverage": covered,
        "known": 1 - share(content_terms(question), unknown),
        "index_size": math.log(min(max(sentences, FEWEST), MOST), MOST),
    }
