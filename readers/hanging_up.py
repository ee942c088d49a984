"""Hanging up on a server that is too slow, or when somebody asks to stop, whatever it is sending."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from readers.errors import FetchStopped, PageRefused

LOOKS_EVERY = 0.1
"""Seconds: how late a hang-up may come."""
OPENED = ("connect_tcp.complete", "start_tls.complete")


class HangUp:
    """Watches the connections of the `with` block from a thread of its own, which also calls `should_stop`.

    httpx limits each silence only, and a server that drips its headers, or says "100 Continue" for ever, is
    never silent. Closing a client wakes no thread that waits for a byte; shutting its socket down does.
    """

    def __init__(self, address: str, *, seconds: float, should_stop: Callable[[], bool]) -> None:
        self._address = address
        self._seconds = seconds
        self._should_stop = should_stop
        self._until = time.monotonic() + seconds
        self._streams: list[Any] = []
        self._error: FetchStopped | PageRefused | None = None
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="athena-fetch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._thread.join()

    def note(self, event: str, info: dict[str, Any]) -> None:
        """Keep each socket that is opened: for httpx, as its extension `trace`."""
        if event.endswith(OPENED):
            self._streams.append(info["return_value"])
            if self._error:
                _shut_down(info["return_value"])

    def check(self) -> None:
        """Raise `FetchStopped` or `PageRefused` where it is over: what came reads as if it were all."""
        self._error = self._error or self._reason()
        if self._error:
            raise self._error

    def _watch(self) -> None:
        while not self._left.wait(LOOKS_EVERY):
            self._error = self._error or self._reason()
            if self._error:  # known before looking: `note` keeps before it looks, so that one of both sees it
                for stream in self._streams:
                    _shut_down(stream)
                return

    def _reason(self) -> FetchStopped | PageRefused | None:
        if self._should_stop():
            return FetchStopped(self._address, reason="somebody asked to stop", fix="Name it again.")
        if time.monotonic() > self._until:
            reason = f"fetching it takes longer than {self._seconds:g} seconds"
            return PageRefused(self._address, reason=reason, fix="Download it, and add the file.")
        return None


def _shut_down(stream: Any) -> None:
    with contextlib.suppress(OSError):  # it may have ended by itself
        # The plain socket's method also for TLS: the TLS one would touch state that the reader is using.
        socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)
