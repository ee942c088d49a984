"""The clients of both servers, opened at their first use.

Timeouts, retries, read preferences and consistency are the drivers' and the servers' defaults.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pymongo
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError
from weaviate import WeaviateClient, connect_to_custom
from weaviate.auth import Auth
from weaviate.config import AdditionalConfig, Proxies

from pipeline.errors import StoreUnavailable
from pipeline.redaction import hide
from pipeline.stores.rows import KINDS, other_format
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.errors import server_errors

FORMAT = 2
"""Increase it with each change of MongoDB's records; it is stored with them."""

Record = dict[str, Any]
Db = Database[Record]
Item = TypeVar("Item")
Result = TypeVar("Result")

PARALLEL_CALLS = 16
ITEMS_A_CALL = 1000

INDEXES: Mapping[str, Sequence[Sequence[str]]] = {
    "documents": (("clean", "begun_at"),),
    "sections": (("node",), ("version", "order")),
    **dict.fromkeys(KINDS, (("user", "at", "_id"), ("group", "at", "_id"))),
}
"""The indexes of MongoDB's collections, each by its fields."""


class Connections:
    """Both clients; safe to use from several threads."""

    def __init__(self, addresses: ServerAddresses) -> None:
        hide(addresses.model_dump())  # from messages
        self.addresses = addresses
        self.known_versions: tuple[object, dict[str, str]] = None, {}
        """The `Index` at one moment, and the visible versions that were read at that moment, by source."""
        self._lock = threading.RLock()
        self._pool = ThreadPoolExecutor(PARALLEL_CALLS, thread_name_prefix="weaviate")

    @contextmanager
    def mongodb(self) -> Iterator[Db]:
        """Yield the database; pymongo's errors in the block are raised as our own."""
        with server_errors("MongoDB", self.addresses.mongodb_url):
            with self._lock:
                database = self._database
            yield database

    def weaviate(self, *calls: Callable[[WeaviateClient], Result]) -> list[Result]:
        """Make the calls at the same time, and return their results in order; raises our own errors.

        If the server did not answer, the next call opens a new connection: gRPC would wait for minutes.
        """
        try:
            with server_errors("Weaviate", self.addresses.weaviate_url):
                with self._lock:
                    client = self._client
                return [future.result() for future in [self._pool.submit(call, client) for call in calls]]
        except StoreUnavailable:
            self._close("_client")
            raise

    def close(self) -> None:
        """Close both clients."""
        self._close("_client")
        self._close("_database")
        self._pool.shutdown(wait=False)

    def _close(self, name: str) -> None:
        with self._lock:
            opened = self.__dict__.pop(name, None)
        if opened is not None:
            (opened.client if isinstance(opened, Database) else opened).close()

    @cached_property
    def _database(self) -> Db:
        try:
            client = pymongo.MongoClient[Record](self.addresses.mongodb_url, appname="athena")
        except (OSError, ValueError) as error:  # a file that the URL names; a port
            raise pymongo.errors.ConfigurationError(str(error)) from error
        database = client[self.addresses.mongodb_database]
        try:
            _check_format(database)
            for name, keys in INDEXES.items():
                for fields in keys:
                    database[name].create_index(list(fields))
        except BaseException:
            client.close()
            raise
        return database

    @cached_property
    def _client(self) -> WeaviateClient:
        url, key = urlsplit(self.addresses.weaviate_url), self.addresses.weaviate_api_key
        host, is_secure = url.hostname or "", url.scheme == "https"
        logging.getLogger("weaviate-client").setLevel(logging.WARNING)  # not each retry
        return connect_to_custom(
            http_host=host,
            http_port=url.port or (443 if is_secure else 80),
            http_secure=is_secure,
            grpc_host=host,
            grpc_port=self.addresses.weaviate_grpc_port,
            grpc_secure=is_secure,
            auth_credentials=Auth.api_key(key) if key else None,
            # The environment is read for one thing, a private certificate authority, and not for proxies.
            additional_config=AdditionalConfig(trust_env="SSL_CERT_FILE" in os.environ, proxies=Proxies()),
            skip_init_checks=True,  # they would ask PyPI for a newer client
        )


def _check_format(database: Db) -> None:
    """Store the format in a new database; raises `StoreError` if the records have another format."""
    is_used = "turn" in database.list_collection_names()  # read first: a new database gets its format first
    record = database["index"].find_one({"_id": "format"})
    found = record["number"] if record else 0
    if record is None and not is_used:
        with suppress(DuplicateKeyError):  # another process does the same
            database["index"].insert_one({"_id": "format", "number": FORMAT})
    elif found != FORMAT:
        raise other_format(f"the database '{database.name}'", found, FORMAT)


def in_parts(items: Iterable[Item], size: int = ITEMS_A_CALL) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]
