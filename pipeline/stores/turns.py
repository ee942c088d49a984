"""Turns: a question with its answer, as a record, as a stored row, and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from pipeline.answer import Answer
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up
from pipeline.errors import UnknownConversation
from pipeline.redaction import redacted
from pipeline.steps.records import data_of
from pipeline.stores.globs import as_scope
from pipeline.stores.rows import Row

TITLE_CHARACTERS = 60
RECALLED_CHARACTERS = 2000
"""The search over turns reads so many characters of an answer."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question with its answer, and the reader's rating of it (1, -1 or None).

    `versions` are the former answers to the same question, oldest first. `embedding` has the float32 vectors
    of its recalled texts, one after the other; the memory decides how many. `embedded_by` names their model.
    """

    id: str
    question: str
    answer: Answer
    created_at: float
    feedback: int | None = None
    feedback_text: str = ""
    versions: tuple[Answer, ...] = ()
    embedding: bytes = field(default=b"", compare=False)
    embedded_by: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallableTurn:
    """A turn for the search over turns; `question` and `answer` are "" where it must not find them."""

    id: str
    conversation_id: str
    question: str
    answer: str
    at: float
    embedding: bytes = b""
    embedded_by: str = ""


def turn_row(turn: Turn, *, conversation_id: str, user: str, at: float) -> Row:
    """Return a turn as stores keep it: its answers as JSON without secrets, and the texts to find it by."""
    question, answer = recalled_texts(turn)
    head = {
        "question": turn.question,
        "created_at": turn.created_at,
        "feedback": turn.feedback,
        "feedback_text": turn.feedback_text,
        "recalled_question": question,
        "recalled_answer": answer,
    }
    return Row(
        id=turn.id,
        user=user,
        group=conversation_id,
        at=at,
        text=f"{turn.question}\n{turn.answer.text}".casefold(),
        head=json.dumps(head, ensure_ascii=False),
        embedding=turn.embedding,
        embedded_by=turn.embedded_by,
        body=answers_json((turn.answer, *turn.versions)),
    )


def turn_of(row: Row) -> Turn:
    """Return the turn of a whole row; keys of an answer that this version does not know are ignored."""
    head = json.loads(row.head)
    answer, *versions = _adapter().validate_python(json.loads(row.body))
    return Turn(
        row.id,
        head["question"],
        answer,
        head["created_at"],
        head["feedback"],
        head["feedback_text"],
        tuple(versions),
        row.embedding,
        row.embedded_by,
    )


def recallable_of(row: Row) -> RecallableTurn:
    """Return a row as the search over turns needs it."""
    head = json.loads(row.head)
    return RecallableTurn(
        id=row.id,
        conversation_id=row.group,
        question=head["recalled_question"],
        answer=head["recalled_answer"],
        at=head["created_at"],
        embedding=row.embedding,
        embedded_by=row.embedded_by,
    )


def question_of(row: Row) -> str:
    """Return the question of a turn's row."""
    return str(json.loads(row.head)["question"])


def without_old_embedding(new: Turn, old: Turn | None) -> Turn:
    """Return a changed turn without the embedding of texts that have changed."""
    if old is None or recalled_texts(old) == recalled_texts(new):
        return new
    return replace(new, embedding=b"", embedded_by="")


def with_embedding(turn: Turn, made: RecallableTurn) -> Turn:
    """Return a turn with the embedding of its recalled texts, or unchanged if those are others by now."""
    if recalled_texts(turn) != (made.question, made.answer):
        return turn
    return replace(turn, embedding=made.embedding, embedded_by=made.embedded_by)


def with_version(turn: Turn, version: int) -> Turn:
    """Return the turn with another of its answers shown; the circle of answers keeps its order."""
    circle = (*turn.versions, turn.answer)
    return replace(turn, answer=circle[version], versions=(*circle[version + 1 :], *circle[:version]))


def recalled_texts(turn: Turn) -> tuple[str, str]:
    """Return the texts of the question and the answer that the search over turns reads, or "" for one.

    It reads nothing of a request to the memory that stored nothing. It does not read an answer that could not
    be given, nor one that quotes: that is found in its document.
    """
    answer = turn.answer
    if answer.mode == "memory":
        done = data_of(answer.steps, "remember")
        kept = any(done.get(name) for name in ("added", "known", "touched", "replaced"))
        return (turn.question, "") if kept or looked_up(answer) else ("", "")
    answered = answer.status == "complete" and answer.verdict == "answered" and not answer.abstained
    if not answered or answer.mode != "generate":
        return turn.question, ""
    return turn.question, redacted(without_markers(answer.text))[:RECALLED_CHARACTERS]


def title_of(question: str) -> str:
    """Return a title from a first question: its first words."""
    text = " ".join(question.split())
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def answers_json(answers: tuple[Answer, ...]) -> str:
    """Return answers as they are stored, without secrets. `asdict` would copy every rank of every step."""
    return redacted(json.dumps(answers, default=_fields, ensure_ascii=False))


def scope_of(answer: Answer) -> tuple[str, ...]:
    """Return the globs of the documents that were searched for an answer; () for all documents."""
    kept = answer.settings.get("paths")
    return as_scope(kept) if isinstance(kept, str | tuple | list) else ()


def unknown_turn(turn_id: str) -> UnknownConversation:
    """Return the error for an answer that is not stored."""
    return UnknownConversation(
        f"No answer '{turn_id}' is stored; its conversation may have been deleted.", "Start a new one."
    )


@cache
def _adapter() -> TypeAdapter[tuple[Answer, ...]]:
    return TypeAdapter(tuple[Answer, ...])


def _fields(value: object) -> Mapping[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be stored")
    return {item.name: getattr(value, item.name) for item in fields(value)}
