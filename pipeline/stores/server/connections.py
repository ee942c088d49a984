"""The clients of both servers, shared by everything in a process that uses the same addresses.

Timeouts, retries, read preferences and consistency are the drivers' and the servers' defaults.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import pymongo
from pymongo.database import Database
from weaviate import WeaviateClient, connect_to_custom
from weaviate.auth import Auth
from weaviate.config import AdditionalConfig, Proxies

from pipeline.errors import StoreUnavailable
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.errors import describe_mongodb, mongodb_errors, weaviate_errors

Record = dict[str, Any]
Db = Database[Record]
Item = TypeVar("Item")
Result = TypeVar("Result")

PARALLEL_CALLS = 16
ITEMS_A_CALL = 1000


INDEXES: Mapping[str, Sequence[Sequence[str]]] = {
    "conversations": (("user", "updated_at", "_id"), ("updated_at", "_id")),
    "turns": (("conversation_id", "position"), ("user",)),
    "memories": (("user", "live"),),
    "memory_events": (("user", "memory_id"),),
}
"""Of the collections that are not named after a build; those are in `index.py`."""


class Connections:
    """Both clients, opened at their first use; safe to use from several threads."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self.addresses = addresses
        self._owners = 0
        self._lock = threading.RLock()

    @contextmanager
    def mongodb(self) -> Iterator[Db]:
        """The database for the block; pymongo's errors leave the block as our own."""
        with mongodb_errors(self.addresses):
            with self._lock:
                database = self._database
            yield database

    def weaviate(self, *calls: Callable[[WeaviateClient], Result]) -> list[Result]:
        """Make some calls at the same time and return their results; errors leave as our own.

        A server that did not answer gets a new connection the next time: gRPC's own waits for minutes.
        """
        try:
            with weaviate_errors(self.addresses):
                with self._lock:
                    client, pool = self._client, self._pool
                return [future.result() for future in [pool.submit(call, client) for call in calls]]
        except StoreUnavailable:
            with self._lock:
                broken = self.__dict__.pop("_client", None)
            if broken is not None:
                broken.close()
            raise

    def versions(self) -> tuple[str, str]:
        """The versions of MongoDB and Weaviate; raises `StoreUnavailable` where one does not answer."""
        with self.mongodb() as database:
            mongodb = str(database.client.server_info()["version"])
        return mongodb, str(self.weaviate(lambda client: client.get_meta()["version"])[0])

    @cached_property
    def _database(self) -> Db:
        addresses = self.addresses
        try:
            client: pymongo.MongoClient[Record] = pymongo.MongoClient(addresses.mongodb_url, appname="athena")
        except (OSError, ValueError) as error:  # a file that the URL names; a port or password
            raise describe_mongodb(error, addresses) from error
        database = client[addresses.mongodb_database]
        try:
            for name, indexes in INDEXES.items():
                for keys in indexes:
                    database[name].create_index(list(keys))
        except BaseException:
            client.close()
            raise
        return database

    @cached_property
    def _client(self) -> WeaviateClient:
        addresses = self.addresses
        key = addresses.weaviate_api_key
        return connect_to_custom(
            http_host=addresses.weaviate.hostname or "",
            http_port=addresses.weaviate_port,
            http_secure=addresses.weaviate_is_secure,
            grpc_host=addresses.grpc_host,
            grpc_port=addresses.weaviate_grpc_port,
            grpc_secure=addresses.weaviate_is_secure,
            auth_credentials=Auth.api_key(key) if key else None,
            # The environment is read for one thing, a private certificate authority, and not for proxies.
            additional_config=AdditionalConfig(trust_env="SSL_CERT_FILE" in os.environ, proxies=Proxies()),
            skip_init_checks=True,  # they would ask PyPI for a newer client
        )

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(PARALLEL_CALLS, thread_name_prefix="weaviate")

    def _close(self) -> None:
        with self._lock:
            opened = self.__dict__
            if "_database" in opened:
                opened.pop("_database").client.close()
            if "_client" in opened:
                opened.pop("_client").close()
            if "_pool" in opened:
                opened.pop("_pool").shutdown(wait=False)


_lock = threading.Lock()
_shared: dict[tuple[int, ServerAddresses], Connections] = {}


def connect(addresses: ServerAddresses) -> Connections:
    """The connections of this process to these addresses; each caller calls `disconnect` once."""
    with _lock:
        # A forked process must not use its parent's connections.
        connections = _shared.setdefault((os.getpid(), addresses), Connections(addresses))
        connections._owners += 1
        return connections


def disconnect(connections: Connections) -> None:
    """Give up one use of the connections; the last one closes them."""
    with _lock:
        connections._owners -= 1
        if connections._owners == 0:
            _shared.pop((os.getpid(), connections.addresses), None)
            connections._close()


def in_parts(items: Iterable[Item], size: int = ITEMS_A_CALL) -> Iterator[list[Item]]:
    """The items in lists of at most `size`."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]
