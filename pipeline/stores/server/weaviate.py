"""The Weaviate of a process: one client for all that use the same address, calls made side by side.

Its client waits more than a minute for a server that has died. Here a call that takes longer than a moment
makes us look whether the server is still there, and what is not gives its error at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from weaviate import WeaviateClient
from weaviate.auth import Auth
from weaviate.config import AdditionalConfig, ConnectionConfig, GrpcConfig, Timeout
from weaviate.connect import ConnectionParams

from pipeline.errors import StoreUnavailable
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.errors import weaviate_errors
from pipeline.stores.server.probe import probe
from pipeline.stores.server.tls import grpc_credentials, trust

Result = TypeVar("Result")

THREADS = 16
PATIENCE_S = 1.0  # then we look whether the server is there
GREETING_S = 0.2  # while a call waits, a look must not hold up its answer
CONNECT_TIMEOUT_S = 5
QUERY_TIMEOUT_S = 20
INSERT_TIMEOUT_S = 90

# A call to a server that is away waits (until its own time-out) instead of failing at once: failing, the
# client would sleep for 1, 2, 4, 8 … seconds. And a server that is back is found within a second.
_CHANNEL_OPTIONS = [
    ("grpc.service_config", json.dumps({"methodConfig": [{"name": [{}], "waitForReady": True}]})),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 60_000),
]


class WeaviateServer:
    """One server; safe to use from several threads."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._addresses = addresses
        self._lock = threading.Lock()
        self._client: WeaviateClient | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._suspect = False

    def run(self, call: Callable[[WeaviateClient], Result]) -> Result:
        """The result of a call; errors of the client leave it as our own."""
        return self.run_all([call])[0]

    def run_all(self, calls: Sequence[Callable[[WeaviateClient], Result]]) -> list[Result]:
        """The results of calls that are made at the same time."""
        with weaviate_errors(self._addresses):
            client, pool = self._connected()
            if self._suspect:
                self._look()
            futures = [pool.submit(call, client) for call in calls]
            self._wait(futures)
            return [future.result() for future in futures]

    def version(self) -> str:
        """The server's version."""
        return str(self.run(lambda client: client.get_meta()["version"]))

    def close(self) -> None:
        """Close all connections; calls that still wait end with an error."""
        with self._lock:
            client, pool = self._client, self._pool
            self._client = self._pool = None
        if client is not None:
            client.close()
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _wait(self, futures: Sequence[Future[Result]]) -> None:
        waiting: set[Future[Result]] = set(futures)
        try:
            while waiting:
                waiting = wait(waiting, timeout=PATIENCE_S).not_done
                if waiting:
                    self._look()
        except StoreUnavailable:
            for future in waiting:
                future.cancel()
            raise

    def _look(self) -> None:
        """Raise `StoreUnavailable` where the server is not there any more."""
        self._suspect = True
        probe(self._addresses, greeting_s=GREETING_S)
        self._suspect = False

    def _connected(self) -> tuple[WeaviateClient, ThreadPoolExecutor]:
        with self._lock:
            if self._client is None or self._pool is None:
                probe(self._addresses)
                client = _make_client(self._addresses)
                try:
                    client.connect()
                except BaseException:
                    client.close()
                    raise
                self._client = client
                self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="weaviate")
            return self._client, self._pool


def _make_client(addresses: ServerAddresses) -> WeaviateClient:
    parameters = ConnectionParams.from_params(
        http_host=addresses.weaviate.hostname or "",
        http_port=addresses.weaviate_port,
        http_secure=addresses.weaviate_is_secure,
        grpc_host=addresses.grpc_host,
        grpc_port=addresses.weaviate_grpc_port,
        grpc_secure=addresses.weaviate_is_secure,
    )
    key = addresses.weaviate_api_key
    client = WeaviateClient(
        connection_params=parameters,
        auth_client_secret=Auth.api_key(key) if key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=CONNECT_TIMEOUT_S, query=QUERY_TIMEOUT_S, insert=INSERT_TIMEOUT_S),
            connection=ConnectionConfig(session_pool_connections=THREADS, session_pool_maxsize=2 * THREADS),
            grpc_config=GrpcConfig(channel_options=_CHANNEL_OPTIONS, credentials=grpc_credentials(addresses)),
        ),
        skip_init_checks=True,  # they would ask PyPI for a newer client
    )
    trust(client, addresses)
    return client
