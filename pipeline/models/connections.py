"""HTTP connections to a language model: certificates read once, and a hang-up while the server is silent."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

import httpx

from pipeline.models.failures import Misbehaviour, TooLong
from pipeline.models.wire import Protocol, check_response

OPENED = ("connect_tcp.complete", "start_tls.complete")  # of a connection, also through a proxy


@cache
def trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: each reading takes 30 ms."""
    return httpx.create_ssl_context()


def client_options(*, connect_timeout_s: float, read_timeout_s: float, protocol: Protocol) -> dict[str, Any]:
    """How to make an `httpx.Client` whose answers are checked and can be hung up, whichever library makes it.

    Each answer gets a connection of its own: hanging up one leaves the others alone. Nothing comes
    compressed: a few bytes could become gigabytes.
    """
    return {
        "timeout": httpx.Timeout(read_timeout_s, connect=connect_timeout_s),
        "limits": httpx.Limits(max_keepalive_connections=0),
        "verify": trusted(),
        "headers": {"Accept-Encoding": "identity"},
        "follow_redirects": True,  # `check_response` refuses those to other places
        "event_hooks": {"request": [_watch], "response": [partial(check_response, protocol=protocol)]},
    }


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Hang up what the block asks for where it takes longer, however busy the server is: raises `TooLong`."""
    connections = Connections()
    before = _current.set(connections)
    timer = threading.Timer(seconds, connections.hang_up)
    timer.daemon = True
    timer.start()
    too_long = TooLong(f"it was not done within {seconds:g} s")
    try:
        yield
        if connections.hung_up:  # what had arrived by then reads as if it were all
            raise too_long
    except (httpx.HTTPError, Misbehaviour) as error:
        if connections.hung_up and error is not too_long:
            raise too_long from error
        raise
    finally:
        timer.cancel()
        _current.reset(before)


class Connections:
    """The connections that one context opens: any thread can hang them up, at once and for good.

    Closing a client does not wake a thread that waits for the server's next byte; shutting its socket
    down does. httpx's `trace` extension tells of each socket as it is opened, long before a response.
    """

    def __init__(self) -> None:
        self._streams: list[Any] = []
        self._hung_up = False

    @property
    def hung_up(self) -> bool:
        """Whether they were hung up."""
        return self._hung_up

    def watch(self) -> None:
        """Take charge of what the current context opens from now on."""
        _current.set(self)

    def hang_up(self) -> None:
        """End all connections now; later ones end as soon as they are open."""
        self._hung_up = True  # before looking: `note` keeps before it looks, so that one of both sees it
        for stream in self._streams:
            _shut_down(stream)

    def close(self) -> None:
        """Close what is still open: to be called by the thread that read, when it is done.

        An answer of `openai`'s that was left early would be closed by the garbage collector only.
        """
        for stream in self._streams:
            stream.close()

    def note(self, event: str, info: dict[str, Any]) -> None:
        """Keep each socket that is opened; httpx calls this."""
        if event.endswith(OPENED):
            self._streams.append(info["return_value"])
            if self._hung_up:
                _shut_down(info["return_value"])


_current: ContextVar[Connections | None] = ContextVar("connections", default=None)


def _watch(request: httpx.Request) -> None:
    if connections := _current.get():
        request.extensions = {**request.extensions, "trace": connections.note}


def _shut_down(stream: Any) -> None:
    with contextlib.suppress(OSError):  # it may have ended by itself
        # The plain socket's method also for TLS: the TLS one would touch state that the reader is using.
        socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)
