"""The help that FerretDB gets: its reads by id use an index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bench.server.ferretdb import add_indexes

# As FerretDB 1.24 makes a collection with its index of ids, and as it reads by id.
TABLE = "CREATE TABLE \"turns_1\" (_ferretdb_sjson TEXT NOT NULL CHECK(_ferretdb_sjson != '')) STRICT"
INDEX = 'CREATE UNIQUE INDEX "turns_1__id_" ON "turns_1" (_ferretdb_sjson->"_id")'
READ = "SELECT _ferretdb_sjson FROM \"turns_1\" WHERE _ferretdb_sjson->'$._id' = ?"


def plan(connection: sqlite3.Connection) -> str:
    return str(connection.execute(f"EXPLAIN QUERY PLAN {READ}", ('"x"',)).fetchall())


def test_reads_by_id_use_the_index(tmp_path: Path) -> None:
    path = tmp_path / "athena.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(TABLE)
        connection.execute(INDEX)
        connection.execute("CREATE TABLE own (name TEXT)")
        connection.execute('INSERT INTO turns_1 VALUES (\'{"_id": "x"}\')')
        connection.commit()
        assert "SCAN" in plan(connection)
        assert add_indexes(path) == 1
        assert add_indexes(path) == 1, "again"
    with closing(sqlite3.connect(path)) as connection:
        assert "by_id_turns_1" in plan(connection)
        assert connection.execute(READ, ('"x"',)).fetchall() == [('{"_id": "x"}',)]
