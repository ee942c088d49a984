"""Several answers as one: each under its question, their citations numbered through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from pipeline.answer import Answer, Part, Retrieval, Verdict
from pipeline.answering.citations import renamed_markers


def together(answers: Sequence[Answer]) -> dict[str, Any]:
    """What the answer to a whole message has of the answers to its questions.

    It is "answered" where all of them are, and "not in the documents" where none is.
    """
    numbered = list(_numbered(answers))
    verdicts = {answer.verdict or "answered" for answer in numbered}
    verdict: Verdict = verdicts.pop() if len(verdicts) == 1 else "closest"
    modes = {answer.mode for answer in numbered}
    return {
        "text": "\n\n".join(f"**{_heading(answer)}**\n\n{answer.text}" for answer in numbered),
        "condensed_question": "; ".join(answer.condensed_question for answer in numbered),
        "mode": modes.pop() if len(modes) == 1 else "quote",
        "verdict": verdict,
        "abstained": all(answer.abstained for answer in numbered),
        "corrected": "",
        "citations": tuple(cited for answer in numbered for cited in answer.citations),
        "units": tuple(unit for answer in numbered for unit in answer.units),
        "nearest": tuple(near for answer in numbered for near in answer.nearest),
        "recalled": tuple(dict.fromkeys(known for answer in numbered for known in answer.recalled)),
        "related": tuple(dict.fromkeys(known for answer in numbered for known in answer.related)),
        "parts": tuple(map(_part, numbered)),
    }


def found_together(found: Sequence[Retrieval], *, question: str) -> Retrieval:
    """What searches for the questions of a message found, as one: in turns, with the best verdict."""
    in_turn = (passage for row in zip_longest(*(one.passages for one in found)) for passage in row if passage)
    passages = {passage.section.node_id: passage for passage in in_turn}
    best = max(found, key=lambda one: one.answerability.probability)
    steps = tuple(step for one in found for step in one.steps)
    return Retrieval(question, tuple(passages.values()), best.answerability, steps)


def _heading(answer: Answer) -> str:
    return " ".join(answer.question.replace("*", "").split())


def _numbered(answers: Sequence[Answer]) -> Sequence[Answer]:
    """The answers with markers that go on from one to the next."""
    done: list[Answer] = []
    cited = near = 0
    for answer in answers:
        done.append(_moved(answer, cited, near))
        cited += len(answer.citations)
        near += len(answer.nearest)
    return done


def _moved(answer: Answer, by: int, near_by: int) -> Answer:
    return replace(
        answer,
        text=renamed_markers(answer.text, lambda marker: f"[{marker + by}]"),
        citations=tuple(replace(cited, marker=cited.marker + by) for cited in answer.citations),
        units=tuple(replace(unit, marker=unit.marker + by) for unit in answer.units),
        nearest=tuple(replace(near, marker=near.marker + near_by) for near in answer.nearest),
    )


def _part(answer: Answer) -> Part:
    return Part(
        question=answer.question,
        condensed_question=answer.condensed_question,
        text=answer.text,
        mode=answer.mode,
        abstained=answer.abstained,
        verdict=answer.verdict,
        corrected=answer.corrected,
        carried=answer.carried,
        markers=tuple(cited.marker for cited in answer.citations),
        nearest=tuple(near.marker for near in answer.nearest),
    )
