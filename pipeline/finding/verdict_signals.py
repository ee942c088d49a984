"""Signals of the verdict: what tells a question that the documents answer from one that they do not.

One is whether passages have the kind of fact that is asked for. "Who made the fan?" is about the fan, and a
passage about the fan is near it whether or not it names anybody: what is missing there is a name. For "at
what temperature …?" it is a number with a unit of temperature.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.answer import Passage
from pipeline.stores.base import DocumentStore, Ranking, SearchResponse
from pipeline.terms import content_terms, share, text_terms

READ_PASSAGES = 3  # an answer is nearly always in the first three passages, or nowhere
BY_WORDS = 20  # sentences that the words find first; with 5 or 10 of them strange questions look less strange
READ_SENTENCES = 6  # found sentences of these that are read for a fact
FEWEST, MOST = 1_000, 100_000  # sentences of an index: what was measured has 2,000 to 91,000

_MONTH = (
    r"(january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b"
)
COUNT = r"(\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|hundred|thousand)\b)"
_TIME = r"(ns|µs|us|ms|s|secs?|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|\w{1,12}seconds?)\b"


class _Fact(NamedTuple):
    asked: re.Pattern[str]
    found: re.Pattern[str]


def _fact(asked: str, found: str, *, names: bool = False) -> _Fact:
    return _Fact(re.compile(asked, re.I), re.compile(found, 0 if names else re.I))


# Two capitalised words inside a sentence: those at its beginning, in headings and tables are no names.
_NAME = _fact(
    r"\bwho (built|made|makes|created?|invented|designed|wrote|founded|developed|sells?|discovered)\b"
    r"|\bwho (was|were|is|are) (the|behind)\b|\b(the )?names? of (the|a|an)\b|\bwhose name\b"
    r"|\b(which|what) (company|companies|person|people|vendor|manufacturer|author)\b",
    r"(?<=\w )[A-Z][a-z]+ [A-Z][a-z]+\b",
    names=True,
)
# In this order, and the first that is asked for counts.
_FACTS = (
    _NAME,
    _fact(
        r"\b(which|what|calendar) (\w+ )?(date|year)\b|\bwhen (was|were|did)\b",
        rf"\b(19|20)\d\d\b|\b\d{{1,2}}(st|nd|rd|th)?\.? (of )?{_MONTH}|\b{_MONTH}\.? \d",
    ),
    _fact(
        r"\bprices?\b|\bhow much (do|does|did|will|would|is|are)\b.*\bcosts?\b|\bcosts? of\b"
        r"|\bearn\b|\bsalary\b",
        r"[$€£]|\b(usd|eur|gbp|dollars?|euros?|pounds?|cents?)\b",
    ),
    _fact(r"\bhow old\b|\bage of\b", r"\byears? old\b|\baged\b|\bborn\b"),
    _fact(
        r"\bfrequency\b.*\b[mgk]?hz\b|\b[mgk]hz\b|\b(what|which) frequency\b", r"\d\s?[mgk]?hz\b|\[[mgk]?hz\]"
    ),
    _fact(
        r"\bat (what|which) temperature\b|\b(what|which)( is the| are the)? (\w+ )?temperature\b"
        r"|\bhow (hot|cold|warm)\b",
        r"\d\s?(°|k\b|degrees|c\b|f\b)|°c",
    ),
    _fact(
        r"\bhow (thick|tall|wide|far|deep)\b|\bdistance (to|from|between)\b",
        r"\d\s?([kcmµ]?m|ft|feet|inch(es)?|in|miles?)\b|\bmet(er|re)s?\b",
    ),
    _fact(
        r"\bhow heavy\b|\bhow much (do|does) .*\bweigh\b|\b(mass|weight) of\b", r"\d\s?(k?g|t|lbs?|tons?)\b"
    ),
    _fact(
        r"\bhow (long|soon) (do|does|will|can|could|is|are|until|before|after|to)\b"
        rf"|\bhow (many|much|few) {_TIME}",
        rf"{COUNT}[\w.,]{{0,20}}\s?(an? |more )?{_TIME}|\[(s|min|h)\]",
    ),
    _fact(r"\bhow many\b", COUNT),
)
# The words right after the word that asks: "which company", "what frequency", "the name of the director".
_FOCUS = re.compile(r"\b(what|which|whose|how (?:many|much)|name of|in)\b((?:\W+\w+){1,3})", re.I)


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


def _terms(passage: Passage) -> frozenset[str]:
    return text_terms(passage.section.text) | text_terms(" ".join(passage.section.metadata["heading_path"]))


def lacks_fact(question: str, texts: Iterable[str]) -> bool:
    """True where the question asks for a kind of fact that none of the texts has."""
    fact = next((fact for fact in _FACTS if fact.asked.search(question)), None)
    return fact is not None and not any(fact.found.search(text) for text in texts)


def focus_terms(question: str) -> tuple[str, ...]:
    """The content terms that say what sort of thing is asked for; none where no word asks for one."""
    found = _FOCUS.search(question)
    if not found:
        return ()
    wanted = set(content_terms(question))
    return tuple(term for term in content_terms(found[2]) if term in wanted)
