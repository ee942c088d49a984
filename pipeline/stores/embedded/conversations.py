"""Conversations in the SQLite file: a row each, and one for each turn."""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.answer import Answer
from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Turn,
    answer_from,
    answer_json,
    record_of,
    title_of,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.embedded.database import FILE_NAME, ConnectionPool, transaction
from pipeline.words import well_formed

_INFO = """
    SELECT conversation.id, title, conversation.created_at, updated_at, count(turn.id)
    FROM conversation LEFT JOIN turn ON turn.conversation_id = conversation.id
"""
_TURNS = """
    SELECT id, question, answer, created_at, feedback, feedback_text
    FROM turn WHERE conversation_id = ? ORDER BY position
"""


class EmbeddedConversations:
    """Fulfils `Conversations` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self._pool = ConnectionPool(path)

    def create(self, title: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now, title = time.time(), well_formed(title)
        info = ConversationInfo(str(uuid.uuid4()), title, now, now, 0)
        with self._pool.borrow() as connection:
            connection.execute("INSERT INTO conversation VALUES (?, ?, ?, ?)", (info.id, title, now, now))
        return Conversation(info, ())

    def list(self) -> list[ConversationInfo]:
        """All conversations, the latest used first."""
        with self._pool.borrow() as connection:
            rows = connection.execute(f"{_INFO} GROUP BY conversation.id ORDER BY updated_at DESC").fetchall()
            return [_info(*row) for row in rows]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute(
                f"{_INFO} WHERE conversation.id = ? GROUP BY conversation.id", (conversation_id,)
            ).fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            turns = connection.execute(_TURNS, (conversation_id,)).fetchall()
            return Conversation(_info(*row), tuple(_turn(*turn) for turn in turns))

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE conversation SET title = ? WHERE id = ?",
                (well_formed(title.strip()), conversation_id),
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
        """Write a turn, new or in the place of the one that `answer.turn_id` names; returns its id."""
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

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back."""
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE turn SET feedback = ?, feedback_text = ? WHERE id = ?",
                (value, well_formed(text), turn_id),
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

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


class PassingConversations(EmbeddedConversations):
    """Conversations that end with the process: the data folder may only be read."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="athena-")
        super().__init__(Path(self._folder.name) / FILE_NAME)

    def close(self) -> None:
        """Delete them."""
        super().close()
        self._folder.cleanup()


def drop_damaged_turns(connection: sqlite3.Connection) -> None:
    """Delete the turns that cannot be read."""
    turns = "SELECT conversation.id FROM conversation"
    for (conversation_id,) in connection.execute(turns).fetchall():
        for row in connection.execute(_TURNS, (conversation_id,)).fetchall():
            try:
                _turn(*row)
            except Damaged:
                connection.execute("DELETE FROM turn WHERE id IS ?", (row[0],))


def _info(*row: Any) -> ConversationInfo:
    if [type(value) for value in row] != [str, str, float, float, int]:
        raise Damaged("a row of the table 'conversation' is not as it was written")
    return ConversationInfo(*row)


def _turn(
    turn_id: Any, question: Any, answer: Any, created_at: Any, feedback: Any, feedback_text: Any
) -> Turn:
    texts = turn_id, question, feedback_text
    sound = all(isinstance(text, str) for text in texts) and isinstance(created_at, float)
    if not sound or feedback not in (None, 1, -1):
        raise Damaged("a row of the table 'turn' is not as it was written")
    try:
        return Turn(turn_id, question, answer_from(json.loads(answer)), created_at, feedback, feedback_text)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Damaged(f"the answer of turn '{turn_id}' is not as it was written") from error
