from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline.stores.embedded.checksums import checksum

from pipeline.errors import StoreError
from pipeline.stores.conversations import answer_json
from pipeline.stores.embedded import database
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import (
    ConnectionPool,
    describe,
    open_database,
    snapshot,
    store_errors,
    transaction,
)
from pipeline.stores.embedded.schema import (
    CONVERSATION_TABLES,
    FORMAT,
    INDEX_TABLES,
    MEMORY_TABLES,
    TURN_TABLES,
)
from tests.contracts.test_conversations import answer

INSERT = """
    INSERT INTO conversation (user, assistant, scope, pinned, created_at, updated_at, id, title)
    SELECT 'local', '', '[]', 0, 1, 1, ?, ?
"""
TABLES_12 = (
    """
    CREATE TABLE conversation (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0,
        user TEXT NOT NULL DEFAULT 'local',
        assistant TEXT NOT NULL DEFAULT '',
        scope TEXT NOT NULL DEFAULT '[]',
        pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))
    )
    """,
    "CREATE INDEX conversation_used ON conversation (updated_at, id)",
    "CREATE INDEX conversation_user ON conversation (user, updated_at, id)",
    "CREATE INDEX conversation_pinned ON conversation (user, updated_at, id) WHERE pinned = 1",
    """
    CREATE TABLE turn (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        said TEXT NOT NULL DEFAULT '',
        question TEXT NOT NULL,
        created_at REAL NOT NULL,
        feedback INTEGER CHECK (feedback IN (1, -1)),
        feedback_text TEXT NOT NULL DEFAULT '',
        remembered INTEGER NOT NULL DEFAULT 0 CHECK (remembered IN (0, 1)),
        answer TEXT NOT NULL
    )
    """,
    "CREATE INDEX turn_conversation ON turn (conversation_id)",
    "CREATE INDEX turn_unremembered ON turn (conversation_id) WHERE remembered = 0",
)
"""Conversations in a file of format 12; the other tables were those of today."""

OPEN_MANY_TIMES = """
import sys
from pathlib import Path
from pipeline.stores.embedded.database import open_database
open_database(Path(sys.argv[1])).close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "athena.sqlite"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """A new database."""
    with closing(open_database(path)) as opened:
        yield opened


def test_a_new_file_has_all_tables_and_the_newest_version(connection: sqlite3.Connection) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"document", "section", "sentence", "embedding", "change", "conversation", "turn"} <= tables
    assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


@pytest.mark.slow
def test_several_processes_may_make_the_file_at_once(path: Path) -> None:
    command = [sys.executable, "-c", OPEN_MANY_TIMES, str(path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert (process.communicate()[1], process.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (FORMAT + 1, r"knows up to \d+\. Update Athena"),
        (11, r"earlier version of Athena, as format \d+\. Index again .*memory export.*--salvage"),
    ],
)
def test_a_file_of_another_format_is_refused(
    path: Path, connection: sqlite3.Connection, number: int, said: str
) -> None:
    connection.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(StoreError, match=said):
        open_database(path)


def test_a_file_of_a_format_that_can_be_brought_to_the_newest_is(
    path: Path,
) -> None:
    path.parent.mkdir()
    quoted = answer("Why?", "So [1].", verdict="answered")
    with closing(sqlite3.connect(path)) as old, old:
        for statement in (*INDEX_TABLES, *TABLES_12, *MEMORY_TABLES, "PRAGMA user_version = 12"):
            old.execute(statement)
        old.execute("INSERT INTO conversation VALUES ('c', 'Old', 1, 2, 3, 'ann', '', '[]', 1)")
        old.executemany(
            "INSERT INTO turn VALUES (?, ?, 'c', 'said', ?, 1, NULL, '', 1, ?)",
            [
                (2, "first", "Why?", answer_json(quoted)),
                (5, "asked", "What do you know?", answer_json(replace(quoted, mode="memory"))),
                (9, "damaged", "And?", "[" * 100_000),
            ],
        )
    for _ in range(2):
        with closing(EmbeddedConversations(path)) as conversations:
            assert conversations.list()[0].title == "Old"
            assert conversations.turn("first").answer == quoted
            found = conversations.recallable("ann", [*conversations.revisions("ann")])
            assert [(turn.id, turn.question, turn.answer) for turn in found] == [
                ("first", "Why?", "So."),
                ("asked", "What do you know?", ""),
                ("damaged", "", ""),
            ]
    with closing(open_database(path)) as connection, closing(open_database(path.with_name("new"))) as new:
        assert described(connection) == described(new)


def test_a_file_of_such_a_format_that_is_only_read_says_whose_turn_it_is(
    path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("PRAGMA user_version = 12")
    monkeypatch.setattr(database, "is_read_only", lambda _: True)
    with pytest.raises(StoreError, match=r"earlier version.*may not be written.*Let its owner run"):
        open_database(path)


def described(connection: sqlite3.Connection) -> dict[str, str]:
    """The tables, indexes and triggers by name; a column that was added has no comment."""
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    return {name: " ".join(sql.split()) for name, sql in found.items() if name != "conversation"}


@pytest.mark.parametrize(
    "content", [b"this is no database, whatever it says" * 200, b"SQLite format 3\0" * 300]
)
def test_a_damaged_file_is_named(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"athena\.sqlite.*damaged") as caught:
        open_database(path)
    assert "athena ingest" in caught.value.fix


def test_a_full_disk_is_named_and_what_was_stored_is_whole(
    path: Path, connection: sqlite3.Connection
) -> None:
    connection.execute(INSERT, ("before", ""))
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(StoreError, match="disk is full"), store_errors(path), transaction(connection):
        connection.execute(INSERT, ("after", "x" * 100_000))
    assert connection.execute("SELECT id FROM conversation").fetchall() == [("before",)]
    assert not connection.in_transaction


def test_a_read_only_file_is_named(path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"read-only.*--data-dir"), store_errors(path):
        connection.execute("DELETE FROM conversation")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"Cannot write .*file.*--data-dir"):
        open_database(tmp_path / "file" / "data" / "athena.sqlite")


def test_a_folder_in_the_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="Cannot open"):
        open_database(path)


def test_a_busy_file_is_named(path: Path, connection: sqlite3.Connection) -> None:
    with closing(open_database(path)) as second:
        second.execute("PRAGMA busy_timeout = 0")
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process is writing"), store_errors(path):
            second.execute("BEGIN IMMEDIATE")


def test_other_errors_name_the_file(path: Path) -> None:
    error = sqlite3.OperationalError("something odd")
    assert str(describe(error, path)).startswith(f"Cannot use '{path}': something odd.")
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorname = "SQLITE_IOERR_READ"
    assert "the disk failed" in str(describe(failed, path))


def test_a_transaction_that_fails_is_undone(connection: sqlite3.Connection) -> None:
    with pytest.raises(KeyError), transaction(connection):
        connection.execute(INSERT, ("c", ""))
        raise KeyError
    assert connection.execute("SELECT count(*) FROM conversation").fetchone() == (0,)


def test_a_snapshot_sees_one_state(path: Path, connection: sqlite3.Connection) -> None:
    reader, writer = open_database(path), connection
    count = "SELECT count(*) FROM conversation"
    with snapshot(reader):
        assert reader.execute(count).fetchone() == (0,)
        writer.execute(INSERT, ("c", ""))
        assert reader.execute(count).fetchone() == (0,)
    assert reader.execute(count).fetchone() == (1,)
    reader.close()


def test_a_pool_lends_a_connection_to_one_at_a_time_and_takes_it_back(path: Path) -> None:
    pool = ConnectionPool(path)
    with pool.borrow() as first, pool.borrow() as second:
        assert first is not second
    with pool.borrow() as third:
        assert third in (first, second)
        pool.close()
        third.execute("SELECT 1")
    with pytest.raises(sqlite3.ProgrammingError):
        third.execute("SELECT 1")
    with pytest.raises(StoreError, match="closed"), pool.borrow():
        pass


TABLES_13 = tuple(
    re.sub(r"\n *(after|aside) .*", "", statement).replace(", aside ON turn", " ON turn")
    for statement in (*CONVERSATION_TABLES, *TURN_TABLES)
)
"""Conversations in a file of format 13."""


def test_turns_of_format_13_follow_each_other_and_keep_their_embeddings(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old, old:
        for statement in (*INDEX_TABLES, *TABLES_13, *MEMORY_TABLES, "PRAGMA user_version = 13"):
            old.execute(statement)
        old.execute("INSERT INTO conversation (id, title, created_at, updated_at) VALUES ('c', 'Old', 1, 2)")
        for id_ in ("first", "second"):
            told = answer_json(answer("Why?", "So.", verdict="answered"))
            old.execute(
                "INSERT INTO turn (id, conversation_id, question, created_at, told, answer)"
                " VALUES (?, 'c', 'Why?', 1.0, 'So.', ?)", (id_, told),
            )  # fmt: skip
        vectors = (b"1234", "m")
        old.execute("INSERT INTO turn_embedding VALUES (1, 'm', ?, ?)", (b"1234", checksum(*vectors)))
    with closing(EmbeddedConversations(path)) as conversations:
        assert [turn.embedding for turn in conversations.recallable("local", ["c"])] == [b"1234", b""]
        third = conversations.save_turn("c", answer("Why not?"), instead_of="second")
        assert [turn.id for turn in conversations.get("c").turns] == ["first", third]
        assert [turn.after for turn in conversations.get("c").aside] == ["first"]
    with closing(open_database(path)) as connection, closing(open_database(path.with_name("new"))) as new:
        assert described(connection) == described(new)
