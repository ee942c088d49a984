"""Ask one question in the chat, and judge its quotes and verdict against the data set."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evals.datasets import Part, Question, Span
from pipeline.analysis import content_terms, share, text_terms
from pipeline.answer import Answer, Message, Retrieval, Verdict
from pipeline.answering.citations import without_markers
from pipeline.answering.literals import literals_of, missing_numbers
from pipeline.answering.quotes import choose_quotes
from pipeline.models.embedding import OnnxEncoder
from pipeline.options import ChatOptions
from pipeline.steps.events import SourcesFound

if TYPE_CHECKING:
    from athena import Athena
    from athena.assistant import Asking

SAID = 0.5  # least share of the reference's content terms; chosen on labelled answers, at commit 192aef21
KEPT_VECTORS = 10_000  # cached for answers and references, which many runs share
NOBODY = "nobody, as it is an evaluation"  # a user without conversations or memories


@dataclass(frozen=True, slots=True)
class Shown:
    """A quote as the reader sees it."""

    text: str
    source: str = ""
    folded: bool = False  # visible only after a click
    marked: str = ""  # the sentence, row or step marked as the answer; "" = the whole quote


@dataclass(frozen=True, slots=True)
class Heard:
    """The retrieval, quotes and answer of one question."""

    retrieval: Retrieval
    quotes: Sequence[Shown] = ()
    verdict: Verdict | None = None  # None: the verdict of the search
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One question's judgements; None if the data set does not say or a judgement does not apply."""

    query_id: str
    answerable: bool | None
    probability: float
    verdict: Verdict
    first: bool | None  # the first quote contains a right answer
    unfolded: bool | None  # a quote that is visible without a click contains one
    any: bool | None  # any quote contains one
    words: int  # in the quotes that are visible without a click
    ms: float
    kind: str = ""
    rank: float | None = None  # of the first passage whose whole text contains one; infinite if none does
    marked: bool | None = None  # the marked text of the first quote contains one
    alone: bool | None = None  # the first passage contains one if asked in words that need no history
    parts: bool | None = None  # for each part, a visible quote contains an answer
    relevant: bool | None = None  # the first quote is from a document that the qrels name
    groundedness: float | None = None  # share of the answer's sentences that its citations support
    answer_right: bool | None = None  # a generated answer has no problem by `problem_of`
    similarity: float | None = None  # cosine of the visible text and the reference
    problem: str = ""  # why a generated answer is not right
    text: str = ""  # the visible text

    @property
    def abstained(self) -> bool:
        """Whether the verdict is that the documents do not answer."""
        return self.verdict == "not in the documents"


def hear(athena: Athena, query: Question) -> Heard:
    """Ask a question after its history, as a user without memories; nothing is stored.

    A history without replies is first asked turn by turn. For an abstention or a generated answer, the quotes
    are those that an answer without a language model would show.
    """
    asking: Asking = {"private": True, "user": NOBODY}
    history = [Message(turn.role, turn.text) for turn in query.history]
    if all(message.role == "user" for message in history):
        for message in history:
            asking["conversation_id"] = athena.ask(message.text, **asking).conversation_id
        history = []
    stream = athena.stream(query.text, history=history or None, **asking)
    found = next((event.retrieval for event in stream if isinstance(event, SourcesFound)), None)
    answer = stream.answer
    retrieval = found or athena.hybrid_search.search(query.text)
    written = answer.abstained or answer.mode == "generate"
    quotes = quotes_shown(athena, retrieval) if written else _quotes_in(answer)
    return Heard(retrieval, quotes, answer.verdict, answer)


def quotes_shown(athena: Athena, retrieval: Retrieval) -> list[Shown]:
    """Return the quotes that an answer without a language model would show, in order."""
    quotes = choose_quotes(
        retrieval,
        store=athena.store,
        limit=ChatOptions().quotes,
        cross_encoder=athena.hybrid_search.cross_encoder,
    )
    return [
        Shown("\n".join(filter(None, [it.unit.lead, it.citation.quote])), it.citation.source, it.unit.folded)
        for it in quotes
    ]


def _quotes_in(answer: Answer) -> list[Shown]:
    units = {unit.marker: unit for unit in answer.units}
    shown = []
    for citation in answer.citations:
        text, marked, unit = citation.quote, "", units.get(citation.marker)
        if unit and unit.answer_start is not None and unit.answer_end is not None:
            marked = text[unit.answer_start - citation.start : unit.answer_end - citation.start]
        if unit and unit.lead:
            text = f"{unit.lead}\n{text}"
        shown.append(Shown(text, citation.source, bool(unit and unit.folded), marked))
    return shown


def text_seen(heard: Heard) -> str:
    """Return what a reader sees without a click: the generated text, or the quotes."""
    answer = heard.answer
    if answer and (answer.abstained or answer.mode != "quote"):
        return without_markers(answer.text)
    return "\n".join(quote.text for quote in heard.quotes if not quote.folded)


def groundedness(answer: Answer, *, text_of: Callable[[str], str]) -> float | None:
    """Return the share of the answer's sentences that their citations support; None if it states nothing.

    An answer in quotes scores 1 if every quote stands in its document (`text_of(source)`) at its offsets,
    else 0.
    """
    if answer.abstained:
        return None
    if answer.mode == "quote":
        exact = (text_of(one.source)[one.start : one.end] == one.quote for one in answer.citations)
        return float(bool(answer.citations) and all(exact))
    if not answer.support:
        return None
    return sum(item.supported for item in answer.support) / len(answer.support)


def judge(
    query: Question, heard: Heard, ms: float, *, alone: Heard | None = None, relevant: Collection[str] = ()
) -> Judged:
    """Judge the quotes and the verdict of one question.

    `alone` is the result for its wording that needs no history; `relevant` are the ids that its qrels name.
    """
    answerability = heard.retrieval.answerability
    judged = Judged(
        query.id,
        True if relevant else query.judged,
        answerability.probability,
        heard.verdict or answerability.verdict,
        first=None,
        unfolded=None,
        any=None,
        words=sum(len(quote.text.split()) for quote in heard.quotes if not quote.folded),
        ms=ms,
        kind=query.kind,
        relevant=_is_relevant(heard.quotes, relevant) if relevant else None,
        text=text_seen(heard),
    )
    return _with_gold(judged, query, heard, alone) if query.answerable and query.gold else judged


def _is_relevant(quotes: Sequence[Shown], relevant: Collection[str]) -> bool:
    """Whether the first quote's document is relevant; qrels name documents, or sections as `SOURCE#PATH`."""
    source = quotes[0].source if quotes else ""
    return bool(source) and any(name == source or name.startswith(f"{source}#") for name in relevant)


def _with_gold(judged: Judged, query: Question, heard: Heard, alone: Heard | None) -> Judged:
    """Add the judgements that need a gold answer."""
    seen = [quote for quote in heard.quotes if not quote.folded]
    holds = [_holds(quote, query.gold) for quote in heard.quotes]
    first = bool(holds and holds[0])
    return replace(
        judged,
        first=first,
        unfolded=any(_holds(quote, query.gold) for quote in seen),
        any=any(holds),
        rank=_rank(query, heard),
        marked=_marks(heard.quotes[0], query.gold) if first and heard.quotes[0].marked else None,
        alone=_rank(query, alone) == 1 if alone else None,
        parts=all(_answers(seen, part) for part in query.parts) if query.parts else None,
    )


def _holds(quote: Shown, golds: Sequence[Span]) -> bool:
    return any(holds_gold(quote.text, quote.source, gold) for gold in golds)


def _answers(quotes: Sequence[Shown], part: Part) -> bool:
    return any(_holds(quote, part.answers) for quote in quotes)


def _marks(quote: Shown, golds: Sequence[Span]) -> bool:
    """Whether the marked text contains a gold answer, or is contained in one."""
    inside = [gold for gold in golds if gold.source in ("", quote.source)]
    return any(contains(quote.marked, gold.text) or contains(gold.text, quote.marked) for gold in inside)


def _rank(query: Question, heard: Heard) -> float:
    """Return the rank (from 1) of the first passage whose whole section has a gold answer, else infinity."""
    for rank, passage in enumerate(heard.retrieval.passages, start=1):
        section = passage.section
        if any(holds_gold(section.text, section.metadata["source"], gold) for gold in query.gold):
            return rank
    return math.inf


def holds_gold(text: str, source: str, gold: Span) -> bool:
    """Whether a text from a document contains a gold answer that is valid for this document."""
    return bool(gold.text) and gold.source in ("", source) and contains(text, gold.text)


def contains(text: str, answer: str) -> bool:
    """Whether a text contains an answer; case, white space and Markdown's emphasis marks are ignored."""
    return _plain(answer) in _plain(text)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*_`]", "", text)).strip().casefold()


class Similarity:
    """Cosine similarity by the bundled MiniLM, whichever model the index uses."""

    def __init__(self) -> None:
        self._vector = lru_cache(KEPT_VECTORS)(OnnxEncoder().encode_query)

    def __call__(self, reference: str, text: str) -> float:
        """Return the cosine of a reference answer and a text; 0 if it is negative or the text is empty."""
        if not text.strip():
            return 0.0
        cosine = np.dot(self._vector(reference), self._vector(text))
        return round(min(1.0, max(0.0, float(cosine))), 6)


def problem_of(text: str, reference: str) -> str:
    """Describe what an answer lacks: values of its reference, or enough of its words; "" if it is right."""
    if lacking := _lacking(text, reference):
        return f"lacks {', '.join(lacking)}"
    said = share(content_terms(reference), text_terms(text))
    return "" if said >= SAID else f"says {said:.0%} of the reference"


def _lacking(text: str, reference: str) -> list[str]:
    """Return the numbers, ids and commands of the reference that the text lacks."""
    wanted, plain = literals_of(reference), " ".join(text.split()).casefold()
    names = [name for name in (*wanted.identifiers, *wanted.commands) if name not in plain]
    return [*missing_numbers(wanted, literals_of(text)), *sorted(names)]
