"""How a change of many records is visible whole or not at all, without transactions.

A change is one record of `memory_changes`, whose id is the user and the version that it makes. Inserting it
is the change: of two who decided on the same version, one finds the number taken. Whoever comes next, its
writer first, *settles* it: puts its rows in their places in `memories`, each over an older version only, and
empties the record. So a killed writer leaves the old version or the new one, and settling twice, or late,
does nothing. A removed row leaves a record without text, which no late writer can write over.

`memory_users` says up to which version all is settled: where to begin to look for later ones.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterable, Sequence
from weakref import WeakValueDictionary

import bson
from pymongo import ReplaceOne
from pymongo.database import Database
from pymongo.errors import BulkWriteError, DuplicateKeyError

from pipeline.errors import StoreError
from pipeline.stores.erasing import Erasing
from pipeline.stores.memories import Memory, MemoryChanges, changed_meanwhile
from pipeline.stores.memory_records import live_key, record_of, row_json
from pipeline.stores.server.mongo import Document, chunks, in_groups
from pipeline.stores.server.stored_turns import delete_turns, mark_remembered, overwrite

ROWS_AN_INSERT = 500
DUPLICATE = 11000  # MongoDB's error code
KEPT_CHANGES = 1000  # emptied ones: a writer that is further behind could take a number twice
PART_BYTES = 4_000_000  # of rows in a record; MongoDB takes none of more than 16 MB

_settling: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()  # by user
_guard = threading.Lock()

Db = Database[Document]


def version_of(database: Db, user: str) -> int:
    """The version of a user's rows."""
    version = _settled(database, user)
    while _change(database, user, version + 1, {"_id": 1}):
        version += 1
    return version


def commit(
    database: Db,
    user: str,
    version: int,
    changes: MemoryChanges,
    *,
    words: Sequence[str] = (),
    turns: Sequence[Document] = (),
) -> bool:
    """Make a version, all of it by one insert; False where somebody else has made it."""
    records: list[Document] = [
        {"_id": key(user, row.id), "version": version, "gone": False, **record_of(row)}
        for row in changes.rows
    ]
    # What stays of a removed row: that it is gone, so that a late writer does not write it again.
    records += [
        {"_id": key(user, id_), "user": user, "version": version, "gone": True}
        for id_ in dict.fromkeys(changes.removed)
    ]
    in_parts = in_groups(records, size_of=lambda record: len(bson.encode(record)), most=PART_BYTES)
    first, *others = [*in_parts] or [[]]
    parts = [{"_id": uuid.uuid4().hex, "user": user, "version": version, "records": part} for part in others]
    for part in parts:
        database["memory_parts"].insert_one(part)
    change = {
        "_id": key(user, version),
        "user": user,
        "version": version,
        "settled": False,
        "records": first,
        "parts": [part["_id"] for part in parts],
        "events": [
            {
                "_id": key(user, event.id),
                "user": user,
                "memory_id": event.memory_id,
                "row": row_json(event),
                "version": version,
                "number": number,
            }
            for number, event in enumerate(changes.events)
        ],
        "remembered": [*changes.remembered],
        "words": [*words],
        "turns": [*turns],
    }
    try:
        database["memory_changes"].insert_one(change)
    except DuplicateKeyError:
        _delete_parts(database, change)
        return False
    return True


def key(user: str, id_: str | int) -> str:
    """The record's id for something of a user."""
    return json.dumps([user, id_], ensure_ascii=False)


def settle(database: Db, user: str) -> int:
    """Put in its place what is not yet, and return the version."""
    with _lock_of(user):
        version = settled = _settled(database, user)
        while change := _change(database, user, version + 1):
            if not change["settled"]:
                _settle(database, change)
            version += 1
        if version > settled:
            _note_settled(database, user, version)
    return version


def _lock_of(user: str) -> threading.Lock:
    """One thread of a process settles a user's changes, the others find it done."""
    with _guard:
        return _settling.setdefault(user, threading.Lock())


def settle_all(database: Db) -> None:
    """Settle the changes of all users, as killed writers left them."""
    for user in {
        record["user"] for record in database["memory_changes"].find({"settled": False}, {"user": 1})
    }:
        settle(database, user)


def check_live(database: Db, user: str, changes: MemoryChanges) -> None:
    """Raise `MemoriesChanged` where a text would live twice; to be asked when all is settled."""
    rows = [row for row in changes.rows if isinstance(row, Memory) and row.live]
    live = [live_key(row) for row in rows]
    if len(set(live)) < len(live):
        raise changed_meanwhile(user)
    written = {key(user, id_) for id_ in (*(row.id for row in changes.rows), *changes.removed)}
    for some in chunks(live):
        found = database["memories"].find({"user": user, "live": {"$in": some}}, {"_id": 1})
        if {record["_id"] for record in found} - written:
            raise changed_meanwhile(user)


def _settled(database: Db, user: str) -> int:
    record = database["memory_users"].find_one({"_id": user})
    return int(record["settled"]) if record else 0


def _change(database: Db, user: str, version: int, fields: Document | None = None) -> Document | None:
    return database["memory_changes"].find_one({"_id": key(user, version)}, fields)


def _settle(database: Db, change: Document) -> None:
    user, version = change["user"], change["version"]
    records = _all_records(database, change)
    if records is None:
        return
    _put(database, records)
    events = [ReplaceOne({"_id": event["_id"]}, event, upsert=True) for event in change["events"]]
    for some in chunks(events, ROWS_AN_INSERT):
        database["memory_events"].bulk_write(some)
    mark_remembered(database, user, change["remembered"])
    delete_turns(database, change["turns"])
    overwrite(database, user, Erasing.of(change["words"]))
    # From here on it is done: what is emptied now is not needed any more.
    emptied = {"user": user, "version": version, "settled": True}
    database["memory_changes"].replace_one({"_id": change["_id"]}, emptied)
    _delete_parts(database, change)
    database["memory_parts"].delete_many({"user": user, "version": {"$lte": version}})
    database["memory_changes"].delete_one({"_id": key(user, version - KEPT_CHANGES)})


def _note_settled(database: Db, user: str, version: int) -> None:
    database["memory_users"].update_one({"_id": user}, {"$max": {"settled": version}}, upsert=True)


def _all_records(database: Db, change: Document) -> list[Document] | None:
    """A change's records with those beside it; None where another process has settled it meanwhile."""
    records = list(change["records"])
    for part_id in change["parts"]:
        part = database["memory_parts"].find_one({"_id": part_id})
        if part is None:
            now = database["memory_changes"].find_one({"_id": change["_id"]})
            if now is None or now["settled"]:
                return None
            raise StoreError(
                f"The memories of '{change['user']}' in MongoDB are damaged: a part of a change is missing.",
                "Put back a dump of the database.",
            )
        records += part["records"]
    return records


def _put(database: Db, records: Iterable[Document]) -> None:
    """Put records in their places, each over an older version only."""
    memories = database["memories"]
    for some in chunks(records, ROWS_AN_INSERT):
        ids = [record["_id"] for record in some]
        there = {found["_id"] for found in memories.find({"_id": {"$in": ids}}, {"_id": 1})}
        older = [
            ReplaceOne({"_id": record["_id"], "version": {"$lt": record["version"]}}, record)
            for record in some
            if record["_id"] in there
        ]
        if older:
            memories.bulk_write(older, ordered=False)
        if new := [record for record in some if record["_id"] not in there]:
            try:
                memories.insert_many(new, ordered=False)
            except BulkWriteError as error:  # somebody else has settled it meanwhile
                if any(item["code"] != DUPLICATE for item in (error.details or {}).get("writeErrors", ())):
                    raise


def _delete_parts(database: Db, change: Document) -> None:
    for some in chunks(change["parts"]):
        database["memory_parts"].delete_many({"_id": {"$in": some}})
