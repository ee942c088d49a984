"""The real servers of tests: where they are, whether they are up, and a store of one's own on them."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from weaviate import WeaviateClient

    from pipeline.stores.base import DocumentStore
    from pipeline.stores.server import ServerAddresses

MONGODB_URL = os.environ.get("ATHENA_TEST_MONGODB_URL", "mongodb://127.0.0.1:27018")
WEAVIATE_URL = os.environ.get("ATHENA_TEST_WEAVIATE_URL", "http://127.0.0.1:8090")
WEAVIATE_GRPC_PORT = int(os.environ.get("ATHENA_TEST_WEAVIATE_GRPC", "50051").rpartition(":")[2])
REQUIRED = os.environ.get("ATHENA_REQUIRE_SERVERS") == "1"


def require_servers() -> None:
    """Skip where a server is not up; fail where it must be."""
    require(missing_servers())


def require(missing: str) -> None:
    """Skip where something is missing; fail where it must be there."""
    if missing and REQUIRED:
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@cache
def missing_servers() -> str:
    """Which servers do not answer, and how to start them; empty where all do."""
    weaviate = urlsplit(WEAVIATE_URL)
    ports = {
        MONGODB_URL: _port_of_mongodb(),
        WEAVIATE_URL: (weaviate.hostname or "", weaviate.port or 80),
        "Weaviate's gRPC": (weaviate.hostname or "", WEAVIATE_GRPC_PORT),
    }
    missing = [name for name, address in ports.items() if not is_open(*address)]
    return f"not up: {', '.join(missing)}; `scripts/servers.sh start` starts them" if missing else ""


def is_open(host: str, port: int) -> bool:
    """True where something listens."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def server_addresses() -> Iterator[ServerAddresses]:
    """A database of its own, with collections called like it, removed afterwards."""
    require_servers()
    from pipeline.stores.server import ServerAddresses

    name = uuid.uuid4().hex[:10]
    addresses = ServerAddresses(
        mongodb_url=MONGODB_URL,
        mongodb_database=f"athena_test_{name}",
        weaviate_url=WEAVIATE_URL,
        weaviate_grpc_port=WEAVIATE_GRPC_PORT,
    )
    yield addresses
    remove(addresses)


def everything(addresses: ServerAddresses) -> str:
    """All records of the database, as text."""
    from pipeline.stores.server.connections import Connections

    connections = Connections(addresses)
    with connections.mongodb() as database:
        names = sorted(database.list_collection_names())
        records = [f"{name} {record!r}" for name in names for record in database[name].find({})]
    connections.close()
    return "\n".join(records)


def leftovers(store: DocumentStore) -> list[str]:
    """The versions of which a server store has data though no document shows them; [] for embedded."""
    from pipeline.stores.server import ServerStore
    from pipeline.stores.server.index import read_index
    from pipeline.stores.server.schema import collection_names

    if not isinstance(store, ServerStore):
        return []
    connections = store._connections
    with connections.mongodb() as database:
        index = read_index(database)
        if index is None:
            return []
        shown = {record["version"] for record in database["documents"].find({})}
        stored = {record["_id"] for record in database["texts"].find({}, {"_id": 1})}
        stored |= {row["version"] for row in database["sections"].find({}, {"version": 1})}
    names = collection_names(connections.addresses, index.build).values()

    def versions(client: WeaviateClient) -> set[str]:
        return {
            str(one.properties["version"])
            for name in names
            for one in client.collections.use(name).iterator(return_properties=["version"])
        }

    return sorted((stored | connections.weaviate(versions)[0]) - shown)


def remove(addresses: ServerAddresses) -> None:
    """Delete everything that a test has left on the servers."""
    from pipeline.stores.server.connections import Connections

    connections = Connections(addresses)
    with connections.mongodb() as database:
        database.client.drop_database(addresses.mongodb_database)

    def drop(client: WeaviateClient) -> None:
        names = [name for name in client.collections.list_all(simple=True) if name.startswith(prefix)]
        if names:
            client.collections.delete(names)

    prefix = f"{addresses.weaviate_prefix}_"
    connections.weaviate(drop)
    connections.close()


def _port_of_mongodb() -> tuple[str, int]:
    from pymongo.uri_parser import parse_uri

    host, port = parse_uri(MONGODB_URL)["nodelist"][0]
    return host, port
