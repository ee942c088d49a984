"""Conversations: each turn's answer with its citations, steps and settings together; here, in SQLite."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pipeline.answer import Answer, Citation, Support
from pipeline.answering.citations import renamed_markers
from pipeline.errors import UnknownConversation
from pipeline.steps.events import Step
from pipeline.stores.embedded.database import ConnectionPool, transaction

TITLE_CHARACTERS = 60

_INFO = """
    SELECT conversation.id, title, conversation.created_at, updated_at, count(turn.id)
    FROM conversation LEFT JOIN turn ON turn.conversation_id = conversation.id
"""
_TURNS = """
    SELECT id, question, answer, created_at, feedback, feedback_text
    FROM turn WHERE conversation_id = ? ORDER BY position
"""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """One conversation in a list; times in seconds since the epoch."""

    id: str
    title: str
    created_at: float
    updated_at: float
    turns: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One question with its answer, and what the reader thought of it (1, -1 or None)."""

    id: str
    question: str
    answer: Answer
    created_at: float
    feedback: int | None = None
    feedback_text: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation whole, turns in order."""

    info: ConversationInfo
    turns: tuple[Turn, ...]


class Conversations(Protocol):
    """All conversations of one store; safe to use from several threads."""

    def create(self, title: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""

    def list(self) -> list[ConversationInfo]:
        """All conversations, the latest used first."""

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""

    def save_turn(self, conversation_id: str, answer: Answer) -> str:
        """Write a turn, a new one or (by `answer.turn_id`) over what was kept of it; its id comes back.

        Raises `UnknownConversation`, also where it was deleted while the answer was being written.
        """

    def keep_text(self, turn_id: str, text: str) -> None:
        """Write what has arrived by now of an answer that is being written; nothing else of its turn changes.

        Raises `UnknownConversation` where it was deleted meanwhile.
        """

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back.

        Raises `UnknownConversation` where the answer is not stored any more.
        """

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""

    def export_markdown(self, conversation_id: str) -> str:
        """The conversation as Markdown, citations as footnotes."""

    def close(self) -> None:
        """Release files and connections."""


class ConversationStore:
    """Fulfils `Conversations` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self._pool = ConnectionPool(path)

    def create(self, title: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now = time.time()
        info = ConversationInfo(str(uuid.uuid4()), title, now, now, 0)
        with self._pool.borrow() as connection:
            connection.execute("INSERT INTO conversation VALUES (?, ?, ?, ?)", (info.id, title, now, now))
        return Conversation(info, ())

    def list(self) -> list[ConversationInfo]:
        """All conversations, the latest used first."""
        with self._pool.borrow() as connection:
            rows = connection.execute(f"{_INFO} GROUP BY conversation.id ORDER BY updated_at DESC").fetchall()
        return [ConversationInfo(*row) for row in rows]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute(
                f"{_INFO} WHERE conversation.id = ? GROUP BY conversation.id", (conversation_id,)
            ).fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            turns = connection.execute(_TURNS, (conversation_id,)).fetchall()
        return Conversation(ConversationInfo(*row), tuple(_turn(*turn) for turn in turns))

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE conversation SET title = ? WHERE id = ?", (title.strip(), conversation_id)
            )
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            done = connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def save_turn(self, conversation_id: str, answer: Answer) -> str:
        """Write a turn, a new one or (by `answer.turn_id`) over what was kept of it; its id comes back.

        Raises `UnknownConversation`, also where it was deleted while the answer was being written.
        """
        now = time.time()
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        with self._pool.borrow() as connection, transaction(connection):
            row = connection.execute(
                "SELECT title FROM conversation WHERE id = ?", (conversation_id,)
            ).fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            connection.execute(
                """
                INSERT INTO turn (id, conversation_id, position, question, status, answer, created_at)
                VALUES (:id, :conversation, (SELECT count(*) FROM turn WHERE conversation_id = :conversation),
                        :question, :status, :answer, :now)
                ON CONFLICT (id) DO UPDATE SET status = :status, answer = :answer
                """,
                {
                    "id": answer.turn_id,
                    "conversation": conversation_id,
                    "question": answer.question,
                    "status": answer.status,
                    "answer": answer_json(answer),
                    "now": now,
                },
            )
            connection.execute(
                "UPDATE conversation SET updated_at = ?, title = ? WHERE id = ?",
                (now, row[0] or title_of(answer.question), conversation_id),
            )
        return answer.turn_id

    def keep_text(self, turn_id: str, text: str) -> None:
        """Write what has arrived by now of an answer that is being written; nothing else of its turn changes.

        Raises `UnknownConversation` where it was deleted meanwhile.
        """
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE turn SET answer = json_set(answer, '$.text', ?) WHERE id = ?", (text, turn_id)
            )
            if done.rowcount == 0:
                raise unknown_turn(turn_id)

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back.

        Raises `UnknownConversation` where the answer is not stored any more.
        """
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE turn SET feedback = ?, feedback_text = ? WHERE id = ?", (value, text, turn_id)
            )
            if done.rowcount == 0:
                raise unknown_turn(turn_id)

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        info = conversation.info
        with self._pool.borrow() as connection, transaction(connection):
            connection.execute("DELETE FROM conversation WHERE id = ?", (info.id,))
            connection.execute(
                "INSERT INTO conversation VALUES (?, ?, ?, ?)",
                (info.id, info.title, info.created_at, info.updated_at),
            )
            connection.executemany(
                """
                INSERT INTO turn (id, conversation_id, position, question, status, answer, created_at,
                                  feedback, feedback_text)
                VALUES (:id, :conversation, :position, :question, :status, :answer, :created_at,
                        :feedback, :feedback_text)
                """,
                [record_of(turn, info.id, position) for position, turn in enumerate(conversation.turns)],
            )

    def export_markdown(self, conversation_id: str) -> str:
        """The conversation as Markdown, citations as footnotes."""
        return exported(self.get(conversation_id))

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


def record_of(turn: Turn, conversation_id: str, position: int) -> dict[str, Any]:
    """A turn as it is stored."""
    return {
        "id": turn.id,
        "conversation": conversation_id,
        "position": position,
        "question": turn.question,
        "status": turn.answer.status,
        "answer": answer_json(turn.answer),
        "created_at": turn.created_at,
        "feedback": turn.feedback,
        "feedback_text": turn.feedback_text,
    }


def exported(conversation: Conversation) -> str:
    """A conversation as Markdown, citations as footnotes."""
    parts = [f"# {conversation.info.title or 'Conversation'}"]
    for number, turn in enumerate(conversation.turns, start=1):
        parts += _exported_turn(turn, number)
    return "\n\n".join(parts) + "\n"


def title_of(question: str) -> str:
    """A title from a first question: its first words."""
    text = " ".join(question.split())
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def answer_json(answer: Answer) -> str:
    """The answer as it is stored. `asdict` would copy every rank of every step first."""
    return json.dumps(answer, default=_fields, ensure_ascii=False)


def answer_from(stored: dict[str, Any]) -> Answer:
    """The answer from its JSON; keys that this version does not know are left out."""
    known = _known(Answer, stored)
    known["citations"] = tuple(_citation(item) for item in stored.get("citations", ()))
    known["nearest"] = tuple(_citation(item) for item in stored.get("nearest", ()))
    known["support"] = tuple(_support(item) for item in stored.get("support", ()))
    known["steps"] = tuple(Step(**_known(Step, item)) for item in stored.get("steps", ()))
    known["notices"] = tuple(stored.get("notices", ()))
    return Answer(**known)


def _fields(value: object) -> dict[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be stored")
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _citation(item: dict[str, Any]) -> Citation:
    return Citation(**_known(Citation, item) | {"heading_path": tuple(item["heading_path"])})


def _support(item: dict[str, Any]) -> Support:
    lists = {name: tuple(item[name]) for name in ("markers", "missing")}
    return Support(**_known(Support, item) | lists)


def _known(kind: type[Row], item: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return {name: value for name, value in item.items() if name in names}


def _turn(
    turn_id: str, question: str, answer: str, created_at: float, feedback: int | None, feedback_text: str
) -> Turn:
    return Turn(turn_id, question, answer_from(json.loads(answer)), created_at, feedback, feedback_text)


def _exported_turn(turn: Turn, number: int) -> list[str]:
    answer = turn.answer
    # Footnotes count through the whole document.
    text = renamed_markers(answer.text, lambda marker: f"[^{number}-{marker}]")
    notes = [
        f"[^{number}-{item.marker}]: {' › '.join([item.source, *item.heading_path])}, "
        f"lines {item.start_line}-{item.end_line}: “{' '.join(item.quote.split())}”"
        for item in answer.citations
    ]
    status = [] if answer.status == "complete" else [f"*This answer was {answer.status}.*"]
    quoted = "\n".join(f"> {line}" for line in turn.question.splitlines())
    return [f"## Question {number}", quoted, text or "*No answer.*", *status, *notes]


def unknown_conversation(conversation_id: str) -> UnknownConversation:
    """The error for a conversation that is not stored."""
    return UnknownConversation(
        f"No conversation '{conversation_id}' is stored; it may have been deleted.", "Start a new one."
    )


def unknown_turn(turn_id: str) -> UnknownConversation:
    """The error for an answer that is not stored."""
    return UnknownConversation(
        f"No answer '{turn_id}' is stored; its conversation may have been deleted.", "Start a new one."
    )
