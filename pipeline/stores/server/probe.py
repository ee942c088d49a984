"""A look at Weaviate's two ports: is something there, and does it speak as its URL says?

Its client would find out, too, but by gRPC only after its time-out, and without the reason.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.errors import unavailable, untrusted
from pipeline.stores.server.tls import GRPC, HTTP, tls_context

CONNECT_S = 2.0
GREETING_S = 2.0

_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # and empty SETTINGS


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
            connection = socket.create_connection((port.host, port.number), timeout=CONNECT_S)
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
