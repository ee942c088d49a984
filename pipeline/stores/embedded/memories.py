"""Memories in the SQLite file: a row each, a version for each user."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pipeline.errors import StoreDamaged
from pipeline.notices import notices
from pipeline.stores.conversations import title_without
from pipeline.stores.embedded import erasing
from pipeline.stores.embedded.checksums import Damaged, check_row, checksum, is_sound
from pipeline.stores.embedded.database import ConnectionPool, snapshot, transaction
from pipeline.stores.embedded.turn_tree import delete_turns, with_versions
from pipeline.stores.erasing import Erasing, written_forms
from pipeline.stores.memories import (
    Memory,
    MemoryChanges,
    MemoryEvent,
    Row,
    UserMemories,
    changed_meanwhile,
    check_user,
    turn_changed,
)
from pipeline.stores.memory_records import (
    adapter,
    live_key,
    record_of,
    row_json,
    row_of,
    user_memories,
    without_turns,
)
from pipeline.words import counted

_STORED = "user, id, kind, live, named, row, checksum, embedding, embedding_checksum"
_INSERT = f"INSERT INTO memory ({_STORED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SELECT = f"SELECT {_STORED} FROM memory"
_NAMING = """
    FROM memory, json_each(CASE WHEN json_valid(named) THEN named ELSE '[]' END) AS name
    WHERE name.value IN (SELECT value FROM json_each(?))
"""
"""The rows that name a turn or a document."""
_TURNS = """
    SELECT turn.id, conversation_id, title, question, CAST(said AS BLOB), CAST(coalesce(told, '') AS BLOB),
           CAST(answer AS BLOB), coalesce(vectors, x'')
    FROM turn JOIN conversation ON conversation.id = conversation_id
    LEFT JOIN turn_embedding ON turn = number
    WHERE user = ? AND turn.id IN (SELECT value FROM json_each(?))
"""

Texts = tuple[str | None, ...]


class EmbeddedMemories:
    """Fulfils `Memories` on one SQLite database."""

    graph = None

    def __init__(self, path: Path, *, erasing_wait_s: float = erasing.WAIT_S) -> None:
        self._path = path
        self._pool = ConnectionPool(path)
        self._erasing_wait_s = erasing_wait_s

    def identity(self) -> str:
        """What names this file alone, for as long as it exists."""
        with self._pool.borrow() as connection:
            return str(connection.execute("SELECT store FROM state").fetchone()[0])

    def users(self) -> list[str]:
        """All users of whom something is remembered, by name."""
        with self._pool.borrow() as connection:
            rows = connection.execute("SELECT DISTINCT user FROM memory ORDER BY user").fetchall()
        return [name for (name,) in rows]

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for somebody unknown."""
        with self._pool.borrow() as connection:
            return _version(connection, user)

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment, the oldest first."""
        rows: list[Row] = []
        damaged: list[str] = []
        with self._pool.borrow() as connection, snapshot(connection), damaged_text(connection):
            version = _version(connection, user)
            for stored in connection.execute(f"{_SELECT} WHERE user = ?", (user,)).fetchall():
                try:
                    rows.append(_read(stored))
                except Damaged:
                    damaged.append(str(stored[1]))
        if damaged:
            found = counted(len(damaged), "damaged row")
            notices.warning("Left out of the memories of '%s': %s. Run `athena doctor`.", user, found)
        return user_memories(user, version, rows, damaged)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it or nothing, and return the new version; raises `MemoriesChanged`."""
        check_user(user, changes)
        with self._pool.borrow() as connection, _writing(connection, user, changes):
            return _write(connection, user, changes, expected=expected)

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; of one memory, or of all."""
        query = "SELECT row FROM memory_event WHERE user = ? AND ? IN ('', memory_id) ORDER BY number"
        with self._pool.borrow() as connection:
            rows = connection.execute(query, (user, memory_id)).fetchall()
            return sorted((_read_event(row) for (row,) in rows), key=lambda event: event.at)

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        words: Sequence[str] = (),
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """As `apply`, and then no file of the store holds a byte of it; raises `ErasureIncomplete`."""
        check_user(user, changes)
        overwriting = Overwriting(user, words)
        with self._pool.borrow() as connection:
            overwriting.look(connection)
            with _writing(connection, user, changes):
                texts = [*_texts(connection, user, changes), *words]
                _write(connection, user, changes, expected=expected)
                gone = [*written_forms(texts), *_delete_turns(connection, user, turns)]
                gone += overwriting.overwrite(connection)
                erasing.begin(connection)
            erasing.finish(connection, self._path, gone, wait_s=self._erasing_wait_s)

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


class Overwriting:
    """Overwrites words in turns and titles; what these say is looked at before anybody has to wait for it."""

    def __init__(self, user: str, words: Sequence[str]) -> None:
        self._user = user
        self._words = Erasing.of(words)
        self._have: dict[bytes, bool] = {}  # by a hash of the texts
        self._done: dict[bytes, Texts] = {}

    def look(self, connection: sqlite3.Connection) -> None:
        """Look at all that is stored now, so that `overwrite` has to look only at what comes after."""
        if self._words:
            self._changes(connection)

    def overwrite(self, connection: sqlite3.Connection) -> list[bytes]:
        """Overwrite the words, within a transaction; pieces of the embeddings that go with them."""
        if not self._words:
            return []
        titles, turns = self._changes(connection)
        ids = [str(id_) for *_, id_ in turns]
        before = _embeddings(connection, ids)
        connection.executemany("UPDATE conversation SET title = ? WHERE id = ?", titles)
        connection.executemany(
            "UPDATE turn SET question = ?, answer = ?, feedback_text = ?, said = ?, told = ? WHERE id = ?",
            turns,
        )
        gone = before.keys() - _embeddings(connection, ids)
        return [piece for id_ in gone for piece in erasing.pieces(before[id_])]

    def _changes(self, connection: sqlite3.Connection) -> tuple[list[Texts], list[Texts]]:
        """New titles and texts of turns, each with its id behind it."""
        titles: list[Texts] = []
        changed: list[Texts] = []
        query = "SELECT id, question, answer, feedback_text, told FROM turn WHERE conversation_id = ?"
        conversations = "SELECT id, title FROM conversation WHERE user = ?"
        for id_, title in connection.execute(conversations, (self._user,)).fetchall():
            turns = connection.execute(query, (id_,)).fetchall()
            if self._is_in((title,)) or any(self._is_in((*texts,)) for _, *texts in turns):
                asked = [question for _, question, *_ in turns]
                titles.append((self._words.title(title, asked), id_))
                changed += [(*self._overwritten(texts), turn_id) for turn_id, *texts in turns]
        return titles, changed

    def _is_in(self, texts: Texts) -> bool:
        key = _hash(texts)
        if key not in self._have:
            self._have[key] = self._words.is_in("\n".join(filter(None, texts)))
        return self._have[key]

    def _overwritten(self, texts: Sequence[Any]) -> Texts:
        key = _hash(texts)
        if key not in self._done:
            question, answer, feedback, told = texts
            written = self._words.turn(question=question, answer=answer, feedback_text=feedback, told=told)
            self._done[key] = tuple(written.values())
        return self._done[key]


def leave_turns(connection: sqlite3.Connection, turns: Collection[str]) -> None:
    """Let no row name these turns, within a transaction; rows that are damaged stay as they are."""
    rows: dict[str, list[Row]] = defaultdict(list)
    naming = f"{_SELECT} WHERE rowid IN (SELECT memory.rowid {_NAMING})"
    with damaged_text(connection):
        for stored in connection.execute(naming, (_json(turns),)).fetchall():
            with suppress(Damaged):
                rows[stored[0]].append(_read(stored))
    for user, named in rows.items():
        _write(connection, user, without_turns(named, turns), expected=None)


def _delete_turns(connection: sqlite3.Connection, user: str, turns: Collection[str]) -> list[str | bytes]:
    """Delete turns of a user, and conversations that have no other; what the file is searched for then."""
    if not turns:
        return []
    gone: list[str | bytes] = []
    asked: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)  # by conversation and its title
    with damaged_text(connection):
        found = connection.execute(_TURNS, (user, _json(with_versions(connection, turns)))).fetchall()
    for id_, conversation_id, title, question, *stored in found:
        asked[conversation_id, title][id_] = question
        gone += [id_, title, question, *(piece for value in stored for piece in erasing.pieces(value))]
    leave_turns(connection, [row[0] for row in found])
    for (conversation_id, title), questions in asked.items():
        delete_turns(connection, conversation_id, questions.keys())
        _retitle(connection, conversation_id, title, [*questions.values()])
    return gone


def _retitle(connection: sqlite3.Connection, conversation_id: str, title: str, deleted: list[str]) -> None:
    """Count the turns that a conversation has left, without `deleted` questions; delete one without any."""
    left = connection.execute(
        "SELECT question FROM turn WHERE conversation_id = ? AND aside = 0 ORDER BY number",
        (conversation_id,),
    ).fetchall()
    if left:
        connection.execute(
            "UPDATE conversation SET title = ?, turns = ? WHERE id = ?",
            (title_without(title, deleted, left[0][0]), len(left), conversation_id),
        )
    else:
        connection.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))


def _embeddings(connection: sqlite3.Connection, turns: Collection[str]) -> dict[str, bytes]:
    """The embeddings of some turns, by id."""
    query = """
        SELECT id, vectors FROM turn JOIN turn_embedding ON turn = number
        WHERE id IN (SELECT value FROM json_each(?))
    """
    return dict(connection.execute(query, (_json(turns),)).fetchall())


def drop_damaged_memories(connection: sqlite3.Connection) -> None:
    """Delete the rows that cannot be read."""
    with damaged_text(connection):
        for number, *stored in connection.execute(f"SELECT rowid, {_STORED} FROM memory").fetchall():
            try:
                _read(stored)
            except Damaged:
                connection.execute("DELETE FROM memory WHERE rowid = ?", (number,))
        for number, row in connection.execute("SELECT number, row FROM memory_event").fetchall():
            try:
                _read_event(row)
            except Damaged:
                connection.execute("DELETE FROM memory_event WHERE number = ?", (number,))


@contextmanager
def damaged_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read also texts that are not UTF-8 any more in the block: no checksum is theirs."""
    before = connection.text_factory
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        yield
    finally:
        connection.text_factory = before


@contextmanager
def _writing(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> Iterator[None]:
    """One transaction; a second live row of the same text is somebody else's work, or damaged."""
    try:
        with transaction(connection):
            yield
    except sqlite3.IntegrityError as error:
        if damaged := _damaged_twin(connection, user, changes):
            raise StoreDamaged(
                f"What is to be remembered has the text of memory '{damaged}', which is damaged.",
                "Put back a copy of the data folder. Without one, remove the memory and try again: "
                f"`athena memory forget {damaged} --yes --user {user}`.",
            ) from error
        raise changed_meanwhile(user) from error


def _damaged_twin(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> str:
    """The id of a damaged live memory with the text of one that is to be written; "" where none is."""
    query = f"{_SELECT} WHERE user = ? AND live = ?"
    with damaged_text(connection):
        for row in changes.memories:
            for stored in connection.execute(query, (user, live_key(row))).fetchall():
                try:
                    _read(stored)
                except Damaged:
                    return str(stored[1])
    return ""


def _version(connection: sqlite3.Connection, user: str) -> int:
    row = connection.execute("SELECT version FROM memory_user WHERE user = ?", (user,)).fetchone()
    return row[0] if row else 0


def _write(connection: sqlite3.Connection, user: str, changes: MemoryChanges, *, expected: int | None) -> int:
    """Write the changes and return the version after them."""
    version = _version(connection, user)
    if expected is not None and expected != version:
        raise changed_meanwhile(user)
    _check_turns(connection, user, changes)
    connection.executemany(
        """
        UPDATE turn SET remembered = 1
        WHERE id = ? AND conversation_id IN (SELECT id FROM conversation WHERE user = ?)
        """,
        [(turn_id, user) for turn_id in changes.remembered],
    )
    if not changes.changes_rows:
        return version
    # What is replaced goes first: a new row may have the text of one that ends.
    gone = [(user, id_) for id_ in (*(row.id for row in changes.rows), *changes.removed)]
    connection.executemany("DELETE FROM memory WHERE user = ? AND id = ?", gone)
    connection.executemany(_INSERT, map(_stored, changes.rows))
    connection.executemany(
        "INSERT OR IGNORE INTO memory_event (user, id, memory_id, row) VALUES (?, ?, ?, ?)",
        [(user, event.id, event.memory_id, row_json(event)) for event in changes.events],
    )
    connection.execute("INSERT OR REPLACE INTO memory_user VALUES (?, ?)", (user, version + 1))
    return version + 1


def _check_turns(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> None:
    query = """
        SELECT question FROM turn JOIN conversation ON conversation.id = conversation_id
        WHERE turn.id = ? AND user = ?
    """
    for turn_id, question in changes.rests_on:
        if connection.execute(query, (turn_id, user)).fetchone() != (question,):
            raise turn_changed()


def _stored(row: Row) -> tuple[Any, ...]:
    """A row with the columns of the table, in order."""
    record = record_of(row)
    embedding = record.pop("embedding")
    values = tuple((record | {"named": _json(record["named"])}).values())
    return *values, checksum(*values), embedding, checksum(embedding)


def _read(stored: Sequence[Any]) -> Row:
    """From the columns to a row; raises `Damaged`.

    A memory whose vector alone is damaged has none: it is made again of the text.
    """
    *values, sound, embedding, embedding_sound = stored
    check_row("memory", tuple(values), sound)
    _, _, kind, _, _, row = values
    try:
        return row_of(kind, row, embedding if is_sound((embedding,), embedding_sound) else b"")
    except (ValueError, KeyError) as error:
        raise Damaged("a row of the table 'memory' is not as it was written") from error


def _read_event(row: Any) -> MemoryEvent:
    try:
        event: MemoryEvent = adapter("event").validate_json(row)
    except ValueError as error:
        raise Damaged("a row of the table 'memory_event' is not as it was written") from error
    return event


def _texts(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> list[str]:
    """What the rows say that will be gone or replaced: the file is searched for it."""
    found: list[object] = []
    with damaged_text(connection):
        for id_ in [*changes.removed, *(row.id for row in changes.rows)]:
            rows = connection.execute("SELECT row FROM memory WHERE user = ? AND id = ?", (user, id_))
            for (row,) in rows.fetchall():
                found += _said(row)
    kept = {row.text for row in changes.rows if isinstance(row, Memory)}
    return [text for text in dict.fromkeys(found) if isinstance(text, str) and text not in kept]


def _said(stored: Any) -> Iterable[object]:
    """The words of a row: its text or name, and its quotes; all of it where it is damaged."""
    try:
        row = json.loads(stored)
        return [row.get("text"), row.get("name"), *(it.get("quote") for it in row.get("sources", ()))]
    except (ValueError, TypeError, AttributeError):
        return [stored]


def _hash(texts: Sequence[str | None]) -> bytes:
    return hashlib.sha256(json.dumps([*texts]).encode()).digest()


def _json(values: Collection[str]) -> str:
    return json.dumps([*values], ensure_ascii=False)
