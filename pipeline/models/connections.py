"""HTTP settings for the clients of model servers, and calls that another thread can cut off."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
from contextvars import ContextVar
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx

OPENED = ("connect_tcp.complete", "start_tls.complete")  # httpx's trace events, also through a proxy


def is_loopback(host: str) -> bool:
    """Return whether a name or address is that of this machine alone: localhost, 127.0.0.0/8, ::1."""
    name = host.strip("[]").lower().rstrip(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # no address: the client says so
        return ""


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # each reading of the certificates takes 30 ms


def client_options(url: str, *, connect_timeout_s: float, read_timeout_s: float) -> dict[str, Any]:
    """Return the arguments of an `httpx.Client` or `AsyncClient` for the server at `url`.

    `read_timeout_s` limits each silence. No proxy is used for this machine, and no redirect is followed: it
    could send questions elsewhere.
    """
    return {
        "timeout": httpx.Timeout(read_timeout_s, connect=connect_timeout_s),
        "limits": httpx.Limits(max_keepalive_connections=0),  # a call that is cut off harms no other
        "verify": _certificates(),
        "follow_redirects": False,
        "trust_env": not is_loopback(_host(url)),
    }


class Call:
    """The connections of one call to a model, as httpcore's `streams`.

    Closing a client does not wake the thread that waits for the server's next byte; shutting down the socket
    does, and the server learns that nobody reads on.
    """

    def __init__(self) -> None:
        self.is_cut_off = False
        self.streams: list[Any] = []

    def begin(self) -> None:
        """Take charge of all connections that this context (thread) opens from now on."""
        _current.set(self)

    def cut_off(self) -> None:
        """Shut the connections down, at once and for good; safe from any thread."""
        self.is_cut_off = True
        for stream in self.streams:
            with contextlib.suppress(OSError):  # it may have ended by itself
                # The plain socket's method also for TLS: the TLS one would touch what the reader is using.
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)

    def end(self) -> None:
        """Close the connections: called by the thread that read, since clients leave broken ones open."""
        _current.set(None)
        for stream in self.streams:
            stream.close()

    def note(self, event: str, info: dict[str, Any]) -> None:
        """Note a connection that httpx has opened: httpx calls this for each of its trace events."""
        if event.endswith(OPENED):
            self.streams.append(info["return_value"])
            if self.is_cut_off:
                self.cut_off()


_current: ContextVar[Call | None] = ContextVar("model_call", default=None)


def _watch(request: httpx.Request) -> None:
    if call := _current.get():
        request.extensions = {**request.extensions, "trace": call.note}


HOOKS: dict[str, list[Any]] = {"request": [_watch]}
"""`event_hooks` of a synchronous client whose calls can be cut off."""
