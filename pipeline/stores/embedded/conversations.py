"""Conversations in the SQLite file: a row each, and one for each turn."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Conversations,
    RecallableTurn,
    Turn,
    new_revision,
    record_of,
    retitled,
    title_of,
    turn_from,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.nodes import as_json

_INFO = [field.name for field in fields(ConversationInfo)]
_TURN = [field.name for field in fields(Turn)]
_INFOS = f"SELECT {', '.join(_INFO)} FROM conversation"
_TURNS = f"SELECT {', '.join(f'turn.{name}' for name in _TURN)} FROM turn"
_SAVE = """
    INSERT INTO conversation
        (id, title, created_at, updated_at, turns, user, assistant, scope, pinned, revision)
    VALUES (:id, :title, :created_at, :updated_at, 0, :user, :assistant, :scope, :pinned, :revision)
    ON CONFLICT (id) DO UPDATE SET title = :title, updated_at = :updated_at, scope = :scope, pinned = :pinned
"""
_STORED = [
    "id", "created_at", "feedback", "question", "feedback_text", "told", "said", "answer", "versions",
]  # fmt: skip
_WRITE = f"""
    INSERT INTO turn (conversation_id, {", ".join(_STORED)})
    VALUES (:conversation_id, {", ".join(f":{name}" for name in _STORED)})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = :{name}" for name in _STORED)}
"""
_COUNTED = """
    UPDATE conversation SET revision = revision + 1,
        turns = (SELECT count(*) FROM turn WHERE conversation_id = conversation.id)
    WHERE id = ?
"""
# A vector of other texts is never used: its row goes as soon as the texts change.
_DROP_EMBEDDING = """
    DELETE FROM turn_embedding WHERE turn = (
        SELECT number FROM turn WHERE id = :id AND (question, told) IS NOT (:question, :told)
    )
"""
_KEEP_EMBEDDING = """
    INSERT OR REPLACE INTO turn_embedding (turn, model, vectors)
    SELECT number, ?, ? FROM turn WHERE id = ? AND question = ? AND told = ?
"""
_RECALLABLE = """
    SELECT id, iif(told IS NULL, '', question), coalesce(told, ''), created_at,
           coalesce(vectors, x''), coalesce(model, '')
    FROM turn LEFT JOIN turn_embedding ON turn = number WHERE conversation_id = ? ORDER BY number
"""
_HAS_WORD = """
    (instr(casefold(title), ?) OR EXISTS (
        SELECT 1 FROM turn WHERE conversation_id = conversation.id AND instr(said, ?)
    ))
"""


class EmbeddedConversations(Conversations):
    """Fulfils `Conversations` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """The conversations of one user, or of all, the last used first."""
        where: list[str] = ["1"]
        given: list[str | float] = []
        if user is not None:
            where, given = [*where, "user = ?"], [user]
        if before is not None:
            where, given = [*where, "(updated_at, id) < (?, ?)"], [*given, before.updated_at, before.id]
        if pinned is not None:
            where = [*where, f"pinned = {int(pinned)}"]
        for word in words.casefold().split():
            where, given = [*where, _HAS_WORD], [*given, word, word]
        query = f"{_INFOS} WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id DESC LIMIT ?"
        with self.database.read() as connection:
            connection.create_function("casefold", 1, str.casefold, deterministic=True)
            return [_info(row) for row in connection.execute(query, (*given, -1 if limit is None else limit))]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self.database.read() as connection:
            row = connection.execute(f"{_INFOS} WHERE id = ?", (conversation_id,)).fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            rows = connection.execute(
                f"{_TURNS} WHERE conversation_id = ? ORDER BY number", (conversation_id,)
            )
            return Conversation(_info(row), tuple(map(_turn, rows)))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self.database.read() as connection:
            return _turn(_found(connection, turn_id))

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""
        names = ("id", "question", "answer", "at", "embedding", "embedded_by")
        with self.database.read() as connection:
            query = "SELECT id FROM conversation WHERE user = ?"
            own = {row[0] for row in connection.execute(query, (user,))}
            return [
                RecallableTurn(conversation_id=conversation, **dict(zip(names, row, strict=True)))
                for conversation in conversation_ids
                if conversation in own
                for row in connection.execute(_RECALLABLE, (conversation,))
            ]

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of turns whose texts are still these; no revision rises."""
        rows = [(turn.embedded_by, turn.embedding, turn.id, turn.question, turn.answer) for turn in turns]
        with self.database.write() as connection:
            connection.executemany(_KEEP_EMBEDDING, rows)

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, new or in the place of those of the same id; not its turns."""
        row = {name: getattr(info, name) for name in _INFO}
        row |= {"scope": json.dumps(info.scope, ensure_ascii=False), "revision": new_revision()}
        with self.database.write() as connection:
            connection.execute(_SAVE, row)

    def write(self, conversation_id: str, turn: Turn) -> None:
        """Write a turn, new at the end or in the place of the one of its id, and the time of use."""
        with self.database.write() as connection:
            query = "SELECT title FROM conversation WHERE id = ?"
            found = connection.execute(query, (conversation_id,)).fetchone()
            if found is None:
                raise unknown_conversation(conversation_id)
            _write(connection, conversation_id, turn)
            connection.execute(
                "UPDATE conversation SET updated_at = ?, title = ? WHERE id = ?",
                (turn.created_at, found[0] or title_of(turn.question), conversation_id),
            )

    def change_turn(self, turn_id: str, change: Callable[[Turn], Turn]) -> None:
        """Store what `change` makes of a turn, in one transaction; raises `UnknownConversation`."""
        with self.database.write() as connection:
            turn = _turn(_found(connection, turn_id))
            query = "SELECT conversation_id FROM turn WHERE id = ?"
            (conversation_id,) = connection.execute(query, (turn_id,)).fetchone()
            _write(connection, conversation_id, change(turn))

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with all its turns; raises `UnknownConversation`."""
        with self.database.write() as connection:
            done = connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def delete_turns(self, conversation_id: str, turn_ids: Sequence[str]) -> None:
        """Remove turns of a conversation; a title that was made of one of them is made again."""
        with self.database.write() as connection:
            delete_turns(connection, conversation_id, turn_ids)

    def close(self) -> None:
        """Release the file."""
        self.database.close()


def delete_turns(connection: sqlite3.Connection, conversation_id: str, turn_ids: Sequence[str]) -> None:
    """Remove turns of a conversation within a transaction."""
    query = """
        DELETE FROM turn WHERE conversation_id = ? AND id IN (SELECT value FROM json_each(?))
        RETURNING question
    """
    deleted = [row[0] for row in connection.execute(query, (conversation_id, as_json(turn_ids))).fetchall()]
    query = "SELECT question FROM turn WHERE conversation_id = ? ORDER BY number LIMIT 1"
    left = [row[0] for row in connection.execute(query, (conversation_id,))]
    for (title,) in connection.execute(
        "SELECT title FROM conversation WHERE id = ?", (conversation_id,)
    ).fetchall():
        title = retitled(title, deleted, left)
        connection.execute("UPDATE conversation SET title = ? WHERE id = ?", (title, conversation_id))
    connection.execute(_COUNTED, (conversation_id,))


def _write(connection: sqlite3.Connection, conversation_id: str, turn: Turn) -> None:
    record = record_of(turn) | {"conversation_id": conversation_id}
    connection.execute(_DROP_EMBEDDING, record)
    connection.execute(_WRITE, record)
    connection.execute(_COUNTED, (conversation_id,))


def _found(connection: sqlite3.Connection, turn_id: str) -> Sequence[Any]:
    row: Sequence[Any] | None = connection.execute(f"{_TURNS} WHERE id = ?", (turn_id,)).fetchone()
    if row is None:
        raise unknown_turn(turn_id)
    return row


def _turn(row: Sequence[Any]) -> Turn:
    return turn_from(dict(zip(_TURN, row, strict=True)))


def _info(row: Sequence[Any]) -> ConversationInfo:
    stored = dict(zip(_INFO, row, strict=True))
    changed = {"scope": tuple(json.loads(stored["scope"])), "pinned": bool(stored["pinned"])}
    return ConversationInfo(**stored | changed)
