"""The SQLite file: made, read, written, checked and backed up; its errors."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import DiskFull, StoreError
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import database as module
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.rows import EmbeddedRows
from pipeline.stores.embedded.schema import FORMAT

OPEN = """
import sys
from pathlib import Path
from pipeline.stores.embedded.database import Database
Database(Path(sys.argv[1])).close()
"""
KEY = "INSERT INTO memory_user VALUES (?, ?, '', 0, 1, '', '', '', '', '')"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "athena.sqlite"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    """A new database."""
    with closing(Database(path)) as opened:
        yield opened


def names(database: Database) -> list[str]:
    with database.read() as connection:
        return [name for (name,) in connection.execute("SELECT user FROM memory_user ORDER BY user")]


def test_a_new_file_has_the_tables_and_is_set_up_for_erasing(database: Database) -> None:
    with database.read() as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        pragmas = ("user_version", "journal_mode", "foreign_keys", "secure_delete")
        values = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert {"document", "node", "embedding", "conversation", "turn", "memory", "api_key"} <= tables
    assert values == [FORMAT, "wal", 1, 1]


@pytest.mark.slow
def test_several_processes_may_make_the_file_at_once(path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert (process.communicate()[1], process.returncode) == ("", 0)


def test_a_transaction_that_fails_is_undone(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        connection.execute(KEY, ("1", "first"))
        raise ZeroDivisionError
    assert names(database) == []


def test_a_closed_database_says_so(database: Database) -> None:
    with database.read():
        database.close()  # while it is in use
    with pytest.raises(StoreError, match="was closed"), database.read():
        pass


def test_a_backup_is_a_whole_database_and_overwrites_nothing(database: Database, tmp_path: Path) -> None:
    with database.write() as connection:
        connection.execute(KEY, ("1", "first"))
    copy = tmp_path / "copy.sqlite"
    database.backup(copy)
    with closing(Database(copy)) as copied:
        assert names(copied) == ["first"]
        assert copied.check() == []
    with pytest.raises(StoreError, match=r"copy\.sqlite.*exists"):
        database.backup(copy)


def test_damage_is_found_by_the_quick_check_or_at_opening(path: Path) -> None:
    with closing(Database(path)) as database:
        for number in range(200):
            Conversations(EmbeddedRows(database)).create(f"Conversation {number}")
    content = bytearray(path.read_bytes())
    content[8192:16384] = bytes(8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="backup"), closing(Database(path)) as damaged:
        assert damaged.check()
        raise StoreError("", "backup")


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"athena\.sqlite.*damaged"):
        Database(path)


@pytest.mark.parametrize("found", [FORMAT - 1, FORMAT + 1])
def test_a_file_of_another_format_is_refused(path: Path, found: int) -> None:
    Database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {found}")
    with pytest.raises(StoreError, match=f"format {found}"):
        Database(path)


def test_a_full_disk_is_named_and_what_was_stored_is_whole(database: Database) -> None:
    with database.write() as connection:
        connection.execute(KEY, ("1", "first"))
        connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(DiskFull, match="disk is full"), database.write() as connection:
        for number in range(2, 500):
            connection.execute(KEY, (f"{number}", "x" * 5000 + f"{number}"))
    assert names(database) == ["first"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        Database(tmp_path / "file" / "athena.sqlite")


def test_a_busy_file_is_named(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.05)
    with (
        closing(Database(database.path)) as other,
        database.write(),
        pytest.raises(StoreError, match="another process"),
        other.write(),
    ):
        pass


def test_text_that_is_not_unicode_is_named(database: Database) -> None:
    with pytest.raises(StoreError, match="Unicode"), database.write() as connection:
        connection.execute(KEY, ("1", "\udcff"))
