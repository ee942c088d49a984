"""BEAM's format: a folder a chat, batches of turns with an assistant, and questions by what they probe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from evals.conversations.records import Asked, Conversation, conversation, leaves, seconds
from memory.turns.index import Turn
from pipeline.errors import DatasetError

CHAT = "chat.json"
QUESTIONS = Path("probing_questions") / "probing_questions.json"


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class _Turn(_Row):
    role: str
    id: str
    content: str
    time_anchor: str | None = None


class _Question(_Row):
    question: str
    source_chat_ids: Any = None


_TURN = TypeAdapter(_Turn)
_QUESTIONS = TypeAdapter(dict[str, list[_Question]])


def read_beam(chat: Any, probing: Any, *, folder: Path) -> Conversation:
    """One chat with its questions, both as parsed; raises `DatasetError` where they are none of BEAM's."""
    try:
        batches = list(_batches(chat))
        turns = [turn for number, batch in enumerate(batches) for turn in _turns(batch, session=str(number))]
        kinds = _QUESTIONS.validate_python(probing)
    except ValidationError as error:
        first = error.errors()[0]
        where = " › ".join(map(str, first["loc"]))
        raise DatasetError(
            f"'{folder}' is not in BEAM's format: {first['msg']} ({where}).",
            f"{CHAT} has batches with `turns`, {QUESTIONS} has questions by kind.",
        ) from error
    if not turns:
        raise DatasetError(f"'{folder / CHAT}' has no turns.", "It is a list of batches with `turns`.")
    questions = [
        Asked(item.question, tuple(str(found) for found in leaves(item.source_chat_ids)), kind)
        for kind, items in kinds.items()
        for item in items
    ]
    return conversation(folder.name, turns, questions)


def _batches(chat: Any) -> Iterator[dict[str, Any]]:
    """The objects with `turns`, at whatever depth they stand."""
    if isinstance(chat, dict) and "turns" in chat:
        yield chat
    elif isinstance(chat, dict | list):
        for item in chat.values() if isinstance(chat, dict) else chat:
            yield from _batches(item)


def _turns(batch: dict[str, Any], *, session: str) -> Iterator[Turn]:
    anchor = batch.get("time_anchor")
    for row in _rows(batch["turns"]):
        turn = _TURN.validate_python(row)
        anchor = turn.time_anchor or anchor
        yield Turn(
            id=turn.id,
            session=session,
            text=turn.content,
            role="user" if turn.role == "user" else "assistant",
            at=seconds(str(anchor or "")),
        )


def _rows(turns: Any) -> Iterator[Any]:
    if isinstance(turns, list):
        for item in turns:
            yield from _rows(item)
    else:
        yield turns
