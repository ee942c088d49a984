"""HTTP that can be hung up from another thread, even while the server is silent."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from functools import cache
from typing import Any

import httpx


@cache
def trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once: 30 ms each time, and an answer connects four times."""
    return httpx.create_ssl_context()


class HangUpTransport(httpx.HTTPTransport):
    """The connections of one request, or of a few; `hang_up` ends them all at once and for good.

    Closing a client does not wake a thread that waits for the server's next byte; shutting its socket
    down does. httpx's `trace` extension hands over each socket as it is opened.
    """

    def __init__(self, *, connect_timeout_s: float, read_timeout_s: float) -> None:
        super().__init__(verify=trusted())
        self._timeout = httpx.Timeout(read_timeout_s, connect=connect_timeout_s)
        self._streams: list[Any] = []
        self._lock = threading.Lock()
        self._hung_up = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, keeping hold of its socket; our timeouts win over the client library's."""
        request.extensions = {
            **request.extensions,
            "trace": self._notice,
            "timeout": self._timeout.as_dict(),
        }
        return super().handle_request(request)

    def hang_up(self) -> None:
        """End all connections now; later ones end as soon as they are open."""
        with self._lock:
            self._hung_up = True
            streams, self._streams = self._streams, []
        for stream in streams:
            _shut_down(stream)

    def _notice(self, event: str, info: dict[str, Any]) -> None:
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        with self._lock:
            self._streams.append(info["return_value"])
            hung_up = self._hung_up
        if hung_up:
            _shut_down(info["return_value"])


def _shut_down(stream: Any) -> None:
    connection = stream.get_extra_info("socket")
    if connection is None:
        return
    with contextlib.suppress(OSError):  # it may have ended by itself
        # The plain socket's method also for TLS: the TLS one would touch state that the reader is using.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
