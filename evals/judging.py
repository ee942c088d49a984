"""One question's quotes and verdict against what its data set knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evals.datasets import Part, Question, Span
from pipeline.answer import Answer, Retrieval, Verdict
from pipeline.answering.citations import without_markers
from pipeline.answering.quotes import choose_quotes
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, RunFailed, SourcesFound
from pipeline.steps.records import Step

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.chat import ChatRecipe

NOBODY = "nobody, as it is an evaluation"  # a user who never said anything


@dataclass(frozen=True, slots=True)
class Shown:
    """A quote as a reader sees it; a folded one after a click."""

    text: str
    source: str = ""
    folded: bool = False
    marked: str = ""  # the sentence, row or step that is marked as what answers; "" = the whole
    marker: int = 0


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a question: what was found, the quotes, and what is written around them."""

    retrieval: Retrieval
    quotes: Sequence[Shown] = ()
    text: str = ""
    verdict: Verdict | None = None  # None: the search's
    answer: Answer | None = None

    @property
    def steps(self) -> Sequence[Step]:
        """Of the answer."""
        return self.answer.steps if self.answer else ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: what was quoted, whether it holds the answer, and the verdict."""

    query_id: str
    answerable: bool | None  # None where the data do not say: the verdict counts for nothing
    probability: float
    verdict: Verdict
    first: bool | None  # None where the data name no answer
    unfolded: bool | None  # whether a quote that is seen without a click holds it
    any: bool | None
    words: int  # seen without a click
    ms: float
    kind: str = ""
    section: bool | None = None  # whether the first passage's whole text holds it
    marked: bool | None = None  # whether what is marked in the first quote does; None where that holds none
    alone: bool | None = None  # `section` of the question that needs no history
    parts: bool | None = None  # whether a quote that is seen holds each part's answer
    relevant: bool | None = None  # whether the first quote is of a document that the qrels name
    groundedness: float | None = None  # share of the answer's sentences that the passages support
    answer_right: bool | None = None  # of what a model wrote: `evals.rules`
    similarity: float | None = None  # of what is seen, to the reference
    problem: str = ""  # why a model's answer is not right
    text: str = ""  # what is seen

    @property
    def abstained(self) -> bool:
        """True where the verdict is that the documents do not answer."""
        return self.verdict == "not in the documents"


def hear(athena: Athena, query: Question, *, generated: bool = False, traced: bool = False) -> Heard:
    """What a chat without a language model finds and quotes after the history; nothing of it is kept.

    It is nobody's: what people said in chats over the same index is no part of what the documents answer.
    The turns of a history without replies are asked as well. Where it abstains, the quotes are those that it
    would show. `generated` is with the model that the settings name, if they do: the quotes are then those
    of what it was given. `traced` sends what is asked to Phoenix, where the settings name one.
    """
    chat = athena.chat(private=True, user=NOBODY)
    if not generated:
        chat.parts = replace(chat.parts, llm=None)
    if traced and athena.tracer:
        chat.parts = replace(chat.parts, listeners=(athena.tracer.record,))
    said = [Message(turn.role, turn.text) for turn in query.history]
    if all(message.role == "user" for message in said):
        for message in said:
            _run(chat, message.text)
        said = []
    retrieval, answer = _run(chat, query.text, said)
    retrieval = retrieval or athena.hybrid_search.search(query.text)
    return heard_of(athena, retrieval, answer)


def heard_of(athena: Athena, retrieval: Retrieval, answer: Answer) -> Heard:
    """What was heard, with the quotes of an answer in quotes, else those of what was found."""
    written = answer.abstained or answer.mode == "generate"
    quotes = quotes_shown(athena, retrieval) if written else quotes_in(answer)
    return Heard(retrieval, quotes, answer.text, answer.verdict, answer)


def groundedness(answer: Answer, *, text_of: Callable[[str], str]) -> float | None:
    """The share of an answer's sentences that what they cite supports; None where it states nothing.

    An answer in quotes has 1 where every quote stands in its document at its offsets, else 0. `text_of`
    returns the text of a document by its source.
    """
    if answer.abstained:
        return None
    if answer.mode == "quote":
        exact = (text_of(one.source)[one.start : one.end] == one.quote for one in answer.citations)
        return float(bool(answer.citations) and all(exact))
    if not answer.support:
        return None
    return sum(item.supported for item in answer.support) / len(answer.support)


def text_seen(heard: Heard) -> str:
    """What a reader sees of an answer without a click: what a model wrote, or the quotes."""
    answer = heard.answer
    if answer and (answer.abstained or answer.mode != "quote"):
        return without_markers(answer.text)
    return "\n".join(quote.text for quote in heard.quotes if not quote.folded)


def _run(chat: ChatRecipe, message: str, history: Sequence[Message] = ()) -> tuple[Retrieval | None, Answer]:
    """What the first search found, if there was one, and the answer; raises what the run failed with."""
    found: Retrieval | None = None
    for event in chat.run(message, history=history or None):
        match event:
            case SourcesFound(retrieval):
                found = found or retrieval
            case AnswerFinished(answer):
                return found, answer
            case RunFailed(error=error) if error:
                raise error
    raise ValueError("the run ended without an answer")


def quotes_in(answer: Answer) -> list[Shown]:
    """The quotes of an answer, in order."""
    units = {unit.marker: unit for unit in answer.units}
    shown = []
    for citation in answer.citations:
        text, marked, unit = citation.quote, "", units.get(citation.marker)
        if unit and unit.answer_start is not None and unit.answer_end is not None:
            marked = text[unit.answer_start - citation.start : unit.answer_end - citation.start]
        if unit and unit.lead:
            text = f"{unit.lead}\n{text}"
        folded = bool(unit and unit.folded)
        shown.append(Shown(text, citation.source, folded, marked, citation.marker))
    return shown


def quotes_shown(athena: Athena, retrieval: Retrieval) -> list[Shown]:
    """The quotes that an answer without a language model would show, in order."""
    limit = athena.settings.quotes
    quotes = choose_quotes(
        retrieval,
        store=athena.store,
        encoder=athena.encoder,
        limit=limit,
        cross_encoder=athena.hybrid_search.cross_encoder,
    )
    return [Shown(quote.shown, quote.citation.source, quote.unit.folded) for quote in quotes]


def judge(
    query: Question,
    heard: Heard,
    ms: float,
    *,
    alone: Heard | None = None,
    relevant: Collection[str] = (),
) -> Judged:
    """One question's quotes and verdict against what the data set knows.

    `alone` is what came of the question in words that need no history, `relevant` are the ids that the qrels
    name for it.
    """
    known = bool(query.answerable and query.gold)
    answers = heard.retrieval.answerability
    judged = Judged(
        query.id,
        True if relevant else query.judged,
        answers.probability,
        heard.verdict or answers.verdict,
        first=None,
        unfolded=None,
        any=None,
        words=sum(len(quote.text.split()) for quote in heard.quotes if not quote.folded),
        ms=ms,
        kind=query.kind,
        relevant=_is_relevant(heard.quotes, relevant) if relevant else None,
        text=text_seen(heard),
    )
    return _with_gold(judged, query, heard, alone) if known else judged


def _is_relevant(quotes: Sequence[Shown], relevant: Collection[str]) -> bool:
    """Whether the first quote's document is one of them; of Markdown they name sections: `SOURCE#PATH`."""
    source = quotes[0].source if quotes else ""
    return bool(source) and any(name == source or name.startswith(f"{source}#") for name in relevant)


def _with_gold(judged: Judged, query: Question, heard: Heard, alone: Heard | None) -> Judged:
    """What the quotes hold of the answer that the data set names."""
    seen = [quote for quote in heard.quotes if not quote.folded]
    holds = [_holds(quote, query.gold) for quote in heard.quotes]
    first = bool(holds and holds[0])
    return replace(
        judged,
        first=first,
        unfolded=any(_holds(quote, query.gold) for quote in seen),
        any=any(holds),
        section=_in_first(query, heard),
        marked=_marks(heard.quotes[0], query.gold) if first and heard.quotes[0].marked else None,
        alone=_in_first(query, alone) if alone else None,
        parts=all(_holds_any(seen, part) for part in query.parts) if query.parts else None,
    )


def _holds(quote: Shown, golds: Sequence[Span]) -> bool:
    return any(holds_gold(quote.text, quote.source, gold) for gold in golds)


def _holds_any(quotes: Sequence[Shown], part: Part) -> bool:
    return any(_holds(quote, part.answers) for quote in quotes)


def _marks(quote: Shown, golds: Sequence[Span]) -> bool:
    """Whether what is marked has the gold in it, or is a part of a gold of several sentences."""
    inside = [gold for gold in golds if gold.source in ("", quote.source)]
    return any(contains(quote.marked, gold.text) or contains(gold.text, quote.marked) for gold in inside)


def _in_first(query: Question, heard: Heard) -> bool:
    sections = [passage.section for passage in heard.retrieval.passages[:1]]
    return any(
        holds_gold(section.text, section.metadata["source"], gold)
        for section in sections
        for gold in query.gold
    )


def holds_gold(text: str, source: str, gold: Span) -> bool:
    """Whether a quote has the gold in it and is from its document, where that is known."""
    return bool(gold.text) and gold.source in ("", source) and contains(text, gold.text)


def contains(text: str, answer: str) -> bool:
    """Whether the text has the answer in it; case, white space and Markdown's marks do not count."""
    return _plain(answer) in _plain(text)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*_`]", "", text)).strip().casefold()
