"""FerretDB in the place of MongoDB: what it gets so that the benchmark measures Athena."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pipeline.stores.server import ServerAddresses
from pipeline.stores.server.servers import Servers

_OF_COLLECTIONS = "CREATE TABLE%(_ferretdb_sjson TEXT%"


def index_ids(addresses: ServerAddresses, folder: Path) -> int:
    """Give FerretDB on SQLite the indexes of ids that it means to have; how many collections got one.

    FerretDB 1.24 looks ids up by an expression (`->'$._id'`) that differs from the one in its indexes
    (`->"_id"`): each read by id reads the whole collection, and the benchmark would measure that. `folder`
    holds its files; there are none where MongoDB itself answers, which needs no help.
    """
    path = folder / f"{addresses.mongodb_database}.sqlite"
    if not path.is_file():
        return 0
    servers = Servers(addresses)
    servers.mongo.ensure_indexes()  # makes the collections, too
    servers.close()
    return add_indexes(path)


def add_indexes(path: Path) -> int:
    """Index the ids of FerretDB's collections in a file of SQLite's; how many there are."""
    with closing(sqlite3.connect(path, timeout=60)) as connection, connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE ?", (_OF_COLLECTIONS,))
        tables = [str(name) for (name,) in found]
        for table in tables:
            index = f"""CREATE INDEX IF NOT EXISTS "by_id_{table}" ON "{table}" (_ferretdb_sjson->'$._id')"""
            connection.execute(index)
    return len(tables)
