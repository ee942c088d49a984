"""The MongoDB of a process: one client for all that use the same address, its errors as ours.

All is read from the primary and with majority concerns, whatever the URL says: a writer must not take what is
undone later for stored, nor a reader look for a version where it has not arrived yet. Only what every
MongoDB-compatible server has is relied on: no transactions. What changes several records leaves something
whole at every step, in an order that whoever comes next can complete.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import pymongo
from pymongo import ReadPreference
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from pipeline.errors import ConfigurationError, StoreError
from pipeline.stores.server.addresses import MONGODB_SETTING, ServerAddresses
from pipeline.stores.server.errors import describe_mongodb, mongodb_errors

Document = dict[str, Any]
Item = TypeVar("Item")

SELECTION_TIMEOUT_MS = 3000  # how long to wait for a dead server
CONNECT_TIMEOUT_MS = 3000
HEARTBEAT_MS = 1000  # how often we look whether it is there: calls to one that hangs end with the look
SOCKET_TIMEOUT_MS = 60_000  # a compatible server may read a whole collection for a filter
CLOSE_S = 1.0  # closing ends the sessions there, and would wait for a dead server to come back
IDS_A_QUERY = 1000

LAYOUT = 4
"""Of all records; rises when an older program could not read them, or this one not those of an older one."""

INDEXES: Mapping[str, Sequence[Sequence[str]]] = {
    "conversations": (("updated_at", "_id"), ("user", "updated_at", "_id")),
    "turns": (("conversation_id", "position"), ("user", "remembered", "created_at")),
    "memories": (("user", "live"),),
    "memory_events": (("user", "memory_id"),),
}

READ = ReadConcern("majority")
WRITE = WriteConcern("majority", wtimeout=5000)  # ms; a majority that is away is an error, not a wait


class MongoServer:
    """One database of one server; safe to use from several threads."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._client: pymongo.MongoClient[Document] | None = None
        self._has_layout = False
        self._has_indexes = False
        self.state_written_at = 0.0  # when this process last changed what is visible, by its monotonic clock

    @contextmanager
    def database(self) -> Iterator[Database[Document]]:
        """The database for the block, with concerns that take the place of the URL's.

        pymongo's errors leave it as our own; raises `StoreError` for another layout than ours.
        """
        with mongodb_errors(self._addresses):
            database = self._opened().get_database(
                self._addresses.mongodb_database,
                read_preference=ReadPreference.PRIMARY,
                read_concern=READ,
                write_concern=WRITE,
            )
            if not self._has_layout:
                _check_layout(database)
                self._has_layout = True
            yield database

    @contextmanager
    def collection(self, name: str) -> Iterator[Collection[Document]]:
        """One of its collections for the block."""
        with self.database() as database:
            yield database[name]

    def ensure_indexes(self) -> None:
        """Make the indexes that are not there yet; once a process."""
        if self._has_indexes:
            return
        with self.database() as database:
            for name, indexes in INDEXES.items():
                for keys in indexes:
                    database[name].create_index([*keys])
        self._has_indexes = True

    def now(self) -> float:
        """The server's clock, in seconds since the epoch: the one that all processes share."""
        with self.database() as database:
            hello = database.client.admin.command("hello")
        return float(hello["localTime"].timestamp() if "localTime" in hello else time.time())

    def version(self) -> str:
        """The server's version."""
        with self.database() as database:
            return str(database.client.server_info()["version"])

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            if self._client is not None:
                with pymongo.timeout(CLOSE_S):
                    self._client.close()
            self._client = None

    def _opened(self) -> pymongo.MongoClient[Document]:
        with self._lock:
            if self._client is None:
                self._client = _make_client(self._addresses)
            return self._client


def _make_client(addresses: ServerAddresses) -> pymongo.MongoClient[Document]:
    try:
        client: pymongo.MongoClient[Document] = pymongo.MongoClient(
            addresses.mongodb_url,
            appname="athena",
            tz_aware=True,
            serverSelectionTimeoutMS=SELECTION_TIMEOUT_MS,
            connectTimeoutMS=CONNECT_TIMEOUT_MS,
            heartbeatFrequencyMS=HEARTBEAT_MS,
            socketTimeoutMS=SOCKET_TIMEOUT_MS,
        )
    except (OSError, ValueError) as error:  # files that it names; a port or password that is not one
        raise describe_mongodb(error, addresses) from error
    if not client.write_concern.acknowledged:
        client.close()
        raise ConfigurationError(
            f"{MONGODB_SETTING} says w=0: what is not confirmed cannot be relied on.",
            "Leave w out: a majority is asked to confirm every change.",
        )
    return client


def _check_layout(database: Database[Document]) -> None:
    """Note our layout in an empty database; raise `StoreError` where another has a different one."""
    kept, ours = database["layout"], {"_id": "layout", "number": LAYOUT}
    found = kept.find_one({"_id": "layout"})
    if found is None and not {*database.list_collection_names()} - {"layout"}:  # noted before all else
        with suppress(DuplicateKeyError):  # another process notes it at the same moment
            kept.insert_one(ours)
    found = found or kept.find_one({"_id": "layout"})
    if found != ours:
        raise StoreError(
            f"The database '{database.name}' in MongoDB was filled by another version of Athena, which has "
            "another layout.",
            "Export memories with that version, name another database in ATHENA_MONGODB_DATABASE, ingest "
            "again and import them.",
        )


def chunks(items: Iterable[Item], size: int = IDS_A_QUERY) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]


def in_groups(items: Iterable[Item], *, size_of: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """The items in lists of at most this size together; a larger item has a list of its own."""
    group: list[Item] = []
    total = 0
    for item in items:
        size = size_of(item)
        if group and total + size > most:
            yield group
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group
