"""The MongoDB of a process: one client for all that use the same address, its errors as ours.

All is read from the primary and with majority concerns, whatever the URL says: a writer must not take what is
undone later for stored, nor a reader look for a version where it has not arrived yet. Only what every
MongoDB-compatible server has is relied on; transactions are used where there are some.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import pymongo
from pymongo import ReadPreference
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from pipeline.errors import ConfigurationError
from pipeline.stores.server.addresses import MONGODB_SETTING, ServerAddresses
from pipeline.stores.server.errors import mongodb_errors, unusable_mongodb
from pipeline.stores.server.indexes import ensure_indexes

Document = dict[str, Any]
Item = TypeVar("Item")
Result = TypeVar("Result")

SELECTION_TIMEOUT_MS = 3000  # how long to wait for a dead server
CONNECT_TIMEOUT_MS = 3000
HEARTBEAT_MS = 1000  # how often we look whether it is there: calls to one that hangs end with the look
SOCKET_TIMEOUT_MS = 60_000  # a compatible server may read a whole collection for a filter
CLOSE_S = 1.0  # closing ends the sessions there, and would wait for a dead server to come back
TRANSACTION_S = 5.0
IDS_A_QUERY = 1000

READ = ReadConcern("majority")
WRITE = WriteConcern("majority", wtimeout=5000)  # ms; a majority that is away is an error, not a wait


class MongoServer:
    """One database of one server; safe to use from several threads."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._client: pymongo.MongoClient[Document] | None = None
        self._has_indexes = False
        self._has_transactions: bool | None = None
        self._in_transaction: ContextVar[bool] = ContextVar("in_transaction", default=False)
        self.state_written_at = 0.0  # when this process last changed what is visible, by its monotonic clock

    @contextmanager
    def database(self) -> Iterator[Database[Document]]:
        """The database for the block; pymongo's errors leave it as our own.

        Within `atomically` they leave that instead, which has to know them.
        """
        if self._in_transaction.get():  # the concerns are the transaction's
            yield self._named(ReadConcern(), WriteConcern())
            return
        with mongodb_errors(self._addresses):
            yield self._named(READ, WRITE)

    @contextmanager
    def collection(self, name: str) -> Iterator[Collection[Document]]:
        """One of its collections for the block."""
        with self.database() as database:
            yield database[name]

    def atomically(self, changes: Callable[[], Result]) -> Result:
        """What `changes` returns: all that it changes, or nothing, where the server has transactions.

        Elsewhere (a single MongoDB, FerretDB) it is just called: it must leave something whole at every step.
        It may be called again, where another transaction was in its way.
        """
        if not self.has_transactions():
            return changes()
        with (
            mongodb_errors(self._addresses),
            pymongo.timeout(TRANSACTION_S),
            self._opened().start_session() as session,
            session.bind(end_session=False),
        ):
            token = self._in_transaction.set(True)
            try:
                return session.with_transaction(
                    lambda _: changes(),
                    read_concern=READ,
                    write_concern=WriteConcern("majority"),
                    read_preference=ReadPreference.PRIMARY,
                )
            finally:
                self._in_transaction.reset(token)

    def has_transactions(self) -> bool:
        """True for replica sets and sharded clusters; asked once."""
        if self._has_transactions is None:
            with self.database() as database:
                hello = database.client.admin.command("hello")
            self._has_transactions = "setName" in hello or hello.get("msg") == "isdbgrid"
        return self._has_transactions

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
                with pymongo.timeout(CLOSE_S):
                    self._client.close()
            self._client = None

    def _named(self, reading: ReadConcern, writing: WriteConcern) -> Database[Document]:
        """The database, with concerns that take the place of the URL's."""
        return self._opened().get_database(
            self._addresses.mongodb_database,
            read_preference=ReadPreference.PRIMARY,
            read_concern=reading,
            write_concern=writing,
        )

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
        raise unusable_mongodb(error, addresses) from error
    if not client.write_concern.acknowledged:
        client.close()
        raise ConfigurationError(
            f"{MONGODB_SETTING} says w=0: what is not confirmed cannot be relied on.",
            "Leave w out: a majority is asked to confirm every change.",
        )
    return client


def chunks(items: Iterable[Item], size: int = IDS_A_QUERY) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]
