"""Conversations in the SQLite file: a row each, and one for each turn."""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.answer import Answer
from pipeline.options import DEFAULT_USER
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
from pipeline.stores.embedded.database import ConnectionPool, transaction
from pipeline.stores.embedded.schema import MENTION_CHECKED, RELATION_CHECKED, SOURCE_CHECKED
from pipeline.stores.memories import turn_changed
from pipeline.words import well_formed

_INFO = "SELECT id, title, created_at, updated_at, turns, user, assistant, scope, pinned FROM conversation"
_TURN = """
    SELECT turn.id, question, answer, turn.created_at, feedback, feedback_text, remembered FROM turn
"""
_TURNS = f"{_TURN} WHERE conversation_id = ? ORDER BY position"
_INSERT = """
    INSERT INTO conversation (id, title, created_at, updated_at, user, assistant, scope, pinned)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_HAS_WORD = """
    (instr(casefold(title), ?) OR EXISTS (
        SELECT 1 FROM said WHERE conversation_id = conversation.id AND instr(casefold(said.text), ?)
    ))
"""


# Memories outlive the conversation that they come from; what they say of it then names no turn.
def _still_sound(checked: str) -> str:
    """A row's checksum once it names no turn; one that was not sound stays so."""
    left = checked.replace("turn_id", "''")
    return f"CASE WHEN checksum IS checksum({checked}) THEN checksum({left}) ELSE checksum END"


_TURNS_OF = "SELECT id FROM turn WHERE conversation_id = ?1"
_LEAVE_MEMORIES = (
    f"""
    UPDATE memory_user SET version = version + 1 WHERE user IN (
        SELECT user FROM memory_source WHERE turn_id IN ({_TURNS_OF})
        UNION SELECT user FROM mention WHERE turn_id IN ({_TURNS_OF})
        UNION SELECT user FROM relation WHERE turn_id IN ({_TURNS_OF})
    )
    """,
    *(
        f"UPDATE {table} SET turn_id = '', checksum = {_still_sound(checked)} WHERE turn_id IN ({_TURNS_OF})"
        for table, checked in (
            ("memory_source", SOURCE_CHECKED),
            ("mention", MENTION_CHECKED),
            ("relation", RELATION_CHECKED),
        )
    ),
)


class EmbeddedConversations:
    """Fulfils `Conversations` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self._pool = ConnectionPool(path)

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now, title = time.time(), well_formed(title)
        info = ConversationInfo(str(uuid.uuid4()), title, now, now, 0, user, assistant)
        with self._pool.borrow() as connection:
            connection.execute(_INSERT, _row_of(info))
        return Conversation(info, ())

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """Those of one user, or of all, the latest used first: the first `limit` of those after `before`."""
        where: Sequence[str] = ["1"]
        given: Sequence[str | float] = []
        if user is not None:
            where, given = [*where, "user = ?"], [user]
        if before is not None:
            where, given = [*where, "(updated_at, id) < (?, ?)"], [*given, before.updated_at, before.id]
        if pinned is not None:
            where = [*where, f"pinned = {int(pinned)}"]
        for word in words.casefold().split():
            where, given = [*where, _HAS_WORD], [*given, word, word]
        listed = f"{_INFO} WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id DESC LIMIT ?"
        with self._pool.borrow() as connection:
            if words:
                connection.create_function("casefold", 1, str.casefold, deterministic=True)
            rows = connection.execute(listed, (*given, -1 if limit is None else limit)).fetchall()
            return [_info(*row) for row in rows]

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        with self._pool.borrow() as connection:
            rows = connection.execute("SELECT DISTINCT user FROM conversation ORDER BY user").fetchall()
        return [name for (name,) in rows]

    def unremembered(self, user: str) -> Sequence[Turn]:
        """The turns of a user that nobody has looked at yet, oldest first."""
        query = f"""{_TURN} JOIN conversation ON conversation.id = conversation_id
            WHERE remembered = 0 AND user = ? ORDER BY turn.created_at, position"""
        with self._pool.borrow() as connection:
            rows = connection.execute(query, (user,)).fetchall()
        return [_turn(*row) for row in rows]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute(f"{_INFO} WHERE id = ?", (conversation_id,)).fetchone()
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

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Ask only the documents that these globs mean from now on, or all; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE conversation SET scope = ? WHERE id = ?", (_scope_json(scope), conversation_id)
            )
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin it, or take that back; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            done = connection.execute(
                "UPDATE conversation SET pinned = ? WHERE id = ?", (int(pinned), conversation_id)
            )
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""
        with self._pool.borrow() as connection, transaction(connection):
            for statement in _LEAVE_MEMORIES:
                connection.execute(statement, (conversation_id,))
            done = connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def save_turn(self, conversation_id: str, answer: Answer, *, remembered: bool = False) -> str:
        """Write a turn, new or in the place of the one that `answer.turn_id` names; returns its id."""
        now = time.time()
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        with self._pool.borrow() as connection, transaction(connection):
            row = connection.execute(
                "SELECT title FROM conversation WHERE id = ?", (conversation_id,)
            ).fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            done = connection.execute(
                """
                INSERT INTO turn (id, conversation_id, position, question, status, answer, created_at,
                                  remembered)
                SELECT :id, :conversation, coalesce(max(position), -1) + 1, :question, :status, :answer, :now,
                       :remembered
                FROM turn WHERE conversation_id = :conversation
                ON CONFLICT (id) DO UPDATE SET status = :status, answer = :answer,
                                               remembered = max(remembered, :remembered)
                WHERE turn.question = :question
                """,
                {
                    "id": answer.turn_id,
                    "conversation": conversation_id,
                    "question": answer.question,
                    "status": answer.status,
                    "answer": answer_json(answer),
                    "now": now,
                    "remembered": int(remembered),
                },
            )
            if done.rowcount == 0:
                raise turn_changed()
            connection.execute(
                "UPDATE conversation SET updated_at = ?, title = ? WHERE id = ?",
                (now, row[0] or title_of(answer.question), conversation_id),
            )
        return answer.turn_id

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute(f"{_TURN} WHERE turn.id = ?", (turn_id,)).fetchone()
        if row is None:
            raise unknown_turn(turn_id)
        return _turn(*row)

    def conversation_of(self, turn_id: str) -> str:
        """The id of the conversation that has a turn; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute("SELECT conversation_id FROM turn WHERE id = ?", (turn_id,)).fetchone()
        if row is None:
            raise unknown_turn(turn_id)
        return str(row[0])

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Store what `change` makes of a turn's answer as it is at that moment; nothing where it is gone."""
        with self._pool.borrow() as connection, transaction(connection):
            row = connection.execute(f"{_TURN} WHERE turn.id = ?", (turn_id,)).fetchone()
            if row is not None:
                changed = answer_json(change(_turn(*row).answer))
                connection.execute("UPDATE turn SET answer = ? WHERE id = ?", (changed, turn_id))

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
            connection.execute(_INSERT, _row_of(info))
            connection.executemany(
                """
                INSERT INTO turn (id, conversation_id, position, question, status, answer, created_at,
                                  feedback, feedback_text, remembered)
                VALUES (:id, :conversation, :position, :question, :status, :answer, :created_at,
                        :feedback, :feedback_text, :remembered)
                """,
                [record_of(turn, info.id, position) for position, turn in enumerate(conversation.turns)],
            )

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


def drop_damaged_turns(connection: sqlite3.Connection) -> None:
    """Delete the turns that cannot be read."""
    turns = "SELECT conversation.id FROM conversation"
    for (conversation_id,) in connection.execute(turns).fetchall():
        for row in connection.execute(_TURNS, (conversation_id,)).fetchall():
            try:
                _turn(*row)
            except Damaged:
                connection.execute("DELETE FROM turn WHERE id IS ?", (row[0],))


def reset_damaged_scopes(connection: sqlite3.Connection) -> None:
    """Ask all documents in the conversations whose scope cannot be read."""
    for number, scope in connection.execute("SELECT rowid, scope FROM conversation").fetchall():
        try:
            _scope_from(scope)
        except Damaged:
            connection.execute("UPDATE conversation SET scope = '[]' WHERE rowid = ?", (number,))


def _row_of(info: ConversationInfo) -> tuple[str | float, ...]:
    times = info.created_at, info.updated_at
    return info.id, info.title, *times, info.user, info.assistant, _scope_json(info.scope), int(info.pinned)


def _scope_json(scope: Sequence[str]) -> str:
    return json.dumps([well_formed(glob) for glob in scope], ensure_ascii=False)


def _info(*row: Any) -> ConversationInfo:
    *plain, scope, pinned = row
    if [type(value) for value in plain] != [str, str, float, float, int, str, str] or pinned not in (0, 1):
        raise Damaged("a row of the table 'conversation' is not as it was written")
    return replace(ConversationInfo(*plain), scope=_scope_from(scope), pinned=bool(pinned))


def _scope_from(stored: Any) -> tuple[str, ...]:
    try:
        scope = json.loads(stored)
    except (TypeError, ValueError):
        scope = None
    if not isinstance(scope, list) or not all(isinstance(glob, str) for glob in scope):
        raise Damaged("the scope of a conversation is not as it was written")
    return tuple(scope)


def _turn(
    turn_id: Any,
    question: Any,
    answer: Any,
    created_at: Any,
    feedback: Any,
    feedback_text: Any,
    remembered: Any,
) -> Turn:
    texts = turn_id, question, feedback_text
    sound = all(isinstance(text, str) for text in texts) and isinstance(created_at, float)
    if not sound or feedback not in (None, 1, -1) or remembered not in (0, 1):
        raise Damaged("a row of the table 'turn' is not as it was written")
    try:
        stored = answer_from(json.loads(answer))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Damaged(f"the answer of turn '{turn_id}' is not as it was written") from error
    return Turn(turn_id, question, stored, created_at, feedback, feedback_text, bool(remembered))
