"""The Weaviate of a process: one client for all that use the same address, calls made side by side.

Its client waits more than a minute for a server that has died, and does not say why one cannot be talked to.
Here we look at both ports first, and again when a call takes longer than a moment: is something there, does
it speak as its URL says, and is it trusted, by HTTP and gRPC alike? What is not gives its error at once.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import grpc  # type: ignore[import-untyped]
import httpx
from weaviate import WeaviateClient
from weaviate.auth import Auth
from weaviate.config import AdditionalConfig, ConnectionConfig, GrpcConfig, Timeout
from weaviate.connect import ConnectionParams

from pipeline.errors import ConfigurationError, StoreUnavailable
from pipeline.given_files import read_given
from pipeline.stores.server.addresses import WEAVIATE_CA_SETTING, ServerAddresses
from pipeline.stores.server.errors import unavailable, untrusted, weaviate_errors

Result = TypeVar("Result")

THREADS = 16
PATIENCE_S = 1.0  # then we look whether the server is there
PORT_S = 2.0  # for a connection to a port
GREETING_S = 2.0
QUICK_GREETING_S = 0.2  # while a call waits, a look must not hold up its answer
CONNECT_TIMEOUT_S = 5
QUERY_TIMEOUT_S = 20
INSERT_TIMEOUT_S = 90

HTTP = "http/1.1"  # as TLS names them
GRPC = "h2"

_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # and empty SETTINGS
_BEGIN = "BEGIN CERTIFICATE"

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
        probe(self._addresses, greeting_s=QUICK_GREETING_S)
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


@dataclass(frozen=True, slots=True)
class _Port:
    host: str
    number: int
    protocol: str  # as TLS names it


def probe(addresses: ServerAddresses, *, greeting_s: float = GREETING_S) -> None:
    """Raise `StoreUnavailable` where a port takes no connection, or speaks otherwise than it should.

    A server that is too busy to greet within `greeting_s` is no error: calls have time-outs of their own.
    """
    http = _Port(addresses.weaviate.hostname or "", addresses.weaviate_port, HTTP)
    grpc = _Port(addresses.grpc_host, addresses.weaviate_grpc_port, GRPC)
    for port in (http, grpc):
        try:
            connection = socket.create_connection((port.host, port.number), timeout=PORT_S)
        except OSError as error:
            raise unavailable(addresses, f"port {port.number}: {error.strerror or error}") from error
        with connection:
            connection.settimeout(greeting_s)
            if addresses.weaviate_is_secure:
                _greet_by_tls(connection, port, addresses)
            elif port is grpc:
                _greet_plainly(connection, port, addresses)


def _greet_by_tls(connection: socket.socket, port: _Port, addresses: ServerAddresses) -> None:
    try:
        tls_context(addresses, port.protocol).wrap_socket(connection, server_hostname=port.host).close()
    except TimeoutError:
        return
    except ssl.SSLCertVerificationError as error:
        raise untrusted(addresses, f"port {port.number}: {error.verify_message}") from error
    except OSError as error:
        hint = "does not speak TLS; where it needs none, let the URL begin with http://"
        raise unavailable(addresses, f"port {port.number} {hint}") from error


def _greet_plainly(connection: socket.socket, port: _Port, addresses: ServerAddresses) -> None:
    """Begin as gRPC does; a server that wants TLS hangs up."""
    reason: OSError | None = None
    try:
        connection.sendall(_HTTP2_PREFACE)
        if connection.recv(1):
            return
    except TimeoutError:
        return
    except OSError as error:
        reason = error
    hint = "hangs up; where it wants TLS, let the URL begin with https://"
    raise unavailable(addresses, f"port {port.number} {hint}") from reason


def tls_context(addresses: ServerAddresses, protocol: str) -> ssl.SSLContext:
    """A context for one protocol that trusts the given authority, or else the well-known ones."""
    return _context(_authority(addresses), protocol)


def grpc_credentials(addresses: ServerAddresses) -> grpc.ChannelCredentials | None:
    """The same for gRPC; None where no authority is given: gRPC has its own list of those well known."""
    authority = _authority(addresses)
    return grpc.ssl_channel_credentials(root_certificates=authority.encode()) if authority else None


def trust(client: WeaviateClient, addresses: ServerAddresses) -> None:
    """Make a client, not connected yet, trust the given authority by HTTP, too.

    It has no setting for this (to 4.24: `AdditionalConfig` has credentials for gRPC alone). `SSL_CERT_FILE`,
    which it heeds with `trust_env`, would hold for every server that this process asks, models' included,
    and the environment's proxies come with it. What is left is its private place for transports, meant for
    proxies, of which we use none.
    """
    if not _authority(addresses):
        return

    def transports(_colour: str) -> dict[str, httpx.HTTPTransport]:
        return {"https://": httpx.HTTPTransport(verify=tls_context(addresses, HTTP))}

    client._connection._make_mounts = transports  # type: ignore[method-assign,assignment]


def _authority(addresses: ServerAddresses) -> str:
    """The certificates of the given authority, PEM; empty where none is given."""
    path = addresses.weaviate_ca_file
    if path is None:
        return ""
    try:
        text = read_given(path)
        if _BEGIN not in text:
            raise ValueError(f"there is no '{_BEGIN}' in it")
        _context(text, HTTP)
    except (OSError, ValueError) as error:  # SSLError is an OSError, too
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ConfigurationError(
            f"{WEAVIATE_CA_SETTING} names '{path}', which is not a certificate file: {reason}.",
            "Give the file of the certificate authority, in PEM.",
        ) from error
    return text


@lru_cache(maxsize=4)  # one a protocol: who connects changes it
def _context(authority: str, protocol: str) -> ssl.SSLContext:
    if authority:
        context = ssl.create_default_context(cadata=authority)
    else:
        context = httpx.create_ssl_context(trust_env=False)  # as the client does
    context.set_alpn_protocols([protocol])
    return context
