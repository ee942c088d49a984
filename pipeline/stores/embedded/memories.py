"""Memories in the SQLite file: a table for each kind of row, a version for each user."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import StoreDamaged
from pipeline.notices import notices
from pipeline.stores.embedded import erasing
from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.embedded.database import ConnectionPool, snapshot, transaction
from pipeline.stores.embedded.memory_rows import (
    ENTITY,
    EVENT,
    MEMORY,
    MENTION,
    RELATION,
    SOURCE,
    STORED,
    Stored,
    damaged_text,
    read_entity,
    read_event,
    read_memory,
    read_mention,
    read_relation,
    read_source,
)
from pipeline.stores.embedded.overwriting import Overwriting
from pipeline.stores.embedded.schema import SEAL_MEMORIES
from pipeline.stores.erasing import written_forms
from pipeline.stores.memories import (
    Entity,
    Memory,
    MemoryChanges,
    MemoryEvent,
    MemorySource,
    Mention,
    Relation,
    Row,
    UserMemories,
    changed_meanwhile,
    check_user,
    text_hash,
    turn_changed,
)
from pipeline.words import counted

_TABLES = ("memory", "entity", "mention", "relation")
_Row = TypeVar("_Row")


def _insert(table: str, columns: Sequence[str], *, or_: str = "ABORT") -> str:
    names = ", ".join(f":{name}" for name in columns)
    return f"INSERT OR {or_} INTO {table} ({', '.join(columns)}) VALUES ({names})"


def _select(table: str, columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(columns)} FROM {table} WHERE user = ?"


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
        union = " UNION ".join(f"SELECT user FROM {table}" for table in _TABLES)
        with self._pool.borrow() as connection:
            return [name for (name,) in connection.execute(f"{union} ORDER BY user").fetchall()]

    def users_citing(self, sources: Collection[str]) -> list[str]:
        """The users of whom a memory comes from one of these documents, by name."""
        query = """
            SELECT DISTINCT user FROM memory_source
            WHERE source <> '' AND source IN (SELECT value FROM json_each(?)) ORDER BY user
        """
        with self._pool.borrow() as connection:
            return [name for (name,) in connection.execute(query, (json.dumps([*sources]),)).fetchall()]

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for somebody unknown."""
        with self._pool.borrow() as connection:
            return _version(connection, user)

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment, the oldest first."""
        with self._pool.borrow() as connection, snapshot(connection), damaged_text(connection):
            version = _version(connection, user)
            reading = _Reading(connection, user)
            memories = reading.memories()
            entities = reading.rows("entity", read_entity)
            mentions = reading.rows("mention", read_mention)
            relations = reading.rows("relation", read_relation)
        damaged = tuple(dict.fromkeys(reading.damaged))
        if damaged:
            found = counted(len(damaged), "damaged row")
            notices.warning("Left out of the memories of '%s': %s. Run `athena doctor`.", user, found)
        return UserMemories(
            user=user,
            version=version,
            memories=_by_time((row for row in memories if row.id not in damaged), "created_at"),
            entities=_by_time(entities, "name"),
            mentions=_by_time(mentions, "at"),
            relations=_by_time(relations, "at"),
            damaged=damaged,
        )

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it or nothing, and return the new version; raises `MemoriesChanged`."""
        check_user(user, changes)
        with self._pool.borrow() as connection, _writing(connection, user, changes):
            return _write(connection, user, changes, expected=expected)

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; of one memory, or of all."""
        query = f"{_select('memory_event', EVENT)} AND ? IN ('', memory_id) ORDER BY at, number"
        with self._pool.borrow() as connection:
            rows = connection.execute(query, (user, memory_id)).fetchall()
            return [read_event(row) for row in rows]

    def forget(
        self, user: str, changes: MemoryChanges, *, words: Sequence[str] = (), expected: int | None = None
    ) -> None:
        """As `apply`, and then no file of the store holds a byte of it; raises `ErasureIncomplete`."""
        check_user(user, changes)
        overwriting = Overwriting(user, words)
        with self._pool.borrow() as connection:
            overwriting.look(connection)
            with _writing(connection, user, changes):
                gone = [*_texts(connection, user, changes), *written_forms(words)]
                _write(connection, user, changes, expected=expected)
                overwriting.overwrite(connection)
                erasing.begin(connection)
            erasing.finish(connection, self._path, gone, wait_s=self._erasing_wait_s)

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


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


_LIVE = """
    SELECT id FROM memory
    WHERE user = ? AND tier = ? AND hash = ? AND expired_at IS NULL AND invalid_at IS NULL
"""


def _damaged_twin(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> str:
    """The id of a damaged live memory with the text of one that is to be written; "" where none is."""
    with snapshot(connection), damaged_text(connection):
        reading = _Reading(connection, user)
        reading.memories()
        for row in changes.memories:
            for (id_,) in connection.execute(_LIVE, (user, row.tier, text_hash(row.text))).fetchall():
                if str(id_) in reading.damaged:
                    return str(id_)
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
    replaced = [(user, row.id) for row in changes.rows]
    removed = [(user, id_) for id_ in changes.removed]
    for table in _TABLES:
        connection.executemany(f"DELETE FROM {table} WHERE user = ? AND id = ?", [*replaced, *removed])
    for row in changes.rows:
        _insert_row(connection, row)
    for table, seal in SEAL_MEMORIES.items():
        column = "owner" if table == "memory_source" else "id"
        connection.executemany(f"{seal} WHERE user = ? AND {column} = ?", replaced)
    connection.executemany(
        _insert("memory_event", EVENT, or_="IGNORE"),
        [{name: getattr(event, name) for name in EVENT} for event in changes.events],
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


_INSERT_MEMORY = _insert("memory", [*MEMORY, "hash"])
_INSERT_SOURCE = _insert("memory_source", ["user", "owner", "position", *SOURCE])
_INSERT_ENTITY = _insert("entity", ENTITY)
_INSERT_MENTION = _insert("mention", MENTION)
_INSERT_RELATION = _insert("relation", RELATION)


def _insert_row(connection: sqlite3.Connection, row: Row) -> None:
    match row:
        case Memory():
            given = {name: getattr(row, name) for name in MEMORY}
            given |= {"tags": _json(row.tags), "hash": text_hash(row.text)}
            connection.execute(_INSERT_MEMORY, given)
            connection.executemany(_INSERT_SOURCE, list(_source_rows(row)))
        case Entity():
            given = {name: getattr(row, name) for name in ENTITY}
            given |= {"aliases": _json(row.aliases), "attributes": _json(dict(row.attributes))}
            connection.execute(_INSERT_ENTITY, given)
        case Mention():
            connection.execute(_INSERT_MENTION, {name: getattr(row, name) for name in MENTION})
        case Relation():
            connection.execute(_INSERT_RELATION, {name: getattr(row, name) for name in RELATION})


def _source_rows(memory: Memory) -> Iterator[dict[str, Any]]:
    for position, source in enumerate(memory.sources):
        place = {"user": memory.user, "owner": memory.id, "position": position}
        yield place | {name: getattr(source, name) for name in SOURCE}


class _Reading:
    """One reading of a user's rows; those that are not as they were written are left out, and noted."""

    def __init__(self, connection: sqlite3.Connection, user: str) -> None:
        self._connection, self._user = connection, user
        self.damaged: list[str] = []  # ids

    def rows(self, table: str, read: Callable[[Stored], _Row]) -> list[_Row]:
        """The sound rows of a table."""
        found = []
        for row in self._stored(table):
            try:
                found.append(read(row))
            except Damaged:
                self.damaged.append(str(row[STORED[table].index("id")]))
        return found

    def memories(self) -> list[Memory]:
        """The memories that are sound themselves; of some, a source is not."""
        sources = self._sources()
        return self.rows("memory", lambda row: read_memory(row, sources))

    def _sources(self) -> dict[str, list[MemorySource]]:
        """The sources of all memories, by memory; a memory with a damaged one is damaged."""
        found: dict[str, list[MemorySource]] = defaultdict(list)
        owner = STORED["memory_source"].index("owner")
        for row in self._stored("memory_source", order=" ORDER BY owner, position"):
            try:
                found[row[owner]].append(read_source(row))
            except Damaged:
                self.damaged.append(str(row[owner]))
        return found

    def _stored(self, table: str, *, order: str = "") -> list[Stored]:
        query = _select(table, STORED[table]) + order
        return self._connection.execute(query, (self._user,)).fetchall()


def _by_time(rows: Iterable[Any], name: str) -> tuple[Any, ...]:
    return tuple(sorted(rows, key=lambda row: (getattr(row, name), row.id)))


def _texts(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> list[str]:
    """What the rows say that will be gone or replaced: the file is searched for it."""
    found: list[object] = []
    with damaged_text(connection):
        for id_ in [*changes.removed, *(row.id for row in changes.rows)]:
            for query in _SAID:
                found += [text for (text,) in connection.execute(query, (user, id_)).fetchall()]
    kept = {row.text for row in changes.rows if isinstance(row, Memory)}
    return [text for text in dict.fromkeys(found) if isinstance(text, str) and text not in kept]


_SAID = (
    "SELECT text FROM memory WHERE user = ? AND id = ?",
    "SELECT quote FROM memory_source WHERE user = ? AND owner = ?",
    "SELECT name FROM entity WHERE user = ? AND id = ?",
)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
