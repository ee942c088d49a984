"""A corner of the running servers for one benchmark: its own database and prefix, removed afterwards."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager

from pipeline.stores.server import ServerAddresses, ServerStore, ServerVersions
from pipeline.stores.server.servers import Servers


@contextmanager
def own_corner() -> Iterator[ServerAddresses]:
    """Addresses on the servers that `ATHENA_TEST_…` name, by default those of `scripts/servers.sh`."""
    name = uuid.uuid4().hex[:8]
    addresses = ServerAddresses(
        mongodb_url=os.environ.get("ATHENA_TEST_MONGODB_URL", "mongodb://127.0.0.1:27018"),
        mongodb_database=f"athena_bench_{name}",
        weaviate_url=os.environ.get("ATHENA_TEST_WEAVIATE_URL", "http://127.0.0.1:8090"),
        weaviate_grpc_port=int(os.environ.get("ATHENA_TEST_WEAVIATE_GRPC", "50051").rpartition(":")[2]),
        weaviate_prefix=f"Bench{name}",
    )
    try:
        yield addresses
    finally:
        remove(addresses)


def versions(addresses: ServerAddresses) -> ServerVersions:
    """The versions of both servers; raises `StoreUnavailable` where one does not answer."""
    with closing(ServerStore(addresses)) as store:
        return store.versions()


def settings(addresses: ServerAddresses) -> dict[str, str]:
    """The environment of a process that uses these servers."""
    return {
        "ATHENA_STORE": "server",
        "ATHENA_MONGODB_URL": addresses.mongodb_url,
        "ATHENA_MONGODB_DATABASE": addresses.mongodb_database,
        "ATHENA_WEAVIATE_URL": addresses.weaviate_url,
        "ATHENA_WEAVIATE_GRPC_PORT": str(addresses.weaviate_grpc_port),
        "ATHENA_WEAVIATE_PREFIX": addresses.weaviate_prefix,
    }


def remove(addresses: ServerAddresses) -> None:
    """Delete all that is there."""

    def drop(client):  # type: ignore[no-untyped-def]
        prefix = f"{addresses.weaviate_prefix}_"
        names = [name for name in client.collections.list_all(simple=True) if name.startswith(prefix)]
        if names:
            client.collections.delete(names)

    with closing(Servers(addresses)) as servers:
        with servers.mongo.database() as database:
            database.client.drop_database(addresses.mongodb_database)
        servers.weaviate.run(drop)
