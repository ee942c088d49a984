"""The MongoDB of a process: one client for all that use the same address, its errors as ours.

Only what every MongoDB-compatible server has is used: no transactions, no `$lookup`, no TTL indexes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pymongo
from pymongo.collection import Collection
from pymongo.database import Database

from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.errors import mongodb_errors, unusable_mongodb
from pipeline.stores.server.indexes import ensure_indexes

Document = dict[str, Any]
Item = TypeVar("Item")

SELECTION_TIMEOUT_MS = 3000  # how long to wait for a dead server
CONNECT_TIMEOUT_MS = 3000
SOCKET_TIMEOUT_MS = 60_000  # a compatible server may read a whole collection for a filter
IDS_A_QUERY = 1000


class MongoServer:
    """One database of one server; safe to use from several threads."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._client: pymongo.MongoClient[Document] | None = None
        self._has_indexes = False
        self.state_written_at = 0.0  # when this process last changed what is visible, by its monotonic clock

    @contextmanager
    def database(self) -> Iterator[Database[Document]]:
        """The database for the block; pymongo's errors leave it as our own."""
        with mongodb_errors(self._addresses):
            yield self._opened()[self._addresses.mongodb_database]

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
            ensure_indexes(database)
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
                self._client.close()
            self._client = None

    def _opened(self) -> pymongo.MongoClient[Document]:
        with self._lock:
            if self._client is None:
                self._client = _make_client(self._addresses)
            return self._client


def _make_client(addresses: ServerAddresses) -> pymongo.MongoClient[Document]:
    try:
        return pymongo.MongoClient(
            addresses.mongodb_url,
            appname="athena",
            tz_aware=True,
            serverSelectionTimeoutMS=SELECTION_TIMEOUT_MS,
            connectTimeoutMS=CONNECT_TIMEOUT_MS,
            socketTimeoutMS=SOCKET_TIMEOUT_MS,
        )
    except (OSError, ValueError) as error:  # files that it names; a port or password that is not one
        raise unusable_mongodb(error, addresses) from error


def chunks(items: Iterable[Item], size: int = IDS_A_QUERY) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]
