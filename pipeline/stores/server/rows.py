"""`Rows` in MongoDB: one collection for each kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Unpack

from pymongo import DeleteOne, ReplaceOne
from pymongo.errors import DuplicateKeyError

from pipeline.stores.rows import Kind, Row, Where
from pipeline.stores.server.connections import Connections, Record


class ServerRows:
    """Fulfils `Rows`; safe to use from several threads, processes and machines."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def select(
        self, kind: Kind, *, limit: int | None = None, whole: bool = False, **where: Unpack[Where]
    ) -> list[Row]:
        """Return the rows that fulfil all conditions, highest `at` and id first."""
        if limit == 0:  # to MongoDB, 0 means no limit
            return []
        wanted: Record = {}
        if (ids := where.get("ids")) is not None:
            wanted["_id"] = {"$in": [*ids]}
        if (user := where.get("user")) is not None:
            wanted["user"] = user
        if (groups := where.get("groups")) is not None:
            wanted["group"] = {"$in": [*groups]}
        if text := where.get("text"):
            wanted["text"] = {"$regex": re.escape(text)}
        with self._connections.mongodb() as database:
            found = database[kind].find(wanted, None if whole else {"body": 0})
            latest = found.sort([("at", -1), ("_id", -1)]).limit(limit or 0)
            return [Row(id=record.pop("_id"), **record) for record in latest]

    def swap(self, kind: Kind, row: Row, *, expected: int) -> bool:
        """Write a row if the stored version is `expected` (0: none stored); return whether it was written."""
        record = _record(row)
        with self._connections.mongodb() as database:
            if expected:
                known = {"_id": row.id, "version": expected}
                return database[kind].replace_one(known, record).matched_count > 0
            try:
                database[kind].insert_one(record)
            except DuplicateKeyError:
                return False
            return True

    def put(self, kind: Kind, rows: Sequence[Row] = (), *, removed: Collection[str] = ()) -> None:
        """Delete the rows with the ids `removed` and write others, replacing rows with the same ids."""
        changes: list[DeleteOne | ReplaceOne[Record]] = [DeleteOne({"_id": id_}) for id_ in removed]
        changes += [ReplaceOne({"_id": row.id}, _record(row), upsert=True) for row in rows]
        if changes:
            with self._connections.mongodb() as database:
                database[kind].bulk_write(changes)  # pymongo sends it in parts below 48 MB

    @contextmanager
    def transaction(self, *, erase: bool = False) -> Iterator[ServerRows]:  # noqa: ARG002
        """Change rows immediately, ignoring `erase`: FerretDB and a single MongoDB have no transactions."""
        yield self


def _record(row: Row) -> Record:
    record = asdict(row)
    return {"_id": record.pop("id"), **record}
