"""Conversations in the SQLite file: a row each, and one for each turn."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from pipeline.stores.conversations import (
    Change,
    Conversation,
    ConversationInfo,
    Conversations,
    RecallableTurn,
    Turn,
    changed_turn,
    new_revision,
    recallable_of,
    title_of,
    title_without,
    turn_of,
    turn_record,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.embedded.database import Database, as_json

_INFO = [field.name for field in fields(ConversationInfo)]
_INFOS = f"SELECT {', '.join(_INFO)} FROM conversation"
_SAVE = """
    INSERT INTO conversation
        (id, title, created_at, updated_at, turns, user, assistant, scope, pinned, revision)
    VALUES (:id, :title, :created_at, :updated_at, 0, :user, :assistant, :scope, :pinned, :revision)
    ON CONFLICT (id) DO UPDATE SET title = :title, updated_at = :updated_at, scope = :scope, pinned = :pinned
"""
_TURN = (
    "id", "created_at", "feedback", "feedback_text", "question", "recalled_question",
     "recalled_answer", "searched", "embedding", "embedded_by", "answer", "versions",
)  # fmt: skip
_TURNS = f"SELECT {', '.join(_TURN)} FROM turn"
_WRITE = f"""
    INSERT INTO turn (conversation_id, {", ".join(_TURN)})
    VALUES (:conversation_id, {", ".join(f":{name}" for name in _TURN)})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = :{name}" for name in _TURN)}
"""
_RECALLABLE = (
    "id", "conversation_id", "recalled_question", "recalled_answer", "created_at", "embedding", "embedded_by"
)  # fmt: skip
_COUNT = """
    UPDATE conversation SET revision = revision + 1,
        turns = (SELECT count(*) FROM turn WHERE conversation_id = conversation.id)
    WHERE id = ?
"""
_HAS_WORD = """
    (instr(casefold(title), ?) OR EXISTS (
        SELECT 1 FROM turn WHERE conversation_id = conversation.id AND instr(searched, ?)
    ))
"""


class EmbeddedConversations(Conversations):
    """Fulfils `Conversations` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        with self._database.read() as connection:
            connection.create_function("casefold", 1, str.casefold, deterministic=True)
            return [_info(row) for row in connection.execute(query, (*given, -1 if limit is None else limit))]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._database.read() as connection:
            found = connection.execute(f"{_INFOS} WHERE id = ?", (conversation_id,)).fetchone()
            if found is None:
                raise unknown_conversation(conversation_id)
            query = f"{_TURNS} WHERE conversation_id = ? ORDER BY number"
            turns = connection.execute(query, (conversation_id,))
            return Conversation(_info(found), tuple(map(_turn, turns)))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._database.read() as connection:
            row = connection.execute(f"{_TURNS} WHERE id = ?", (turn_id,)).fetchone()
        if row is None:
            raise unknown_turn(turn_id)
        return _turn(row)

    def turns(self, user: str, *, conversations: Collection[str] | None = None) -> Sequence[RecallableTurn]:
        """The turns of a user, in the order in which they were begun."""
        query = f"""
            SELECT {", ".join(f"turn.{name}" for name in _RECALLABLE)}
            FROM turn JOIN conversation ON conversation.id = conversation_id WHERE user = ?
        """
        given = [user]
        if conversations is not None:
            query, given = query + " AND conversation_id IN (SELECT value FROM json_each(?))", [
                user, as_json(conversations),
            ]  # fmt: skip
        with self._database.read() as connection:
            rows = connection.execute(f"{query} ORDER BY turn.number", given)
            return [recallable_of(dict(zip(_RECALLABLE, row, strict=True))) for row in rows]

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, in the place of those with the same id; not its turns."""
        row = {name: getattr(info, name) for name in _INFO}
        row |= {"scope": json.dumps(info.scope, ensure_ascii=False), "revision": new_revision()}
        with self._database.write() as connection:
            connection.execute(_SAVE, row)

    def write(self, conversation_id: str, turn_id: str, change: Change) -> None:
        """Store what `change` makes of a turn, in one transaction; raises `UnknownConversation`."""
        with self._database.write() as connection:
            query = "SELECT title FROM conversation WHERE id = ?"
            titled = connection.execute(query, (conversation_id,)).fetchone()
            if titled is None:
                raise unknown_conversation(conversation_id)
            row = connection.execute(f"{_TURNS} WHERE id = ?", (turn_id,)).fetchone()
            old = _turn(row) if row else None
            turn = changed_turn(old, change)
            connection.execute(_WRITE, turn_record(turn) | {"conversation_id": conversation_id})
            if turn != old:
                connection.execute(_COUNT, (conversation_id,))
            if old is None:
                connection.execute(
                    "UPDATE conversation SET updated_at = ?, title = ? WHERE id = ?",
                    (turn.created_at, titled[0] or title_of(turn.question), conversation_id),
                )

    def delete(self, conversation_id: str, turn_ids: Collection[str] | None = None) -> None:
        """Delete a conversation, or only these of its turns; raises `UnknownConversation`."""
        with self._database.write() as connection:
            if turn_ids is not None:
                delete_turns(connection, conversation_id, turn_ids)
                return
            done = connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)


def delete_turns(connection: sqlite3.Connection, conversation_id: str, turn_ids: Collection[str]) -> None:
    """Delete turns of a conversation within a transaction; raises `UnknownConversation`."""
    query = """
        DELETE FROM turn WHERE conversation_id = ? AND id IN (SELECT value FROM json_each(?))
        RETURNING question
    """
    deleted = [row[0] for row in connection.execute(query, (conversation_id, as_json(turn_ids))).fetchall()]
    query = "SELECT question FROM turn WHERE conversation_id = ? ORDER BY number LIMIT 1"
    left = [row[0] for row in connection.execute(query, (conversation_id,))]
    query = "SELECT title FROM conversation WHERE id = ?"
    titled = connection.execute(query, (conversation_id,)).fetchone()
    if titled is None:
        raise unknown_conversation(conversation_id)
    title = title_without(titled[0], deleted, left)
    connection.execute("UPDATE conversation SET title = ? WHERE id = ?", (title, conversation_id))
    connection.execute(_COUNT, (conversation_id,))


def _turn(row: Sequence[Any]) -> Turn:
    return turn_of(dict(zip(_TURN, row, strict=True)))


def _info(row: Sequence[Any]) -> ConversationInfo:
    stored = dict(zip(_INFO, row, strict=True))
    changed = {"scope": tuple(json.loads(stored["scope"])), "pinned": bool(stored["pinned"])}
    return ConversationInfo(**stored | changed)
