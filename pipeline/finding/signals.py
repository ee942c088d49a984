"""Signals: what tells a question that the documents answer from one that they do not."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pipeline.analysis import analyse
from pipeline.answer import Passage
from pipeline.finding.evidence import focus_terms, lacks_fact
from pipeline.stores.base import DocumentStore, Ranking, SearchResponse
from pipeline.terms import content_terms, share

READ_PASSAGES = 3  # an answer is nearly always in the first three passages, or nowhere
BY_WORDS = 20  # sentences that the words find first; with 5 or 10 of them strange questions look less strange
READ_SENTENCES = 6  # found sentences of these that are read for a fact
FEWEST, MOST = 1_000, 100_000  # sentences of an index: what was measured has 2,000 to 91,000


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What an index tells of a question, beside what is found in it."""

    sentences: int
    unknown: frozenset[str]  # content words of the question that are nowhere in it, as terms

    @classmethod
    def of(cls, question: str, store: DocumentStore) -> IndexFacts:
        """Those of a question as it is searched for; raises `StoreError`."""
        index = store.sentences
        words = frozenset(term for term in content_terms(question) if not any(map(str.isdigit, term)))
        return cls(index.count(), index.lacking(words))

    def signals(self) -> dict[str, float]:
        """index_size, on a scale of tens: .6 for 1,000 sentences and fewer, 1 for 100,000; lacks_word."""
        counted = min(max(self.sentences, FEWEST), MOST)
        return {"index_size": math.log(counted, MOST), "lacks_word": float(bool(self.unknown))}


def signals(
    question: str, response: SearchResponse, passages: Sequence[Passage], index: IndexFacts
) -> dict[str, float]:
    """What the verdict rests on, each 0..1; of at least one passage.

    nearest_sentence, nearest_section: the highest cosine of the question to anything found; closeness: the
    same among the sentences (else sections) of the first three passages; agreed: among the twenty sentences
    that its words find first, which tells a question about something else, whose words are here by chance.
    coverage: the share of the
    question's content words in the best of these passages. asks_focus: whether the question names what sort
    of thing it wants ("which company"), focus_missing: the share of these words that the three passages
    lack. lacks_fact: it asks for a kind of fact (a name, a date, a price, a number with a unit) that their
    best sentences do not have. index_size: among more sentences something is near by chance.

    Without a search by vector the share of words stands for the cosines.
    """
    head = passages[:READ_PASSAGES]
    terms = [_terms(passage) for passage in head]
    coverage = max(share(content_terms(question), present) for present in terms)
    focus = focus_terms(question)
    by_vector = bool(response.dense_sentences or response.dense_sections)
    return {
        "nearest_sentence": _highest(response.dense_sentences) if by_vector else coverage,
        "nearest_section": _highest(response.dense_sections) if by_vector else coverage,
        "closeness": _closeness(response, {p.section.node_id for p in head}) if by_vector else coverage,
        "agreed": _agreed(response) if by_vector else coverage,
        "coverage": coverage,
        "asks_focus": float(bool(focus)),
        "focus_missing": 1 - share(focus, set().union(*terms)) if focus else 0.0,
        "lacks_fact": float(lacks_fact(question, _best_sentences(head))),
        **index.signals(),
    }


def topic_signals(response: SearchResponse, index: IndexFacts) -> dict[str, float] | None:
    """Those signals that need no passage; None without a search by vector."""
    if not (response.dense_sentences or response.dense_sections):
        return None
    return {
        "nearest_sentence": _highest(response.dense_sentences),
        "nearest_section": _highest(response.dense_sections),
        "agreed": _agreed(response),
        **index.signals(),
    }


def _closeness(response: SearchResponse, section_ids: Collection[str]) -> float:
    for ranking in (response.dense_sentences, response.dense_sections):
        scores = [hit.score for hit in ranking if hit.section_id in section_ids]
        if scores:
            return max(0.0, max(scores))
    return 0.0


def _agreed(response: SearchResponse) -> float:
    if not response.bm25_sentences:  # nothing was searched by words
        return _highest(response.dense_sentences)
    by_words = {hit.node_id for hit in response.bm25_sentences[:BY_WORDS]}
    return _highest(tuple(hit for hit in response.dense_sentences if hit.node_id in by_words))


def _highest(ranking: Ranking) -> float:
    return max(0.0, ranking[0].score) if ranking else 0.0


def _best_sentences(passages: Iterable[Passage]) -> list[str]:
    """The best found sentences with their table's header; a passage without any as a whole."""
    hits = [hit for passage in passages for hit in passage.sentences]
    best = sorted(hits, key=lambda hit: -hit.score)[:READ_SENTENCES]
    whole = [passage.section.text for passage in passages if not passage.sentences]
    return [f"{hit.node.metadata.get('header', '')}\n{hit.node.text}" for hit in best] + whole


def _terms(passage: Passage) -> set[str]:
    headings = " ".join(passage.section.metadata["heading_path"])
    return {*analyse(passage.section.text), *analyse(headings)}
