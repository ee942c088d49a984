"""How good one answer of the chat engine was, as numbers of 0..1, without a model as judge.

A number without data is left out, never guessed: where Athena abstains there is nothing to be grounded,
and where the data set names no answer nothing can be correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from evals.datasets import Question
from evals.judging import holds_gold
from pipeline.answer import Answer, Citation, Retrieval
from pipeline.answering.citations import without_markers
from pipeline.models.base import Encoder
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SourcesFound

Event = TypeVar("Event", SourcesFound, AnswerFinished)

MEANINGS = MappingProxyType(
    {
        "Context Relevance": "calibrated probability that the passages found answer the question",
        "Groundedness": "share of the answer's sentences that what they cite supports; of quotes alone: "
        "1 if each is an exact span of its document, else 0",
        "Answer Relevance": "cosine of question and answer, by the index's embedding model",
        "Answer Correct": "1 if a quote shown contains the data set's answer, else 0",
        "Abstained Rightly": "1 if Athena abstained where the documents do not answer, and only there",
    }
)
"""Every feedback and what it means; in all of them, higher is better."""

CANNOT_SEE = MappingProxyType(
    {
        "Context Relevance": "whether the very fact that is asked for is there, rather than its topic",
        "Groundedness": "what is said in quite other words, or turned round in the right ones",
        "Answer Relevance": "whether the answer is true, or only on the topic",
        "Answer Correct": "a right answer in other words, or a wrong sentence beside the right quote",
        "Abstained Rightly": "whether what was answered is right",
    }
)
"""Beside each of them: what it cannot see."""

TextOf = Callable[[str], str]  # a document's source → its text


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's run through the chat engine: what was found, and what was said."""

    query: Question
    retrieval: Retrieval
    answer: Answer


def feedback_on(asked: Asked, *, encoder: Encoder, text_of: TextOf) -> dict[str, float]:
    """The feedback that there is data for, by its name in `MEANINGS`."""
    values = (
        asked.retrieval.answerability.probability,
        groundedness(asked.answer, text_of=text_of),
        answer_relevance(asked.answer, encoder=encoder),
        answer_correct(asked.query, asked.answer),
        abstained_rightly(asked.query, asked.answer),
    )
    named = zip(MEANINGS, values, strict=True)
    return {name: float(value) for name, value in named if value is not None}


def groundedness(answer: Answer, *, text_of: TextOf) -> float | None:
    """The share of supported sentences; None where nothing is stated."""
    if answer.abstained:
        return None
    if answer.mode == "quote":
        return float(bool(answer.citations) and all(is_exact(item, text_of) for item in answer.citations))
    if not answer.support:
        return None
    return sum(item.supported for item in answer.support) / len(answer.support)


def is_exact(citation: Citation, text_of: TextOf) -> bool:
    """Whether the quote is what stands in its document at its offsets."""
    return text_of(citation.source)[citation.start : citation.end] == citation.quote


def answer_relevance(answer: Answer, *, encoder: Encoder) -> float | None:
    """The cosine of the question that was understood and the answer, not below 0; None if it abstained.

    Of an answer in quotes only the quotes are compared: the headings above them are ours.
    """
    quotes = "\n".join(citation.quote for citation in answer.citations)
    text = quotes if answer.mode == "quote" else without_markers(answer.text)
    if answer.abstained or not text.strip():
        return None
    question = encoder.encode_query(answer.condensed_question)
    return min(1.0, max(0.0, float(np.dot(question, encoder.encode_passages([text])[0]))))


def answer_correct(query: Question, answer: Answer) -> bool | None:
    """Whether a quote shown contains the answer; None where the data set has none."""
    if not query.answerable or not query.gold:
        return None
    return any(
        holds_gold(citation.quote, citation.source, gold)
        for citation in answer.citations
        for gold in query.gold
    )


def abstained_rightly(query: Question, answer: Answer) -> bool | None:
    """Whether it abstained exactly if the documents do not answer; None where the data set does not say.

    A data set says so by `answerable`, or by naming an answer.
    """
    if query.answer is None and "answerable" not in query.model_fields_set:
        return None
    return answer.abstained != query.answerable


def until_found(events: Iterable[ChatEvent]) -> Retrieval:
    """What was retrieved; raises what the run failed with."""
    return _until(SourcesFound, events).retrieval


def until_answered(events: Iterable[ChatEvent]) -> Answer:
    """The whole answer; raises what the run failed with."""
    return _until(AnswerFinished, events).answer


def contexts(retrieval: Retrieval) -> list[str]:
    """The texts of the passages, best first."""
    return [passage.node.text for passage in retrieval.passages]


def _until(kind: type[Event], events: Iterable[ChatEvent]) -> Event:
    for event in events:
        if isinstance(event, kind):
            return event
        if isinstance(event, RunFailed) and event.error:
            raise event.error
    raise ValueError(f"the run ended without {kind.__name__}")
