"""Turns: a question with its answer, as a record and as a stored row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, Self

from pydantic import BaseModel, TypeAdapter

from pipeline.answer import Answer, Usage
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up
from pipeline.errors import UnknownConversation
from pipeline.redaction import redacted
from pipeline.steps.records import data_of
from pipeline.stores.globs import as_scope
from pipeline.stores.rows import Row
from pipeline.words import well_formed

TITLE_CHARACTERS = 60
RECALLED_CHARACTERS = 2000
"""The search over turns reads only this many characters of an answer."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question with its answer, and the reader's rating of it (1, -1 or None).

    `versions` are the other answers to the same question: oldest first, until `choose` rotates them.
    """

    id: str
    answer: Answer
    created_at: float
    feedback: int | None = None
    versions: tuple[Answer, ...] = ()

    @property
    def question(self) -> str:
        """The question, as it was asked."""
        return self.answer.question


@dataclass(frozen=True, slots=True)
class RecallableTurn:
    """A turn for the search over turns; `question` or `answer` is "" if the search must not find it.

    `embedding` has the float32 vectors of these texts, one after the other; the memory decides how many.
    """

    id: str
    conversation_id: str
    question: str
    answer: str
    at: float
    embedding: bytes = b""
    embedded_by: str = ""  # the embedding model

    @classmethod
    def of(cls, row: Row) -> Self:
        """Return a row as the search over turns needs it."""
        question, answer, _ = json.loads(row.head)
        return cls(row.id, row.group, question, answer, row.at, row.embedding, row.embedded_by)


class TurnUsage(BaseModel):
    """The model, time and tokens that a turn used; stored in the head of its row."""

    user: str
    at: float  # when it was asked, in seconds since the epoch
    complete: bool
    abstained: bool
    seconds: float
    model: str  # "" for quotes
    usage: Usage | None
    relevance: Sequence[float]  # the cosines of the recalled memories

    @classmethod
    def of(cls, row: Row) -> Self:
        """Return the usage of the turn in a row."""
        return cls.model_validate(json.loads(row.head)[2])


def turn_row(turn: Turn, row: Row) -> Row:
    """Return `row` filled with a turn: as JSON without secrets, the texts to find it by, and its usage.

    The embedding is dropped if these texts have changed.
    """
    used = _usage(turn, row.user).model_dump()
    head = json.dumps([*recalled_texts(turn), used], ensure_ascii=False)
    new = replace(
        row,
        text=well_formed(f"{turn.question}\n{turn.answer.text}".casefold()),
        head=well_formed(head),
        body=well_formed(redacted(json.dumps(turn, default=_fields, ensure_ascii=False))),
    )
    is_known = row.head and json.loads(new.head)[:2] == json.loads(row.head)[:2]
    return new if is_known else replace(new, embedding=b"", embedded_by="")


def turn_of(row: Row) -> Turn:
    """Return the turn of a whole row; keys that this version does not know are ignored."""
    return _adapter().validate_python(json.loads(row.body))


def _usage(turn: Turn, user: str) -> TurnUsage:
    answer, recalled = turn.answer, data_of(turn.answer.steps, "recall").get("recalled", ())
    return TurnUsage(
        user=user, at=turn.created_at, complete=answer.status == "complete", abstained=answer.abstained,
        seconds=answer.seconds, model=answer.usage.model if answer.usage else answer.model,
        usage=answer.usage, relevance=[item["relevance"] for item in recalled],
    )  # fmt: skip


def recalled_texts(turn: Turn) -> tuple[str, str]:
    """Return the question and the answer as the search over turns reads them; "" for a text that it must not.

    Of a request to the memory, it reads only the question, if the memory kept or looked up anything. It reads
    only complete, generated answers to answerable questions: quotes are found in their documents.
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
    """Return a title from a first question: its first words, at most `TITLE_CHARACTERS` characters."""
    text = " ".join(question.split())
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def scope_of(answer: Answer) -> tuple[str, ...]:
    """Return the globs of the documents that were searched for an answer; () for all documents."""
    kept = answer.settings.get("paths")
    return as_scope(kept) if isinstance(kept, str | tuple | list) else ()


def unknown(what: str, id_: str) -> UnknownConversation:
    """Return the error for a conversation or an answer that is not stored."""
    return UnknownConversation(f"No {what} '{id_}' is stored (any more).", "Start a new conversation.")


@cache
def _adapter() -> TypeAdapter[Turn]:
    return TypeAdapter(Turn)


def _fields(value: object) -> Mapping[str, Any]:
    """Return a record's fields, or raise `TypeError`; `asdict` would copy every rank of every step."""
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be stored")
    return {item.name: getattr(value, item.name) for item in fields(value)}
