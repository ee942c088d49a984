"""Conversations in the SQLite file: a row each, and one for each turn."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

from pipeline.answer import Answer
from pipeline.stores.conversations import (
    UNREADABLE,
    Conversation,
    ConversationInfo,
    Conversations,
    RecallableTurn,
    Turn,
    conversation_from,
    info_from,
    new_revision,
    record_of,
    title_of,
    turn_from,
    unknown_conversation,
    unknown_turn,
    written_of,
)
from pipeline.stores.embedded.checksums import Damaged, checksum, is_sound
from pipeline.stores.embedded.database import ConnectionPool, snapshot, transaction
from pipeline.stores.embedded.memories import leave_turns
from pipeline.stores.embedded.turn_tree import go_through, tree_of, with_versions
from pipeline.stores.memories import turn_changed

_INFO = [field.name for field in fields(ConversationInfo)]
_TURN = [field.name for field in fields(Turn)]
_INFOS = f"SELECT {', '.join(_INFO)} FROM conversation"
_TURNS = f"SELECT {', '.join(f'turn.{name}' for name in _TURN)} FROM turn"
_INSERT = f"""
    INSERT INTO conversation ({", ".join(_INFO)}, revision)
    VALUES ({", ".join(f":{name}" for name in _INFO)}, :revision)
"""
_WRITE = """
    INSERT INTO turn (id, conversation_id, said, question, created_at, feedback, feedback_text, remembered,
                      left_out, after, aside, told, answer)
    VALUES (:id, :conversation_id, :said, :question, :created_at, :feedback, :feedback_text, :remembered,
            :left_out, :after, :aside, :told, :answer)
    ON CONFLICT (id) DO UPDATE SET answer = :answer, said = :said, told = :told,
        remembered = max(remembered, :remembered)
    WHERE question = :question
"""
_REWRITE = "UPDATE turn SET answer = :answer, said = :said, told = :told WHERE id = :id"
_RECALLABLE = """
    SELECT turn.id, iif(left_out OR aside OR told IS NULL, '', question),
           iif(left_out OR aside OR told IS NULL, '', told), turn.created_at, vectors, model, checksum
    FROM turn JOIN conversation ON conversation.id = conversation_id
    LEFT JOIN turn_embedding ON turn = number
    WHERE conversation_id = ? AND user = ? ORDER BY number
"""
_KEEP_EMBEDDING = """
    INSERT OR REPLACE INTO turn_embedding (turn, vectors, model, checksum)
    SELECT number, ?, ?, ? FROM turn WHERE id = ? AND question = ? AND told = ? AND left_out = 0
"""
_LEAVE_OUT = """
    UPDATE turn SET left_out = 1
    WHERE id = ? AND conversation_id IN (SELECT id FROM conversation WHERE user = ?)
"""
_COUNT_TURNS = """
    UPDATE conversation
    SET turns = (SELECT count(*) FROM turn WHERE conversation_id = conversation.id AND aside = 0)
"""
_HAS_WORD = """
    (instr(casefold(title), ?) OR EXISTS (
        SELECT 1 FROM turn WHERE conversation_id = conversation.id AND instr(said, ?)
    ))
"""


class Connections(Protocol):
    """Lends connections to one database, each to one thread at a time."""

    def borrow(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection for the block; errors of SQLite leave it as `StoreError`."""

    def close(self) -> None:
        """Close them."""


class EmbeddedConversations(Conversations):
    """Fulfils `Conversations` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self._pool: Connections = ConnectionPool(path)

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
        listed = f"{_INFOS} WHERE {' AND '.join(where)} ORDER BY updated_at DESC, id DESC LIMIT ?"
        with self._pool.borrow() as connection:
            if words:
                connection.create_function("casefold", 1, str.casefold, deterministic=True)
            rows = connection.execute(listed, (*given, -1 if limit is None else limit)).fetchall()
            return [_info(row) for row in rows]

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        with self._pool.borrow() as connection:
            rows = connection.execute("SELECT DISTINCT user FROM conversation ORDER BY user").fetchall()
        return [name for (name,) in rows]

    def unremembered(self, user: str) -> Sequence[Turn]:
        """The turns of a user that nobody has looked at yet, oldest first."""
        query = f"""{_TURNS} JOIN conversation ON conversation.id = conversation_id
            WHERE remembered = 0 AND user = ? ORDER BY turn.created_at, number"""
        with self._pool.borrow() as connection:
            return [_turn(row) for row in connection.execute(query, (user,)).fetchall()]

    def rated(self, user: str, value: int) -> Sequence[Turn]:
        """The turns of a user whose reader thought so of the answer, the latest first."""
        query = f"""{_TURNS} JOIN conversation ON conversation.id = conversation_id
            WHERE feedback = ? AND user = ? ORDER BY turn.created_at DESC"""
        with self._pool.borrow() as connection:
            return [_turn(row) for row in connection.execute(query, (value, user)).fetchall()]

    def revisions(self, user: str) -> Mapping[str, int]:
        """The ids of a user's conversations, each with a number that rises with every change of its turns."""
        with self._pool.borrow() as connection:
            return dict(connection.execute("SELECT id, revision FROM conversation WHERE user = ?", (user,)))

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""
        with self._pool.borrow() as connection, snapshot(connection):
            return [
                _recallable(id_, row)
                for id_ in conversation_ids
                for row in connection.execute(_RECALLABLE, (id_, user))
            ]

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of those whose question and answer are still these; no revision rises."""
        rows = [
            (*kept, checksum(*kept), turn.id, turn.question, turn.answer)
            for turn in turns
            for kept in [(turn.embedding, turn.embedded_by)]
        ]
        with self._pool.borrow() as connection, transaction(connection):
            connection.executemany(_KEEP_EMBEDDING, rows)

    def leave_out(self, user: str, turn_ids: Sequence[str]) -> None:
        """Let these turns of a user not be found again; they stay in their conversations."""
        with self._pool.borrow() as connection, transaction(connection):
            connection.executemany(_LEAVE_OUT, [(id_, user) for id_ in with_versions(connection, turn_ids)])

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute(f"{_INFOS} WHERE id = ?", (conversation_id,)).fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            turns = f"{_TURNS} WHERE conversation_id = ? ORDER BY number"
            found = connection.execute(turns, (conversation_id,)).fetchall()
            return conversation_from(_info(row), [*map(_turn, found)])

    def change(self, conversation_id: str, **fields: object) -> None:
        """Store other values of some fields; raises `UnknownConversation`."""
        if "scope" in fields:
            fields["scope"] = json.dumps(fields["scope"], ensure_ascii=False)
        if not self._update("conversation", conversation_id, fields):
            raise unknown_conversation(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""
        with self._pool.borrow() as connection, transaction(connection):
            turns = "SELECT id FROM turn WHERE conversation_id = ?"
            leave_turns(connection, [id_ for (id_,) in connection.execute(turns, (conversation_id,))])
            done = connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            if done.rowcount == 0:
                raise unknown_conversation(conversation_id)

    def write(self, conversation_id: str, turn: Turn, *, instead_of: str = "") -> None:
        """Write a new turn, or its answer where it is there; raises as `save_turn` does."""
        with self._pool.borrow() as connection, transaction(connection):
            title = connection.execute("SELECT title FROM conversation WHERE id = ?", (conversation_id,))
            row = title.fetchone()
            if row is None:
                raise unknown_conversation(conversation_id)
            record = record_of(turn) | {"conversation_id": conversation_id}
            tree = tree_of(connection, conversation_id)
            if instead_of and instead_of not in tree.after:
                raise unknown_turn(instead_of)
            if turn.id not in tree.after:
                record["after"] = tree.after[instead_of] if instead_of else tree.last
            if connection.execute(_WRITE, record).rowcount == 0:
                raise turn_changed()
            if instead_of and turn.id not in tree.after:
                go_through(connection, conversation_id, [turn.id, *tree.way_to(record["after"])])
            connection.execute(f"{_COUNT_TURNS} WHERE id = ?", (conversation_id,))
            connection.execute(
                "UPDATE conversation SET updated_at = ?, title = ? WHERE id = ?",
                (turn.created_at, row[0] or title_of(turn.question), conversation_id),
            )

    def choose(self, turn_id: str) -> None:
        """Go through this version of a turn, and what followed it; raises `UnknownConversation`."""
        conversation_id = self.conversation_of(turn_id)
        with self._pool.borrow() as connection, transaction(connection):
            way = tree_of(connection, conversation_id).way_through(turn_id)
            if not way:  # deleted meanwhile
                raise unknown_turn(turn_id)
            go_through(connection, conversation_id, way)
            connection.execute(f"{_COUNT_TURNS} WHERE id = ?", (conversation_id,))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._pool.borrow() as connection:
            row = connection.execute(f"{_TURNS} WHERE id = ?", (turn_id,)).fetchone()
            if row is None:
                raise unknown_turn(turn_id)
            return _turn(row)

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
            row = connection.execute(f"{_TURNS} WHERE id = ?", (turn_id,)).fetchone()
            if row is not None:
                turn = _turn(row)
                written = written_of(turn.question, change(turn.answer))
                connection.execute(_REWRITE, {**written, "id": turn_id})

    def change_turn(self, turn_id: str, **fields: object) -> None:
        """Store other values of some fields of a turn; raises `UnknownConversation`."""
        if not self._update("turn", turn_id, fields):
            raise unknown_turn(turn_id)

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        info = conversation.info
        whole = (*conversation.turns, *conversation.aside)
        turns = [record_of(turn) | {"conversation_id": info.id} for turn in whole]
        with self._pool.borrow() as connection, transaction(connection):
            connection.execute("DELETE FROM conversation WHERE id = ?", (info.id,))
            connection.execute(_INSERT, _row_of(info) | {"turns": len(conversation.turns)})
            connection.executemany(_WRITE, turns)

    def close(self) -> None:
        """Release the file."""
        self._pool.close()

    def _update(self, table: str, id_: str, fields: dict[str, object]) -> bool:
        """Set columns of one row; False where it is not there."""
        columns = ", ".join(f"{name} = :{name}" for name in fields)
        with self._pool.borrow() as connection:
            done = connection.execute(f"UPDATE {table} SET {columns} WHERE id = :id", {**fields, "id": id_})
            return done.rowcount > 0


def drop_damaged_turns(connection: sqlite3.Connection) -> None:
    """Delete the turns that cannot be read, and count and index the others again."""
    for row in connection.execute(_TURNS).fetchall():
        try:
            turn = _turn(row)
        except Damaged:
            connection.execute("DELETE FROM turn WHERE id IS ?", (row[0],))
        else:
            found = written_of(turn.question, turn.answer) | {"id": turn.id}
            connection.execute("UPDATE turn SET said = :said, told = :told WHERE id = :id", found)
    connection.execute(_COUNT_TURNS)


def reset_damaged_scopes(connection: sqlite3.Connection) -> None:
    """Ask all documents in the conversations whose scope cannot be read."""
    for number, scope in connection.execute("SELECT rowid, scope FROM conversation").fetchall():
        try:
            _scope_from(scope)
        except Damaged:
            connection.execute("UPDATE conversation SET scope = '[]' WHERE rowid = ?", (number,))


def _row_of(info: ConversationInfo) -> dict[str, Any]:
    row = {name: getattr(info, name) for name in _INFO}
    return row | {"scope": json.dumps(info.scope, ensure_ascii=False), "revision": new_revision()}


def _info(row: Sequence[Any]) -> ConversationInfo:
    stored = dict(zip(_INFO, row, strict=True))
    try:
        return info_from(stored | {"scope": _scope_from(stored["scope"])})
    except ValueError as error:
        raise Damaged("a row of the table 'conversation' is not as it was written") from error


def _scope_from(stored: Any) -> tuple[str, ...]:
    try:
        scope = json.loads(stored)
    except (TypeError, ValueError):
        scope = None
    if not isinstance(scope, list) or not all(isinstance(glob, str) for glob in scope):
        raise Damaged("the scope of a conversation is not as it was written")
    return tuple(scope)


def _recallable(conversation_id: str, row: Sequence[Any]) -> RecallableTurn:
    """A turn of a conversation; one whose embedding is damaged has none: it is made again of the text."""
    id_, question, answer, at, *embedded, sound = row
    if [*map(type, (id_, question, answer, at))] != [str, str, str, float]:
        raise Damaged(f"turn '{id_}' is not as it was written")
    vectors, model = embedded if is_sound((*embedded,), sound) else (b"", "")
    return RecallableTurn(
        id=id_,
        conversation_id=conversation_id,
        question=question,
        answer=answer,
        at=at,
        embedding=vectors,
        embedded_by=model,
    )


def _turn(row: Sequence[Any]) -> Turn:
    stored = dict(zip(_TURN, row, strict=True))
    try:
        return turn_from(stored)
    except UNREADABLE as error:
        raise Damaged(f"turn '{stored['id']}' is not as it was written") from error
